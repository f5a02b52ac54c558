// The destinations of traces and metrics as data: `mcp-bridge status --json` prints it unchanged. It never contains a
// secret.

export interface TelemetryReport {
  /** Null for signals that are not sent. */
  readonly traces: SignalReport | null;
  readonly metrics: SignalReport | null;
  readonly sampling: SamplingReport;
  /** One sentence per unusable setting. */
  readonly faults: readonly string[];
}

export interface SignalReport {
  /** A URL without user, password, query and fragment; path segments that look like keys are hidden. */
  readonly url: string;
  /** The reason why the last batch did not arrive; null if it did, or if none was sent yet. */
  readonly failure: string | null;
}

export interface SamplingReport {
  /** The share of traces that are sent, from 0 to 1. */
  readonly share: number;
  /** True if the share applies only to traces that the client has not decided. */
  readonly followsClients: boolean;
}
