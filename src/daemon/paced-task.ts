// A task that is asked for whenever something changes, also if that never ends: it runs once at a time, and rests for
// longer than it took.

import type { Clock, Timer } from '../util/clock.ts';

export interface PacedTaskOptions {
  readonly clock: Clock;
  /** Never rejects. */
  readonly run: () => Promise<void>;
}

/** How long it rests, by how long it took: it takes a twentieth of the time. */
const REST = 19;
/** However long it took: whoever has changed something looks for it. */
const LONGEST_REST_MS = 2_000;

export class PacedTask {
  readonly #options: PacedTaskOptions;
  #timer: Timer | undefined;
  #isRunning = false;
  #isWanted = false;
  #isClosed = false;
  #earliestMs = 0;

  constructor(options: PacedTaskOptions) {
    this.#options = options;
  }

  /** Runs it once more, at once if it has rested. */
  ask(): void {
    this.#isWanted = true;
    if (this.#isClosed || this.#isRunning || this.#timer !== undefined) return;
    const leftMs = this.#earliestMs - this.#options.clock.now();
    if (leftMs <= 0) return void this.#run();
    this.#timer = this.#options.clock.after(leftMs, () => {
      this.#timer = undefined;
      void this.#run();
    });
  }

  async #run(): Promise<void> {
    const { clock, run } = this.#options;
    this.#isWanted = false;
    this.#isRunning = true;
    const begunMs = clock.now();
    await run();
    const endedMs = clock.now();
    this.#isRunning = false;
    this.#earliestMs = endedMs + Math.min(LONGEST_REST_MS, REST * (endedMs - begunMs));
    if (this.#isWanted) this.ask();
  }

  /** It runs no more. */
  close(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
    this.#isClosed = true;
  }
}
