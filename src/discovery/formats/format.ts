// What the readers of formats have in common: each takes a parsed file and gives the entries in it, as they are
// written. A reader opens no file, fills in no variable, and throws nothing.

import type { ProcessIdentity } from '../../local/process-identity.ts';
import { LONGEST_NAME } from '../../util/longest-name.ts';
import { diagnostic, type Report } from '../diagnostic.ts';
import type { Syntax } from '../document.ts';
import type { Location } from '../locations.ts';
import type { Machine } from '../machine.ts';
import { isTree, pointerTo, type Tree } from '../tree.ts';

export type FormatName =
  | 'agent-plugin'
  | 'amp'
  | 'any-key'
  | 'bridge'
  | 'claude-json'
  | 'claude-settings'
  | 'codex'
  | 'continue'
  | 'copilot'
  | 'crush'
  | 'definitions'
  | 'desktop-extension'
  | 'devcontainer'
  | 'gemini-extension'
  | 'goose'
  | 'ignored'
  | 'librechat'
  | 'managed'
  | 'mcp-servers'
  | 'opencode'
  | 'plugin'
  | 'project-mcp-json'
  | 'registry'
  | 'servers'
  | 'settings'
  | 'toml'
  | 'vscode-settings'
  | 'zed';

/** A definition as it is written. */
export interface Entry {
  readonly name: string;
  readonly pointer: string;
  readonly fields: unknown;
  /** Where it differs from what holds for the whole file. */
  readonly client?: string;
  readonly scope?: string;
  readonly project?: string;
  /** Switched off elsewhere than in the entry itself. */
  readonly isOff?: boolean;
  /** Variables that only this entry knows; one that stands for a list becomes several arguments. */
  readonly variables?: ReadonlyMap<string, string | readonly string[]>;
  /** Why it is not used, whatever it says. */
  readonly refusal?: string;
  /** Why it is a mistake, whatever else it says. */
  readonly fault?: string;
  /** The process that it lives in. */
  readonly process?: ProcessIdentity;
  /** The extension that brings it, by its name. */
  readonly extension?: string;
  /** Variables that its client gives it, whatever it says itself. */
  readonly given?: Readonly<Record<string, string>>;
  /** The directory that it runs in if it names none. */
  readonly dir?: string;
}

export interface ParsedFile {
  readonly value: unknown;
  readonly location: Location;
  readonly path: string;
  readonly machine: Machine;
  readonly report: Report;
  /** What the file beside it says, for formats that have one. */
  readonly companion: unknown;
  isProject(dir: string): boolean;
}

export interface Format {
  readonly syntax: Syntax | 'by-ending';
  /** Where the file beside it is. */
  readonly companion?: (path: string, machine: Machine) => string;
  readonly read: (file: ParsedFile) => Entry[];
}

type Detail = Partial<Omit<Entry, 'name' | 'pointer' | 'fields'>>;

/** The entries of a map, or of a list whose items have names. */
export function entriesIn(file: ParsedFile, keys: readonly string[], detail: Detail = {}): Entry[] {
  const container = containerAt(file, keys);
  if (container === undefined || container === null) return [];
  if (!isTree(container)) return refuseContainer(file, keys);
  return entriesOfMap(file, container, keys, detail);
}

export function entriesOfMap(file: ParsedFile, map: Tree, keys: readonly string[], detail: Detail = {}): Entry[] {
  return Object.entries(map).flatMap(([name, fields]) => {
    const pointer = pointerTo(...keys, name);
    return isUsableName(file, name, pointer) ? [{ name, pointer, fields, ...detail }] : [];
  });
}

/** For clients that write a list, as some of them read a map too. */
export function entriesInList(file: ParsedFile, keys: readonly string[]): Entry[] {
  const container = containerAt(file, keys);
  if (!Array.isArray(container)) return entriesIn(file, keys);
  return container.flatMap((fields: unknown, i) => {
    const pointer = pointerTo(...keys, i);
    const name = isTree(fields) && typeof fields.name === 'string' ? fields.name : '';
    return isUsableName(file, name, pointer) ? [{ name, pointer, fields }] : [];
  });
}

function containerAt(file: ParsedFile, keys: readonly string[]): unknown {
  let value = file.value;
  for (const [depth, key] of keys.entries()) {
    if (!isTree(value)) {
      if (value !== undefined && value !== null) refuseContainer(file, keys.slice(0, depth));
      return undefined;
    }
    value = Object.hasOwn(value, key) ? value[key] : undefined;
  }
  return value;
}

function refuseContainer({ path, report }: ParsedFile, keys: readonly string[]): [] {
  const place = keys.length === 0 ? 'The whole of it' : pointerTo(...keys);
  report(diagnostic('bad-container', `${path}: ${place} must be an object with a member for each server.`, { path }));
  return [];
}

const CONTROL = /\p{Cc}|[\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]|[\u{e0000}-\u{e007f}]/u;

const TOO_LONG = `has a name of more than ${LONGEST_NAME} characters`;
/** As much of a place as a message needs to say. */
const LONGEST_SHOWN = 512;

/** A name that shows as something else than it is, or that objects treat in a special way, is nobody's. */
export function isUsableName({ path, report }: ParsedFile, name: string, pointer: string): boolean {
  const isShort = name.length <= LONGEST_NAME;
  if (isShort && name !== '' && name !== '__proto__' && !CONTROL.test(name)) return true;
  const problem = name === '' ? 'has no name' : isShort ? 'has a name that cannot be used' : TOO_LONG;
  const about = name === '' || !isShort ? { path } : { path, server: name };
  report(
    diagnostic(
      'invalid-entry',
      `${path}: the entry at ${JSON.stringify(pointer.slice(0, LONGEST_SHOWN))} ${problem}.`,
      about,
    ),
  );
  return false;
}

export function warnWrongKey({ path, report }: ParsedFile, found: string, right: string): void {
  const message = `${path} has its servers under "${found}", which its client does not read. Rename it to "${right}".`;
  report(diagnostic('wrong-key', message, { path, name: found }));
}
