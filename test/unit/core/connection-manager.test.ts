// How clients come and go: the limits on how many there are and on what waits for them, and each way to end.

import { describe, expect, test } from 'vitest';
import { CoreInMemory } from '../../support/core-in-memory.ts';

describe('a client that goes', () => {
  test('has its calls cancelled at the server, and is forgotten everywhere', async () => {
    const core = new CoreInMemory({ limits: { maxInFlightPerClient: 2 } });
    const [client, other] = [await core.ready(), await core.ready()];
    for (const id of [1, 2, 3]) client.call(id, {}, { progressToken: id });
    other.call(1);
    await core.settle();
    const session = core.sessionOf(client);
    client.link.destroy();
    await core.settle();
    const sent = core.server().requests.map(({ id }) => id);
    expect(core.server().cancelled).toEqual(sent.slice(0, 2));
    expect(session).toMatchObject({ state: 'closing', sentCount: 0, waitingBytes: 0 });
    expect([session?.calls.size, core.server().instance.sessions.size, core.manager.clients().length]).toEqual([
      0, 1, 1,
    ]);
    core.server().say('{"jsonrpc":"2.0","id":1,"result":{}}');
    await core.settle();
    expect(core.counters.strayResponses).toBe(1);
  });

  test('before its handshake is over is gone at once', async () => {
    const core = new CoreInMemory();
    const client = core.connect();
    client.link.endByPeer();
    await core.settle();
    expect([client.link.isClosed, core.manager.clients().length]).toEqual([true, 0]);
  });
});

describe('a client that ends its side only', () => {
  test('still gets its answers, then its link ends', async () => {
    const core = new CoreInMemory({ limits: { maxInFlightPerClient: 1 } });
    const client = await core.ready();
    for (const id of [1, 2]) client.call(id);
    client.link.endByPeer();
    await core.settle();
    for (const i of [0, 1]) {
      expect(client.link.isClosed).toBe(false);
      core.server().answer(core.server().requests[i]);
      await core.settle();
    }
    expect(client.received.map(({ id }) => id)).toEqual([1, 2]);
    expect([client.link.isClosed, core.openCalls, core.manager.clients().length]).toEqual([true, 0, 0]);
    expect(core.server().cancelled).toEqual([]);
  });

  test('behind its initialize and a call still gets both answers', async () => {
    const core = new CoreInMemory();
    const client = core.connect();
    client.initialize();
    client.call(1);
    client.link.endByPeer();
    await core.settle();
    core.server().answer(core.server().requests[0]);
    await core.settle();
    expect(client.received.map(({ id }) => id)).toEqual(['init', 1]);
    expect(client.link.isClosed).toBe(true);
  });

  test('behind its initialize, a call that it cancels, and another call, still gets the answer to that', async () => {
    const core = new CoreInMemory();
    const client = core.connect();
    client.initialize();
    client.call(1);
    client.cancel(1);
    client.call(2);
    client.link.endByPeer();
    await core.settle();
    core.server().answer(core.server().requests.at(-1));
    await core.settle();
    expect(client.received.map(({ id }) => id)).toEqual(['init', 2]);
  });

  test('with nothing under way is let go at once', async () => {
    const core = new CoreInMemory();
    const client = await core.ready();
    client.link.endByPeer();
    await core.settle();
    expect(client.link.isClosed).toBe(true);
  });

  test('gets the error of a crash, then its link ends', async () => {
    const core = new CoreInMemory();
    const client = await core.ready();
    client.call(1);
    client.link.endByPeer();
    await core.settle();
    core.server().crash();
    await core.settle();
    expect(client.received.map(({ error }) => error?.data?.code)).toEqual(['SERVER_CRASHED']);
    expect(client.link.isClosed).toBe(true);
  });

  test('is probed with a space that no reader of JSON notices', async () => {
    const core = new CoreInMemory();
    const client = await core.ready();
    client.call(1);
    client.link.endByPeer();
    await core.pass(3000);
    core.server().answer(core.server().requests[0]);
    await core.settle();
    expect(client.link.lines).toEqual([`   ${JSON.stringify({ jsonrpc: '2.0', id: 1, result: { echo: {} } })}`]);
  });

  test('gets nothing more once its link was ended', async () => {
    const core = new CoreInMemory();
    const client = await core.ready();
    client.call(1);
    await core.settle();
    client.link.block();
    client.link.endByPeer();
    core.server().answer(core.server().requests[0]);
    await core.settle();
    core.server().say('{"jsonrpc":"2.0","method":"notifications/tasks/status","params":{"uri":"x:y"}}');
    await core.settle();
    expect(client.link.writesAfterEnd).toBe(0);
  });
});

