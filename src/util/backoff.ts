// How long to wait before something is tried again. Clients that have lost the same daemon come back spread over time:
// each delay is anywhere between nothing and a bound that doubles (full jitter).

export interface ReconnectSettings {
  readonly isEnabled: boolean;
  /** In a row, without success. */
  readonly maxAttempts: number;
  /** The bound of the first delay, and that of the longest. The first attempt of all waits for nothing. */
  readonly initialDelayMs: number;
  readonly maxDelayMs: number;
}

/** Some 30 s in all: as long as a daemon that ends in order may take, and as long as it keeps a session. */
export const DEFAULT_RECONNECT: ReconnectSettings = {
  isEnabled: true,
  maxAttempts: 20,
  initialDelayMs: 100,
  maxDelayMs: 5000,
};

/** The bounds of each setting. */
export const RECONNECT_BOUNDS = {
  maxAttempts: { least: 1, most: 10_000 },
  initialDelayMs: { least: 0, most: 3_600_000 },
  maxDelayMs: { least: 0, most: 3_600_000 },
} as const;

/** The delay behind the `failures`th failure in a row; `random` is from 0 to 1. */
export function fullJitter(
  { initialDelayMs, maxDelayMs }: Pick<ReconnectSettings, 'initialDelayMs' | 'maxDelayMs'>,
  failures: number,
  random: number,
): number {
  return random * Math.min(maxDelayMs, initialDelayMs * 2 ** Math.min(failures - 1, 31));
}

const MOST_ATTEMPTS = 10;
const PERIOD_MS = 10_000;

/** At most ten attempts in any ten seconds, whatever the dice say and however often what was reached is lost again. */
export class AttemptPace {
  #times: readonly number[] = [];

  /** How long an attempt that is wanted at `atMs` has to wait. */
  waitMs(atMs: number): number {
    const oldest = this.#times.at(-MOST_ATTEMPTS);
    return oldest === undefined ? 0 : Math.max(0, oldest + PERIOD_MS - atMs);
  }

  /** An attempt is made. */
  count(nowMs: number): void {
    this.#times = [...this.#times.slice(1 - MOST_ATTEMPTS), nowMs];
  }

  /** The connection ended in order: the attempts it took no longer count. */
  beginAnew(): void {
    this.#times = [];
  }
}
