// Walks JSON in its bytes and finds where a value ends; accepts exactly what JSON.parse accepts. It decodes nothing and
// allocates nothing.
//
// Every buffer given to it has a newline (0x0A) right behind the frame. No JSON token and no frame contains that byte,
// so it ends each loop, and no loop has to compare its index with the length.

import { skipLongString } from './long-string.ts';

/** The result instead of an index if the bytes are not JSON. */
export const NOT_JSON = -1;
export const TOO_DEEP = -2;

/** No setting may allow more nested arrays and objects. */
export const DEEPEST = 4096;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;
const OPEN_ARRAY = 0x5b;
const CLOSE_ARRAY = 0x5d;
export const COLON = 0x3a;
const COMMA = 0x2c;
const MINUS = 0x2d;
const PLUS = 0x2b;
const DOT = 0x2e;
const ZERO = 0x30;
const NINE = 0x39;
const LOWER_U = 0x75;

/** From this length on, the other scanner is faster. */
const SHORT_STRING = 128;

function byteTable(marked: Iterable<number>): Uint8Array {
  const table = new Uint8Array(256);
  for (const byte of marked) table[byte] = 1;
  return table;
}
const codesOf = (text: string): number[] => [...text].map((c) => c.charCodeAt(0));

/** Bytes that end a plain run in a string: control characters, the quote, the backslash. */
const ENDS_RUN = byteTable([...Array(0x20).keys(), QUOTE, BACKSLASH]);
const SHORT_ESCAPE = byteTable(codesOf('"\\/bfnrt'));
const HEX = byteTable(codesOf('0123456789abcdefABCDEF'));

/** The closing bracket that each open container waits for. Walks never interleave, so all share one stack. */
const closers = new Uint8Array(DEEPEST + 1);

export function byteAt(b: Uint8Array, p: number): number {
  return b[p] as number;
}

export function skipSpace(b: Uint8Array, p: number): number {
  let c = byteAt(b, p);
  while (c === 0x20 || c === 0x09 || c === 0x0d) c = byteAt(b, ++p);
  return p;
}

/** Skips a string. `p` is right after the opening quote; returns the index after the closing one. */
export function skipString(b: Uint8Array, p: number): number {
  const shortUntil = p + SHORT_STRING;
  while (p < shortUntil) {
    const c = byteAt(b, p);
    if (ENDS_RUN[c] === 0) p++;
    else if (c === QUOTE) return p + 1;
    else if (c !== BACKSLASH) return NOT_JSON;
    else if (SHORT_ESCAPE[byteAt(b, p + 1)] === 1) p += 2;
    else if (byteAt(b, p + 1) === LOWER_U && isHex4(b, p + 2)) p += 6;
    else return NOT_JSON;
  }
  return skipLongString(b, p);
}

function isHex4(b: Uint8Array, p: number): boolean {
  return (
    HEX[byteAt(b, p)] === 1 && HEX[byteAt(b, p + 1)] === 1 && HEX[byteAt(b, p + 2)] === 1 && HEX[byteAt(b, p + 3)] === 1
  );
}

const isDigit = (c: number): boolean => c >= ZERO && c <= NINE;

/** Skips one or more digits at `p`; returns the index after the last one. */
function skipDigits(b: Uint8Array, p: number): number {
  if (!isDigit(byteAt(b, p))) return NOT_JSON;
  while (isDigit(byteAt(b, p))) p++;
  return p;
}

function skipNumber(b: Uint8Array, p: number): number {
  if (byteAt(b, p) === MINUS) p++;
  p = byteAt(b, p) === ZERO ? p + 1 : skipDigits(b, p);
  if (p > 0 && byteAt(b, p) === DOT) p = skipDigits(b, p + 1);
  if (p > 0 && (byteAt(b, p) | 0x20) === 0x65) {
    p++;
    if (byteAt(b, p) === PLUS || byteAt(b, p) === MINUS) p++;
    p = skipDigits(b, p);
  }
  return p;
}

const TRUE = Uint8Array.from(codesOf('true'));
const FALSE = Uint8Array.from(codesOf('false'));
const NULL = Uint8Array.from(codesOf('null'));

function skipWord(b: Uint8Array, p: number, word: Uint8Array): number {
  for (let i = 0; i < word.length; i++) if (b[p + i] !== word[i]) return NOT_JSON;
  return p + word.length;
}

function skipScalar(b: Uint8Array, p: number): number {
  switch (byteAt(b, p)) {
    case QUOTE:
      return skipString(b, p + 1);
    case 0x74:
      return skipWord(b, p, TRUE);
    case 0x66:
      return skipWord(b, p, FALSE);
    case 0x6e:
      return skipWord(b, p, NULL);
    default:
      return skipNumber(b, p);
  }
}

/** Skips a key. `p` is at its opening quote; returns the index of its value's first byte. */
function skipKey(b: Uint8Array, p: number): number {
  if (byteAt(b, p) !== QUOTE) return NOT_JSON;
  p = skipString(b, p + 1);
  return p < 0 ? p : skipColon(b, p);
}

/** Skips from behind a key to the first byte of its value. */
export function skipColon(b: Uint8Array, p: number): number {
  p = skipSpace(b, p);
  return byteAt(b, p) === COLON ? skipSpace(b, p + 1) : NOT_JSON;
}

/**
 * Skips a value. `p` is at its first byte, inside `depth` open containers; returns the index after it. It loops with
 * its own stack, because with recursion a hostile peer would decide our stack's depth.
 */
export function skipValue(b: Uint8Array, p: number, depth: number, maxDepth: number): number {
  let level = depth;
  for (;;) {
    const c = byteAt(b, p);
    if (c === OPEN_OBJECT || c === OPEN_ARRAY) {
      if (level >= maxDepth) return TOO_DEEP;
      const closer = c + 2; // in ASCII, ] is [ + 2 and } is { + 2
      p = skipSpace(b, p + 1);
      if (byteAt(b, p) !== closer) {
        closers[level++] = closer;
        if (closer === CLOSE_OBJECT) p = skipKey(b, p);
        if (p < 0) return NOT_JSON;
        continue;
      }
      p++;
    } else {
      p = skipScalar(b, p);
      if (p < 0) return NOT_JSON;
    }
    // A value has ended: close the containers that end with it, then go to the next value.
    for (;;) {
      if (level === depth) return p;
      p = skipSpace(b, p);
      const after = byteAt(b, p++);
      const closer = byteAt(closers, level - 1);
      if (after === closer) {
        level--;
        continue;
      }
      if (after !== COMMA) return NOT_JSON;
      p = skipSpace(b, p);
      if (closer === CLOSE_OBJECT) p = skipKey(b, p);
      if (p < 0) return NOT_JSON;
      break;
    }
  }
}

export { BACKSLASH, CLOSE_ARRAY, CLOSE_OBJECT, COMMA, OPEN_ARRAY, OPEN_OBJECT, QUOTE };
