// The answer times of servers, counted in fixed buckets. A call costs two readings of the clock and allocates nothing.
// Time spent waiting here for a turn is not the server's, and is not counted.

import type { ServerLatency } from '../model/server-latency.ts';
import type { Clock } from '../util/clock.ts';
import type { Events } from './events.ts';

/** The upper bounds of the buckets, inclusive. One more bucket has all longer times. */
export const LATENCY_BOUNDS_MS: readonly number[] = [
  0.25, 0.5, 1, 2.5, 5, 10, 25, 50, 100, 250, 500, 1000, 2500, 5000, 10_000, 30_000, 60_000, 300_000,
];

/** A moment is a small integer, which needs no allocation; it wraps around after almost six hours. */
const TICKS_PER_MS = 100;
const LAST = LATENCY_BOUNDS_MS.length;
const boundsInTicks = Float64Array.from(LATENCY_BOUNDS_MS, (bound) => bound * TICKS_PER_MS);

export class CallMeter {
  readonly #clock: Clock;
  readonly #counts = new Float64Array(LAST + 1);
  readonly #sumTicks = new Float64Array(1);
  #maxTicks = 0;
  #errors = 0;
  #unanswered = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** The current moment, in ticks. */
  now(): number {
    return (this.#clock.now() * TICKS_PER_MS) | 0;
  }

  /** Counts an answer to a request that was sent at this moment. */
  answered(sentTicks: number, hasResult: boolean): void {
    const ticks = Math.max(0, (this.now() - sentTicks) | 0);
    let bucket = 0;
    while (bucket < LAST && ticks > (boundsInTicks[bucket] ?? 0)) bucket++;
    this.#counts[bucket] = (this.#counts[bucket] ?? 0) + 1;
    this.#sumTicks[0] = (this.#sumTicks[0] ?? 0) + ticks;
    if (ticks > this.#maxTicks) this.#maxTicks = ticks;
    if (!hasResult) this.#errors++;
  }

  /** Counts a request without an answer: it was given up, or the server died. */
  unanswered(): void {
    this.#unanswered++;
  }

  report(server: string): ServerLatency {
    return {
      server,
      buckets: [...this.#counts],
      sumMs: (this.#sumTicks[0] ?? 0) / TICKS_PER_MS,
      maxMs: this.#maxTicks / TICKS_PER_MS,
      errors: this.#errors,
      unanswered: this.#unanswered,
    };
  }
}

/** The meters of all servers by name. Instances, and namesakes in other directories, are added up. */
export class CallMeters {
  readonly #clock: Clock;
  readonly #meters = new Map<string, CallMeter>();

  constructor(clock: Clock, events: Events) {
    this.#clock = clock;
    events.callSent.on((call, server) => {
      call.sentTicks = this.of(server).now();
    });
    events.serverAnswered.on((call, server, hasResult) => this.of(server).answered(call.sentTicks, hasResult));
    events.serverSilent.on((_, server) => this.of(server).unanswered());
  }

  of(server: string): CallMeter {
    const known = this.#meters.get(server);
    if (known !== undefined) return known;
    const meter = new CallMeter(this.#clock);
    this.#meters.set(server, meter);
    return meter;
  }

  report(): ServerLatency[] {
    return [...this.#meters].map(([server, meter]) => meter.report(server));
  }
}
