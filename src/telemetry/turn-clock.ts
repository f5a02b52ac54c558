// The time, read once for all that happens in one go: a chunk of requests, or of answers. Reading the clock for each of them would cost
// more than the rest of what is noted of a request, and would tell no more than how fast the bridge goes through the chunk.

import type { Clock } from '../util/clock.ts';

const UNREAD = -1;

export class TurnClock {
  readonly #clock: Pick<Clock, 'now'>;
  #now = UNREAD;

  constructor(clock: Pick<Clock, 'now'>) {
    this.#clock = clock;
  }

  /** Milliseconds on a clock that never jumps. */
  now(): number {
    if (this.#now === UNREAD) {
      this.#now = this.#clock.now();
      queueMicrotask(() => {
        this.#now = UNREAD;
      });
    }
    return this.#now;
  }
}
