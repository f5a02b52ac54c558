// What the answers of one tool came to, as status, metrics and the dashboard show it.

export interface ToolAnswers {
  readonly server: string;
  /** '' for tools that are not told apart any more. */
  readonly tool: string;
  /** Answers with a result. */
  readonly answers: number;
  /** The bytes that the server gave, and the most in one answer. */
  readonly bytes: number;
  readonly largestBytes: number;
  /** The bytes that went on to clients. */
  readonly passedBytes: number;
  /** An estimate of the tokens in these: a quarter of the bytes; none for an answer that begins with an image or a sound. */
  readonly tokens: number;
  /** Answers of which something was cut. */
  readonly cut: number;
}
