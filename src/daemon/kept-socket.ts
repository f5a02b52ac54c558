// The daemon's socket over its life: bound, kept young, bound again when somebody has removed it, and given up when the
// daemon goes. What fails here fails for files that others may touch too; the daemon goes on.

import type { Socket } from 'node:net';
import { Listener } from '../local/listener.ts';
import { type BridgeError, messageOf } from '../util/bridge-error.ts';
import type { Clock } from '../util/clock.ts';
import type { Logger } from '../util/logger.ts';
import { IdleExit, type IdleExitOptions } from './idle-exit.ts';

export interface KeptSocketOptions {
  readonly path: string;
  /** The descriptor of that socket, where somebody has bound it already. */
  readonly activatedFd: number | undefined;
  readonly accept: (socket: Socket) => void;
  /** Who holds it, for people. */
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

  /** Whether somebody else has bound it, and keeps it for the next daemon. */
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