describe('a client whose queue is at its limit', () => {
  const answerOf = (id: unknown, bytes: number): object => ({
    jsonrpc: '2.0',
    id,
    result: { text: 'x'.repeat(bytes) },
  });

  test('waits with new requests until it has read its queue', async () => {
    const core = new CoreInMemory({ limits: { maxQueuedBytesPerClient: 10_000 } });
    const client = await core.ready();
    const server = core.server();
    for (const id of [1, 2]) client.call(id);
    await core.settle();
    client.link.block();
    server.say(answerOf(server.requests[0]?.id, 11_000));
    for (const id of [3, 4]) client.call(id);
    await core.settle();
    expect([server.requests.length, core.counters.clientsCutOff]).toEqual([2, 0]);
    server.say(answerOf(server.requests[1]?.id, 11_000));
    await core.settle();
    client.link.unblock();
    await core.settle();
    expect([server.requests.length, client.received.length]).toEqual([4, 2]);
  });

  test('only for the rest of a turn has its request sent afterwards', async () => {
    const core = new CoreInMemory({ limits: { maxQueuedBytesPerClient: 1024 } });
    const client = await core.ready();
    const pings = Array.from({ length: 40 }, (_, id) => ({ jsonrpc: '2.0', id, method: 'ping' }));
    client.say(...pings, { jsonrpc: '2.0', id: 'call', method: 'tools/call' });
    await core.settle();
    expect([client.received.length, core.server().requests.length]).toEqual([40, 1]);
  });
});

describe('more clients than are allowed', () => {
  test('are told so and turned away', async () => {
    const core = new CoreInMemory({ limits: { maxClients: 2 } });
    await core.ready();
    const second = await core.ready();
    const third = core.connect();
    third.initialize();
    await core.settle();
    expect(third.received).toMatchObject([{ id: null, error: { code: -32603 } }]);
    expect(third.link.isClosed).toBe(true);
    expect(core.counters).toMatchObject({ clientsAccepted: 2, clientsRefused: 1 });
    second.link.destroy();
    await core.settle();
    const fourth = await core.ready();
    expect(core.sessionOf(fourth)?.state).toBe('ready');
  });

  test('who stay connected keep only a few descriptors', async () => {
    const core = new CoreInMemory({ limits: { maxClients: 1 } });
    await core.ready();
    const many = Array.from({ length: 100 }, () => core.connect({ clingsOn: true }));
    await core.settle();
    for (const { received } of many) expect(received).toMatchObject([{ id: null, error: { code: -32603 } }]);
    expect(many.filter(({ link }) => !link.isClosed)).toHaveLength(16);
  });

  test('who stay connected are as few beside a client whose requests name different clients', async () => {
    const core = new CoreInMemory({ limits: { maxClients: 1 } });
    const split = core.connect();
    for (let n = 0; n < 8; n++) {
      const _meta = {
        'io.modelcontextprotocol/protocolVersion': '2026-07-28',
        'io.modelcontextprotocol/clientCapabilities': {},
        'mcp-bridge/clientId': `part-${n}`,
      };
      split.say({ jsonrpc: '2.0', id: n, method: 'tools/call', params: { name: 'tool', _meta } });
    }
    await core.settle();
    expect(core.manager.clients()).toHaveLength(8);
    const many = Array.from({ length: 30 }, () => core.connect({ clingsOn: true }));
    await core.settle();
    for (const { received } of many) expect(received).toMatchObject([{ id: null, error: { code: -32603 } }]);
    expect(many.filter(({ link }) => !link.isClosed)).toHaveLength(16);
  });

  test('take no place while they are turned away', async () => {
    const core = new CoreInMemory({ limits: { maxClients: 1 } });
    const first = await core.ready();
    core.connect({ clingsOn: true });
    first.link.destroy();
    await core.settle();
    const next = await core.ready();
    expect(core.sessionOf(next)?.state).toBe('ready');
  });
});

