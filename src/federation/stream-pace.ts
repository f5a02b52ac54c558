// The pace at which a home begins connections to one host. An owner refuses a host that begins too many in a second. So
// the home lets the first ones go at once and spreads the others. This file holds nothing back: it only says how long
// each one waits.

import type { Clock } from '../util/clock.ts';

/** The number of connections that may begin at once. */
const AT_ONCE = 96;
/**
 * After those, one begins every so many milliseconds: 128 per second. Together with the first ones they stay under the
 * 256 that an owner takes.
 */
const MS_FOR_EACH = 1000 / 128;
/** Above this number of hosts, those without a wait are forgotten. */
const MANY = 256;

export class StreamPace {
  readonly #clock: Clock;
  /** The time at which each host would have taken all begun connections, one after the other. */
  readonly #fullMs = new Map<string, number>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Counts one more connection to a host; returns how long it has to wait. */
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
