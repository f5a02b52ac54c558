// The answer times of one server since the daemon started, as they are measured and reported.

export interface ServerLatency {
  readonly server: string;
  /** The number of answers per bucket: one for each bound in the report, and one for longer times. */
  readonly buckets: readonly number[];
  readonly sumMs: number;
  /** The longest answer time. */
  readonly maxMs: number;
  /** The number of error answers. */
  readonly errors: number;
  /** Requests without an answer: given up, or lost with the server. */
  readonly unanswered: number;
}

/** The number of answers. */
export function answersIn({ buckets }: ServerLatency): number {
  return buckets.reduce((sum, count) => sum + count, 0);
}
