// The buckets of JetStream in which hosts meet: what they keep, and how they are opened. A daemon makes a missing
// bucket only if NATS lets it. Elsewhere an administrator makes the buckets once, and a daemon that finds none says so.

import { type KV, type KvEntry, Kvm } from '@nats-io/kv';
import { errors, type MsgHdrs, type NatsConnection } from '@nats-io/nats-core';
import type { NatsSettings } from '../model/federation-settings.ts';
import { BridgeError, messageOf } from '../util/bridge-error.ts';
import { isRecord, membersOf } from '../util/json-value.ts';
import { ENTRY_AGE_MS, SIGN_AGE_MS } from './board.ts';
import { MOST_ENTRY_BYTES } from './host-entry.ts';
import { connectedOnce } from './nats-bus.ts';
import { LEASE_BEGIN } from './subject.ts';

/** Entries of hosts; every daemon listens to them. */
export const ENTRIES = 'bridge_hosts';
/** Signs of life; the server counts them. */
export const SIGNS = 'bridge_alive';
/** Leases, which are kept on disk. */
export const LEASES = 'bridge_leases';

const MEMORY = 'memory';
const FILE = 'file';
/** The copies of a bucket in a cluster: it can be written while one server is away. */
const REPLICAS = 3;
const ASK_MS = 5000;
const NO_QUORUM = 'no quorum';
const NOT_FOUND = 10059;

const MS = 1_000_000;

const TERMS = {
  [ENTRIES]: { max_age: ENTRY_AGE_MS * MS, max_msg_size: MOST_ENTRY_BYTES, storage: MEMORY },
  [SIGNS]: { max_age: SIGN_AGE_MS * MS, max_msg_size: 64, storage: MEMORY },
  // NATS publishes each write once more, with its number. So a listener needs no consumer, which could make NATS write
  // anywhere.
  [LEASES]: {
    ...{ max_age: 0, max_msg_size: 1024, storage: FILE },
    republish: { src: `$KV.${LEASES}.>`, dest: `${LEASE_BEGIN}>` },
  },
} as const;

export type Bucket = keyof typeof TERMS;
const BUCKETS: readonly Bucket[] = [ENTRIES, SIGNS, LEASES];

/**
 * Returns the config of a bucket. It differs from the package's: with `allow_rollup_hdrs`, a writer of one key could
 * remove all.
 */
function configFor(bucket: Bucket, copies: number): object {
  return {
    ...TERMS[bucket],
    ...{ name: `KV_${bucket}`, subjects: [`$KV.${bucket}.>`], retention: 'limits', discard: 'new' },
    ...{ max_msgs_per_subject: 1, max_msgs: -1, max_bytes: -1, max_consumers: -1 },
    ...{ num_replicas: copies, allow_direct: true, allow_rollup_hdrs: false },
  };
}

/** The connections that may not make buckets; they are not asked again. */
const makesNone = new WeakSet<NatsConnection>();

/** Opens a bucket; makes it if there is none. */
export async function openedBucket(connection: NatsConnection, bucket: Bucket): Promise<KV> {
  const found = await configOf(connection, bucket);
  if (found === undefined) await made(connection, bucket);
  else await correct(connection, bucket, found);
  return new Kvm(connection).open(bucket, { allow_direct: found === undefined || found.allow_direct === true });
}

async function made(connection: NatsConnection, bucket: Bucket): Promise<void> {
  if (makesNone.has(connection)) throw missing(bucket);
  try {
    await makeBucket(connection, bucket);
  } catch (error) {
    if (deniedIn(error) === undefined) throw error;
    makesNone.add(connection);
    throw missing(bucket);
  }
}

function missing(bucket: Bucket): BridgeError {
  return new BridgeError(
    'SERVER_UNREACHABLE',
    `NATS has no bucket ${bucket}, and does not let this daemon make it: an administrator makes it once with \`mcp-bridge hosts --make-buckets\` (docs/federation.md)`,
  );
}

