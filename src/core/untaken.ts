// What is queued for one client and not taken yet, and what follows from it for that client: the place that compares it with
// `limits.maxQueuedBytesPerClient`, but for messages of other clients (messaging/admission.ts). Whom it holds up is not its business.

import type { Outbox } from '../wire/outbox.ts';

/** So many times its limit may be queued for a client that reads, be it slowly. */
const READER_FACTOR = 16;

/** Whose queue it is; its link may become another one. */
export interface Taker {
  readonly link: { readonly outbox: Outbox };
  readonly isAway: boolean;
}

/**
 * At its limit a client may ask nothing new, but answers to what it has asked already still come in: all at once if its
 * luck is bad, and faster than it reads. It may have as much again queued. For each further such amount it must have
 * taken something meanwhile.
 */
export class Untaken {
  readonly #taker: Taker;
  readonly #most: number;
  /** Called back once it has taken something, or need not be waited for any more. */
  #waiting: Set<() => void> | undefined;
  /** Once its queue is over the limit: how large that may get before it must have taken something; else 0. */
  #allowedBytes = 0;
  #takenWhenAllowed = 0;

  constructor(taker: Taker, maxQueuedBytes: number) {
    this.#taker = taker;
    this.#most = maxQueuedBytes;
  }

  get #bytes(): number {
    return this.#taker.link.outbox.blockedBytes;
  }

  /** From here on it goes without what it can do without. */
  get isCrowded(): boolean {
    return this.#bytes * 2 >= this.#most;
  }

  /** From here on it asks servers nothing new. */
  get isFull(): boolean {
    return this.#bytes >= this.#most;
  }

  /** From here on it is not read. */
  get isOver(): boolean {
    return this.#bytes > this.#most;
  }

  /** Whether an answer of so many bytes is no more than may be queued for who takes nothing. */
  hasRoomFor(bytes: number): boolean {
    return this.#bytes + bytes <= 2 * this.#most;
  }

  /** What becomes of a client for which something was queued. What is kept for one that is away has limits of its own. */
  examine(): 'goes-on' | 'must-take' | 'hopeless' {
    const bytes = this.#bytes;
    if (bytes <= this.#most || this.#taker.isAway) {
      this.#allowedBytes = 0;
      return 'goes-on';
    }
    if (this.#allowedBytes === 0) this.#allow(2 * this.#most);
    else if (bytes > READER_FACTOR * this.#most) return 'hopeless';
    else if (bytes > this.#allowedBytes) {
      if (!this.#hasTaken) return 'must-take';
      this.#allow(bytes + this.#most);
    }
    return 'goes-on';
  }

  #allow(bytes: number): void {
    this.#allowedBytes = bytes;
    this.#takenWhenAllowed = this.#taker.link.outbox.takenBytes;
  }

  get #hasTaken(): boolean {
    return this.#taker.link.outbox.takenBytes > this.#takenWhenAllowed;
  }

  /** Calls back once, unless it is told to forget that before. */
  wait(goOn: () => void): void {
    this.#waiting ??= new Set();
    this.#waiting.add(goOn);
  }

  forget(goOn: () => void): void {
    this.#waiting?.delete(goOn);
  }

  /** Whether it has taken something, or has no connection to take it from; then whoever waits for it goes on. */
  hasMovedOn(): boolean {
    if (!this.#hasTaken && !this.#taker.isAway) return false;
    this.#allow(this.#bytes + this.#most);
    this.release();
    return true;
  }

  /** Nobody need wait for it any more. */
  release(): void {
    const waiting = [...(this.#waiting ?? [])];
    this.#waiting = undefined;
    for (const goOn of waiting) goOn();
  }

  /** Its connection has dropped: what it had taken of that says nothing of the next one. */
  beginAnew(): void {
    this.#allowedBytes = 0;
    this.release();
  }

  /** The client has taken something. */
  drained(): void {
    if (this.#waiting !== undefined) this.hasMovedOn();
  }
}
