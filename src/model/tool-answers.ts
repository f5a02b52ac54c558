// The totals of one tool's answers, for status, metrics and the dashboard.

export interface ToolAnswers {
  readonly server: string;
  /** '' for tools that are no longer counted separately. */
  readonly tool: string;
  /** Answers with a result. */
  readonly answers: number;
  /** The bytes from the server in total, and in the longest answer. */
  readonly bytes: number;
  readonly largestBytes: number;
  /** The bytes that were passed on to clients. */
  readonly passedBytes: number;
  /** An estimate of their tokens: a quarter of the bytes; none for an answer that begins with an image or a sound. */
  readonly tokens: number;
  /** The number of answers that were cut. */
  readonly cut: number;
}
