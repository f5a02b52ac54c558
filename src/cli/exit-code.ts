// Turns errors into what a shell sees: a message on stderr, and 1 for failures, 2 for wrong usage.

import { BridgeError, messageOf } from '../util/bridge-error.ts';
import { printableLines } from '../util/printable.ts';

export const DONE = 0;
export const FAILED = 1;
const WRONG_USAGE = 2;
/** The exit code that shells use after Ctrl-C. */
export const INTERRUPTED = 130;

/** The error for Ctrl-C; it prints nothing. */
export function interrupted(): Error {
  return Object.assign(new Error('Interrupted'), { name: 'Interrupted' });
}

/** Compares by name, because several bundles contain this file. */
function isInterrupt(error: unknown): boolean {
  return error instanceof Error && error.name === 'Interrupted';
}

export function exitCodeOf(error: unknown): number {
  if (isInterrupt(error)) return INTERRUPTED;
  return error instanceof BridgeError && error.code === 'USAGE' ? WRONG_USAGE : FAILED;
}

/** The line to print; '' for none. */
export function lineFor(error: unknown): string {
  if (isInterrupt(error)) return '';
  const hint = error instanceof BridgeError && error.hint !== undefined ? ` ${error.hint}` : '';
  const message = messageOf(error).trimEnd();
  return `mcp-bridge: ${printableLines(`${message}${/[.!?\u2026]$/.test(message) ? '' : '.'}${hint}`)}\n`;
}
