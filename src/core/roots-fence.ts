// Holds the first calls of an instance back until it has its clients' roots, if it wants any. A server asks for them when
// it has heard `initialized`, and a call that came right behind would find it without. Every wait here has an end.

import type { Clock, Timer } from '../util/clock.ts';
import type { CallTable } from './call-table.ts';

/** A server that answers no ping for so long is not waited for. */
const SILENCE_MS = 1_000;
/** Roots that take longer come too late; so do those of a server that asks again and again. */
const ROOTS_MS = 10_000;
/** The time that a server has to look at the directories that it was told: nothing says when it is done with that. */
const SETTLE_MS = 100;

export interface RootsFenceOptions {
  readonly calls: CallTable;
  readonly clock: Clock;
  /** Whether the instance was offered roots, and has them for itself. */
  readonly isNeeded: () => boolean;
  /** Whether the server waits for roots. */
  readonly isAsked: () => boolean;
}

export class RootsFence {
  readonly #options: RootsFenceOptions;
  #timer: Timer | undefined;
  #hasAsked = false;
  /** When it goes down, whatever happens. */
  #lastMs = 0;

  constructor(options: RootsFenceOptions) {
    this.#options = options;
  }

  /** The instance is about to open: nothing goes before the fence. */
  opening(): void {
    this.#hasAsked = false;
    if (this.#options.isNeeded()) this.#raise();
  }

  #raise(): void {
    const { calls, clock } = this.#options;
    if (calls.isFenced) return;
    calls.isFenced = true;
    this.#lastMs = clock.now() + ROOTS_MS;
  }

  /** A server that wants roots has asked for them before it answers this ping. */
  opened(): void {
    if (!this.#options.calls.isFenced) return;
    this.#releaseIn(SILENCE_MS);
    this.#whenHeard(() => this.#release());
  }

  /** The server asks. A later question is about roots that have changed, and its client knows that they have. */
  asked(isInCall: boolean): void {
    const { calls, isNeeded } = this.#options;
    const isFirst = !this.#hasAsked;
    this.#hasAsked = true;
    if (isFirst && !isInCall && isNeeded()) this.#raise();
    if (calls.isFenced) this.#releaseIn(ROOTS_MS);
  }

  answered(): void {
    const { calls, isAsked } = this.#options;
    if (!calls.isFenced || isAsked()) return;
    this.#releaseIn(SILENCE_MS);
    this.#whenHeard(() => this.#releaseIn(SETTLE_MS));
  }

  closed(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
    this.#options.calls.isFenced = false;
  }

  /** Calls back when the server has answered a ping, unless it has asked once more, or has gone, meanwhile. */
  #whenHeard(then: () => void): void {
    const awaited = this.#timer;
    this.#options.calls.own.ask('ping', {}, () => {
      if (awaited !== undefined && awaited === this.#timer) then();
    });
  }

  #releaseIn(ms: number): void {
    const { clock } = this.#options;
    this.#timer?.cancel();
    this.#timer = clock.after(Math.max(0, Math.min(ms, this.#lastMs - clock.now())), () => this.#release());
  }

  #release(): void {
    this.closed();
    this.#options.calls.pump();
  }
}
