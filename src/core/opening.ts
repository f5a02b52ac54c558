// Who waits for an instance to come up: those who need it, and those who only want to know that its time has begun.

import type { BridgeError } from '../util/bridge-error.ts';
import type { Link } from '../wire/link.ts';

/** What a running instance offers. */
export interface RunningInstance {
  readonly link: Pick<Link, 'outbox' | 'pause' | 'resume'>;
  readonly instanceId: string;
  /** The result of its `initialize`: an object's bytes, with a newline behind them. */
  readonly initializeResult: Buffer;
}

type Waiter = { resolve: (running: RunningInstance) => void; reject: (error: BridgeError) => void };

export class Opening {
  readonly #start: () => void;
  #waiters: Waiter[] = [];
  readonly #whenBegun: (() => void)[] = [];
  #hasBegun = false;
  /** It was asked for, and has neither come nor failed yet. */
  #isAwaited = false;
  /** The last time. */
  hasFailed = false;

  /** `start` asks for the instance; opened() or failed() follows, unless one is on its way already. */
  constructor(start: () => void) {
    this.#start = start;
  }

  /** Whether somebody counts on it. */
  get isAwaited(): boolean {
    return this.#isAwaited || this.#waiters.length > 0;
  }

  start(): void {
    this.#isAwaited = true;
    this.#start();
  }

  /** Starts it, and waits until it is there. */
  whenOpen(): Promise<RunningInstance> {
    const opened = new Promise<RunningInstance>((resolve, reject) => this.#waiters.push({ resolve, reject }));
    this.start();
    return opened;
  }

  /** Resolves when it is being started, or runs. */
  whenBegun(): Promise<void> {
    if (this.#hasBegun) return Promise.resolve();
    return new Promise((resolve) => this.#whenBegun.push(resolve));
  }

  /** It is its turn to be started. */
  begun(): void {
    this.#hasBegun = true;
    for (const resolve of this.#whenBegun.splice(0)) resolve();
  }

  opened(running: RunningInstance): void {
    this.begun();
    this.#isAwaited = false;
    this.hasFailed = false;
    for (const { resolve } of this.#takeWaiters()) resolve(running);
  }

  failed(error: BridgeError): void {
    this.closed();
    this.hasFailed = true;
    for (const { reject } of this.#takeWaiters()) reject(error);
  }

  /** It has gone; those who wait wait for the next one. */
  closed(): void {
    this.#hasBegun = false;
    this.#isAwaited = false;
  }

  #takeWaiters(): Waiter[] {
    const waiters = this.#waiters;
    this.#waiters = [];
    return waiters;
  }
}
