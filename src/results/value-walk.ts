// Walks over valid JSON with a limit on the work: at the limit, the caller uses what is known so far. Long strings cost
// next to nothing, so their bytes are not counted.

import { byteAt, CLOSE_OBJECT, COMMA, QUOTE, skipColon, skipSpace, skipString } from '../wire/json-grammar.ts';
import type { Span } from '../wire/json-members.ts';

const [OPEN_ARRAY, CLOSE_ARRAY, OPEN_OBJECT] = [0x5b, 0x5d, 0x7b];
/** The cost of a string in bytes. A name in a searched object costs this once more. */
const STRING_COST = 12;
const NAME_COST = 60;
/** The longest searched name, even if each letter is escaped. */
const LONGEST_SPELLING = 64;

/** The result of a walk that has hit its limit. */
export const TOO_LONG = -1;

/** Some members of an object, and the position after it. */
export interface WalkedMembers {
  readonly spans: ReadonlyMap<string, Span>;
  readonly to: number;
}

export class ValueWalk {
  readonly #b: Buffer;
  #left: number;

  /** `steps` is the number of bytes outside strings that may be examined. A newline follows the JSON in `b`. */
  constructor(b: Buffer, steps: number) {
    this.#b = b;
    this.#left = steps;
  }

  /** The position after the value at b[p], or TOO_LONG. */
  skip(p: number): number {
    const b = this.#b;
    let left = this.#left;
    let depth = 0;
    do {
      const c = byteAt(b, p++);
      if (c === QUOTE) {
        p = skipString(b, p);
        left -= STRING_COST;
      } else if (c === OPEN_OBJECT || c === OPEN_ARRAY) depth++;
      else if (c === CLOSE_OBJECT || c === CLOSE_ARRAY) depth--;
      else if (depth === 0) while (!endsScalar(byteAt(b, p))) p++;
      left--;
    } while (depth > 0 && left > 0);
    this.#left = left;
    return left > 0 ? p : TOO_LONG;
  }

  /**
   * Finds members of the object at b[p]; undefined if it is none, or too long. If a name occurs twice the last one
   * counts.
   */
  members(p: number, names: readonly string[]): WalkedMembers | undefined {
    const b = this.#b;
    if (byteAt(b, p) !== OPEN_OBJECT) return undefined;
    const spans = new Map<string, Span>();
    p = skipSpace(b, p + 1);
    while (byteAt(b, p) === QUOTE) {
      const keyFrom = p + 1;
      p = skipString(b, keyFrom);
      this.#left -= STRING_COST + NAME_COST;
      const name = nameIn(b, keyFrom, p - 1, names);
      const from = skipColon(b, p);
      p = this.skip(from);
      if (p === TOO_LONG) return undefined;
      if (name !== undefined) spans.set(name, { from, to: p });
      p = skipSpace(b, p);
      if (byteAt(b, p) === COMMA) p = skipSpace(b, p + 1);
    }
    return { spans, to: p + 1 };
  }
}

/** True for characters that may follow a number or a word, including the end of the JSON. */
function endsScalar(c: number): boolean {
  return c === COMMA || c === CLOSE_OBJECT || c === CLOSE_ARRAY || c <= 0x20;
}

/** The name among these that b[from, to) spells. */
function nameIn(b: Buffer, from: number, to: number, names: readonly string[]): string | undefined {
  if (to - from > LONGEST_SPELLING) return undefined;
  const text = b.latin1Slice(from, to);
  const name = text.includes('\\') ? (JSON.parse(`"${b.toString('utf8', from, to)}"`) as string) : text;
  return names.includes(name) ? name : undefined;
}
