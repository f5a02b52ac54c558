// A client's life: the handshake, the periodic look at it, and each way to go.

import { describe, expect, test } from 'vitest';
import { CoreInMemory } from '../../support/core-in-memory.ts';

const ping = (message: { method?: string }): boolean => message.method === 'ping';

describe('a handshake', () => {
  test('is answered with what the server said, and starts it once for all who come at once', async () => {
    const core = new CoreInMemory();
    const clients = [core.connect(), core.connect(), core.connect()];
    for (const client of clients) client.initialize();
    await core.settle();
    expect(core.server().starts).toBe(1);
    for (const { received } of clients) {
      expect(received).toHaveLength(1);
      expect(received[0]).toMatchObject({
        id: 'init',
        result: {
          protocolVersion: '2025-06-18',
          serverInfo: { name: 'memory' },
          _meta: { 'mcp-bridge/instanceId': 'memory-1' },
        },
      });
    }
  });

  test('gives each client an id of its own, the wanted one if it is free', async () => {
    const core = new CoreInMemory();
    const wish = { _meta: { 'mcp-bridge/clientId': 'me' } };
    const [one, , anonymous] = [await core.ready(wish), await core.ready(wish), await core.ready()];
    expect(core.manager.clients().map(({ clientId }) => clientId.replace(/-[0-9a-f]{8}$/, '-*'))).toEqual([
      'me',
      'me-2',
      'client-*',
    ]);
    one.link.destroy();
    anonymous.link.destroy();
    await core.settle();
    await core.ready(wish);
    expect(core.manager.clients().map(({ clientId }) => clientId)).toEqual(['me-2', 'me']);
  });

  test('comes first: any other request is refused before it, and pings and discover are answered', async () => {
    const core = new CoreInMemory();
    const client = core.connect();
    client.call(1);
    client.say({ jsonrpc: '2.0', id: 2, method: 'ping' });
    client.say({ jsonrpc: '2.0', id: 3, method: 'server/discover' });
    client.say({ jsonrpc: '2.0', method: 'notifications/initialized' });
    client.say({ jsonrpc: '2.0', id: 4, method: 'initialize', params: [] });
    client.initialize(5, { _meta: { 'mcp-bridge/role': 'king' } });
    await core.settle();
    expect(client.received.map(({ id, error }) => [id, error?.code])).toEqual([
      [1, -32600],
      [2, undefined],
      [3, -32601],
      [4, -32602],
      [5, -32602],
    ]);
    expect(core.server().starts).toBe(0);
    client.initialize(6);
    await core.settle();
    expect(client.answersTo(6)[0]?.result).toBeDefined();
    client.initialize(7);
    await core.settle();
    expect(client.answersTo(7)[0]?.error?.code).toBe(-32600);
  });

  test('is not waited for by clients that are quick: what comes behind it is kept in order', async () => {
    const core = new CoreInMemory();
    const client = core.connect();
    core.server().opensByItself = false;
    client.initialize();
    client.say({ jsonrpc: '2.0', method: 'notifications/initialized' });
    for (let id = 0; id < 5; id++) client.call(id, { id });
    client.cancel(3);
    client.say({ jsonrpc: '2.0', id: 'p', method: 'ping' });
    await core.settle();
    expect(client.received.map(({ id }) => id)).toEqual(['p']);
    core.server().open();
    await core.settle();
    expect(
      core.server().received.map(({ method, params }) => params?.requestId ?? params?.arguments ?? method),
    ).toEqual([...[0, 1, 2, 3, 4].map((id) => ({ id })), 4]);
    expect(client.received.map(({ id }) => id)).toEqual(['p', 'init']);
  });

  test('stops the reading of a client that sends more behind it than is kept', async () => {
    const core = new CoreInMemory();
    const client = core.connect();
    core.server().opensByItself = false;
    client.initialize();
    for (let id = 0; id < 200; id++) client.call(id);
    await core.settle();
    expect(client.link.isPaused).toBe(true);
    core.server().open();
    await core.settle();
    expect(core.server().requests).toHaveLength(200);
  });

  test('that fails tells why, and may be tried again', async () => {
    const core = new CoreInMemory();
    const client = core.connect();
    core.server().opensByItself = false;
    client.initialize(1);
    await core.settle();
    core.server().failToStart();
    await core.settle();
    client.initialize(2, { _meta: { 'mcp-bridge/view': 'server:nobody' } });
    client.initialize(3, { _meta: { 'mcp-bridge/view': 'everything' } });
    await core.settle();
    expect(client.received.map(({ id, error }) => [id, error?.code, error?.data?.code])).toEqual([
      [1, -32603, 'SERVER_START_FAILED'],
      [2, -32601, 'SERVER_NOT_FOUND'],
      [3, -32602, 'VIEW_UNKNOWN'],
    ]);
    core.server().opensByItself = true;
    client.initialize(4);
    await core.settle();
    expect(client.answersTo(4)[0]?.result).toBeDefined();
  });

  test('that does not come within 5 seconds ends the connection, and not a moment sooner', async () => {
    const core = new CoreInMemory();
    const [silent, busy, late] = [core.connect(), core.connect(), core.connect()];
    busy.say({ jsonrpc: '2.0', id: 1, method: 'ping' });
    core.clock.advance(4999);
    late.initialize();
    await core.settle();
    expect(silent.received).toEqual([]);
    core.clock.advance(1);
    await core.settle();
    for (const client of [silent, busy]) {
      expect(client.received.at(-1)).toMatchObject({ id: null, error: { code: -32600 } });
      expect(client.link.isClosed).toBe(true);
    }
    expect(core.counters).toMatchObject({ handshakeTimeouts: 2, clientsCutOff: 2 });
    expect(core.manager.clients().map(({ link }) => link)).toEqual([late.link]);
  });

  test('over which its client goes leaves nothing behind', async () => {
    const core = new CoreInMemory();
    core.server().opensByItself = false;
    const client = core.connect();
    client.initialize();
    client.call(1);
    await core.settle();
    client.link.destroy();
    await core.settle();
    core.server().open();
    await core.settle();
    expect(core.server().received).toEqual([]);
    expect(core.server().backend.sessions.size).toBe(0);
    expect(core.manager.clients()).toEqual([]);
  });

  test('of the role control is answered by the bridge, and its requests go to the control methods', async () => {
    const core = new CoreInMemory({ control: (request, answer) => answer(`{"asked":${request.toString()}}`) });
    const client = core.connect();
    client.initialize('init', { _meta: { 'mcp-bridge/role': 'control' } });
    await core.settle();
    expect(client.received[0]?.result).toMatchObject({ serverInfo: { name: 'mcp-bridge-server' } });
    client.say('{"jsonrpc":"2.0","id":1,"method":"status"}');
    await core.settle();
    expect(client.link.lines[1]).toBe('{"asked":{"jsonrpc":"2.0","id":1,"method":"status"}}');
    expect(core.manager.clients()).toEqual([]);
  });
});

