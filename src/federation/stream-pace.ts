// The pace at which a home begins connections to one host. An owner refuses a host that begins too many in a second, so the home lets the
// first ones go at once and spreads the others. It holds nothing: it only says how long each one waits.

import type { Clock } from '../util/clock.ts';

/** So many begin at once. */
const AT_ONCE = 96;
/** Then one begins after so many milliseconds: 128 in a second, which with those at once stay under the 256 that an owner takes. */
const MS_FOR_EACH = 1000 / 128;
/** Hosts that are remembered before those that wait for nothing are forgotten. */
const MANY = 256;

export class StreamPace {
  readonly #clock: Clock;
  /** The time at which each host would have taken all that was begun, one after the other. */
  readonly #fullMs = new Map<string, number>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Counts one more connection to a host, and returns the time that it has to wait. */
  next(host: string): number {
    const nowMs = this.#clock.now();
    if (this.#fullMs.size >= MANY) this.#forgetOld(nowMs);
    const fullMs = Math.max(this.#fullMs.get(host) ?? 0, nowMs) + MS_FOR_EACH;
    this.#fullMs.set(host, fullMs);
    return Math.max(0, Math.ceil(fullMs - nowMs - AT_ONCE * MS_FOR_EACH));
  }

  #forgetOld(nowMs: number): void {
    for (const [host, fullMs] of this.#fullMs) if (fullMs <= nowMs) this.#fullMs.delete(host);
  }
}
