// Refusals of what other hosts send, summed for the audit log: one line for each host, subject and reason in a while, whatever a flood brings. It keeps
// few sums, and what finds no place among them is counted together.

import type { BusRefusal } from '../model/bus-refusal.ts';
import type { Clock, Timer } from '../util/clock.ts';

/** The time whose refusals are summed. */
const SUM_MS = 10_000;
/** The most sums at a time: a day of a flood that invents hosts and reasons has at most 9 × 8,640 lines. */
const MOST_SUMS = 8;

export interface SummedRefusal {
  /** Undefined for refusals of many kinds. */
  readonly refusal: BusRefusal | undefined;
  readonly count: number;
  /** When the first of them came, on the clock that never jumps. */
  readonly firstMs: number;
}

export class SummedRefusals {
  readonly #clock: Clock;
  readonly #write: (sum: SummedRefusal) => void;
  readonly #sums = new Map<string, SummedRefusal & { count: number }>();
  #timer: Timer | undefined;

  constructor(clock: Clock, write: (sum: SummedRefusal) => void) {
    this.#clock = clock;
    this.#write = write;
  }

  add(refusal: BusRefusal): void {
    const { what, why, user, host, server, count = 1 } = refusal;
    const own = JSON.stringify([what, why, user, host, server]);
    const hasRoom = this.#sums.has(own) || this.#sums.size < MOST_SUMS;
    const key = hasRoom ? own : '';
    const known = this.#sums.get(key);
    if (known !== undefined) known.count += count;
    else this.#sums.set(key, { refusal: hasRoom ? refusal : undefined, count, firstMs: this.#clock.now() });
    this.#timer ??= this.#clock.after(SUM_MS, () => this.flush());
  }

  /** Writes what was summed so far. */
  flush(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
    const sums = [...this.#sums.values()];
    this.#sums.clear();
    for (const sum of sums) this.#write(sum);
  }
}
