// Why a client is not read at the moment: a set of reasons, as bits. It is read again when the last of them is gone.

import type { Link } from '../wire/link.ts';
import type { Counters } from './counters.ts';

export const Pause = { held: 1, waiting: 2, unread: 4, congested: 8, leaving: 16 } as const;
export type Pause = (typeof Pause)[keyof typeof Pause];

export class Pauses {
  /** Whose link may become another one. */
  readonly #session: { readonly link: Pick<Link, 'pause' | 'resume'> };
  readonly #counters: Counters;
  #reasons = 0;

  constructor(session: { readonly link: Pick<Link, 'pause' | 'resume'> }, counters: Counters) {
    this.#session = session;
    this.#counters = counters;
  }

  get isEmpty(): boolean {
    return this.#reasons === 0;
  }

  /** Too much of the client's own waits. */
  addOver(reason: Pause): void {
    if ((this.#reasons & reason) === 0) this.#counters.clientsPaused++;
    this.add(reason);
  }

  add(reason: Pause): void {
    if (this.#reasons === 0) this.#session.link.pause();
    this.#reasons |= reason;
  }

  remove(reason: Pause): void {
    if ((this.#reasons & reason) === 0) return;
    this.#reasons &= ~reason;
    if (this.#reasons === 0) this.#session.link.resume();
  }
}
