// The board of hosts as two buckets of NATS: one for entries, which everybody listens to, and one for signs of life, which nobody does: they are
// counted and listed by the server. The buckets are made again where a server has lost them.

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

/** The bus, as far as a board needs it. */
export interface BoardBus {
  /** Undefined while it is away. */
  readonly connection: NatsConnection | undefined;
  /** The result of what is asked of the servers. Fails when the connection is lost. */
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

  /** Does something with a bucket. Where that fails the bucket may be gone: it is looked for again. */
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

  /** The keys of a bucket that begin like this. */
  #keysIn(bucket: Bucket, prefix: string): Promise<string[]> {
    return this.#with(bucket, () => keysIn(this.#connected(), bucket, prefix));
  }
}
