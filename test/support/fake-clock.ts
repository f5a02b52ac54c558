// A clock whose hands a test turns.

import type { Clock, Timer } from '../../src/util/clock.ts';

interface Alarm {
  dueMs: number;
  readonly periodMs: number | undefined;
  readonly callback: () => void;
}

export class FakeClock implements Clock {
  #nowMs = 0;
  readonly #alarms = new Set<Alarm>();

  now(): number {
    return this.#nowMs;
  }

  after(delayMs: number, callback: () => void): Timer {
    return this.#add({ dueMs: this.#nowMs + delayMs, periodMs: undefined, callback });
  }

  every(periodMs: number, callback: () => void): Timer {
    return this.#add({ dueMs: this.#nowMs + periodMs, periodMs, callback });
  }

  get pending(): number {
    return this.#alarms.size;
  }

  /** Turns the hands on, ringing each alarm at its time. */
  advance(ms: number): void {
    const until = this.#nowMs + ms;
    for (let next = this.#next(until); next !== undefined; next = this.#next(until)) {
      this.#nowMs = next.dueMs;
      if (next.periodMs === undefined) this.#alarms.delete(next);
      else next.dueMs += next.periodMs;
      next.callback();
    }
    this.#nowMs = until;
  }

  /** The process is held up for so long: each alarm that is due rings once, late. */
  hold(ms: number): void {
    this.#nowMs += ms;
    for (const alarm of [...this.#alarms].filter(({ dueMs }) => dueMs <= this.#nowMs)) {
      if (alarm.periodMs === undefined) this.#alarms.delete(alarm);
      else alarm.dueMs = this.#nowMs + alarm.periodMs;
      alarm.callback();
    }
  }

  #next(until: number): Alarm | undefined {
    const due = [...this.#alarms].filter((alarm) => alarm.dueMs <= until);
    return due.sort((a, b) => a.dueMs - b.dueMs)[0];
  }

  #add(alarm: Alarm): Timer {
    this.#alarms.add(alarm);
    return { cancel: () => void this.#alarms.delete(alarm) };
  }
}
