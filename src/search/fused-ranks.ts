// Fuses two orders of the same things by reciprocal rank: their scores cannot be compared, their ranks can.

/** The larger this is, the less the very first place counts. */
const CUSHION = 10;

/** The keys of both orders, the best first. Between equals, the first order decides. */
export function fusedRanks(orders: readonly (readonly string[])[]): string[] {
  const scores = new Map<string, number>();
  for (const order of orders)
    for (const [i, key] of order.entries()) scores.set(key, (scores.get(key) ?? 0) + 1 / (CUSHION + i + 1));
  return [...scores].sort(([, a], [, b]) => b - a).map(([key]) => key);
}
