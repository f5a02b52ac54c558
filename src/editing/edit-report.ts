// What an edit has done, or would do: lines for people, and the difference that a dry run shows.

import type { Syntax } from '../discovery/document.ts';
import type { ConfigFile } from './config-file.ts';
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

export async function diffOf(edits: readonly FileEdit[]): Promise<string> {
  const diffs = edits
    .filter(isEdit)
    .map(({ file, syntax, after }) => shownDiff({ path: file.path, syntax, before: file.bytes && file.text, after }));
  return (await Promise.all(diffs)).join('');
}
