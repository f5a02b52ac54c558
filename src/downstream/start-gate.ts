// How many servers are started at the same time: few processes, because each of them keeps a core busy while it loads;
// many connections, because they only wait. Who takes long gives its turn away, so that one that hangs holds up nobody.
// Servers take turns: one that needs very many processes holds up the first one of another by one start.

import type { Counters } from '../core/counters.ts';
import { FairQueue } from '../core/fair-queue.ts';
import type { Clock } from '../util/clock.ts';

/** A turn lasts no longer. */
const TURN_MS = 3_000;

export class StartGate {
  readonly #most: number;
  readonly #clock: Clock;
  readonly #counters: Pick<Counters, 'startsQueued'>;
  #taken = 0;
  /** By the names of the servers. */
  readonly #waiting = new FairQueue<string, () => void>();

  constructor(most: number, { clock, counters }: { clock: Clock; counters: Pick<Counters, 'startsQueued'> }) {
    this.#most = most;
    this.#clock = clock;
    this.#counters = counters;
  }

  /** Calls `start` when it may, with what is to be called once this server has started, or could not be. */
  enter(server: string, start: (leave: () => void) => void): void {
    if (this.#taken >= this.#most) {
      this.#counters.startsQueued++;
      this.#waiting.push(server, () => this.#enter(start));
      return;
    }
    this.#enter(start);
  }

  #enter(start: (leave: () => void) => void): void {
    this.#taken++;
    let isInside = true;
    const leave = (): void => {
      if (!isInside) return;
      isInside = false;
      timer.cancel();
      this.#taken--;
      this.#waiting.take(() => true)?.();
    };
    const timer = this.#clock.after(TURN_MS, leave);
    start(leave);
  }
}
