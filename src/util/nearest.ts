// Which of some names are most like one that does not exist, for messages that help.

import { LONGEST_NAME } from './longest-name.ts';

const MOST = 3;
/** Below it two names have nothing to do with each other. */
const LEAST_LIKENESS = 0.35;
const LONGEST_WORD = 64;
const MOST_WRONG = 1 / 3;
const SHORTEST_START = 3;

/** The number of names that are compared: a hint is worth a millisecond of everybody's time, and no more. */
export const MOST_COMPARED = 2000;

/** All hints of one turn of the event loop share this budget: a burst of wrong names is answered without hints. */
export const MOST_LETTERS_A_TURN = 150_000;
let lettersLeft = MOST_LETTERS_A_TURN;

/** Takes the cost of one name from the turn's budget; false when nothing is left. */
function spend(letters: number): boolean {
  if (lettersLeft === MOST_LETTERS_A_TURN) setImmediate(refill).unref();
  lettersLeft -= letters;
  return lettersLeft >= 0;
}

function refill(): void {
  lettersLeft = MOST_LETTERS_A_TURN;
}

/** The question of a message, for names from `nearest`; undefined without any. */
export function suggestion(near: readonly string[]): string | undefined {
  return near.length === 0 ? undefined : `Did you mean ${near.join(', ')}?`;
}

/** Put the likeliest names first where there may be many. */
export function nearest(wanted: string, names: Iterable<string>): string[] {
  if (!spend(Math.min(wanted.length, LONGEST_NAME) + 1)) return [];
  comparison.begin(wanted);
  const best: { readonly name: string; readonly likeness: number }[] = [];
  let compared = 0;
  for (const name of names) {
    if (++compared > MOST_COMPARED || !spend(Math.min(name.length, LONGEST_NAME) + 1)) break;
    const likeness = comparison.likenessTo(name);
    if (likeness < LEAST_LIKENESS || (best.length === MOST && likeness <= (best[MOST - 1]?.likeness ?? 0))) continue;
    const place = best.findIndex((other) => other.likeness < likeness);
    best.splice(place < 0 ? best.length : place, 0, { name, likeness });
    if (best.length > MOST) best.pop();
  }
  return best.map(({ name }) => name);
}

/**
 * The names that a person may have meant who mistyped a word or began it: less than a third of it is wrong. Of words as short as
 * commands, what is less like it is another word.
 */
export function mistyped(wanted: string, words: Iterable<string>): string[] {
  const letters = wanted.slice(0, LONGEST_WORD).toLowerCase();
  return [...words]
    .map((word) => ({ word, wrong: wrongLetters(letters, word) / Math.max(letters.length, word.length) }))
    .filter(({ word, wrong }) => wrong < MOST_WRONG || (letters.length >= SHORTEST_START && word.startsWith(letters)))
    .sort((a, b) => a.wrong - b.wrong)
    .slice(0, MOST)
    .map(({ word }) => word);
}

/** Letters to be put in, left out, or changed, and neighbours to be exchanged, until one is the other. */
function wrongLetters(a: string, b: string): number {
  const rows = [Array.from({ length: b.length + 1 }, (_, j) => j)];
  const at = (i: number, j: number): number => rows[i]?.[j] ?? 0;
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    rows.push(row);
    for (let j = 1; j <= b.length; j++) {
      const changed = at(i - 1, j - 1) + (a[i - 1] === b[j - 1] ? 0 : 1);
      const isExchanged = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      row.push(Math.min(at(i - 1, j) + 1, at(i, j - 1) + 1, changed, isExchanged ? at(i - 2, j - 2) + 1 : changed));
    }
  }
  return at(a.length, b.length);
}

const START = 94;
const END = 36;
/** A power of two. The longest name has 513 pairs, if lower case makes two letters of each. */
const SLOTS = 1024;

/**
 * Compares names by the pairs of letters that follow each other in them. Twenty thousand names have a million pairs, so the tables
 * are kept and nothing is made for a name: a slot is empty when its number is older than what is compared now.
 */
class PairComparison {
  readonly #wanted = new Int32Array(SLOTS);
  /** The number of the name that last had the pair of that slot. */
  readonly #wantedBy = new Float64Array(SLOTS);
  /** Pairs of the name at hand that are not wanted. */
  readonly #others = new Int32Array(SLOTS);
  readonly #othersBy = new Float64Array(SLOTS);
  /** The names so far, and the number of the wanted one. */
  #number = 0;
  #wantedNumber = 0;
  #size = 0;

  /** From now on, names are compared with this one. */
  begin(wanted: string): void {
    this.#wantedNumber = ++this.#number;
    this.#size = 0;
    const letters = lettersOf(wanted);
    for (let i = 0; i <= letters.length; i++) {
      const pair = pairAt(letters, i);
      const slot = slotOf(pair, this.#wanted, this.#wantedBy, this.#wantedNumber);
      if (this.#wantedBy[slot] === this.#wantedNumber) continue;
      this.#wanted[slot] = pair;
      this.#wantedBy[slot] = this.#wantedNumber;
      this.#size++;
    }
  }

  /** Dice's coefficient. */
  likenessTo(name: string): number {
    const number = ++this.#number;
    const length = Math.min(name.length, LONGEST_NAME) + 1;
    // Nothing of the shorter one may be missing, and it would still be too short.
    if (2 * length < LEAST_LIKENESS * (this.#size + length)) return 0;
    const letters = lettersOf(name);
    let common = 0;
    let others = 0;
    for (let i = 0; i <= letters.length; i++) {
      const pair = pairAt(letters, i);
      const slot = slotOf(pair, this.#wanted, this.#wantedBy, this.#wantedNumber);
      const last = this.#wantedBy[slot] ?? 0;
      if (last >= this.#wantedNumber) {
        if (last !== number) common++;
        this.#wantedBy[slot] = number;
        continue;
      }
      const other = slotOf(pair, this.#others, this.#othersBy, number);
      if (this.#othersBy[other] === number) continue;
      this.#others[other] = pair;
      this.#othersBy[other] = number;
      others++;
    }
    return (2 * common) / (this.#size + common + others);
  }
}

const comparison = new PairComparison();

const lettersOf = (name: string): string => name.slice(0, LONGEST_NAME).toLowerCase();

/** The pair that ends with this letter, or with the end of the name. Its number has 32 bits, with a sign. */
function pairAt(letters: string, i: number): number {
  const first = i === 0 ? START : letters.charCodeAt(i - 1);
  return (first << 16) | (i < letters.length ? letters.charCodeAt(i) : END);
}

/** Finds the slot that has the pair, or an empty one for it. */
function slotOf(pair: number, pairs: Int32Array, by: Float64Array, since: number): number {
  let slot = (Math.imul(pair, 0x9e3779b1) >>> 22) & (SLOTS - 1);
  while ((by[slot] ?? 0) >= since && pairs[slot] !== pair) slot = (slot + 1) & (SLOTS - 1);
  return slot;
}
