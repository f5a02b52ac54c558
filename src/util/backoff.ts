// The delay before another attempt. Clients that have lost the same daemon return spread over time: each delay is
// random between zero and a limit that doubles (full jitter).

export interface ReconnectSettings {
  readonly isEnabled: boolean;
  /** The number of failures in a row. */
  readonly maxAttempts: number;
  /** The limit of the first delay, and the largest limit. The very first attempt has no delay. */
  readonly initialDelayMs: number;
  readonly maxDelayMs: number;
}

/** About 30 s in all: an orderly end of a daemon takes at most that long, and a daemon keeps a session that long. */
export const DEFAULT_RECONNECT: ReconnectSettings = {
  isEnabled: true,
  maxAttempts: 20,
  initialDelayMs: 100,
  maxDelayMs: 5000,
};

/** The allowed range of each setting. */
export const RECONNECT_BOUNDS = {
  maxAttempts: { least: 1, most: 10_000 },
  initialDelayMs: { least: 0, most: 3_600_000 },
  maxDelayMs: { least: 0, most: 3_600_000 },
} as const;

/** The delay after the `failures`th failure in a row; `random` is from 0 to 1. */
export function fullJitter(
  { initialDelayMs, maxDelayMs }: Pick<ReconnectSettings, 'initialDelayMs' | 'maxDelayMs'>,
  failures: number,
  random: number,
): number {
  return random * Math.min(maxDelayMs, initialDelayMs * 2 ** Math.min(failures - 1, 31));
}

const MOST_ATTEMPTS = 10;
const PERIOD_MS = 10_000;

/**
 * Allows at most ten attempts in any ten seconds, whatever the random delays are and however often the connection is
 * lost again.
 */
export class AttemptPace {
  #times: readonly number[] = [];

  /** The time that an attempt at `atMs` must wait. */
  waitMs(atMs: number): number {
    const oldest = this.#times.at(-MOST_ATTEMPTS);
    return oldest === undefined ? 0 : Math.max(0, oldest + PERIOD_MS - atMs);
  }

  /** Counts an attempt. */
  count(nowMs: number): void {
    this.#times = [...this.#times.slice(1 - MOST_ATTEMPTS), nowMs];
  }

  /** Called when the connection ended in order: earlier attempts no longer count. */
  beginAnew(): void {
    this.#times = [];
  }
}
