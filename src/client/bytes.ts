// Searches and edits the bytes of frames.

import { expectSyntaxError } from '../util/expected-error.ts';

/** The maximum size of a text: as much as `limits.maxMessageBytes` may allow, but no more than fits into a string. */
export const MAX_TEXT_BYTES: number = 512 * 1024 * 1024 - 1024;

export const NEWLINE: Buffer = Buffer.from('\n');

/** True if `word` stands at b[from]. */
export function startsWith(b: Buffer, from: number, word: Buffer): boolean {
  return b.compare(word, 0, word.length, from, Math.min(from + word.length, b.length)) === 0;
}

/**
 * Returns a copy of b[start, end), with a newline, in which `text` replaces b[from, to). Each character of `text` is
 * one byte.
 */
export function replaced(
  b: Buffer,
  { start, end }: { start: number; end: number },
  { from, to, text }: { from: number; to: number; text: string },
): Buffer {
  return Buffer.concat([b.subarray(start, from), Buffer.from(text, 'latin1'), b.subarray(to, end), NEWLINE]);
}

/** Decodes the JSON at b[start, end); undefined if it is none, but no bridge sends that. */
export function valueIn(b: Buffer, start: number, end: number): unknown {
  try {
    return JSON.parse(b.toString('utf8', start, end));
  } catch (error) {
    expectSyntaxError(error);
    return undefined;
  }
}
