// The latency of a server from its buckets: the time within which a given share of answers came.

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
 * Estimates a quantile. Answers are assumed to be spread evenly within a bucket, up to the longest one; undefined if
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

/** The longest time. An older daemon does not report it, so nothing is known above the last bound. */
function longestMs({ maxMs }: { readonly maxMs?: number }, boundsMs: readonly number[]): number {
  return maxMs ?? boundsMs.at(-1) ?? 0;
}

/** A time with a sensible number of digits. */
export function shownMs(ms: number | undefined): string {
  if (ms === undefined) return '-';
  if (ms >= 10_000) return `${Math.round(ms / 1000)} s`;
  return ms >= 10 ? `${Math.round(ms)} ms` : `${ms.toFixed(ms >= 1 ? 1 : 2)} ms`;
}
