// Positions where the bytes of a JSON string may be cut, without splitting an escape, a character or a surrogate pair.
// It decodes only what it returns, and examines as little as possible.

import { BACKSLASH, byteAt } from '../wire/json-grammar.ts';

const LETTER_U = 0x75;
const ESCAPE = 6;
/** A line ends after these two bytes, unless the first is an escaped backslash. */
const LINE_END = Buffer.from('\\n');
const GAPS: ReadonlySet<number> = new Set([0x20, 0x2c]);
/** A line end is looked for in this last fraction of what fits, so that not too much is lost. */
const LINE_PART = 0.5;
const GAP_BYTES = 256;

/** The last position up to `at` where the JSON text from b[from] may be cut. `from` is such a position. */
export function boundaryIn(b: Buffer, from: number, at: number): number {
  let p = characterIn(b, from, at);
  const begin = escapeAround(b, from, p);
  if (begin !== undefined) p = begin;
  return isLowSurrogate(b, p) && isHighSurrogate(b, from, p - ESCAPE) ? p - ESCAPE : p;
}

/**
 * The best position up to `at` to cut the text: after a line, else after a word or a JSON item, else anywhere allowed.
 */
export function lineEndIn(b: Buffer, from: number, at: number): number {
  const last = boundaryIn(b, from, at);
  const least = Math.max(from, Math.floor(last - (last - from) * LINE_PART));
  const near = b.subarray(least, last);
  for (let n = near.lastIndexOf(LINE_END); n >= 0; n = n === 0 ? -1 : near.lastIndexOf(LINE_END, n - 1))
    if (isEscape(b, from, least + n)) return least + n + LINE_END.length;
  for (let p = last; p > Math.max(least, last - GAP_BYTES); p--)
    if (GAPS.has(byteAt(b, p - 1))) return boundaryIn(b, from, p);
  return last;
}

/** The position of a UTF-16 unit in the JSON text from b[from], where it may be cut. */
export function placeOfUnit(b: Buffer, from: number, units: number): number {
  let p = from;
  for (let left = units; left > 0; left--) {
    const c = byteAt(b, p);
    if (c === BACKSLASH) p += byteAt(b, p + 1) === LETTER_U ? ESCAPE : 2;
    else if (c < 0x80) p++;
    else if (c < 0xe0) p += 2;
    else if (c < 0xf0) p += 3;
    else {
      p += 4;
      left--;
    }
  }
  return p;
}

/** Decodes the bytes of a JSON string between two allowed positions. */
export function decodedText(b: Buffer, from: number, to: number): string {
  return JSON.parse(`"${b.toString('utf8', from, to)}"`) as string;
}

/** The last position up to `at` that is not inside a UTF-8 character. */
export function characterIn(b: Buffer, from: number, at: number): number {
  let p = Math.max(from, at);
  while (p > from && isContinuation(byteAt(b, p))) p--;
  return p;
}

const isContinuation = (byte: number): boolean => (byte & 0xc0) === 0x80;

/** The beginning of the escape that contains `p`; undefined if none does. */
function escapeAround(b: Buffer, from: number, p: number): number | undefined {
  for (let q = p - 1; q >= Math.max(from, p - ESCAPE + 1); q--) {
    if (byteAt(b, q) !== BACKSLASH) continue;
    if (!isEscape(b, from, q)) return undefined; // the second of two backslashes, so no escape is open after it
    const length = byteAt(b, q + 1) === LETTER_U ? ESCAPE : 2;
    return p < q + length ? q : undefined;
  }
  return undefined;
}

/** True if the backslash at `p` begins an escape, and is not the second half of one. */
function isEscape(b: Buffer, from: number, p: number): boolean {
  let before = p;
  while (before > from && byteAt(b, before - 1) === BACKSLASH) before--;
  return (p - before) % 2 === 0;
}

function isHighSurrogate(b: Buffer, from: number, p: number): boolean {
  return p >= from && /^\\u[dD][89abAB]/.test(b.toString('latin1', p, p + 4)) && isEscape(b, from, p);
}

function isLowSurrogate(b: Buffer, p: number): boolean {
  return /^\\u[dD][c-fC-F]/.test(b.toString('latin1', p, p + 4));
}
