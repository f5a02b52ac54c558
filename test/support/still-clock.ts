// The clock of a process that can stand still: time goes on, and what is due meanwhile rings once, when the process goes on.

import type { Clock, Timer } from '../../src/util/clock.ts';

interface Alarm {
  readonly callback: () => void;
  isCancelled: boolean;
}

export class StillClock implements Clock {
  readonly #clock: Clock;
  readonly #due = new Set<Alarm>();
  #isStill = false;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  now(): number {
    return this.#clock.now();
  }

  after(delayMs: number, callback: () => void): Timer {
    return this.#add(callback, (ring) => this.#clock.after(delayMs, ring));
  }

  every(periodMs: number, callback: () => void): Timer {
    return this.#add(callback, (ring) => this.#clock.every(periodMs, ring));
  }

  #add(callback: () => void, start: (ring: () => void) => Timer): Timer {
    const alarm: Alarm = { callback, isCancelled: false };
    const timer = start(() => {
      if (this.#isStill) this.#due.add(alarm);
      else callback();
    });
    return {
      cancel: () => {
        alarm.isCancelled = true;
        timer.cancel();
      },
    };
  }

  standStill(): void {
    this.#isStill = true;
  }

  goOn(): void {
    this.#isStill = false;
    const due = [...this.#due];
    this.#due.clear();
    for (const alarm of due) if (!alarm.isCancelled) alarm.callback();
  }
}
