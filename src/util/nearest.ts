// Which of some names are most like one that does not exist, for messages that help.

const MOST = 3;
/** Below it two names have nothing to do with each other. */
const LEAST_LIKENESS = 0.35;

export function nearest(wanted: string, names: Iterable<string>): string[] {
  const pairs = pairsOf(wanted);
  return [...names]
    .map((name) => ({ name, likeness: likenessOf(pairs, pairsOf(name)) }))
    .filter(({ likeness }) => likeness >= LEAST_LIKENESS)
    .sort((a, b) => b.likeness - a.likeness)
    .slice(0, MOST)
    .map(({ name }) => name);
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
