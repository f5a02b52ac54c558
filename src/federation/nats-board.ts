// The board of hosts as two buckets of NATS. One holds entries; every daemon listens to it. The other holds signs of
// life; nobody listens to it, and the server counts and lists them. The buckets are made again if a server has lost
// them.

import type { KV } from '@nats-io/kv';
import type { NatsConnection } from '@nats-io/nats-core';
import type { Board, EntryListener } from './board.ts';
import {
  type Bucket,
  ENTRIES,
  entryIn,
  failTask,
  isRemoval,
  keysIn,
  openedBucket,
  SIGNS,
  stateOf,
  UNREADABLE,
} from './nats-buckets.ts';
import { watchedKeys } from './nats-watch.ts';

const ENTRIES_BEGIN = `$KV.${ENTRIES}.`;
const NOTHING = new Uint8Array(0);

/** The part of the bus that a board needs. */
export interface BoardBus {
  /** Undefined while the bus is away. */
  readonly connection: NatsConnection | undefined;
  /** Passes on the result of a request to the servers. Fails when the connection is lost. */
  whileUp<T>(asked: Promise<T>): Promise<T>;
}

export class NatsBoard implements Board {
  readonly #bus: BoardBus;
  readonly #buckets = new Map<Bucket, { readonly of: NatsConnection; readonly kv: KV }>();

  constructor(bus: BoardBus) {
    this.#bus = bus;
  }

  #connected(): NatsConnection {
    const { connection } = this.#bus;
    if (connection === undefined) throw new Error('NATS is away');
    return connection;
  }

  async #kv(bucket: Bucket): Promise<KV> {
    const connection = this.#connected();
    const known = this.#buckets.get(bucket);
    if (known?.of === connection) return known.kv;
    const kv = await openedBucket(connection, bucket);
    this.#buckets.set(bucket, { of: connection, kv });
    return kv;
  }

  /** Runs a task with a bucket. If the task fails, the bucket may be gone, so it is looked up again. */
  async #with<T>(bucket: Bucket, task: (kv: KV) => Promise<T>): Promise<T> {
    try {
      return await this.#bus.whileUp(this.#kv(bucket).then((kv) => task(kv).catch(failTask)));
    } catch (error) {
      this.#buckets.delete(bucket);
      throw error;
    }
  }

  // --- entries ---

  async put(key: string, value: Uint8Array): Promise<void> {
    await this.#with(ENTRIES, (kv) => kv.put(key, value));
  }

  async get(key: string): Promise<Uint8Array | undefined> {
    const entry = await this.#with(ENTRIES, (kv) => entryIn(this.#connected(), kv, ENTRIES, key));
    return entry !== UNREADABLE && entry?.operation === 'PUT' ? entry.value : undefined;
  }

  async remove(key: string): Promise<void> {
    await this.#with(ENTRIES, (kv) => kv.delete(key));
  }

  async watch(prefix: string, changed: EntryListener): Promise<() => void> {
    await this.#bus.whileUp(this.#kv(ENTRIES));
    const subscription = await watchedKeys(this.#connected(), {
      begin: ENTRIES_BEGIN,
      prefix,
      written: (key, { headers, data }) => changed(key, isRemoval(headers) ? undefined : data, true),
      keys: () => this.#keysIn(ENTRIES, prefix),
      read: async (key) => {
        const value = await this.get(key);
        return value && (() => changed(key, value, false));
      },
      whileUp: (asked) => this.#bus.whileUp(asked),
    });
    return () => subscription.unsubscribe();
  }

  // --- signs of life ---

  async sign(key: string): Promise<void> {
    await this.#with(SIGNS, (kv) => kv.put(key, NOTHING));
  }

  async countSigns(): Promise<number> {
    const { messages } = await this.#with(SIGNS, () => stateOf(this.#connected(), SIGNS));
    return typeof messages === 'number' ? messages : 0;
  }

  async signs(prefix: string): Promise<ReadonlySet<string>> {
    return new Set(await this.#keysIn(SIGNS, prefix));
  }

  /** Returns the keys of a bucket that begin with `prefix`. */
  #keysIn(bucket: Bucket, prefix: string): Promise<string[]> {
    return this.#with(bucket, () => keysIn(this.#connected(), bucket, prefix));
  }
}
