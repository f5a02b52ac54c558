// Claims: an answer that is too long for frames is parked in a store, and the caller gets its id, which nobody can
// guess. Few answers are put or taken at a time, so that the memory for them stays bounded. The store is loaded when
// the first claim needs it.

import { Counts } from '../util/counts.ts';
import { FairQueue } from '../util/fair-queue.ts';

/** The store, as one tenant sees it. It keeps answers that nobody takes for some minutes. */
export interface ClaimStore {
  put(id: string, bytes: Uint8Array): Promise<void>;
  /**
   * Takes an answer and removes it from the store. Throws the reason if that fails: a ClaimFault if it will never work.
   */
  take(id: string, mostBytes: number): Promise<Uint8Array>;
}

/** The fault of a claim that is longer than this host accepts. */
export function tooLong(bytes: number, most: number): ClaimFault {
  const remedy = most < MOST_CLAIM_BYTES ? ': raise limits.maxMessageBytes in its config' : '';
  return new ClaimFault(`it has ${bytes} bytes, and this host takes at most ${most}${remedy}`);
}

/** A lasting fault of a claim: it is not tried again. */
export class ClaimFault extends Error {
  /** True if the object is gone; false if it is there but is not accepted. */
  readonly isGone: boolean;

  constructor(message: string, { isGone = false } = {}) {
    super(message);
    this.isGone = isGone;
  }
}

/** The age after which nobody comes for an object. */
export const CLAIM_AGE_MS = 300_000;
/** An answer longer than this is parked. */
export const CLAIM_BYTES = 16 * 1024 * 1024;
export const MOST_CLAIM_BYTES = 64 * 1024 * 1024;
/** The form of every id, whoever made it. */
const ID = /^[A-Za-z0-9_-]{8,128}$/;
/** The maximum number of puts and takes that wait for one peer. */
const MOST_WAITING = 64;
/** The maximum number of puts and takes at a time. A stuck one holds up no other. */
const AT_ONCE = 6;

/** The maximum of these with one peer. If one host's objects do not come, only its own are held up. */
const AT_ONCE_EACH = 2;

export class Claims {
  readonly #load: () => Promise<ClaimStore>;
  #store: Promise<ClaimStore> | undefined;
  #free = AT_ONCE;
  /** The waiting puts and takes, by peer. */
  readonly #waiting = new FairQueue<string, () => void>();
  /** The number of puts and takes under way, by peer. */
  readonly #underway = new Counts<string>();

  constructor(load: () => Promise<ClaimStore>) {
    this.#load = load;
  }

  /** Puts an answer into the store. `to` is the caller, who fetches it there. */
  async put(id: string, bytes: Uint8Array, to: string): Promise<void> {
    await this.#inTurn(`to ${to}`, (store) => store.put(id, bytes));
  }

  /** Takes an answer from the store. `from` is the host that has put it there. */
  async take(id: string, mostBytes: number, from: string): Promise<Uint8Array> {
    if (!ID.test(id)) throw new ClaimFault('its claim has no id');
    const most = Math.min(mostBytes, MOST_CLAIM_BYTES);
    const bytes = await this.#inTurn(`from ${from}`, (store) => store.take(id, most));
    if (bytes.length > most) throw tooLong(bytes.length, most);
    return bytes;
  }

  async #inTurn<T>(side: string, task: (store: ClaimStore) => Promise<T>): Promise<T> {
    if (this.#waiting.countOf(side) >= MOST_WAITING) throw new Error('too many long answers are on their way');
    await new Promise<void>((resolve) => {
      this.#waiting.push(side, () => {
        this.#underway.add(side, 1);
        resolve();
      });
      this.#startNext();
    });
    try {
      return await task(await this.#opened());
    } finally {
      this.#free++;
      this.#underway.add(side, -1);
      this.#startNext();
    }
  }

  #startNext(): void {
    while (this.#free > 0) {
      const start = this.#waiting.take((side) => this.#underway.of(side) < AT_ONCE_EACH);
      if (start === undefined) return;
      this.#free--;
      start();
    }
  }

  #opened(): Promise<ClaimStore> {
    this.#store ??= this.#load();
    this.#store.catch(() => {
      this.#store = undefined; // the next claim tries to open it again
    });
    return this.#store;
  }
}
