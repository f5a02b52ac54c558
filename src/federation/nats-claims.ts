// The store of claims in JetStream: a bucket of objects for each tenant. Any host of the tenant may have written an
// object, so the object is not trusted: its size is bounded before and during the read, and its digest must match.

import type { NatsConnection } from '@nats-io/nats-core';
import { nanos } from '@nats-io/nats-core';
import { type ObjectStore, Objm } from '@nats-io/obj';
import { messageOf } from '../util/bridge-error.ts';
import type { Clock } from '../util/clock.ts';
import { CLAIM_AGE_MS, ClaimFault, type ClaimStore, tooLong } from './claims.ts';
import { isToken } from './subject.ts';

/** The maximum size of everything parked for a tenant. */
const MOST_BYTES = 1024 * 1024 * 1024;
const TIMEOUT_MS = 60_000;
/** The time that one piece of an object may take. */
const IDLE_MS = 5000;
const DIGEST = /^SHA-256=[A-Za-z0-9+/_-]{43}=$/;

export class NatsClaims implements ClaimStore {
  readonly #bucket: string;
  readonly #clock: Clock;
  readonly #connection: () => NatsConnection | undefined;
  #store: { readonly of: NatsConnection; readonly store: ObjectStore } | undefined;

  constructor(tenant: string, clock: Clock, connection: () => NatsConnection | undefined) {
    this.#clock = clock;
    this.#bucket = `MCP_CLAIMS_${tenant}`;
    this.#connection = connection;
  }

  async #opened(): Promise<ObjectStore> {
    const connection = this.#connection();
    if (connection === undefined) throw new Error('NATS is away');
    if (this.#store?.of === connection) return this.#store.store;
    try {
      const store = await new Objm(connection).create(this.#bucket, {
        ttl: nanos(CLAIM_AGE_MS),
        max_bytes: MOST_BYTES,
      });
      this.#store = { of: connection, store };
      return store;
    } catch (error) {
      throw new Error(`the bucket ${this.#bucket} of NATS cannot be used (${messageOf(error).slice(0, 100)})`, {
        cause: error,
      });
    }
  }

  async put(id: string, bytes: Uint8Array): Promise<void> {
    const store = await this.#opened();
    try {
      await store.putBlob({ name: id }, bytes, { timeout: TIMEOUT_MS });
    } catch (error) {
      this.#store = undefined; // the bucket may be gone: it is looked up again
      throw error;
    }
  }

  async take(id: string, mostBytes: number): Promise<Uint8Array> {
    const store = await this.#opened();
    const info = await store.info(id);
    if (info === null || info.deleted) throw gone();
    if (info.options?.link !== undefined) throw new ClaimFault('it is a link to something else');
    if (!isSound(info)) throw new ClaimFault('what is said of it cannot be true');
    if (info.size > mostBytes) throw tooLong(info.size, mostBytes);
    const bytes = await read(store, { id, size: info.size }, this.#clock);
    await store.delete(id).catch(() => undefined); // it expires in some minutes anyway
    return bytes;
  }
}

function gone(): ClaimFault {
  return new ClaimFault('it is not there any more', { isGone: true });
}

/** True if an object's description is plausible. Its writer may have written anything. */
function isSound({ size, nuid, digest }: Readonly<Record<'size' | 'nuid' | 'digest', unknown>>): boolean {
  const isSize = typeof size === 'number' && Number.isSafeInteger(size) && size >= 0;
  return isSize && typeof nuid === 'string' && isToken(nuid) && typeof digest === 'string' && DIGEST.test(digest);
}

/** Reads an object. The read of an object with missing pieces would never end by itself. */
async function read(store: ObjectStore, { id, size }: { id: string; size: number }, clock: Clock): Promise<Uint8Array> {
  const object = await store.get(id);
  if (object === null) throw gone();
  object.error.catch(() => undefined); // the reader reports it too
  const bytes = Buffer.allocUnsafeSlow(size);
  const reader = object.data.getReader();
  let filled = 0;
  let isLate = false;
  const stop = (): void => {
    isLate = true;
    void reader.cancel().catch(() => undefined);
  };
  for (;;) {
    const timer = clock.after(IDLE_MS, stop);
    const next = await reader
      .read()
      .finally(() => timer.cancel())
      .catch(asFault);
    if (next.done) break;
    if (filled + next.value.length > size) {
      stop();
      throw new ClaimFault(`it has more than the ${size} bytes that it is said to have`);
    }
    bytes.set(next.value, filled);
    filled += next.value.length;
  }
  if (isLate) throw new Error('its pieces do not come');
  if (filled !== size) throw new ClaimFault(`it has ${filled} of ${size} bytes`);
  return bytes;
}

/** Throws the error as a fault: if all pieces are there but differ from their description, they will never be right. */
function asFault(error: unknown): never {
  throw messageOf(error).includes('digests do not match') ? new ClaimFault('its digest is wrong') : error;
}
