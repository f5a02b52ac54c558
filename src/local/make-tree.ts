// Makes a directory with its parents. Node's own way of doing so never ends where the kernel says that there is no such
// place, below /proc for instance.

import { existsSync, mkdirSync } from 'node:fs';
import { dirname } from 'node:path';
import { systemCode } from '../util/bridge-error.ts';

/** The topmost directory that had to be made; undefined if all were there. */
export function makeTree(dir: string, mode: number): string | undefined {
  const parent = dirname(dir);
  const first = existsSync(parent) || parent === dir ? undefined : makeTree(parent, mode);
  try {
    mkdirSync(dir, mode);
    return first ?? dir;
  } catch (error) {
    if (systemCode(error) === 'EEXIST') return first; // what is there is looked at by whoever needs a directory
    throw error;
  }
}