describe('the end', () => {
  const isDone = async (promise: Promise<void>): Promise<boolean> => {
    const pending = Symbol('pending');
    return (await Promise.race([promise, new Promise((resolve) => setImmediate(resolve, pending))])) !== pending;
  };

  test('waits for open requests, and lets nobody in meanwhile', async () => {
    const core = new CoreInMemory();
    const client = await core.ready();
    client.call(1);
    await core.settle();
    const drained = core.manager.drain();
    await core.pass(3000);
    expect(await isDone(drained)).toBe(false);
    const late = core.connect();
    await core.settle();
    expect(late.received).toMatchObject([{ id: null, error: { code: -32603 } }]);
    core.server().answer(core.server().requests[0]);
    await core.pass(1000);
    expect(await isDone(drained)).toBe(true);
    expect(client.answersTo(1)).toHaveLength(1);
  });

  test('waits up to its limit, and answers the remaining requests with SHUTTING_DOWN', async () => {
    const core = new CoreInMemory({ limits: { drainTimeoutMs: 3000, maxInFlightPerClient: 1 } });
    const [client, other] = [await core.ready(), await core.ready()];
    for (const id of [1, 2]) client.call(id);
    other.call('a');
    await core.settle();
    const drained = core.manager.drain();
    for (let i = 0; i < 149; i++) {
      core.clock.advance(20);
      await core.settle();
    }
    expect(await isDone(drained)).toBe(false);
    core.clock.advance(20);
    await core.settle();
    expect(await isDone(drained)).toBe(true);
    const closed = core.manager.close();
    await core.settle();
    expect(await isDone(closed)).toBe(true);
    expect(client.received.map(({ id, error }) => [id, error?.data?.code])).toEqual([
      [1, 'SHUTTING_DOWN'],
      [2, 'SHUTTING_DOWN'],
    ]);
    expect(other.received.map(({ id, error }) => [id, error?.data?.code])).toEqual([['a', 'SHUTTING_DOWN']]);
    expect([core.openCalls, core.manager.clients().length]).toEqual([0, 0]);
  });

  test('does not wait for a client that clings on', async () => {
    const core = new CoreInMemory();
    const client = await core.ready();
    client.link.clingsOn = true;
    const closed = core.manager.close();
    await core.settle();
    expect(await isDone(closed)).toBe(false);
    await core.pass(1000);
    expect(await isDone(closed)).toBe(true);
    expect(core.clock.pending).toBe(0);
  });

  test('without clients is over at once', async () => {
    const core = new CoreInMemory();
    expect(await isDone(core.manager.drain())).toBe(true);
    expect(await isDone(core.manager.close())).toBe(true);
    expect(core.clock.pending).toBe(0);
  });

  test('answers an initialize that still waits for its server, and the frames behind it', async () => {
    const core = new CoreInMemory();
    core.server().opensByItself = false;
    const client = core.connect();
    client.initialize();
    client.call(1);
    await core.settle();
    void core.manager.close();
    await core.settle();
    expect(client.received.map(({ id }) => id)).toEqual(['init', 1]);
  });
});

test('an instance tells how many use it', async () => {
  const core = new CoreInMemory();
  const [one, other] = [await core.ready(), await core.ready()];
  one.link.destroy();
  other.link.destroy();
  await core.settle();
  expect(core.server().users).toEqual([1, 2, 1, 0]);
});
