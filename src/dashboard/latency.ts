// Quantiles of answer times that were counted in buckets. No browser in it.

interface Counted {
  readonly buckets: readonly number[];
  readonly maxMs: number;
}

export function answersOf({ buckets }: Counted): number {
  return buckets.reduce((sum, number) => sum + number, 0);
}

/** The time within which a share of answers came, as exactly as the buckets allow; null without answers. */
export function quantile(share: number, counted: Counted, boundsMs: readonly number[]): number | null {
  const total = answersOf(counted);
  if (total === 0) return null;
  let left = share * total;
  for (const [at, number] of counted.buckets.entries()) {
    if (left > number || number === 0) {
      left -= number;
      continue;
    }
    const from = at === 0 ? 0 : (boundsMs[at - 1] ?? 0);
    const to = Math.min(boundsMs[at] ?? counted.maxMs, counted.maxMs);
    return from + Math.max(0, to - from) * (left / number);
  }
  return counted.maxMs;
}
