// Which of some names are most like one that does not exist, for messages that help.

const MOST = 3;
/** Below it two names have nothing to do with each other. */
const LEAST_LIKENESS = 0.35;
const LONGEST_WORD = 64;
const MOST_WRONG = 1 / 3;
const SHORTEST_START = 3;

export function nearest(wanted: string, names: Iterable<string>): string[] {
  const pairs = pairsOf(wanted);
  return [...names]
    .map((name) => ({ name, likeness: likenessOf(pairs, pairsOf(name)) }))
    .filter(({ likeness }) => likeness >= LEAST_LIKENESS)
    .sort((a, b) => b.likeness - a.likeness)
    .slice(0, MOST)
    .map(({ name }) => name);
}

/**
 * Those that somebody meant who has mistyped a word or begun it: less than a third of it is wrong. Of words as short as
 * verbs, what is less like it is another word.
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

/** Two letters each, as they follow each other. */
function pairsOf(name: string): Set<string> {
  const letters = `^${name.slice(0, 256).toLowerCase()}$`;
  return new Set(Array.from({ length: letters.length - 1 }, (_, i) => letters.slice(i, i + 2)));
}

/** Dice's coefficient. */
function likenessOf(a: ReadonlySet<string>, b: ReadonlySet<string>): number {
  const common = [...a].filter((pair) => b.has(pair)).length;
  return (2 * common) / (a.size + b.size);
}
