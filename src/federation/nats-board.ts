// The board of hosts as a bucket of NATS: an entry that is not renewed is over after the bucket's age. It makes the bucket if there is none,
// and again where a server has lost it.

import { type KV, Kvm } from '@nats-io/kv';
import type { NatsConnection } from '@nats-io/nats-core';
import { messageOf } from '../util/bridge-error.ts';
import { type Board, LEASE_MS } from './host-list.ts';

const BUCKET = 'bridge_hosts';
/** Copies of the bucket in a cluster: it can be written while one of its servers is away. */
const REPLICAS = 3;
const MEMORY = 'memory';

export class NatsBoard implements Board {
  readonly #connection: () => NatsConnection | undefined;
  #bucket: { readonly of: NatsConnection; readonly kv: KV } | undefined;

  constructor(connection: () => NatsConnection | undefined) {
    this.#connection = connection;
  }

  async #kv(): Promise<KV> {
    const connection = this.#connection();
    if (connection === undefined) throw new Error('NATS is away');
    if (this.#bucket?.of === connection) return this.#bucket.kv;
    const kv = await opened(connection);
    this.#bucket = { of: connection, kv };
    return kv;
  }

  async put(key: string, value: Uint8Array): Promise<void> {
    const kv = await this.#kv();
    try {
      await kv.put(key, value);
    } catch (error) {
      this.#bucket = undefined; // it may be gone: it is looked for again
      throw error;
    }
  }

  async remove(key: string): Promise<void> {
    await (await this.#kv()).delete(key);
  }

  async watch(prefix: string, changed: (key: string, value: Uint8Array | undefined) => void): Promise<() => void> {
    const kv = await this.#kv();
    const entries = await kv.watch({ key: `${prefix}>` });
    void (async () => {
      for await (const { key, operation, value } of entries) changed(key, operation === 'PUT' ? value : undefined);
    })().catch(() => undefined); // it is watched again once the bus is back
    return () => entries.stop();
  }
}

async function opened(connection: NatsConnection): Promise<KV> {
  const kvm = new Kvm(connection);
  const options = { ttl: LEASE_MS, history: 1, storage: MEMORY as never };
  const mayHaveCopies = (connection.info?.connect_urls?.length ?? 0) >= REPLICAS;
  if (!mayHaveCopies) return kvm.create(BUCKET, options);
  try {
    return await kvm.create(BUCKET, { ...options, replicas: REPLICAS });
  } catch (error) {
    if (!/replicas|peers|no suitable/i.test(messageOf(error))) throw error;
    return kvm.create(BUCKET, options);
  }
}

/** Why the board cannot be used, and what to do. */
export function boardFault(error: unknown): string {
  const message = messageOf(error);
  const name = error instanceof Error ? error.name : '';
  if (/JetStreamNotEnabled/.test(name) || /jetstream not enabled|no responders/i.test(message))
    return 'the NATS servers have no JetStream, which keeps the list of hosts: put `jetstream {}` into their config';
  if (/permission/i.test(message) || name === 'PermissionViolationError')
    return `NATS does not let this daemon use the bucket ${BUCKET}: its user needs the subjects in docs/federation.md`;
  if (
    name === 'TimeoutError' ||
    /timeout|no suitable peers|temporarily unavailable|insufficient resources/i.test(message)
  )
    return 'the cluster of NATS has no quorum for the list of hosts: start its other servers';
  return `the list of hosts cannot be kept: ${message.slice(0, 200)}`;
}
