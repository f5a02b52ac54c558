// Ids and progress tokens: which ones a router can tell apart, and how their bytes become keys of a Map. The bytes
// themselves are kept for the way back, so that `1.0` and `"\u0061"` return as they were spelled.

import { BACKSLASH, byteAt, QUOTE } from './json-grammar.ts';

export type RequestId = string | number;

/**
 * The maximum bytes between the quotes. Longer ids are refused, because each one is held as long as its request lives.
 */
const MAX_ID_BYTES = 256;

/** The id's value; undefined if it is neither a string of at most 256 bytes nor a safe integer. */
export function readRequestId(b: Buffer, from: number, to: number): RequestId | undefined {
  const first = byteAt(b, from);
  if (first === QUOTE) return readString(b, from, to);
  if (first !== 0x2d && (first < 0x30 || first > 0x39)) return undefined;
  return readInteger(b, from, to);
}

/** True if a decoded value can be a request id. */
export function isRequestId(value: unknown): value is RequestId {
  return typeof value === 'string' ? value.length <= MAX_ID_BYTES : Number.isSafeInteger(value);
}

function readString(b: Buffer, from: number, to: number): string | undefined {
  if (to - from - 2 > MAX_ID_BYTES) return undefined;
  for (let i = from + 1; i < to - 1; i++) {
    const c = byteAt(b, i);
    if (c === BACKSLASH || c >= 0x80) return JSON.parse(b.toString('utf8', from, to)) as string;
  }
  return b.latin1Slice(from + 1, to - 1);
}

function readInteger(b: Buffer, from: number, to: number): number | undefined {
  let value = 0;
  let i = from;
  // Up to 15 plain digits are exact in a double; all other spellings go the slow way.
  for (; i < to && to - from <= 15; i++) {
    const digit = byteAt(b, i) - 0x30;
    if (digit < 0 || digit > 9) break;
    value = value * 10 + digit;
  }
  if (i === to) return value;
  if (to - from > MAX_ID_BYTES) return undefined;
  const slow = Number(b.latin1Slice(from, to));
  return Number.isSafeInteger(slow) ? slow + 0 : undefined;
}
