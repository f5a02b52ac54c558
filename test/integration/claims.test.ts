// Answers that are too long for frames go through the object store of a real nats-server.

import { jetstreamManager } from '@nats-io/jetstream';
import { Objm } from '@nats-io/obj';
import { connect } from '@nats-io/transport-node';
import { afterAll, afterEach, expect } from 'vitest';
import { ClaimFault } from '../../src/federation/claims.ts';
import { NatsClaims } from '../../src/federation/nats-claims.ts';
import { systemClock } from '../../src/util/clock.ts';
import { NatsServer, natsTest } from '../support/nats-server.ts';
import { textOf } from '../support/raw-client.ts';
import { cleanUp, fixtureServer } from '../support/test-daemon.ts';
import { endHosts, startHost, untilKnown } from '../support/test-hosts.ts';

afterEach(endHosts);
afterAll(() => void cleanUp());

const LIMITS = { limits: { maxMessageBytes: 64 << 20 } };

natsTest('an answer of 20 MiB goes through the store, and is removed from it when it is taken', async () => {
  const nats = await NatsServer.start();
  await startHost(nats, 'builder', { servers: { fixture: fixtureServer() }, more: LIMITS });
  const laptop = await startHost(nats, 'laptop', { more: LIMITS });
  await untilKnown(laptop, 'fixture@builder');
  const client = await laptop.client({ 'mcp-bridge/view': 'server:fixture' });
  expect(textOf(await client.callTool(1, 'blob', { mib: 20 }))).toHaveLength(20 << 20);
  expect(textOf(await client.callTool(2, 'echo', { text: 'next' }))).toBe('next');
  const connection = await connect({ servers: nats.url });
  const status = await (await new Objm(connection).open('MCP_CLAIMS_acme')).status();
  const jsm = await jetstreamManager(connection);
  const { config, state } = await jsm.streams.info('OBJ_MCP_CLAIMS_acme');
  await connection.close();
  expect(status.size).toBeLessThan(10_000); // what says that it was removed
  expect(state.bytes).toBeLessThan(10_000);
  expect(config.max_age).toBe(300_000_000_000);
});

natsTest('what is parked is taken only by its tenant, and only if it is what it says', async () => {
  const nats = await NatsServer.start();
  const connection = await connect({ servers: nats.url });
  const claims = new NatsClaims('acme', systemClock, () => connection);
  const others = new NatsClaims('other', systemClock, () => connection);
  const bytes = Buffer.alloc(300_000, 'x');
  const put = async (id: string): Promise<void> => claims.put(id, bytes);
  /** Writes something else about an object than what is true. */
  const forge = async (id: string, change: object): Promise<void> => {
    const store = await new Objm(connection).open('MCP_CLAIMS_acme');
    const info = await store.info(id);
    if (info === null) throw new Error(`there is no object ${id}`);
    const { name, bucket, nuid, size, chunks, digest, options } = info;
    const subject = `$O.MCP_CLAIMS_acme.M.${Buffer.from(id).toString('base64').replaceAll('+', '-').replaceAll('/', '_')}`;
    const { headers } = await import('@nats-io/nats-core');
    const rollup = headers();
    rollup.set('Nats-Rollup', 'sub');
    connection.publish(subject, JSON.stringify({ name, bucket, nuid, size, chunks, digest, options, ...change }), {
      headers: rollup,
    });
    await connection.flush();
  };
  await put('plain-object');
  await others.put('made-by-others', bytes);
  await expect(others.take('plain-object', 1 << 20)).rejects.toThrow('not there');
  await expect(claims.take('made-by-others', 1 << 20)).rejects.toThrow('not there');
  await expect(claims.take('plain-object', 1000)).rejects.toThrow('takes at most 1000: raise limits.maxMessageBytes');
  expect(Buffer.from(await claims.take('plain-object', 1 << 20)).equals(bytes)).toBe(true);
  await expect(claims.take('plain-object', 1 << 20)).rejects.toThrow('not there');
  const refusal = async (id: string): Promise<{ isFault: boolean; isGone?: boolean }> => {
    const error: unknown = await claims.take(id, 1 << 20).then(
      () => 'it was taken',
      (reason: unknown) => reason,
    );
    expect(error).toBeInstanceOf(Error);
    return error instanceof ClaimFault ? { isFault: true, isGone: error.isGone } : { isFault: false };
  };
  // A lie stays one: it is not tried again.
  for (const [id, change] of [
    ['small-size', { size: 1000 }],
    ['large-size', { size: 400_000 }],
    ['negative-size', { size: -5 }],
    ['broken-size', { size: 1000.5 }],
    ['size-in-words', { size: '300000' }],
    ['no-size', { size: undefined }],
    ['wrong-digest', { digest: `SHA-256=${Buffer.alloc(32).toString('base64url')}=` }],
    ['no-digest', { digest: 'SHA-256=AAAA' }],
    ['pieces-of-all', { nuid: '>' }],
    ['pieces-of-nobody', { nuid: 7 }],
    ['a-link', { options: { link: { bucket: 'MCP_CLAIMS_other', name: 'made-by-others' } } }],
  ] as const) {
    await put(id);
    await forge(id, change);
    expect([id, await refusal(id)]).toEqual([id, { isFault: true, isGone: false }]);
  }
  // Pieces that do not come may come later.
  await put('no-pieces');
  await forge('no-pieces', { nuid: 'NOTHINGISTHERE' });
  expect(await refusal('no-pieces')).toEqual({ isFault: false });
  await connection.close();
});

natsTest('without JetStream the caller learns what to do', async () => {
  const nats = await NatsServer.start({ hasJetStream: false });
  const connection = await connect({ servers: nats.url });
  await expect(
    new NatsClaims('acme', systemClock, () => connection).put('an-object', Buffer.alloc(10)),
  ).rejects.toThrow('the bucket MCP_CLAIMS_acme of NATS cannot be used');
  await connection.close();
});
