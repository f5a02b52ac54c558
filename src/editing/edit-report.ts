// The report of a real edit or a dry run: lines for people, and the difference that a dry run shows. It shows lines of
// a file unchanged, but hides possible secrets. It finds a secret by the map around it, by its name, or by its look.

import type { Syntax } from '../discovery/document.ts';
import { maskedText } from '../discovery/masked-text.ts';
import { maskedArgs } from '../discovery/shown-launch.ts';
import { looksRandom, looksSecret } from '../util/secret-signs.ts';
import type { ConfigFile } from './config-file.ts';
import { lineDiff } from './line-diff.ts';
import { spliced, type TextSplice } from './splice.ts';
import { anatomyOf, type TextValue } from './text-anatomy.ts';

export interface EditReport {
  readonly lines: readonly string[];
  /** Never holds a value that could be a secret. Empty if nothing will change, or if the change is done. */
  readonly diff: string;
}

export interface FileEdit {
  readonly file: ConfigFile;
  readonly syntax: Syntax;
  /** Undefined if the file will be removed. */
  readonly after: string | undefined;
}

export function isEdit({ file, after }: FileEdit): boolean {
  return after === undefined ? file.bytes !== undefined : file.bytes === undefined || after !== file.text;
}

export async function diffOf(edits: readonly FileEdit[]): Promise<string> {
  const diffs = edits
    .filter(isEdit)
    .map(({ file, syntax, after }) => shownDiff({ path: file.path, syntax, before: file.bytes && file.text, after }));
  return (await Promise.all(diffs)).join('');
}

export interface ShownChange {
  readonly path: string;
  readonly syntax: Syntax;
  /** Undefined if there is no file. */
  readonly before: string | undefined;
  readonly after: string | undefined;
}

/** The removed and added lines, with a few around them. */
export async function shownDiff({ path, syntax, before, after }: ShownChange): Promise<string> {
  const [from, to] = [await shownText(before ?? '', syntax), await shownText(after ?? '', syntax)];
  const head = `--- ${before === undefined ? '/dev/null' : path}\n+++ ${after === undefined ? '/dev/null' : path}\n`;
  return head + lineDiff(from, to);
}

const MASK = '***';
const SHORTEST_SECRET = 6;

async function shownText(whole: string, syntax: Syntax): Promise<string> {
  const text = whole.replace(/^\ufeff/, '');
  const { values, comments } = await anatomyOf(text, syntax);
  const secrets = secretsIn(values);
  const hide = (shown: string): string => secrets.reduce((rest, secret) => rest.replaceAll(secret, MASK), shown);
  const masked = values.map((found, i) => {
    const shown = shownValue(found, values[i - 1]);
    return maskedAt(text, found, isOfNames(found.path) ? shown : hide(shown));
  });
  const remarks = comments.map(({ start, end }) => ({ start, end, text: hide(maskedRemark(text.slice(start, end))) }));
  return spliced(text, [...masked.flat(), ...remarks]);
}

/** Values of variables and headers; other lines might repeat them. */
function secretsIn(values: readonly TextValue[]): string[] {
  return values
    .filter(({ path, value }) => isHidden(path) && typeof value === 'string')
    .filter(({ path, value }) => looksSecret(keyOf(path)) || looksRandom(String(value)))
    .flatMap(({ value }) => [String(value), String(value).replace(/^\w+\s+/, '')])
    .filter((text) => text.length >= SHORTEST_SECRET && !HARMLESS.test(text))
    .sort((a, b) => b.length - a.length);
}

function maskedAt(text: string, { start, end, value }: TextValue, shown: string): TextSplice[] {
  if (shown === String(value)) return [];
  const lineEnd = text.slice(start, end).endsWith('\n') ? '\n' : '';
  return [{ start, end, text: `${typeof value === 'string' ? JSON.stringify(shown) : shown}${lineEnd}` }];
}

/** Maps with values that nobody else may see. */
const HIDDEN_MAP = /^(?:.*[_-])?(?:env|envs|environment)$|headers$|environment_?variables$|^oauth$/i;
const SECRET_MAP = /(?:tokens?|secrets?|credentials?|passwords?)$/i;

function isHidden(path: TextValue['path']): boolean {
  // A server may have any name, so the name says nothing about its entry.
  const maps = path
    .filter((key, at) => typeof key === 'string' && at < path.length - 1 && !isServerAt(path, at))
    .map(String);
  return maps.some((key) => HIDDEN_MAP.test(key) || SECRET_MAP.test(key)) || HIDDEN_MAP.test(keyOf(path));
}

const SERVER_MAP = /^(?:mcp_?servers|servers|context_servers|mcp)$/i;

function isServerAt(path: TextValue['path'], at: number): boolean {
  return at > 0 && at < path.length - 1 && SERVER_MAP.test(String(path[at - 1]));
}

/** True in `clients` of the bridge's own config: it holds names of programs, servers and tools. */
function isOfNames(path: TextValue['path']): boolean {
  return (
    path[0] === 'clients' && typeof path[1] === 'number' && ['match', 'names', 'toolRules'].includes(String(path[2]))
  );
}

/** The key of a value; a value in a list has the key of the list. */
function keyOf(path: TextValue['path']): string {
  return String(path.findLast((key) => typeof key === 'string') ?? '');
}

/** Matches a variable or a switch, and nothing else. A dollar alone may begin a password. */
const HARMLESS = /^(?:(?:Bearer|Basic|Token)\s+)?(?:\$\{(?:env:)?\w+\}|\{env:\w+\})$|^(?:true|false|null)?$/;

function shownValue({ path, value }: TextValue, previous: TextValue | undefined): string {
  const text = String(value);
  if (isOfNames(path)) return text;
  if (isHidden(path) || looksSecret(keyOf(path))) return HARMLESS.test(text) ? text : MASK;
  if (typeof value !== 'string') return text;
  if (typeof path.at(-1) !== 'number') return maskedText(text);
  const isBefore = previous !== undefined && String(previous.path.slice(0, -1)) === String(path.slice(0, -1));
  const [, shown = ''] = maskedArgs([isBefore ? String(previous.value) : '', text], '');
  return shown;
}

/** Matches a definition that somebody has switched off by making it a comment. */
const SWITCHED_OFF = /("?)\b([A-Z][A-Z0-9_]+)\1(\s*[:=]\s*)(\S.*)/g;

function maskedRemark(remark: string): string {
  return maskedText(
    remark.replace(SWITCHED_OFF, (_, quote: string, name: string, between: string) => {
      return `${quote}${name}${quote}${between}${MASK}`;
    }),
  );
}