describe('a frame that cannot be read', () => {
  test('is answered, under its id where that is certain, and the client goes on', async () => {
    const core = new CoreInMemory({ limits: { maxDepth: 16 } });
    const client = await core.ready();
    const lines: [string, number, unknown][] = [
      ['nonsense', -32700, null],
      ['[]', -32600, null],
      ['7', -32600, null],
      ['{"jsonrpc":"2.0","id":1}', -32600, 1],
      ['{"jsonrpc":"1.0","id":"a","method":"x"}', -32600, 'a'],
      ['{"jsonrpc":"2.0","id":1,"ID":2,"method":"x"}', -32600, null],
      ['{"jsonrpc":"2.0","id":1.5,"method":"x"}', -32600, null],
      ['{"jsonrpc":"2.0","id":null,"method":"x"}', -32600, null],
      ['{"jsonrpc":"2.0","id":3,"method":4}', -32600, 3],
      [`{"jsonrpc":"2.0","id":5,"method":"x","params":${'['.repeat(16)}${']'.repeat(16)}}`, -32600, 5],
    ];
    for (const [line] of lines) client.say(line);
    client.link.push(Buffer.from('ff0a', 'hex'));
    await core.settle();
    expect(client.received.map(({ id, error }) => [error?.code, id])).toEqual([
      ...lines.map(([, code, id]) => [code, id]),
      [-32700, null],
    ]);
    expect(core.counters.badFrames).toBe(11);
    client.call(6);
    await core.settle();
    expect(core.server().requests).toHaveLength(1);
  });

  test('over the limit ends the connection', async () => {
    const core = new CoreInMemory({ limits: { maxMessageBytes: 1024 } });
    const client = await core.ready();
    client.call(1);
    client.say('x'.repeat(1025));
    await core.settle();
    expect(client.received.at(-1)).toMatchObject({ id: null, error: { code: -32600 } });
    expect([client.link.isClosed, core.openSlots]).toEqual([true, 0]);
    expect(core.server().cancelled).toEqual([1]);
    expect(core.counters).toMatchObject({ oversizedFrames: 1, clientsCutOff: 1 });
  });
});

