// Cuts members out of the objects of a frame, and adds others, by splicing: the members that stay keep their bytes, their order
// and their spaces. The frame was scanned before, so it is JSON.
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

/** The index of the last byte before `p` that is no space. */
function lastBefore(b: Buffer, p: number): number {
  let c = byteAt(b, --p);
  while (c === 0x20 || c === 0x09 || c === 0x0d) c = byteAt(b, --p);
  return p;
}

/** The place of a member's key, from the place of its value. The key has no escapes. */
function keyBefore(b: Buffer, value: number): number {
  let p = lastBefore(b, lastBefore(b, value)) - 1;
  while (byteAt(b, p) !== QUOTE) p--;
  return p;
}

/** Members that stand side by side. */
interface Run {
  readonly from: number;
  to: number;
}

/** The runs of the members that have these values, in the order of the frame. */
function runsOf(b: Buffer, values: readonly Span[]): Run[] {
  const runs: Run[] = [];
  for (const { from, to } of [...values].sort((one, other) => one.from - other.from)) {
    const key = keyBefore(b, from);
    const before = lastBefore(b, key);
    const last = runs.at(-1);
    if (last !== undefined && byteAt(b, before) === COMMA && lastBefore(b, before) < last.to) last.to = to;
    else runs.push({ from: key, to });
  }
  return runs;
}

/** True if the object has no other members than those with these values. */
export function areAll(b: Buffer, values: readonly Span[]): boolean {
  const [run, ...others] = runsOf(b, values);
  if (run === undefined || others.length > 0) return false;
  return byteAt(b, lastBefore(b, run.from)) === OPEN_OBJECT && byteAt(b, skipSpace(b, run.to)) === CLOSE_OBJECT;
}

/** Cuts members out of one object. `values` are the places of their values; their keys have no escapes. */
export function cutMembers(splice: Splice, b: Buffer, values: readonly Span[]): void {
  for (const run of runsOf(b, values)) cutRun(splice, b, run);
}

function cutRun(splice: Splice, b: Buffer, { from, to }: Run): void {
  const behind = skipSpace(b, to);
  const before = lastBefore(b, from);
  if (byteAt(b, behind) === COMMA) splice.replace(from, skipSpace(b, behind + 1), '');
  else splice.replace(byteAt(b, before) === COMMA ? before : from, to, '');
}

/** Keys that somebody may have written in any case, or with escapes. */
export class KeySet {
  readonly #keys: ReadonlySet<string>;
  readonly #lengths: ReadonlySet<number>;

  constructor(keys: readonly string[]) {
    this.#keys = new Set(keys.map((key) => key.toLowerCase()));
    this.#lengths = new Set(keys.map((key) => key.length));
  }

  /** True if b[from, to), a string with its quotes, is one of the keys to some reader. */
  has(b: Buffer, from: number, to: number): boolean {
    for (let p = from + 1; p < to - 1; p++)
      if (byteAt(b, p) === BACKSLASH || byteAt(b, p) >= 0x80)
        return this.#keys.has((JSON.parse(b.toString('utf8', from, to)) as string).toLowerCase());
    return this.#lengths.has(to - from - 2) && this.#keys.has(b.latin1Slice(from + 1, to - 1).toLowerCase());
  }
}

/**
 * Adds members to the object that opens at b[open], behind all others, and cuts those that have these keys. `members` is JSON without
 * braces, each character one byte; it may be empty.
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
  for (const found of runs) cutRun(splice, b, found);
  if (members !== '') splice.replace(p, p, isAnyKept ? `,${members}` : members);
}