async function makeBucket(connection: NatsConnection, bucket: Bucket): Promise<void> {
  const mayHaveCopies = (connection.info?.connect_urls?.length ?? 0) >= REPLICAS;
  const make = async (copies: number): Promise<string | undefined> => {
    const { error } = await asked(connection, `STREAM.CREATE.KV_${bucket}`, configFor(bucket, copies));
    return isRecord(error) ? String(error.description) : undefined;
  };
  let fault = await make(mayHaveCopies ? REPLICAS : 1);
  if (mayHaveCopies && fault !== undefined && /replicas|peers|no suitable/i.test(fault)) fault = await make(1);
  if (fault !== undefined) throw new Error(fault);
}

/** Makes all missing buckets, with the rights of an administrator. */
export async function makeBuckets(
  settings: NatsSettings,
): Promise<readonly { readonly bucket: Bucket; readonly isNew: boolean }[]> {
  const connection = await connectedOnce(settings, 'mcp-bridge make-buckets');
  const told: { readonly bucket: Bucket; readonly isNew: boolean }[] = [];
  try {
    for (const bucket of BUCKETS)
      try {
        const isNew = (await configOf(connection, bucket)) === undefined;
        if (isNew) await makeBucket(connection, bucket);
        else await openedBucket(connection, bucket);
        told.push({ bucket, isNew });
      } catch (error) {
        const asked = { address: connection.getServer(), cluster: connection.info?.cluster };
        throw new BridgeError('SERVER_UNREACHABLE', bucketFault(error, bucket, asked), {
          hint: 'The buckets need a user who may use all of $JS.API.>, an administrator of the account (docs/federation.md).',
        });
      }
    return told;
  } finally {
    await connection.close();
  }
}

/** Adds the missing settings to a bucket that was made differently, if this daemon may do that. */
async function correct(
  connection: NatsConnection,
  bucket: Bucket,
  found: Readonly<Record<string, unknown>>,
): Promise<void> {
  const isHeard = bucket !== LEASES || membersOf(found.republish).dest === `${LEASE_BEGIN}>`;
  if (isHeard && found.allow_rollup_hdrs !== true) return;
  const { republish } = TERMS[LEASES];
  const wanted = { ...found, allow_rollup_hdrs: false, ...(bucket === LEASES && { republish }) };
  const answer = await asked(connection, `STREAM.UPDATE.KV_${bucket}`, wanted).catch((error: unknown) =>
    deniedIn(error) === undefined ? Promise.reject(error) : { error: {} },
  );
  if (!isRecord(answer.error) || isHeard) return;
  throw new BridgeError(
    'SERVER_UNREACHABLE',
    `the bucket ${bucket} was made in another way: an administrator removes it, and makes it with \`mcp-bridge hosts --make-buckets\``,
  );
}

/** Reads the config of a bucket from the server; undefined if there is none. */
async function configOf(
  connection: NatsConnection,
  bucket: Bucket,
): Promise<Readonly<Record<string, unknown>> | undefined> {
  const { error, config } = await asked(connection, `STREAM.INFO.KV_${bucket}`);
  if (isRecord(error) && error.err_code === NOT_FOUND) return undefined;
  if (isRecord(error)) throw new Error(String(error.description));
  return membersOf(config);
}

/** Stands for a key that carries an error status from its writer: NATS keeps that status and returns it as its own. */
export const UNREADABLE = Symbol('unreadable');

/** Reads a key. A key that cannot be read does not stop the reading of others. */
export async function entryIn(
  connection: NatsConnection,
  kv: KV,
  bucket: Bucket,
  key: string,
): Promise<KvEntry | null | typeof UNREADABLE> {
  try {
    return await kv.get(key);
  } catch (error) {
    if (!isStatus(error)) throw error;
    await stateOf(connection, bucket); // fails if the status is the server's own
    return UNREADABLE;
  }
}

/** True for a failure that a stored message can fake. */
export function isStatus(error: unknown): boolean {
  return isUnanswered(error) || (error instanceof Error && error.name === 'JetStreamStatusError');
}

/**
 * True for a write that removes its key. Any writer may set these headers; they mean the same here as in a read from
 * the bucket.
 */
export function isRemoval(headers: MsgHdrs | undefined): boolean {
  if (headers?.get('Nats-Marker-Reason') === 'MaxAge') return true;
  return (headers?.get('KV-Operation') || 'PUT') !== 'PUT';
}

