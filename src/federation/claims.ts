// Claims: an answer that is too long for frames is parked in a store, and the caller gets its id, which nobody can guess. Few are put or taken at a time, so
// that what is on its way stays bounded. The store is brought in when the first one is needed.

import { FairQueue } from '../util/fair-queue.ts';

/** The store, as one tenant sees it. It keeps what nobody takes for some minutes. */
export interface ClaimStore {
  put(id: string, bytes: Uint8Array): Promise<void>;
  /** Takes what was put there, and forgets it. Throws why that is not possible: a ClaimFault if it never will be. */
  take(id: string, mostBytes: number): Promise<Uint8Array>;
}

/** The fault of a claim that is longer than this host takes. */
export function tooLong(bytes: number, most: number): ClaimFault {
  const remedy = most < MOST_CLAIM_BYTES ? ': raise limits.maxMessageBytes in its config' : '';
  return new ClaimFault(`it has ${bytes} bytes, and this host takes at most ${most}${remedy}`);
}

/** A fault of a claim that stays: it is not tried again. */
export class ClaimFault extends Error {
  /** True if there is nothing to take any more; false if what is there is not taken. */
  readonly isGone: boolean;

  constructor(message: string, { isGone = false } = {}) {
    super(message);
    this.isGone = isGone;
  }
}

/** Nobody comes for an object that is older. */
export const CLAIM_AGE_MS = 300_000;
/** A longer answer is parked. */
export const CLAIM_BYTES = 16 * 1024 * 1024;
export const MOST_CLAIM_BYTES = 64 * 1024 * 1024;
/** The form of an id, whoever made it. */
const ID = /^[A-Za-z0-9_-]{8,128}$/;
/** The most that wait for one other side. */
const MOST_WAITING = 64;
/** The most that are put or taken at a time: one that does not come on holds up no other. */
const AT_ONCE = 6;

/** The most of them with one other side: one host whose objects do not come holds up only its own. */
const AT_ONCE_EACH = 2;

export class Claims {
  readonly #load: () => Promise<ClaimStore>;
  #store: Promise<ClaimStore> | undefined;
  #free = AT_ONCE;
  /** Those that wait, by the other side. */
  readonly #waiting = new FairQueue<string, () => void>();
  /** How many are put or taken, by the other side. */
  readonly #underway = new Map<string, number>();

  constructor(load: () => Promise<ClaimStore>) {
    this.#load = load;
  }

  /** `to` is the caller, who fetches it there. */
  async put(id: string, bytes: Uint8Array, to: string): Promise<void> {
    await this.#inTurn(`to ${to}`, (store) => store.put(id, bytes));
  }

  /** `from` is the host that has put it there. */
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
        this.#underway.set(side, this.#underwayWith(side) + 1);
        resolve();
      });
      this.#startNext();
    });
    try {
      return await task(await this.#opened());
    } finally {
      this.#free++;
      const left = this.#underwayWith(side) - 1;
      if (left > 0) this.#underway.set(side, left);
      else this.#underway.delete(side);
      this.#startNext();
    }
  }

  #underwayWith(side: string): number {
    return this.#underway.get(side) ?? 0;
  }

  #startNext(): void {
    while (this.#free > 0) {
      const start = this.#waiting.take((side) => this.#underwayWith(side) < AT_ONCE_EACH);
      if (start === undefined) return;
      this.#free--;
      start();
    }
  }

  #opened(): Promise<ClaimStore> {
    this.#store ??= this.#load();
    this.#store.catch(() => {
      this.#store = undefined; // it is tried again for the next one
    });
    return this.#store;
  }
}
