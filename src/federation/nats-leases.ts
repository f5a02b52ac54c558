// Leases as a bucket of NATS that is kept on disk: their numbers have to rise also over a restart of the servers. It makes the bucket if there is none.

import { JetStreamApiError } from '@nats-io/jetstream';
import { type KV, Kvm, type KvWatchEntry } from '@nats-io/kv';
import type { NatsConnection, QueuedIterator } from '@nats-io/nats-core';
import { messageOf } from '../util/bridge-error.ts';
import type { LeaseBoard, LeaseListener } from './lease-table.ts';
import type { BoardBus } from './nats-board.ts';

export const LEASES = 'bridge_leases';
/** Copies of the bucket in a cluster: it can be written while one of its servers is away. */
const REPLICAS = 3;
/** Another write came first. */
const WRONG_LAST: readonly number[] = [10071, 10164];

export class NatsLeases implements LeaseBoard {
  readonly #bus: BoardBus;
  #bucket: { readonly of: NatsConnection; readonly kv: KV } | undefined;

  constructor(bus: BoardBus) {
    this.#bus = bus;
  }

  async #kv(): Promise<KV> {
    const { connection } = this.#bus;
    if (connection === undefined) throw new Error('NATS is away');
    if (this.#bucket?.of !== connection) this.#bucket = { of: connection, kv: await opened(connection) };
    return this.#bucket.kv;
  }

  async write(key: string, value: Uint8Array, over: number | undefined): Promise<number | undefined> {
    const kv = await this.#bus.whileUp(this.#kv());
    try {
      return await this.#bus.whileUp(over === undefined ? kv.create(key, value) : kv.update(key, value, over));
    } catch (error) {
      if (error instanceof JetStreamApiError && WRONG_LAST.includes(error.code)) return undefined;
      this.#bucket = undefined; // it may be gone: it is looked for again
      throw error;
    }
  }

  async #watched(prefix: string): Promise<QueuedIterator<KvWatchEntry>> {
    const watched = this.#kv().then((kv) => kv.watch({ key: `${prefix}>` }));
    try {
      return await this.#bus.whileUp(watched);
    } catch (error) {
      void watched.then((entries) => entries.stop()).catch(() => undefined); // it may come after all
      this.#bucket = undefined; // it may be gone: it is made again
      throw error;
    }
  }

  async watch(prefix: string, changed: LeaseListener, ended: () => void): Promise<() => void> {
    const entries = await this.#watched(prefix);
    void (async () => {
      for await (const { key, operation, value, revision } of entries)
        changed(key, operation === 'PUT' ? value : undefined, revision);
    })()
      .catch(() => undefined)
      .finally(() => {
        this.#bucket = undefined;
        ended();
      });
    return () => entries.stop();
  }
}

async function opened(connection: NatsConnection): Promise<KV> {
  const kvm = new Kvm(connection);
  const options = { history: 1, maxValueSize: 1024 };
  const mayHaveCopies = (connection.info?.connect_urls?.length ?? 0) >= REPLICAS;
  if (!mayHaveCopies) return kvm.create(LEASES, options);
  try {
    return await kvm.create(LEASES, { ...options, replicas: REPLICAS });
  } catch (error) {
    if (!/replicas|peers|no suitable/i.test(messageOf(error))) throw error;
    return kvm.create(LEASES, options);
  }
}
