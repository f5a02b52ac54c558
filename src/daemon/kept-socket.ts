// The daemon's socket over its life: bound, kept young, bound again when somebody has removed it, and given up when the
// daemon goes; and the end of a daemon that nobody uses. A failure here is one of files that others may touch too: the daemon goes on.

import type { Socket } from 'node:net';
import { Listener } from '../local/listener.ts';
import { type BridgeError, messageOf } from '../util/bridge-error.ts';
import type { Clock, Timer } from '../util/clock.ts';
import type { Logger } from '../util/logger.ts';

export interface KeptSocketOptions {
  readonly path: string;
  /** The descriptor of that socket, where somebody has bound it already. */
  readonly activatedFd: number | undefined;
  readonly accept: (socket: Socket) => void;
  /** The daemon that holds the socket, for people. */
  readonly holder: Readonly<Record<string, string | number>>;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Sweepers of /tmp take files that are days old. */
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

  /** Becomes the daemon of the path; fails if there is one. */
  static async open(options: KeptSocketOptions): Promise<KeptSocket> {
    const listener = await Listener.open(options.path, options.accept, options.activatedFd);
    listener.describe(options.holder);
    return new KeptSocket(listener, options);
  }

  /** True if another program has bound the socket and keeps it for the next daemon. */
  get isHandedOn(): boolean {
    return this.#listener.isHandedOn;
  }

  /** The daemon leaves once nobody has used it for a while. */
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

  /** The daemon goes, or looks whether it can. */
  get isRetreating(): boolean {
    return this.#isRetreating;
  }

  /** Somebody uses the daemon. */
  used(): void {
    this.#idleExit?.used();
  }

  /** Nobody new finds it; all who had found it have been handed over when this resolves. The path stays the daemon's. */
  async giveUp(): Promise<void> {
    this.#idleExit?.close();
    await this.#retreat();
    this.#listener.stopAccepting();
  }

  /** Another daemon may have the path. */
  release(): void {
    this.#listener.release();
  }

  /** False if it could not be removed. */
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

/** Ends a daemon that a client has started, once nobody has used it for a while. A daemon that a person has started stays. */
export interface IdleExitOptions {
  readonly clock: Clock;
  /** How long nobody must have used it. */
  readonly idleMs: number;
  /** True if anybody uses the daemon now. */
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
