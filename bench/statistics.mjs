// What is made of repeated measurements: medians and quantiles, never means, as one disturbed round must not count.
// Pure functions.

export function quantile(values, q) {
  const sorted = Float64Array.from(values).sort();
  if (sorted.length === 0) return Number.NaN;
  return sorted[Math.min(sorted.length - 1, Math.floor(q * sorted.length))];
}

export function median(values) {
  const sorted = Float64Array.from(values).sort();
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

/** The median of the ratios of each round: what slowed a whole round down falls out. */
export function medianRatio(above, below) {
  return median(above.map((value, round) => value / below[round]));
}

/** A copy in random order, so that no subject always comes after the same one. */
export function shuffled(items) {
  const copy = [...items];
  for (let i = copy.length - 1; i > 0; i--) {
    const j = Math.floor(Math.random() * (i + 1));
    [copy[i], copy[j]] = [copy[j], copy[i]];
  }
  return copy;
}
