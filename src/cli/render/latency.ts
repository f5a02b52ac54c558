// The time that a server takes, by its buckets: the time within which a share of its answers came.

import type { ServerLatency } from '../../model/server-latency.ts';

/** The answers since an earlier report of the same daemon. */
export function since(before: ServerLatency | undefined, now: ServerLatency): ServerLatency {
  if (before === undefined) return now;
  return {
    ...now,
    buckets: now.buckets.map((count, i) => count - (before.buckets[i] ?? 0)),
    sumMs: now.sumMs - before.sumMs,
    errors: now.errors - before.errors,
    unanswered: now.unanswered - before.unanswered,
  };
}

/**
 * Between the bounds of a bucket its answers are taken to lie evenly, up to the longest that there was; undefined where
 * there are none.
 */
export function quantile(share: number, latency: ServerLatency, boundsMs: readonly number[]): number | undefined {
  const { buckets } = latency;
  const wanted = share * buckets.reduce((sum, count) => sum + count, 0);
  if (wanted === 0) return undefined;
  let below = 0;
  for (const [i, count] of buckets.entries()) {
    if (below + count >= wanted && count > 0) {
      const from = boundsMs[i - 1] ?? 0;
      const to = Math.max(from, Math.min(boundsMs[i] ?? Number.POSITIVE_INFINITY, longestMs(latency, boundsMs)));
      return from + (to - from) * ((wanted - below) / count);
    }
    below += count;
  }
  return undefined;
}

/** A daemon of an earlier build does not say: nothing is known then of what is longer than all bounds. */
function longestMs({ maxMs }: { readonly maxMs?: number }, boundsMs: readonly number[]): number {
  return maxMs ?? boundsMs.at(-1) ?? 0;
}

/** With as many digits as it is worth. */
export function shownMs(ms: number | undefined): string {
  if (ms === undefined) return '-';
  if (ms >= 10_000) return `${Math.round(ms / 1000)} s`;
  return ms >= 10 ? `${Math.round(ms)} ms` : `${ms.toFixed(ms >= 1 ? 1 : 2)} ms`;
}
