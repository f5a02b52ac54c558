// Whether the client should send no more for the moment: the daemon does not take it, or there is none, and enough waits.

import type { ClientLedger } from './client-ledger.ts';

/** While there is no daemon. */
const MOST_WAITING = 256;
const MOST_WAITING_BYTES = 1024 * 1024;

export class ClientFlow {
  readonly #conversation: ClientLedger;
  readonly #tell: (isFull: boolean) => void;
  /** The connection takes no more. */
  isBlocked = false;
  #isFull = false;

  constructor(conversation: ClientLedger, tell: (isFull: boolean) => void) {
    this.#conversation = conversation;
    this.#tell = tell;
  }

  /** Tells the client if it is another way than it was. */
  check(isLive: boolean): void {
    const isFull = this.isBlocked || (!isLive && this.#waitsEnough());
    if (isFull === this.#isFull) return;
    this.#isFull = isFull;
    this.#tell(isFull);
  }

  #waitsEnough(): boolean {
    const { waiting } = this.#conversation;
    if (waiting.length >= MOST_WAITING) return true;
    return waiting.reduce((bytes, { start, end }) => bytes + end - start, 0) >= MOST_WAITING_BYTES;
  }
}
