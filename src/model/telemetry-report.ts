// Where a daemon sends traces and metrics, as data: `mcp-bridge status --json` prints it as it is. It never holds a secret.

export interface TelemetryReport {
  /** Null for what is not sent. */
  readonly traces: SignalReport | null;
  readonly metrics: SignalReport | null;
  readonly sampling: SamplingReport;
  /** One sentence for each setting that could not be used. */
  readonly faults: readonly string[];
}

export interface SignalReport {
  /** A URL without user, password, query and fragment; what looks like a key in its path is hidden. */
  readonly url: string;
  /** The reason why the last batch did not arrive; null if it did, or if none was sent yet. */
  readonly failure: string | null;
}

export interface SamplingReport {
  /** The share of traces that are sent, from 0 to 1. */
  readonly share: number;
  /** True if the share counts only where the client has not decided. */
  readonly followsClients: boolean;
}
