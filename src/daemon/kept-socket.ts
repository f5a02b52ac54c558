// The daemon's socket over its life: bound, kept fresh, bound again if it was removed, and given up at the end. It also
// ends a daemon that nobody uses. Other programs may touch these files, so a failure here never ends the daemon.

import type { Socket } from 'node:net';
import { Listener } from '../local/listener.ts';
import { type BridgeError, messageOf } from '../util/bridge-error.ts';
import type { Clock, Timer } from '../util/clock.ts';
import type { Logger } from '../util/logger.ts';

export interface KeptSocketOptions {
  readonly path: string;
  /** The descriptor of the socket, if another program has bound it already. */
  readonly activatedFd: number | undefined;
  readonly accept: (socket: Socket) => void;
  /** The daemon that holds the socket, described for people. */
  readonly holder: Readonly<Record<string, string | number>>;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Cleaners of /tmp delete files that are days old. */
const TOUCH_PERIOD_MS = 3_600_000;
const HEAL_PERIOD_MS = 2_000;

export class KeptSocket {
  readonly #listener: Listener;
  readonly #clock: Clock;
  readonly #logger: Logger;
  #idleExit: IdleExit | undefined;
  #isRetreating = false;

  private constructor(listener: Listener, { clock, logger }: KeptSocketOptions) {
    this.#listener = listener;
    this.#clock = clock;
    this.#logger = logger;
    clock.every(TOUCH_PERIOD_MS, () => this.#lookAfter(() => listener.touch()));
    clock.every(HEAL_PERIOD_MS, () => this.#lookAfter(() => this.#heal()));
  }

  /** Becomes the daemon of the path; fails if there is one already. */
  static async open(options: KeptSocketOptions): Promise<KeptSocket> {
    const listener = await Listener.open(options.path, options.accept, options.activatedFd);
    listener.describe(options.holder);
    return new KeptSocket(listener, options);
  }

  /** True if another program has bound the socket and keeps it for the next daemon. */
  get isHandedOn(): boolean {
    return this.#listener.isHandedOn;
  }

  /** Ends the daemon once nobody has used it for a while. */
  endWhenIdle(of: Pick<IdleExitOptions, 'idleMs' | 'isInUse' | 'leave'>): void {
    this.#idleExit = new IdleExit({
      ...of,
      clock: this.#clock,
      retreat: () => this.#retreat(),
      comeBack: () => {
        this.#isRetreating = false;
        this.#lookAfter(() => this.#heal());
      },
    });
  }

  /** True while the daemon ends, or checks if it can. */
  get isRetreating(): boolean {
    return this.#isRetreating;
  }

  /** Notes that somebody uses the daemon. */
  used(): void {
    this.#idleExit?.used();
  }

  /**
   * Stops new clients from finding it. Resolves when all clients that found it were handed over. The path stays
   * reserved.
   */
  async giveUp(): Promise<void> {
    this.#idleExit?.close();
    await this.#retreat();
    this.#listener.stopAccepting();
  }

  /** Frees the path for another daemon. */
  release(): void {
    this.#listener.release();
  }

  /** Removes the socket; false if that failed. */
  async #retreat(): Promise<boolean> {
    this.#isRetreating = true;
    const failure: BridgeError | undefined = await this.#listener.retreat();
    if (failure === undefined) return true;
    this.#logger.warn('the socket stays behind', { error: failure.message, hint: failure.hint });
    return false;
  }

  async #heal(): Promise<void> {
    if (this.#isRetreating || !(await this.#listener.heal())) return;
    this.#logger.warn('the socket had been removed; it is back', { path: this.#listener.path });
  }

  #lookAfter(task: () => void | Promise<void>): void {
    Promise.resolve()
      .then(task)
      .catch((error: unknown) => this.#logger.warn('looking after the socket failed', { error: messageOf(error) }));
  }
}

/** Ends a daemon that a client started, once nobody has used it for a while. A daemon that a person started stays. */
export interface IdleExitOptions {
  readonly clock: Clock;
  /** The time for which it must be unused. */
  readonly idleMs: number;
  /** True if anybody uses the daemon now. */
  readonly isInUse: () => boolean;
  /**
   * Hides the daemon from new clients. Resolves when all that had found it are connected; to false if it can still be
   * found.
   */
  readonly retreat: () => Promise<boolean>;
  /** Called if it was used after all, or can still be found: it stays, and must be reachable again. */
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

  /** Notes any use, even one too short for the checks to see. */
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

  /** Stops checking: the daemon ends for another reason. */
  close(): void {
    this.#state = 'over';
    this.#timer.cancel();
  }
}
