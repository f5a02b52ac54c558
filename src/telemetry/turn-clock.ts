// The time, read once per chunk of requests or answers. Reading the clock for each would cost more than all other notes
// about a request, and only show how fast the bridge handles the chunk.

import type { Clock } from '../util/clock.ts';

const UNREAD = -1;

export class TurnClock {
  readonly #clock: Pick<Clock, 'now'>;
  #now = UNREAD;

  constructor(clock: Pick<Clock, 'now'>) {
    this.#clock = clock;
  }

  /** Milliseconds on a steady clock. */
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
