// A program of ours that is started later, read when the daemon starts: by then the package may have been replaced, or removed.

import { readFileSync } from 'node:fs';
import { openAddon } from '../local/kernel-lock.ts';
import { systemCode } from '../util/bridge-error.ts';

/** Runs the CommonJS that stands in descriptor 3, as the file that the first argument names. */
export const RUN_FROM_PIPE = `
const Module = require('node:module');
const program = new Module(process.argv[1]);
program.filename = process.argv[1];
program._compile(require('node:fs').readFileSync(3, 'utf8'), process.argv[1]);
`;

/** Where such a program finds the addon, if it gets it. */
export const ADDON_FD = 4;

export class KeptProgram {
  readonly text: Buffer = Buffer.alloc(0);
  /** Why it could not be read; undefined if it was. */
  readonly failure: string | undefined;
  /** A descriptor of the addon that it needs. */
  readonly addon = openAddon();

  constructor(path: string) {
    try {
      this.text = readFileSync(path);
    } catch (error) {
      this.failure = systemCode(error) ?? 'unknown error';
    }
  }
}
