// Claims: an answer that is too long for frames is parked in a store, and the caller gets its id, which nobody can guess. Few are put or taken at a time, so
// that what is on its way stays bounded. The store is brought in when the first one is needed.

/** The store, as one tenant sees it. It keeps what nobody takes for some minutes. */
export interface ClaimStore {
  put(id: string, bytes: Uint8Array): Promise<void>;
  /** Takes what was put there, and forgets it. Throws why that is not possible. */
  take(id: string, mostBytes: number): Promise<Uint8Array>;
}

/** A longer answer is parked. */
export const CLAIM_BYTES = 16 * 1024 * 1024;
export const MOST_CLAIM_BYTES = 64 * 1024 * 1024;
/** The form of an id, whoever made it. */
const ID = /^[A-Za-z0-9_-]{8,128}$/;
const MOST_WAITING = 64;
/** The most that are put or taken at a time: one that does not come on holds up no other. */
const AT_ONCE = 4;

export class Claims {
  readonly #load: () => Promise<ClaimStore>;
  #store: Promise<ClaimStore> | undefined;
  #free = AT_ONCE;
  readonly #waiting: (() => void)[] = [];

  constructor(load: () => Promise<ClaimStore>) {
    this.#load = load;
  }

  async put(id: string, bytes: Uint8Array): Promise<void> {
    await this.#inTurn((store) => store.put(id, bytes));
  }

  async take(id: string, mostBytes: number): Promise<Uint8Array> {
    if (!ID.test(id)) throw new Error('its claim has no id');
    const bytes = await this.#inTurn((store) => store.take(id, Math.min(mostBytes, MOST_CLAIM_BYTES)));
    if (bytes.length > mostBytes) throw new Error(`it has ${bytes.length} bytes, and ${mostBytes} are permitted`);
    return bytes;
  }

  async #inTurn<T>(task: (store: ClaimStore) => Promise<T>): Promise<T> {
    if (this.#waiting.length >= MOST_WAITING) throw new Error('too many long answers are on their way');
    if (this.#free > 0) this.#free--;
    else await new Promise<void>((resolve) => this.#waiting.push(resolve));
    try {
      return await task(await this.#opened());
    } finally {
      const next = this.#waiting.shift();
      if (next === undefined) this.#free++;
      else next();
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