/** Returns the keys of a bucket that begin with `prefix`. */
export async function keysIn(connection: NatsConnection, bucket: Bucket, prefix: string): Promise<string[]> {
  const begin = `$KV.${bucket}.`;
  const { subjects } = await stateOf(connection, bucket, `${begin}${prefix}>`);
  return Object.keys(membersOf(subjects)).map((subject) => subject.slice(begin.length));
}

/** Returns the state of a bucket, as the server reports it, with the subjects that match a filter. */
export async function stateOf(
  connection: NatsConnection,
  bucket: Bucket,
  filter?: string,
): Promise<Readonly<Record<string, unknown>>> {
  const { error, state } = await asked(
    connection,
    `STREAM.INFO.KV_${bucket}`,
    filter === undefined ? undefined : { subjects_filter: filter },
  );
  if (isRecord(error)) throw new Error(String(error.description));
  return membersOf(state);
}

async function asked(
  connection: NatsConnection,
  verb: string,
  question?: object,
): Promise<Readonly<Record<string, unknown>>> {
  const data = question === undefined ? '' : JSON.stringify(question);
  const answer: unknown = (await connection.request(`$JS.API.${verb}`, data, { timeout: ASK_MS })).json();
  return membersOf(answer);
}

/**
 * Fails a task with an open bucket. If nobody answers, JetStream exists all the same, because it has opened the bucket:
 * its servers have no leader.
 */
export function failTask(error: unknown): never {
  throw isUnanswered(error) ? new Error(NO_QUORUM, { cause: error }) : error;
}

function isUnanswered(error: unknown): boolean {
  return error instanceof Error && (/JetStreamNotEnabled/.test(error.name) || /no responders/i.test(error.message));
}

/** The text is the same for all buckets: one report of it is enough. */
const NO_JETSTREAM =
  'the NATS servers have no JetStream, in which hosts find each other: put `jetstream {}` into their config';

function clusterOf({ cluster }: Partial<AskedServer> = {}): string {
  return cluster === undefined ? 'the cluster of NATS' : `the NATS cluster ${JSON.stringify(cluster)}`;
}

/** Returns the operation and subject that NATS denies, from an error or its cause. */
function deniedIn(error: unknown): { readonly operation: string; readonly subject: string } | undefined {
  for (let at: unknown = error, depth = 0; at instanceof Error && depth < 5; at = at.cause, depth++)
    if (at instanceof errors.PermissionViolationError) {
      const operation = at.operation === 'publish' ? 'publish to' : 'subscribe to';
      return { operation, subject: at.subject };
    }
  return undefined;
}

/** The NATS server that was asked, as it describes itself. */
export interface AskedServer {
  readonly address: string;
  /** Undefined for a server outside a cluster. */
  readonly cluster: string | undefined;
}

/** Says why a bucket cannot be used, and what to do. */
export function bucketFault(error: unknown, bucket: Bucket = ENTRIES, server?: AskedServer): string {
  const what = bucket === LEASES ? 'the list of which host serves a server that remembers' : 'the list of hosts';
  if (error instanceof BridgeError) return error.message;
  const message = messageOf(error);
  const name = error instanceof Error ? error.name : '';
  const denied = deniedIn(error);
  if (denied !== undefined)
    return `NATS does not let this daemon ${denied.operation} ${denied.subject}, which ${what} needs: give its user the permissions in docs/federation.md`;
  const isAlone = server !== undefined && server.cluster === undefined;
  const isLost = isAlone && message === NO_QUORUM; // it had JetStream before
  if (isUnanswered(error) || isLost || /jetstream not enabled/i.test(message)) return NO_JETSTREAM;
  if (/permission/i.test(message))
    return `NATS does not let this daemon use ${bucket}: give its user the permissions in docs/federation.md`;
  const isSilent = name === 'TimeoutError' || /timeout/i.test(message);
  if (isSilent && isAlone)
    return `the NATS server at ${server.address} is connected, and JetStream there has not answered for ${ASK_MS / 1000} s, which keeps ${what}: look at its log, its load and its disk, or start it again`;
  const hasNoQuorum = /no suitable peers|temporarily unavailable|no quorum/i.test(message);
  if (!isAlone && (isSilent || hasNoQuorum || /insufficient resources/i.test(message)))
    return `${clusterOf(server)} has no quorum for ${what}: more than half of its servers have to run and reach each other, so start those that do not`;
  return `${what} cannot be kept: ${message.slice(0, 200)}`;
}
