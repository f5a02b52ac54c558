// Fuses two orders of the same things by reciprocal rank: their scores mean different things, their places do not.

/** The larger, the less it matters to be the very first. */
const CUSHION = 10;

/** The keys of both orders, the best first. Of two that are as good, the one that stands first in the first order. */
export function fusedRanks(orders: readonly (readonly string[])[]): string[] {
  const scores = new Map<string, number>();
  for (const order of orders)
    for (const [i, key] of order.entries()) scores.set(key, (scores.get(key) ?? 0) + 1 / (CUSHION + i + 1));
  return [...scores].sort(([, a], [, b]) => b - a).map(([key]) => key);
}
