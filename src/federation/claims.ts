// Claims: an answer that is too long for frames is parked in a store, and the caller gets its id, which nobody can guess. Few are put or taken at a time, so
// that what is on its way stays bounded. The store is brought in when the first one is needed.

/** The store, as one tenant sees it. It keeps what nobody takes for some minutes. */
export interface ClaimStore {
  put(id: string, bytes: Uint8Array): Promise<void>;
  /** Takes what was put there, and forgets it. Throws why that is not possible: a ClaimFault if it never will be. */
  take(id: string, mostBytes: number): Promise<Uint8Array>;
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

/** The claims that wait and are under way with one other side. */
interface Side {
  underway: number;
  readonly waiting: (() => void)[];
}

export class Claims {
  readonly #load: () => Promise<ClaimStore>;
  #store: Promise<ClaimStore> | undefined;
  #free = AT_ONCE;
  /** By the other side, the one that had its turn longest ago first. */
  readonly #sides = new Map<string, Side>();

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
    if (bytes.length > mostBytes) throw new ClaimFault(`it has ${bytes.length} bytes, and ${mostBytes} are permitted`);
    return bytes;
  }

  async #inTurn<T>(name: string, task: (store: ClaimStore) => Promise<T>): Promise<T> {
    const side = this.#sides.get(name) ?? { underway: 0, waiting: [] };
    if (side.waiting.length >= MOST_WAITING) throw new Error('too many long answers are on their way');
    this.#sides.set(name, side);
    await new Promise<void>((resolve) => {
      side.waiting.push(resolve);
      this.#startNext();
    });
    try {
      return await task(await this.#opened());
    } finally {
      this.#free++;
      side.underway--;
      if (side.underway === 0 && side.waiting.length === 0) this.#sides.delete(name);
      this.#startNext();
    }
  }

  /** Gives each free place to the side that has waited longest for its turn. */
  #startNext(): void {
    for (const [name, side] of [...this.#sides]) {
      if (this.#free === 0) return;
      const start = side.underway < AT_ONCE_EACH ? side.waiting.shift() : undefined;
      if (start === undefined) continue;
      this.#free--;
      side.underway++;
      this.#sides.delete(name);
      this.#sides.set(name, side);
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
