// Cuts members from objects of a frame and adds others, by splicing: the remaining members keep their bytes, order and
// spaces. The frame was scanned before, so it is valid JSON.
//
//   {"a":1, "x":2, "y":3}   without x and y   {"a":1}
//         |-------------|   one cut: a comma goes with the members behind it, or with the one before it

import {
  BACKSLASH,
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
import type { Span } from './json-members.ts';
import type { Splice } from './splice.ts';

/** The index of the last byte before `p` that is not a space. */
function lastBefore(b: Buffer, p: number): number {
  let c = byteAt(b, --p);
  while (c === 0x20 || c === 0x09 || c === 0x0d) c = byteAt(b, --p);
  return p;
}

/** The index of a member's key, found backwards from its value. The key has no escapes. */
function keyBefore(b: Buffer, value: number): number {
  let p = lastBefore(b, lastBefore(b, value)) - 1;
  while (byteAt(b, p) !== QUOTE) p--;
  return p;
}

/** Adjacent members. */
interface Run {
  readonly from: number;
  to: number;
}

/** The number of fields in an envelope. */
const MOST_RUNS = 64;

/**
 * The members to cut from one object, as runs of adjacent ones in frame order. One object serves the whole process, so
 * that cutting a request of 2026 allocates nothing.
 */
export class MemberRuns {
  readonly #from = new Int32Array(MOST_RUNS);
  readonly #to = new Int32Array(MOST_RUNS);
  #count = 0;

  clear(): this {
    this.#count = 0;
    return this;
  }

  /**
   * Adds a member by its value's position. Members may come in any order; at most as many as an envelope has fields.
   */
  add(b: Buffer, valueFrom: number, to: number): this {
    const from = keyBefore(b, valueFrom);
    const before = lastBefore(b, from);
    const follows = byteAt(b, before) === COMMA ? lastBefore(b, before) + 1 : -1;
    let i = this.#count;
    while (i > 0 && (this.#from[i - 1] as number) > from) i--;
    if (i > 0 && this.#to[i - 1] === follows) this.#to[--i] = to;
    else this.#insert(i, from, to);
    this.#joinNext(b, i);
    return this;
  }

  #insert(at: number, from: number, to: number): void {
    for (let i = this.#count++; i > at; i--) {
      this.#from[i] = this.#from[i - 1] as number;
      this.#to[i] = this.#to[i - 1] as number;
    }
    this.#from[at] = from;
    this.#to[at] = to;
  }

  /** Joins the run behind, if this one closed the gap. */
  #joinNext(b: Buffer, at: number): void {
    if (at + 1 === this.#count) return;
    const comma = skipSpace(b, this.#to[at] as number);
    if (byteAt(b, comma) !== COMMA || skipSpace(b, comma + 1) !== this.#from[at + 1]) return;
    this.#to[at] = this.#to[at + 1] as number;
    this.#count--;
    for (let i = at + 1; i < this.#count; i++) {
      this.#from[i] = this.#from[i + 1] as number;
      this.#to[i] = this.#to[i + 1] as number;
    }
  }

  /** True if the object has no other members. */
  areAll(b: Buffer): boolean {
    if (this.#count !== 1) return false;
    const from = this.#from[0] as number;
    const to = this.#to[0] as number;
    return byteAt(b, lastBefore(b, from)) === OPEN_OBJECT && byteAt(b, skipSpace(b, to)) === CLOSE_OBJECT;
  }

  cut(splice: Splice, b: Buffer): void {
    for (let i = 0; i < this.#count; i++) cutBetween(splice, b, this.#from[i] as number, this.#to[i] as number);
  }
}

const chosen = new MemberRuns();

function runsOf(b: Buffer, values: readonly Span[]): MemberRuns {
  chosen.clear();
  for (const { from, to } of values) chosen.add(b, from, to);
  return chosen;
}

/** True if the object has only members with these values. */
export function areAll(b: Buffer, values: readonly Span[]): boolean {
  return runsOf(b, values).areAll(b);
}

/** Cuts members from one object. `values` are the positions of their values. */
export function cutMembers(splice: Splice, b: Buffer, values: readonly Span[]): void {
  runsOf(b, values).cut(splice, b);
}

function cutBetween(splice: Splice, b: Buffer, from: number, to: number): void {
  const cut = withComma(b, from, to);
  splice.replace(cut.from, cut.to, '');
}

/** The bytes of the member whose value is at `value`, including one of its commas. */
export function wholeMember(b: Buffer, value: Span): Span {
  return withComma(b, keyBefore(b, value.from), value.to);
}

function withComma(b: Buffer, from: number, to: number): Span {
  const behind = skipSpace(b, to);
  if (byteAt(b, behind) === COMMA) return { from, to: skipSpace(b, behind + 1) };
  const before = lastBefore(b, from);
  return { from: byteAt(b, before) === COMMA ? before : from, to };
}

/** Adds members at the beginning of the object that opens at b[open]. `members` is JSON in latin1, without braces. */
export function addFirst(splice: Splice, b: Buffer, open: number, members: string): void {
  const isEmpty = byteAt(b, skipSpace(b, open + 1)) === CLOSE_OBJECT;
  splice.replace(open + 1, open + 1, isEmpty ? members : `${members},`);
}

/** Keys that others may write in any case, or with escapes. */
export class KeySet {
  readonly #keys: ReadonlySet<string>;
  readonly #lengths: ReadonlySet<number>;

  constructor(keys: readonly string[]) {
    this.#keys = new Set(keys.map((key) => key.toLowerCase()));
    this.#lengths = new Set(keys.map((key) => key.length));
  }

  /** True if some reader may take b[from, to), a string with its quotes, for one of the keys. */
  has(b: Buffer, from: number, to: number): boolean {
    for (let p = from + 1; p < to - 1; p++)
      if (byteAt(b, p) === BACKSLASH || byteAt(b, p) >= 0x80)
        return this.#keys.has((JSON.parse(b.toString('utf8', from, to)) as string).toLowerCase());
    return this.#lengths.has(to - from - 2) && this.#keys.has(b.latin1Slice(from + 1, to - 1).toLowerCase());
  }
}

/**
 * Adds members at the end of the object that opens at b[open], and cuts existing ones with these keys. `members` is
 * JSON in latin1 without braces, and may be empty.
 */
export function setMembers(splice: Splice, b: Buffer, open: number, keys: KeySet, members: string): void {
  const runs: Run[] = [];
  let run: Run | undefined;
  let isAnyKept = false;
  let p = skipSpace(b, open + 1);
  while (byteAt(b, p) === QUOTE) {
    const keyTo = skipString(b, p + 1);
    const to = skipValue(b, skipColon(b, keyTo), 1, DEEPEST);
    if (!keys.has(b, p, keyTo)) {
      run = undefined;
      isAnyKept = true;
    } else if (run === undefined) {
      run = { from: p, to };
      runs.push(run);
    } else run.to = to;
    p = skipSpace(b, to);
    if (byteAt(b, p) !== COMMA) break;
    p = skipSpace(b, p + 1);
  }
  for (const { from, to } of runs) cutBetween(splice, b, from, to);
  if (members !== '') splice.replace(p, p, isAnyKept ? `,${members}` : members);
}
