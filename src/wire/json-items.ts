// Finds the elements of an array in its bytes, so that lists can be split and joined without decoding.

import { byteAt, CLOSE_ARRAY, COMMA, DEEPEST, OPEN_ARRAY, skipSpace, skipValue } from './json-grammar.ts';
import type { Span } from './json-members.ts';

/** The elements of the array that opens at b[p], or the first `most` of them; undefined if it is no array. */
export function findItems(b: Buffer, p: number, most: number = Number.POSITIVE_INFINITY): Span[] | undefined {
  if (byteAt(b, p) !== OPEN_ARRAY) return undefined;
  const items: Span[] = [];
  p = skipSpace(b, p + 1);
  if (byteAt(b, p) === CLOSE_ARRAY) return items;
  for (;;) {
    const to = skipValue(b, p, 0, DEEPEST);
    if (to < 0) return undefined;
    items.push({ from: p, to });
    if (items.length === most) return items;
    p = skipSpace(b, to);
    if (byteAt(b, p) === CLOSE_ARRAY) return items;
    if (byteAt(b, p) !== COMMA) return undefined;
    p = skipSpace(b, p + 1);
  }
}
