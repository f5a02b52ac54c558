// A unit that this program has written, and whether it still is what was written: what a person has changed is that
// person's, and what bears no mark is none of ours.

import { createHash } from 'node:crypto';
import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { makeTree } from '../../../local/make-tree.ts';
import { tryingFile } from '../../../local/whole-write.ts';
import { systemCode } from '../../../util/bridge-error.ts';

export type UnitState = 'absent' | 'ours' | 'changed' | 'foreign';

const MARK = 'Written by mcp-bridge service install; what is changed here by hand is not replaced. SHA-256:';
const MARKED = new RegExp(`${MARK.replace('.', '\\.')} ([0-9a-f]{64})`);

/** Puts the mark in its place. */
export function marked(text: string): string {
  return text.replace('@MARK@', `${MARK} ${digestOf(text)}`);
}

/** Undefined if there is none. */
export function readUnit(path: string): string | undefined {
  return tryingFile(`Cannot read ${path}`, () => {
    try {
      return readFileSync(path, 'utf8');
    } catch (error) {
      if (systemCode(error) === 'ENOENT') return undefined;
      throw error;
    }
  });
}

export function stateOf(text: string | undefined): UnitState {
  if (text === undefined) return 'absent';
  const digest = MARKED.exec(text)?.[1];
  if (digest === undefined) return 'foreign';
  return digestOf(text.replace(MARKED, '@MARK@')) === digest ? 'ours' : 'changed';
}

export function writeUnit(path: string, text: string): void {
  tryingFile(`Cannot write ${path}`, () => {
    makeTree(dirname(path), 0o755);
    writeFileSync(`${path}.new`, text, { mode: 0o600 });
    renameSync(`${path}.new`, path);
  });
}

export function removeUnit(path: string): void {
  tryingFile(`Cannot remove ${path}`, () => rmSync(path, { force: true }));
}

function digestOf(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
