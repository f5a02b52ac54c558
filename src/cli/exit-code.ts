// Where errors become what a shell sees: a message on stderr, and 1 for what could not be done, 2 for wrong usage.

import { BridgeError, messageOf } from '../util/bridge-error.ts';
import { printableLines } from '../util/printable.ts';

export const DONE = 0;
export const FAILED = 1;
const WRONG_USAGE = 2;
/** As shells say it of what Ctrl-C has ended. */
export const INTERRUPTED = 130;

/** A person has pressed Ctrl-C: there is nothing more to say. */
export function interrupted(): Error {
  return Object.assign(new Error('Interrupted'), { name: 'Interrupted' });
}

/** By its name, as several bundles have this file. */
function isInterrupt(error: unknown): boolean {
  return error instanceof Error && error.name === 'Interrupted';
}

export function exitCodeOf(error: unknown): number {
  if (isInterrupt(error)) return INTERRUPTED;
  return error instanceof BridgeError && error.code === 'USAGE' ? WRONG_USAGE : FAILED;
}

/** '' if there is nothing to say. */
export function lineFor(error: unknown): string {
  if (isInterrupt(error)) return '';
  const hint = error instanceof BridgeError && error.hint !== undefined ? ` ${error.hint}` : '';
  const message = messageOf(error).trimEnd();
  return `mcp-bridge: ${printableLines(`${message}${/[.!?\u2026]$/.test(message) ? '' : '.'}${hint}`)}\n`;
}