describe('a silent client', () => {
  const liveness = { pingPeriodMs: 30_000, maxMissedPings: 3 };

  test('is pinged once for each period, up to the misses that it may have', async () => {
    const core = new CoreInMemory({ liveness });
    const client = await core.ready();
    const counts: number[] = [];
    for (let period = 0; period < 6; period++) {
      await core.pass(29_000);
      counts.push(client.received.filter(ping).length);
      await core.pass(1000);
      counts.push(client.received.filter(ping).length);
    }
    // What it said in its handshake is seen by the first look at it, a second after it came.
    expect(counts).toEqual([0, 0, 1, 1, 2, 2, 3, 3, 3, 3, 3, 3]);
    expect(client.link.isClosed).toBe(false);
    expect(new Set(client.received.map(({ id }) => id)).size).toBe(3);
  });

  test('that has never answered a ping is cut off only where the settings say so', async () => {
    for (const cutOffSilentClients of [false, true]) {
      const core = new CoreInMemory({ liveness: { ...liveness, cutOffSilentClients } });
      const client = await core.ready();
      await core.pass(120_000);
      expect(client.link.isClosed).toBe(false);
      await core.pass(1000);
      expect(client.link.isClosed).toBe(cutOffSilentClients);
    }
  });

  test('that has answered one before is cut off after the misses that it may have', async () => {
    const core = new CoreInMemory({ liveness });
    const client = await core.ready();
    await core.pass(31_000);
    client.say({ jsonrpc: '2.0', id: client.received.find(ping)?.id, result: {} });
    await core.pass(1000);
    await core.pass(119_000);
    expect(client.link.isClosed).toBe(false);
    await core.pass(3000);
    expect(client.link.isClosed).toBe(true);
    expect(core.counters).toMatchObject({ clientsCutOff: 1, strayResponses: 0 });
  });

  test('that speaks now and then is never pinged', async () => {
    const core = new CoreInMemory({ liveness });
    const client = await core.ready();
    for (let i = 0; i < 20; i++) {
      await core.pass(20_000);
      client.say({ jsonrpc: '2.0', method: 'notifications/x' });
    }
    expect(client.received.filter(ping)).toEqual([]);
  });

  test('is not pinged with a period of 0, nor before it is ready', async () => {
    const core = new CoreInMemory({ liveness: { ...liveness, pingPeriodMs: 0 } });
    const client = await core.ready();
    await core.pass(300_000);
    expect(client.received).toEqual([]);
    const other = new CoreInMemory({ liveness });
    const unready = other.connect();
    unready.initialize();
    await other.pass(300_000);
    expect(unready.received.filter(ping)).toEqual([]);
  });

  test("answers under an id that is no ping's count as strays", async () => {
    const core = new CoreInMemory({ liveness });
    const client = await core.ready();
    client.say(
      { jsonrpc: '2.0', id: 'mcp-bridge/ping-1', result: {} },
      { jsonrpc: '2.0', id: null, error: {} },
      '{"jsonrpc":"2.0","result":1}',
    );
    await core.settle();
    expect(core.counters.strayResponses).toBe(3);
  });
});

describe('a client that takes nothing', () => {
  test('is cut off when something has waited for it as long as a stall may last', async () => {
    const core = new CoreInMemory({ limits: { stallTimeoutMs: 10_000 } });
    const client = await core.ready();
    await core.pass(3000);
    client.link.block();
    client.say({ jsonrpc: '2.0', id: 1, method: 'ping' });
    await core.pass(10_000);
    expect(client.link.isClosed).toBe(false);
    await core.pass(1000);
    expect(client.link.isClosed).toBe(true);
    expect(core.counters.clientsCutOff).toBe(1);
    expect(core.manager.clients()).toEqual([]);
  });

  test('is let be while it takes a little now and then, however much is queued', async () => {
    const core = new CoreInMemory({ limits: { stallTimeoutMs: 10_000 } });
    const client = await core.ready();
    client.link.block();
    for (let i = 0; i < 12; i++) {
      for (let n = 0; n < 3; n++) {
        client.say({ jsonrpc: '2.0', id: `${i}-${n}`, method: 'ping' });
        await core.settle();
      }
      await core.pass(9000);
      client.link.take(1);
    }
    expect(client.link.isClosed).toBe(false);
    expect(client.received).toHaveLength(12);
  });
});

