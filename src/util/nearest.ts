// Which of some names are most like one that does not exist, for messages that help.

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
  const wantedPairs = new WantedPairs(wanted);
  const best: { readonly name: string; readonly likeness: number }[] = [];
  let compared = 0;
  for (const name of names) {
    if (++compared > MOST_COMPARED || !spend(Math.min(name.length, LONGEST_NAME) + 1)) break;
    const likeness = wantedPairs.likenessTo(name);
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

const LONGEST_NAME = 256;
const START = 94;
const END = 36;

/** The letters of a name, two each, as they follow each other; those of others are compared with them without a copy. */
class WantedPairs {
  /** Each pair, and the number of the name that last had it. */
  readonly #pairs = new Map<number, number>();
  /** Pairs of the name at hand that are not wanted. */
  readonly #others = new Set<number>();
  #number = 0;

  constructor(wanted: string) {
    for (const pair of pairsOf(wanted)) this.#pairs.set(pair, 0);
  }

  /** Dice's coefficient. */
  likenessTo(name: string): number {
    this.#number++;
    this.#others.clear();
    const size = this.#pairs.size;
    const length = Math.min(name.length, LONGEST_NAME) + 1;
    // Nothing of the shorter one may be missing, and it would still be too short.
    if (2 * length < LEAST_LIKENESS * (size + length)) return 0;
    let common = 0;
    for (const pair of pairsOf(name)) {
      const last = this.#pairs.get(pair);
      if (last === undefined) this.#others.add(pair);
      else if (last !== this.#number) {
        this.#pairs.set(pair, this.#number);
        common++;
      }
    }
    return (2 * common) / (size + common + this.#others.size);
  }
}

function* pairsOf(name: string): Iterable<number> {
  const letters = name.slice(0, LONGEST_NAME).toLowerCase();
  let last = START;
  for (let i = 0; i <= letters.length; i++) {
    const letter = i < letters.length ? letters.charCodeAt(i) : END;
    yield last * 65_536 + letter;
    last = letter;
  }
}
