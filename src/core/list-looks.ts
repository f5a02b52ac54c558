// Looks at servers on other hosts to learn their lists: a few looks at a time for all clients together, one client
// after another. A connection opened only for a look ends with it, so a thousand servers need no more connections at
// once than a few.

import { type Clock, turnOf } from '../util/clock.ts';
import { deferred } from '../util/deferred.ts';
import { FairQueue } from '../util/fair-queue.ts';

/** The time after which a look no longer blocks the next one, so that a host that hangs delays nobody. */
const TURN_MS = 3_000;

/** The number of looks in a row after which `manyOver` is called. */
const MANY = 256;

export interface ListLook {
  /** Resolves when its turn has come. */
  readonly begun: Promise<void>;
  /** Settles when the list is known, or cannot be read. */
  readonly done: Promise<void>;
}

export class ListLooks {
  readonly #most: number;
  readonly #clock: Clock;
  readonly #manyOver: () => void;
  readonly #waiting = new FairQueue<object, () => void>();
  /** The looks that wait or are under way, by owner and target. */
  readonly #open = new WeakMap<object, Map<string, ListLook>>();
  #taken = 0;
  /** The number of looks since no look was under way. */
  #row = 0;

  /** `manyOver` is called when the last one of many looks in a row is over. */
  constructor(most: number, clock: Clock, manyOver: () => void = () => undefined) {
    this.#most = most;
    this.#clock = clock;
    this.#manyOver = manyOver;
  }

  /**
   * Looks when its turn comes. `look` resolves when the list is known; its `over` resolves when the connection is no
   * longer needed. A second request for the same target meanwhile gets the same look.
   */
  add(owner: object, at: string, look: () => Promise<{ readonly over: Promise<unknown> }>): ListLook {
    const own = this.#open.get(owner) ?? new Map<string, ListLook>();
    this.#open.set(owner, own);
    const known = own.get(at);
    if (known !== undefined) return known;
    const { promise: begun, resolve: begin } = deferred<void>();
    const done = begun.then(async () => {
      const leave = this.#enter();
      try {
        const { over } = await look();
        void over.then(leave, leave);
      } catch (error) {
        leave();
        throw error;
      } finally {
        own.delete(at);
      }
    });
    const added = { begun, done };
    own.set(at, added);
    this.#waiting.push(owner, begin);
    this.#next();
    return added;
  }

  /** Takes a free turn; returns the function that ends it. */
  #enter(): () => void {
    return turnOf(this.#clock, TURN_MS, () => {
      this.#taken--;
      this.#next();
    });
  }

  #rest(): void {
    if (this.#taken > 0) return;
    const wereMany = this.#row >= MANY;
    this.#row = 0;
    if (wereMany) this.#manyOver();
  }

  #next(): void {
    while (this.#taken < this.#most) {
      const begin = this.#waiting.take(() => true);
      if (begin === undefined) return this.#rest();
      this.#taken++;
      this.#row++;
      begin();
    }
  }
}
