// What becomes of a client that does not take what a server has for it, and of one that takes it slowly.

import { describe, expect, test } from 'vitest';
import { GRACE_MS } from '../../../src/core/pressure.ts';
import { CoreInMemory, type Message, type TestClient } from '../../support/core-in-memory.ts';
import { ResumingClient, wireInMemory } from '../../support/resuming-client.ts';

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
    expect(core.openCalls).toBe(0);
    other.call('fine');
    await core.settle();
    expect(core.server().requests.at(-1)?.id).toBe(61);
    await core.pass(3000);
    expect([client.link.isClosed, core.manager.clients().length]).toEqual([true, 1]);
  });

  test('and goes meanwhile no longer blocks anybody', async () => {
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

  test('is still cut off when sixteen times its limit is queued', async () => {
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

describe('a client that reads messages of several servers', () => {
  const called = (core: CoreInMemory, server: string): Message[] =>
    core.server(server).requests.filter(({ method }) => method === 'tools/call');

  test('goes on with all of them as soon as it has taken something', async () => {
    const servers = ['one', 'two'];
    const core = new CoreInMemory({ limits: { maxQueuedBytesPerClient: LIMIT }, servers });
    for (const name of servers) core.server(name).has({ tools: [{ name: 'tool', inputSchema: { type: 'object' } }] });
    const client = await core.ready({ _meta: { 'mcp-bridge/view': 'all' } });
    client.say({ jsonrpc: '2.0', id: 'list', method: 'tools/list' });
    await core.settle();
    for (const name of [...servers, ...servers, ...servers, ...servers])
      client.say({
        jsonrpc: '2.0',
        id: Math.random().toString(),
        method: 'tools/call',
        params: { name: `${name}__tool` },
      });
    await core.settle();
    client.link.block();
    for (const [name, i] of [
      ['one', 0],
      ['one', 1],
      ['one', 2],
      ['one', 3],
      ['two', 0],
    ] as const) {
      core.server(name).say({ jsonrpc: '2.0', id: called(core, name)[i]?.id, result: 'x'.repeat(ANSWER) });
      await core.settle();
    }
    const areRead = (): boolean[] => servers.map((name) => core.server(name).link?.isPaused === false);
    expect(areRead()).toEqual([false, false]);
    await core.pass(GRACE_MS - 1);
    client.link.drain(3); // one answer
    expect(areRead()).toEqual([true, true]);
    await core.pass(GRACE_MS);
    expect(core.counters.clientsCutOff).toBe(0);
  });

  test('goes on with an instance that it no longer uses too', async () => {
    const { core, client } = await scene();
    const before = core.server().first;
    core.redefine(['memory'], ['memory']); // what was sent ends where it was sent
    await core.settle();
    for (let id = 1; id <= 4; id++) {
      before.say({ jsonrpc: '2.0', id, result: 'x'.repeat(ANSWER) });
      await core.settle();
    }
    expect(before.link?.isPaused).toBe(true);
    client.link.drain(3); // one answer
    expect(before.link?.isPaused).toBe(false);
    await core.pass(GRACE_MS);
    expect(core.counters.clientsCutOff).toBe(0);
  });
});

test('a client that is away is not waited for: its queue has separate limits', async () => {
  const core = new CoreInMemory({ limits: { maxQueuedBytesPerClient: LIMIT, maxResumeBytesPerClient: 1_000_000 } });
  const client = await ResumingClient.ready(wireInMemory(core));
  client.drop();
  await core.settle();
  for (let i = 0; i < 20; i++)
    core.server().say({ jsonrpc: '2.0', method: 'notifications/x', params: 'x'.repeat(ANSWER) });
  await core.settle();
  expect(isServerRead(core)).toBe(true);
  await core.pass(GRACE_MS);
  expect([core.manager.parkedCount, core.counters.clientsCutOff]).toEqual([1, 0]);
});

test('a client that drops its connection while it is waited for can come back', async () => {
  const core = new CoreInMemory({ limits: { maxQueuedBytesPerClient: LIMIT, maxResumeBytesPerClient: 1_000_000 } });
  const wire = wireInMemory(core);
  const client = await ResumingClient.ready(wire);
  wire.link.block();
  for (let i = 0; i < 4; i++) {
    core.server().say({ jsonrpc: '2.0', method: 'notifications/x', params: 'x'.repeat(ANSWER) });
    await core.settle();
  }
  expect(isServerRead(core)).toBe(false);
  client.drop();
  await core.settle();
  await core.pass(GRACE_MS);
  expect([core.manager.parkedCount, core.counters.clientsCutOff, isServerRead(core)]).toEqual([1, 0, true]);
});

test('a client that reads nothing gets no more questions than its limit, and the server an error', async () => {
  const core = new CoreInMemory({ limits: { maxQueuedBytesPerClient: LIMIT } });
  const client = await core.ready({ capabilities: { elicitation: {} } });
  client.call(1);
  await core.settle();
  client.link.block();
  const params = { message: 'x'.repeat(ANSWER) };
  for (let n = 0; n < 20; n++) core.server().say({ jsonrpc: '2.0', id: `q${n}`, method: 'elicitation/create', params });
  await core.settle();
  expect(client.link.writableLength).toBeLessThan(LIMIT + 2 * ANSWER);
  expect(core.counters.questionsRefused).toBe(18);
});
