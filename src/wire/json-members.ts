// Finds named members of an object in its bytes. For messages that are read once, such as the answer to a handshake;
// fields of every message are read by the envelope.

import {
  byteAt,
  CLOSE_OBJECT,
  COMMA,
  DEEPEST,
  OPEN_OBJECT,
  QUOTE,
  skipColon,
  skipSpace,
  skipString,
  skipValue,
} from './json-grammar.ts';

export interface Span {
  readonly from: number;
  readonly to: number;
}

export interface Members {
  /** The values' spans, by name. If a name occurs twice the last one counts, as in JSON.parse. */
  readonly spans: ReadonlyMap<string, Span>;
  /** The index of the closing brace. */
  readonly close: number;
  readonly isEmpty: boolean;
  /** True if one of the names occurs twice. */
  readonly isRepeated: boolean;
  /** The names of all other members. */
  readonly others: readonly string[];
}

/** Finds `names` in the object that opens at b[p]; undefined if it is no object. */
export function findMembers(b: Buffer, p: number, names: readonly string[]): Members | undefined {
  const spans = new Map<string, Span>();
  const others: string[] = [];
  const open = p;
  let isRepeated = false;
  if (byteAt(b, p) !== OPEN_OBJECT) return undefined;
  p = skipSpace(b, p + 1);
  while (byteAt(b, p) === QUOTE) {
    const keyEnd = skipString(b, p + 1);
    if (keyEnd < 0) return undefined;
    const key = keyAt(b, p, keyEnd);
    const from = skipColon(b, keyEnd);
    const to = from < 0 ? from : skipValue(b, from, 1, DEEPEST);
    if (to < 0) return undefined;
    if (names.includes(key)) {
      isRepeated ||= spans.has(key);
      spans.set(key, { from, to });
    } else others.push(key);
    p = skipSpace(b, to);
    if (byteAt(b, p) !== COMMA) break;
    p = skipSpace(b, p + 1);
  }
  if (byteAt(b, p) !== CLOSE_OBJECT) return undefined;
  return { spans, close: p, isEmpty: skipSpace(b, open + 1) === p, isRepeated, others };
}

const PLAIN = /^[ !#-[\]-~]*$/;

/** The key in b[from, to), which includes the quotes. Nearly all keys have no escapes. */
function keyAt(b: Buffer, from: number, to: number): string {
  const text = b.latin1Slice(from + 1, to - 1);
  return PLAIN.test(text) ? text : (JSON.parse(b.toString('utf8', from, to)) as string);
}
