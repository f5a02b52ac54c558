// What one client may take of a server that others want too.

import { describe, expect, test } from 'vitest';
import { CoreInMemory, type TestClient, type TestServer } from '../../support/core-in-memory.ts';

const whoOf = (server: TestServer): unknown[] =>
  server.requests.map(({ params }) => (params?.arguments as { who?: unknown } | undefined)?.who);

describe('a client over its own limit', () => {
  test('has its further requests sent in order as answers come', async () => {
    const core = new CoreInMemory({ limits: { maxInFlightPerClient: 2 } });
    const client = await core.ready();
    for (let i = 0; i < 6; i++) client.call(i, { who: i });
    const server = core.server();
    for (let answered = 0; answered < 6; answered++) {
      await core.settle();
      expect(whoOf(server)).toEqual([0, 1, 2, 3, 4, 5].slice(0, Math.min(6, answered + 2)));
      server.answer(server.requests[answered]);
    }
    await core.settle();
    expect(client.received.map(({ id }) => id)).toEqual([0, 1, 2, 3, 4, 5]);
    expect(core.openCalls).toBe(0);
  });

  test('does not delay another one whose request comes while its own wait', async () => {
    const core = new CoreInMemory({ limits: { maxInFlightPerClient: 1 } });
    const [greedy, modest] = [await core.ready(), await core.ready()];
    greedy.call(1, { who: 'greedy' });
    greedy.call(2, { who: 'greedy' });
    modest.call(1, { who: 'modest' });
    await core.settle();
    expect(whoOf(core.server())).toEqual(['greedy', 'modest']);
  });

  test('or over the limit of its queue, does not hold up another one', async () => {
    const core = new CoreInMemory({ limits: { maxQueuedBytesPerClient: 10_000 } });
    const [slow, modest] = [await core.ready(), await core.ready()];
    slow.call(1, { who: 'slow' });
    await core.settle();
    slow.link.block();
    core.server().say({ jsonrpc: '2.0', id: core.server().requests[0]?.id, result: { text: 'x'.repeat(11_000) } });
    slow.call(2, { who: 'slow' });
    modest.call(1, { who: 'modest' });
    await core.settle();
    expect(whoOf(core.server())).toEqual(['slow', 'modest']);
  });

  test('is no longer read once too much of it waits, and read again when half of that is gone', async () => {
    const core = new CoreInMemory({ limits: { maxInFlightPerClient: 1, maxWaitingBytesPerClient: 1000 } });
    const client = await core.ready();
    let sent = 0;
    while (!client.link.isPaused && sent < 100) client.call(++sent);
    expect(core.sessionOf(client)?.waitingBytes).toBeGreaterThan(1000);
    client.call(++sent); // stays in the socket
    const server = core.server();
    for (let answered = 0; answered < sent; answered++) {
      const { waitingBytes } = core.sessionOf(client) ?? { waitingBytes: Number.NaN };
      if (answered < sent - 1) expect(client.link.isPaused).toBe(waitingBytes > 500);
      await core.settle();
      server.answer(server.requests[answered]);
    }
    await core.settle();
    expect(client.received).toHaveLength(sent);
    expect(core.sessionOf(client)).toMatchObject({ waitingBytes: 0, sentCount: 0 });
  });

  test('stays paused if too much came behind its initialize', async () => {
    const core = new CoreInMemory({ limits: { maxInFlightPerClient: 1, maxWaitingBytesPerClient: 200 } });
    const client = core.connect();
    client.initialize();
    for (let id = 0; id < 20; id++) client.call(id);
    await core.settle();
    expect(core.sessionOf(client)?.waitingBytes).toBeGreaterThan(200);
    expect(client.link.isPaused).toBe(true);
  });
});