describe('a client that goes', () => {
  test('has its calls cancelled at the server, and is nowhere any more', async () => {
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
    expect([session?.slots.size, core.server().backend.sessions.size, core.manager.clients().length]).toEqual([
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
    expect([client.link.isClosed, core.openSlots, core.manager.clients().length]).toEqual([true, 0, 0]);
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

  test('is not written to any more once its link was ended', async () => {
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

  test('waits with new requests until it has taken what is queued for it', async () => {
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

  test('is cut off at three times that, and the calls that it still had are cancelled', async () => {
    const core = new CoreInMemory({ limits: { maxQueuedBytesPerClient: 10_000 } });
    const client = await core.ready();
    for (const id of [1, 2]) client.call(id);
    await core.settle();
    client.link.block();
    core.server().say(answerOf(1, 31_000));
    await core.settle();
    expect(core.counters.clientsCutOff).toBe(1);
    expect(core.server().cancelled).toEqual([2]);
    expect(core.openSlots).toBe(0);
    await core.pass(3000);
    expect([client.link.isClosed, core.manager.clients().length]).toEqual([true, 0]);
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

  test('who cling on keep no descriptors beyond a few', async () => {
    const core = new CoreInMemory({ limits: { maxClients: 1 } });
    await core.ready();
    const many = Array.from({ length: 100 }, () => core.connect({ clingsOn: true }));
    await core.settle();
    for (const { received } of many) expect(received).toMatchObject([{ id: null, error: { code: -32603 } }]);
    expect(many.filter(({ link }) => !link.isClosed)).toHaveLength(16);
  });

  test('take nobody’s place while they are turned away', async () => {
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

  test('waits for what was asked, and takes nobody in meanwhile', async () => {
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

  test('waits no longer than it may, and answers what is open then with SHUTTING_DOWN', async () => {
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
    expect([core.openSlots, core.manager.clients().length]).toEqual([0, 0]);
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

  test('with nobody there is over at once', async () => {
    const core = new CoreInMemory();
    expect(await isDone(core.manager.drain())).toBe(true);
    expect(await isDone(core.manager.close())).toBe(true);
    expect(core.clock.pending).toBe(0);
  });

  test('answers an initialize that still waits for its server, and what came behind it', async () => {
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

describe('a call', () => {
  const limits = { callTimeoutMs: 5000, maxCallMs: 20_000 };

  test('whose time is up gets an error, the server a cancel, and a late answer is dropped', async () => {
    const core = new CoreInMemory({ limits });
    const client = await core.ready();
    client.call(1);
    await core.pass(5000);
    expect(client.received).toEqual([]);
    await core.pass(1000);
    expect(client.received.map(({ error }) => error?.data?.code)).toEqual(['CALL_TIMED_OUT']);
    expect(core.server().cancelled).toEqual([1]);
    expect([core.openSlots, core.counters.timeouts]).toEqual([0, 1]);
    core.server().answer(core.server().requests[0]);
    await core.settle();
    expect([client.received.length, core.counters.strayResponses]).toEqual([1, 1]);
  });

  test('that waits for a server to start times out as well, and is not sent any more', async () => {
    const core = new CoreInMemory({ limits });
    const client = await core.ready();
    core.server().opensByItself = false;
    core.server().crash();
    client.call(1);
    await core.pass(6000);
    expect(client.received.map(({ error }) => error?.data?.code)).toEqual(['CALL_TIMED_OUT']);
    core.server().open();
    await core.settle();
    expect(core.server().requests).toEqual([]);
  });

  test.each([
    [true, 18_000],
    [false, 5000],
  ])('that makes progress goes on to the upper bound, if that is set (%s)', async (progressExtendsTimeout, atLeast) => {
    const core = new CoreInMemory({ limits: { ...limits, progressExtendsTimeout } });
    const client = await core.ready();
    client.call(1, {}, { progressToken: 'p' });
    await core.settle();
    let lived = 0;
    while (client.answersTo(1).length === 0 && lived < 60_000) {
      core
        .server()
        .say({ jsonrpc: '2.0', method: 'notifications/progress', params: { progressToken: 1, progress: 1 } });
      await core.pass(1000);
      lived += 1000;
    }
    expect(lived).toBeGreaterThanOrEqual(atLeast);
    expect(lived).toBeLessThanOrEqual(atLeast + 4000);
  });
});

test('a backend tells how many use it', async () => {
  const core = new CoreInMemory();
  const [one, other] = [await core.ready(), await core.ready()];
  one.link.destroy();
  other.link.destroy();
  await core.settle();
  expect(core.server().users).toEqual([1, 2, 1, 0]);
});
