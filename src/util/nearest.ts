// Finds the existing names that resemble a missing one, for helpful messages.

import { LONGEST_NAME } from './longest-name.ts';

const MOST = 3;
/** Below this, two names have nothing in common. */
const LEAST_LIKENESS = 0.35;
const LONGEST_WORD = 64;
const MOST_WRONG = 1 / 3;
const SHORTEST_START = 3;

/** The maximum number of compared names: a hint is worth a millisecond of everybody's time, and no more. */
export const MOST_COMPARED = 2000;

/** The budget that all hints of one turn of the event loop share: a burst of wrong names is answered without hints. */
export const MOST_LETTERS_A_TURN = 150_000;
let lettersLeft = MOST_LETTERS_A_TURN;

/** Takes the cost of one name from the turn's budget; false if nothing is left. */
function spend(letters: number): boolean {
  if (lettersLeft === MOST_LETTERS_A_TURN) setImmediate(refill).unref();
  lettersLeft -= letters;
  return lettersLeft >= 0;
}

function refill(): void {
  lettersLeft = MOST_LETTERS_A_TURN;
}

/** Makes a question for a message from the result of `nearest`; undefined without names. */
export function suggestion(near: readonly string[]): string | undefined {
  return near.length === 0 ? undefined : `Did you mean ${near.join(', ')}?`;
}

/** Finds the names that resemble `wanted`. If there may be many, pass the likeliest first. */
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
 * The names that a person may have meant who began a word or mistyped it: less than a third of the letters are wrong.
 * Commands are short words, so a less similar one is a different word.
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

/** Counts the edits that turn one word into the other: insert, remove or change a letter, or swap two neighbours. */
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
/** A power of two. The longest name has 513 pairs, if lower case turns each letter into two. */
const SLOTS = 1024;

/**
 * Compares names by their pairs of neighbouring letters. Twenty thousand names have a million pairs, so the tables are
 * reused and no name allocates anything. A slot with an older number than the current comparison is empty.
 */
class PairComparison {
  readonly #wanted = new Int32Array(SLOTS);
  /** The number of the last name that had the pair of each slot. */
  readonly #wantedBy = new Float64Array(SLOTS);
  /** The pairs of the current name that the wanted name does not have. */
  readonly #others = new Int32Array(SLOTS);
  readonly #othersBy = new Float64Array(SLOTS);
  /** The number of names so far; `#wantedNumber` is the wanted name's own. */
  #number = 0;
  #wantedNumber = 0;
  #size = 0;

  /** Sets the name that others are compared with. */
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

  /** The likeness, as Dice's coefficient. */
  likenessTo(name: string): number {
    const number = ++this.#number;
    const length = Math.min(name.length, LONGEST_NAME) + 1;
    // Even if all pairs of this name were wanted, it would be too short.
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

/** The pair that ends with this letter, or with the end of the name, as a signed 32-bit number. */
function pairAt(letters: string, i: number): number {
  const first = i === 0 ? START : letters.charCodeAt(i - 1);
  return (first << 16) | (i < letters.length ? letters.charCodeAt(i) : END);
}

/** Finds the slot of the pair, or an empty one for it. */
function slotOf(pair: number, pairs: Int32Array, by: Float64Array, since: number): number {
  let slot = (Math.imul(pair, 0x9e3779b1) >>> 22) & (SLOTS - 1);
  while ((by[slot] ?? 0) >= since && pairs[slot] !== pair) slot = (slot + 1) & (SLOTS - 1);
  return slot;
}
