// The answer times of one server since the daemon started, as they are measured and reported.

export interface ServerLatency {
  readonly server: string;
  /** Answers by their time: one number for each bound that the report names, and one for longer times. */
  readonly buckets: readonly number[];
  readonly sumMs: number;
  /** The longest time of an answer. */
  readonly maxMs: number;
  /** The answers that were errors. */
  readonly errors: number;
  /** Requests without an answer: given up, or lost when the server ended. */
  readonly unanswered: number;
}

/** The number of answers. */
export function answersIn({ buckets }: ServerLatency): number {
  return buckets.reduce((sum, count) => sum + count, 0);
}
