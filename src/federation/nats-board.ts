// The board of hosts as two buckets of NATS: one for entries, which everybody listens to, and one for signs of life, which nobody does: they are
// counted and listed by the server. It makes the buckets if there are none, and again where a server has lost them.

import { type KV, Kvm } from '@nats-io/kv';
import type { NatsConnection } from '@nats-io/nats-core';
import { messageOf } from '../util/bridge-error.ts';
import { isRecord, membersOf } from '../util/json-value.ts';
import { type Board, ENTRY_AGE_MS, type EntryListener, SIGN_AGE_MS } from './board.ts';
import { MOST_ENTRY_BYTES } from './host-entry.ts';

const ENTRIES = 'bridge_hosts';
const SIGNS = 'bridge_alive';
type Bucket = typeof ENTRIES | typeof SIGNS;
/** Copies of a bucket in a cluster: it can be written while one of its servers is away. */
const REPLICAS = 3;
const MEMORY = 'memory';
const ASK_MS = 5000;
/** Entries that are read at the same time. */
const AT_ONCE = 16;
const ENTRIES_BEGIN = `$KV.${ENTRIES}.`;
const NOTHING = new Uint8Array(0);

const TERMS = {
  [ENTRIES]: { ttl: ENTRY_AGE_MS, maxValueSize: MOST_ENTRY_BYTES },
  [SIGNS]: { ttl: SIGN_AGE_MS, maxValueSize: 64 },
} as const;

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
    const kv = await opened(connection, bucket);
    this.#buckets.set(bucket, { of: connection, kv });
    return kv;
  }

  /** Does something with a bucket. Where that fails the bucket may be gone: it is looked for again. */
  async #with<T>(bucket: Bucket, task: (kv: KV) => Promise<T>): Promise<T> {
    try {
      return await this.#bus.whileUp(this.#kv(bucket).then(task));
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
    const entry = await this.#with(ENTRIES, (kv) => kv.get(key));
    return entry?.operation === 'PUT' ? entry.value : undefined;
  }

  async remove(key: string): Promise<void> {
    await this.#with(ENTRIES, (kv) => kv.delete(key));
  }

  /**
   * Listens to what is written, as it is published, and reads what is there. A consumer of JetStream would do both, but it may miss
   * what is written while it begins, and notices that after 5 s.
   */
  async watch(prefix: string, changed: EntryListener): Promise<() => void> {
    await this.#bus.whileUp(this.#kv(ENTRIES));
    const connection = this.#connected();
    const heard = new Set<string>();
    const subscription = connection.subscribe(`${ENTRIES_BEGIN}${prefix}>`, {
      callback: (error, { subject, headers, data }) => {
        if (error !== null) return; // not permitted, which is told elsewhere
        const key = subject.slice(ENTRIES_BEGIN.length);
        heard.add(key);
        changed(key, headers?.get('KV-Operation') ? undefined : data, true);
      },
    });
    try {
      await connection.flush();
      const keys = await this.#keysIn(ENTRIES, prefix);
      await forEachOf(keys, async (key) => {
        const value = heard.has(key) ? undefined : await this.get(key);
        if (value !== undefined && !heard.has(key)) changed(key, value, false);
      });
    } catch (error) {
      subscription.unsubscribe();
      throw error;
    }
    heard.clear();
    return () => subscription.unsubscribe();
  }

  // --- signs of life ---

  async sign(key: string): Promise<void> {
    await this.#with(SIGNS, (kv) => kv.put(key, NOTHING));
  }

  async countSigns(): Promise<number> {
    const { messages } = await this.#stateOf(SIGNS);
    return typeof messages === 'number' ? messages : 0;
  }

  async signs(prefix: string): Promise<ReadonlySet<string>> {
    return new Set(await this.#keysIn(SIGNS, prefix));
  }

  async #keysIn(bucket: Bucket, prefix: string): Promise<string[]> {
    const begin = `$KV.${bucket}.`;
    const { subjects } = await this.#stateOf(bucket, `${begin}${prefix}>`);
    return Object.keys(membersOf(subjects)).map((subject) => subject.slice(begin.length));
  }

  /** The state of a bucket, by the server's word; with the subjects that fit a filter. */
  async #stateOf(bucket: Bucket, filter?: string): Promise<Readonly<Record<string, unknown>>> {
    return this.#with(bucket, async () => {
      const asked = filter === undefined ? '' : JSON.stringify({ subjects_filter: filter });
      const answer: unknown = (
        await this.#connected().request(`$JS.API.STREAM.INFO.KV_${bucket}`, asked, { timeout: ASK_MS })
      ).json();
      const { error, state } = membersOf(answer);
      if (isRecord(error)) throw new Error(String(error.description));
      return membersOf(state);
    });
  }
}

/** Does something for all of a list, for a few at a time. */
async function forEachOf<T>(all: readonly T[], task: (one: T) => Promise<void>): Promise<void> {
  const left = all.values();
  const work = async (): Promise<void> => {
    for (const one of left) await task(one);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
}

async function opened(connection: NatsConnection, bucket: Bucket): Promise<KV> {
  const kvm = new Kvm(connection);
  const options = { ...TERMS[bucket], history: 1, storage: MEMORY as never };
  const mayHaveCopies = (connection.info?.connect_urls?.length ?? 0) >= REPLICAS;
  if (!mayHaveCopies) return kvm.create(bucket, options);
  try {
    return await kvm.create(bucket, { ...options, replicas: REPLICAS });
  } catch (error) {
    if (!/replicas|peers|no suitable/i.test(messageOf(error))) throw error;
    return kvm.create(bucket, options);
  }
}

interface KeptThing {
  readonly buckets: readonly string[];
  readonly what: string;
}

const HOSTS_KEPT: KeptThing = { buckets: [ENTRIES, SIGNS], what: 'the list of hosts' };

/** Why the board cannot be used, and what to do. */
export function boardFault(error: unknown, { buckets, what }: KeptThing = HOSTS_KEPT): string {
  const message = messageOf(error);
  const name = error instanceof Error ? error.name : '';
  if (/JetStreamNotEnabled/.test(name) || /jetstream not enabled|no responders/i.test(message))
    return `the NATS servers have no JetStream, which keeps ${what}: put \`jetstream {}\` into their config`;
  if (/permission/i.test(message) || name === 'PermissionViolationError')
    return `NATS does not let this daemon use ${buckets.join(' and ')}: its user needs the subjects in docs/federation.md`;
  if (
    name === 'TimeoutError' ||
    /timeout|no suitable peers|temporarily unavailable|insufficient resources|no quorum/i.test(message)
  )
    return `the cluster of NATS has no quorum for ${what}: start its other servers`;
  return `${what} cannot be kept: ${message.slice(0, 200)}`;
}
