// Walks over values of JSON that was found to be valid before, for a bounded amount of work: whoever meets the bound has to
// do with what is known by then. Long strings cost next to nothing and are not counted by their bytes.

import { byteAt, CLOSE_OBJECT, COMMA, QUOTE, skipColon, skipSpace, skipString } from '../wire/json-grammar.ts';
import type { Span } from '../wire/json-members.ts';

const [OPEN_ARRAY, CLOSE_ARRAY, OPEN_OBJECT] = [0x5b, 0x5d, 0x7b];
/** A string costs as much as so many other bytes, and a name in an object that is looked through as much as so many more. */
const STRING_COST = 12;
const NAME_COST = 60;
/** No name that is looked for is longer, even if each of its letters is an escape. */
const LONGEST_SPELLING = 64;

/** The result of a walk that has met its bound. */
export const TOO_LONG = -1;

/** Some members of an object, and the place behind it. */
export interface WalkedMembers {
  readonly spans: ReadonlyMap<string, Span>;
  readonly to: number;
}

export class ValueWalk {
  readonly #b: Buffer;
  #left: number;

  /** `steps` is the number of bytes outside strings that it may look at. A newline stands behind the JSON in `b`. */
  constructor(b: Buffer, steps: number) {
    this.#b = b;
    this.#left = steps;
  }

  /** Returns the place behind the value at b[p], or TOO_LONG. */
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

  /** Looks for members of the object at b[p]; undefined if it is none, or too long. Of a name that is there twice the last one counts. */
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

/** True for what may stand behind a number or a word; also for what stands behind the JSON. */
function endsScalar(c: number): boolean {
  return c === COMMA || c === CLOSE_OBJECT || c === CLOSE_ARRAY || c <= 0x20;
}

/** The one of these names that b[from, to) spells. */
function nameIn(b: Buffer, from: number, to: number, names: readonly string[]): string | undefined {
  if (to - from > LONGEST_SPELLING) return undefined;
  const text = b.latin1Slice(from, to);
  const name = text.includes('\\') ? (JSON.parse(`"${b.toString('utf8', from, to)}"`) as string) : text;
  return names.includes(name) ? name : undefined;
}
