// Leases as a NATS bucket that is kept on disk, because their numbers must keep rising over a restart of the servers.
// The server itself publishes each stored lease with its number; nothing hears of a mere attempt to write.

import { JetStreamApiError } from '@nats-io/jetstream';
import type { KV, KvEntry } from '@nats-io/kv';
import type { NatsConnection } from '@nats-io/nats-core';
import type { LeaseBoard, LeaseListener } from './lease-table.ts';
import type { BoardBus } from './nats-board.ts';
import { entryIn, failTask, isRemoval, isStatus, keysIn, LEASES, openedBucket, UNREADABLE } from './nats-buckets.ts';
import { watchedKeys } from './nats-watch.ts';
import { LEASE_BEGIN } from './subject.ts';

/** The error codes for "another write came first". */
const WRONG_LAST: readonly number[] = [10071, 10164];
const NOTHING = new Uint8Array(0);
const SEQUENCE = 'Nats-Sequence';
/** A missing lease counts as later than each write of it. */
const LAST = Number.MAX_SAFE_INTEGER;

export class NatsLeases implements LeaseBoard {
  readonly #bus: BoardBus;
  readonly #watchers = new Set<{ readonly prefix: string; readonly changed: LeaseListener }>();
  #bucket: { readonly of: NatsConnection; readonly kv: KV } | undefined;

  constructor(bus: BoardBus) {
    this.#bus = bus;
  }

  #connected(): NatsConnection {
    const { connection } = this.#bus;
    if (connection === undefined) throw new Error('NATS is away');
    return connection;
  }

  async #kv(): Promise<KV> {
    const connection = this.#connected();
    if (this.#bucket?.of !== connection) this.#bucket = { of: connection, kv: await openedBucket(connection, LEASES) };
    return this.#bucket.kv;
  }

  /**
   * Runs a task with the bucket. If the task fails, the bucket may be gone, so it is looked up again, and made again.
   */
  async #with<T>(task: (kv: KV) => Promise<T>): Promise<T> {
    try {
      return await this.#bus.whileUp(this.#kv().then((kv) => task(kv).catch(failTask)));
    } catch (error) {
      this.#bucket = undefined;
      throw error;
    }
  }

  async write(key: string, value: Uint8Array, over: number | undefined): Promise<number | undefined> {
    return this.#with(async (kv) => {
      try {
        return await (over === undefined ? created(kv, key, value) : kv.update(key, value, over));
      } catch (error) {
        if (!(error instanceof JetStreamApiError && WRONG_LAST.includes(error.code))) throw error;
        await this.#tell(kv, key, over, numberIn(error)); // the bucket may be new, and its lease unheard
        return undefined;
      }
    });
  }

  async #tell(kv: KV, key: string, refuted: number | undefined, last: number | undefined): Promise<void> {
    const entry = await entryIn(this.#connected(), kv, LEASES, key);
    for (const { prefix, changed } of [...this.#watchers]) {
      if (!key.startsWith(prefix)) continue;
      if (entry !== UNREADABLE) tell(changed, key, entry, refuted);
      else if (last !== undefined) changed(key, NOTHING, last, refuted);
    }
  }

  async watch(prefix: string, changed: LeaseListener, ended: () => void): Promise<() => void> {
    const kv = await this.#with((opened) => Promise.resolve(opened));
    const connection = this.#connected();
    const whileUp = <T>(asked: Promise<T>): Promise<T> => this.#bus.whileUp(asked);
    const watcher = { prefix, changed };
    this.#watchers.add(watcher);
    try {
      const subscription = await watchedKeys(connection, {
        begin: LEASE_BEGIN,
        prefix,
        // The server puts its own number behind any that the writer has set.
        written: (key, { headers, data }) =>
          changed(key, isRemoval(headers) ? undefined : data, Number(headers?.last(SEQUENCE)) || 0),
        keys: () => whileUp(keysIn(connection, LEASES, prefix)),
        read: async (key) => {
          const entry = await whileUp(entryIn(connection, kv, LEASES, key));
          return entry === null || entry === UNREADABLE ? undefined : () => tell(changed, key, entry);
        },
        whileUp,
      });
      void subscription.closed.finally(ended);
      return () => {
        this.#watchers.delete(watcher);
        subscription.unsubscribe();
      };
    } catch (error) {
      this.#watchers.delete(watcher);
      this.#bucket = undefined;
      failTask(error);
    }
  }
}

/** Writes a key that is absent. If the existing value cannot be read, the failure still tells its number. */
async function created(kv: KV, key: string, value: Uint8Array): Promise<number> {
  try {
    return await kv.create(key, value);
  } catch (error) {
    if (!isStatus(error)) throw error;
    return kv.put(key, value, { previousSeq: 0 });
  }
}

/** Returns the number of a key's last write, from an error message of NATS. */
function numberIn({ message }: Error): number | undefined {
  const [, number] = /wrong last sequence: (\d{1,15})\b/.exec(message) ?? [];
  return number === undefined ? undefined : Number(number);
}

function tell(changed: LeaseListener, key: string, entry: KvEntry | null, refuted?: number): void {
  if (entry?.operation === 'PUT') changed(key, entry.value, entry.revision, refuted);
  else changed(key, undefined, entry?.revision ?? LAST, refuted);
}
