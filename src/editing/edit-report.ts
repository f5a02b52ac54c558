// What an edit has done, or would do: lines for people, and the difference that a dry run shows.

import type { Syntax } from '../discovery/document.ts';
import { bridgeLaunch } from './bridge-entry.ts';
import { ENTRY_NAME } from './client-targets.ts';
import type { ConfigFile } from './config-file.ts';
import type { EditingHost } from './editing-host.ts';
import { shownDiff } from './shown-diff.ts';

export interface EditReport {
  readonly lines: readonly string[];
  /** Without a value that could be a secret; empty if nothing is to change, or something was changed. */
  readonly diff: string;
}

export interface FileEdit {
  readonly file: ConfigFile;
  readonly syntax: Syntax;
  /** Undefined where the file is to go. */
  readonly after: string | undefined;
}

export function isEdit({ file, after }: FileEdit): boolean {
  return after === undefined ? file.bytes !== undefined : file.bytes === undefined || after !== file.text;
}

export function diffOf(edits: readonly FileEdit[], host: EditingHost): string {
  const { command, args } = bridgeLaunch(host, { config: undefined });
  const known = new Set([command, ...args, ENTRY_NAME, '*', '300']);
  return edits
    .filter(isEdit)
    .map(({ file, syntax, after }) =>
      shownDiff({ path: file.path, syntax, before: file.bytes && file.text, after, known }),
    )
    .join('');
}
