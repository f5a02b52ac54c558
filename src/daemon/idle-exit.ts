// Ends a daemon that was started by itself, once nobody has used it for a while. Whoever asked for a daemon keeps it.

import type { Clock, Timer } from '../util/clock.ts';

export interface IdleExitOptions {
  readonly clock: Clock;
  /** How long nobody must have used it. */
  readonly idleMs: number;
  /** Whether anybody uses it now. */
  readonly isInUse: () => boolean;
  /** Called once; false says that somebody came at the last moment, and it begins anew. */
  readonly leave: () => Promise<boolean>;
}

const LOOK_MS = 1000;

export class IdleExit {
  readonly #options: IdleExitOptions;
  readonly #timer: Timer;
  #sinceMs: number;
  #isLeaving = false;

  constructor(options: IdleExitOptions) {
    const { clock, idleMs } = options;
    this.#options = options;
    this.#sinceMs = clock.now();
    this.#timer = clock.every(Math.min(LOOK_MS, idleMs), () => this.#look());
  }

  /** Somebody uses it, be it for less than a look would see. */
  used(): void {
    this.#sinceMs = this.#options.clock.now();
  }

  #look(): void {
    const { clock, idleMs, isInUse, leave } = this.#options;
    if (isInUse()) return this.used();
    if (this.#isLeaving || clock.now() - this.#sinceMs < idleMs) return;
    this.#isLeaving = true;
    void leave().then((hasLeft) => {
      this.#isLeaving = hasLeft;
      if (!hasLeft) this.used();
    });
  }

  close(): void {
    this.#timer.cancel();
  }
}
