// Ends a daemon that was started by itself, once nobody has used it for a while. Whoever asked for a daemon keeps it.

import type { Clock, Timer } from '../util/clock.ts';

export interface IdleExitOptions {
  readonly clock: Clock;
  /** How long nobody must have used it. */
  readonly idleMs: number;
  /** Whether anybody uses it now. */
  readonly isInUse: () => boolean;
  /** Nobody shall find it any more; resolves when all who had found it are here. False if it can be found still. */
  readonly retreat: () => Promise<boolean>;
  /** Somebody had, or still can: it stays, and is to be found again. */
  readonly comeBack: () => void;
  readonly leave: () => void;
}

const LOOK_MS = 1000;

export class IdleExit {
  readonly #options: IdleExitOptions;
  readonly #timer: Timer;
  #sinceMs: number;
  #state: 'looking' | 'retreating' | 'over' = 'looking';

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
    const { clock, idleMs, isInUse, retreat } = this.#options;
    if (isInUse()) return this.used();
    if (this.#state !== 'looking' || clock.now() - this.#sinceMs < idleMs) return;
    this.#state = 'retreating';
    void retreat().then((isHidden) => this.#decide(isHidden));
  }

  #decide(isHidden: boolean): void {
    const { isInUse, comeBack, leave } = this.#options;
    if (this.#state !== 'retreating') return;
    if (isHidden && !isInUse()) {
      this.close();
      return leave();
    }
    this.#state = 'looking';
    this.used();
    comeBack();
  }

  /** It ends for another reason, or has been told to. */
  close(): void {
    this.#state = 'over';
    this.#timer.cancel();
  }
}
