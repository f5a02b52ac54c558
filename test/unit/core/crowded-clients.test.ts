// What becomes of a client that does not take what a server has for it, and of one that takes it slowly.

import { describe, expect, test } from 'vitest';
import { GRACE_MS } from '../../../src/core/crowded-clients.ts';
import { CoreInMemory, type TestClient } from '../../support/core-in-memory.ts';

const LIMIT = 10_000;
const ANSWER = 5000;

interface Scene {
  readonly core: CoreInMemory;
  readonly client: TestClient;
  readonly other: TestClient;
  /** The server says so many answers more to what the client has asked. */
  answer(count: number): Promise<void>;
}

/** A client that takes nothing by itself, with many calls under way. */
async function scene(): Promise<Scene> {
  const core = new CoreInMemory({ limits: { maxQueuedBytesPerClient: LIMIT } });
  const [client, other] = [await core.ready(), await core.ready()];
  for (let id = 1; id <= 60; id++) client.call(id);
  await core.settle();
  client.link.block();
  let answered = 0;
  return {
    core,
    client,
    other,
    async answer(count) {
      for (let i = 0; i < count; i++) {
        core.server().say({ jsonrpc: '2.0', id: ++answered, result: 'x'.repeat(ANSWER) });
        await core.settle();
      }
    },
  };
}

const isServerRead = (core: CoreInMemory): boolean => core.server().link?.isPaused === false;

describe('a client that takes nothing', () => {
  test('is left alone until twice its limit is queued for it', async () => {
    const { core, answer } = await scene();
    await answer(3);
    await core.pass(GRACE_MS);
    expect([core.counters.clientsCutOff, core.counters.serversPaused, isServerRead(core)]).toEqual([0, 0, true]);
  });

  test('beyond that has a moment, in which its server is not read, and is cut off; its calls are cancelled', async () => {
    const { core, client, other, answer } = await scene();
    await answer(4);
    expect([core.counters.clientsCutOff, core.counters.serversPaused, isServerRead(core)]).toEqual([0, 1, false]);
    await core.pass(GRACE_MS - 1);
    expect(core.counters.clientsCutOff).toBe(0);
    await core.pass(1);
    expect([core.counters.clientsCutOff, core.counters.clientsOverQueued]).toEqual([1, 1]);
    expect(isServerRead(core)).toBe(true);
    expect(core.server().cancelled).toHaveLength(56);
    expect(core.openSlots).toBe(0);
    other.call('fine');
    await core.settle();
    expect(core.server().requests.at(-1)?.id).toBe(61);
    await core.pass(3000);
    expect([client.link.isClosed, core.manager.clients().length]).toEqual([true, 1]);
  });

  test('and goes meanwhile holds up nobody any longer', async () => {
    const { core, client, answer } = await scene();
    await answer(4);
    client.link.destroy();
    await core.settle();
    expect(isServerRead(core)).toBe(true);
    await core.pass(GRACE_MS);
    expect(core.counters.clientsCutOff).toBe(0);
  });

  test('is cut off also if its server ends meanwhile, and the next one is read', async () => {
    const { core, other, answer } = await scene();
    await answer(4);
    core.server().crash();
    other.call('next');
    await core.settle();
    expect([core.server().starts, isServerRead(core)]).toEqual([2, true]);
    await core.pass(GRACE_MS);
    expect(core.counters.clientsCutOff).toBe(1);
    expect(isServerRead(core)).toBe(true);
  });

  test('has its moment once for both of two that are over', async () => {
    const { core, answer, other } = await scene();
    for (let id = 1; id <= 10; id++) other.call(id);
    await core.settle();
    other.link.block();
    await answer(4);
    await core.pass(GRACE_MS / 2);
    for (let id = 61; id <= 64; id++) core.server().say({ jsonrpc: '2.0', id, result: 'x'.repeat(ANSWER) });
    await core.settle();
    await core.pass(GRACE_MS / 2);
    expect([core.counters.clientsCutOff, isServerRead(core)]).toEqual([1, false]);
    await core.pass(GRACE_MS / 2);
    expect([core.counters.clientsCutOff, isServerRead(core)]).toEqual([2, true]);
  });
});

describe('a client that takes little', () => {
  test('goes on as soon as it has taken something, and its server is read again', async () => {
    const { core, client, answer } = await scene();
    await answer(4);
    await core.pass(GRACE_MS - 1);
    client.link.drain(1);
    expect(isServerRead(core)).toBe(true);
    await core.pass(10 * GRACE_MS);
    expect(core.counters.clientsCutOff).toBe(0);
  });

  test('gets all that it has asked for, though it comes in faster for a long time', async () => {
    const { core, client, answer } = await scene();
    for (let taken = 0; taken < 30; taken++) {
      await answer(2);
      client.link.drain(3); // one answer
    }
    client.link.unblock();
    await core.settle();
    expect(core.counters.clientsCutOff).toBe(0);
    expect(client.received.filter(({ result }) => result !== undefined)).toHaveLength(60);
  });

  test('is cut off all the same when sixteen times its limit is queued for it', async () => {
    const { core, client, answer } = await scene();
    for (let round = 0; round < 60 && core.counters.clientsCutOff === 0; round++) {
      await answer(1);
      client.link.drain(1);
    }
    const most = 16 * LIMIT;
    expect(core.counters.clientsCutOff).toBe(1);
    expect(client.link.writableLength).toBeGreaterThan(most - 3 * ANSWER);
    expect(core.counters.serversPaused).toBe(0);
  });
});