describe('a server at its limit', () => {
  async function flood(requests: number): Promise<{ core: CoreInMemory; flooding: TestClient; modest: TestClient }> {
    const core = new CoreInMemory({ limits: { maxInFlightPerServer: 2 } });
    const [flooding, modest] = [await core.ready(), await core.ready()];
    for (let i = 0; i < requests; i++) flooding.call(i, { who: 'flooding' });
    return { core, flooding, modest };
  }

  test('serves a modest client in turn with one that floods it', async () => {
    const { core, flooding, modest } = await flood(50);
    for (let i = 0; i < 5; i++) modest.call(i, { who: 'modest' });
    await core.settle();
    const server = core.server();
    for (let i = 0; i < 12; i++) {
      server.answer(server.requests[i]);
      await core.settle();
    }
    expect(whoOf(server).slice(2, 12)).toEqual(Array(5).fill(['flooding', 'modest']).flat());
    expect(modest.received.map(({ id }) => id)).toEqual([0, 1, 2, 3, 4]);
    expect(flooding.received).toHaveLength(7);
  });

  test('never has more than its limit under way', async () => {
    const { core } = await flood(20);
    const server = core.server();
    for (let answered = 0; answered < 20; answered++) {
      await core.settle();
      expect(server.requests.length - answered).toBe(Math.min(2, 20 - answered));
      server.answer(server.requests[answered]);
    }
    expect(core.openCalls).toBe(0);
  });

  test('gets the others’ waiting calls when the client that floods it goes', async () => {
    const { core, flooding, modest } = await flood(20);
    modest.call(1, { who: 'modest' });
    await core.settle();
    flooding.link.destroy();
    await core.settle();
    const server = core.server();
    expect(server.cancelled).toEqual([1, 2]);
    expect(whoOf(server)).toEqual(['flooding', 'flooding', 'modest']);
    server.answer(server.requests[2]);
    await core.settle();
    expect(modest.received).toHaveLength(1);
    expect(core.openCalls).toBe(0);
  });

  test('is called busy once too much waits for it, and takes requests again afterwards', async () => {
    const core = new CoreInMemory({ limits: { maxInFlightPerServer: 1, maxWaitingBytesPerServer: 1000 } });
    const clients = [await core.ready(), await core.ready()];
    for (let i = 0; i < 10; i++) for (const client of clients) client.call(i, { text: 'x'.repeat(200) });
    await core.settle();
    const refused = clients.flatMap(({ received }) => received);
    expect(new Set(refused.map(({ error }) => error?.data?.code))).toEqual(new Set(['SERVER_BUSY']));
    expect(core.counters.serverBusy).toBe(refused.length);
    const server = core.server();
    for (let i = 0; i < 20 - refused.length; i++) {
      server.answer(server.requests[i]);
      await core.settle();
    }
    expect(clients.map(({ received }) => received.length)).toEqual([10, 10]);
    expect(core.openCalls).toBe(0);
    clients[0]?.call('late', { text: 'x'.repeat(200) });
    await core.settle();
    expect(server.requests).toHaveLength(21 - refused.length);
  });

  test('that does not read its input gets no more until it does', async () => {
    const core = new CoreInMemory({ limits: { maxWaitingBytesPerClient: 100_000_000 } });
    const client = await core.ready();
    const server = core.server();
    server.link?.block();
    const text = 'x'.repeat(300_000);
    for (let i = 0; i < 10; i++) client.call(i, { text });
    await core.settle();
    const { openCalls } = server.instance;
    expect([openCalls, core.sessionOf(client)?.sentCount]).toEqual([10, 4]);
    server.link?.unblock();
    await core.settle();
    expect(server.requests.length).toBeGreaterThan(4);
    server.link?.unblock();
    await core.settle();
    server.link?.unblock();
    await core.settle();
    expect(server.requests).toHaveLength(10);
  });
});

test('clients that wait for an instance to start are those that have asked for something, not all that use it', async () => {
  const core = new CoreInMemory();
  const asking = await core.ready();
  await core.ready(); // it uses the same instance, and wants nothing
  core.server().crash();
  core.server().opensByItself = false;
  await core.settle();
  const { instance } = core.server();
  expect(instance.waiting().size).toBe(0);
  asking.call(1);
  asking.call(2);
  await core.settle();
  expect(instance.sessions.size).toBe(2);
  expect(instance.waiting().size).toBe(1);
  core.server().open();
  await core.settle();
  expect(instance.waiting().size).toBe(0);
});
