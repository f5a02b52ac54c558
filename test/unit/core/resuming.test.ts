// Sessions that outlive their connections: who may take them up again, what their clients get, and how they end.

import { describe, expect, test } from 'vitest';
import type { ResumableLink } from '../../../src/wire/resumable-link.ts';
import { CoreInMemory } from '../../support/core-in-memory.ts';
import { ResumingClient, type Wire, wireInMemory } from '../../support/resuming-client.ts';
import { calls, codeOf, comeBack, idsOf, ready } from '../../support/resuming-in-memory.ts';

describe('a client that can resume', () => {
  test('learns how; a client that does not ask learns nothing, and keeps its plain link', async () => {
    const core = new CoreInMemory();
    const client = await ready(core);
    expect(client.meta).toMatchObject({
      'mcp-bridge/resumed': false,
      'mcp-bridge/graceMs': 30_000,
      'mcp-bridge/daemon': 'in-memory',
      'mcp-bridge/build': '0.0.0-test+1',
      'mcp-bridge/instanceId': 'memory-1',
    });
    expect(client.token).toMatch(/^[\w-]{22}$/);
    const plain = core.connect();
    plain.initialize();
    await core.settle();
    const { _meta } = (plain.received[0]?.result ?? {}) as { _meta: object };
    expect(Object.keys(_meta)).toEqual(['mcp-bridge/clientId', 'mcp-bridge/instanceId']);
    expect(core.sessionOf(plain)?.link).toBe(plain.link);
  });

  test('gets its waiting messages once and in order, including those behind the received ones', async () => {
    const core = new CoreInMemory();
    const client = await ready(core);
    client.call(1, 'tool', { n: 1 }, { progressToken: 'p' });
    client.call(2, 'tool', { n: 2 });
    await core.settle();
    core.server().answer(calls(core)[1]);
    await core.settle();
    client.drop();
    await core.settle();
    expect(core.manager.clients().map((session) => core.manager.isParked(session))).toEqual([true]);
    const progress = { progressToken: calls(core)[0]?.id, progress: 1 };
    core.server().say({ jsonrpc: '2.0', method: 'notifications/progress', params: progress });
    core.server().say({ jsonrpc: '2.0', method: 'notifications/message', params: { level: 'info', data: 1 } });
    core.server().answer(calls(core)[0]);
    client.call(3, 'tool', { n: 3 });
    await core.settle();
    expect((await comeBack(core, client)).result).toMatchObject({
      capabilities: {},
      serverInfo: { name: 'memory' },
      _meta: { 'mcp-bridge/resumed': true },
    });
    await core.settle();
    core.server().answer(calls(core)[2]);
    await core.settle();
    expect(idsOf(client)).toEqual([2, 'p', 'notifications/message', 1, 3]);
    expect(calls(core).map(({ params }) => params?.arguments)).toEqual([{ n: 1 }, { n: 2 }, { n: 3 }]);
    expect(core.counters).toMatchObject({ sessionsResumed: 1, sessionsExpired: 0, strayResponses: 0 });
    expect(core.openCalls).toBe(0);
  });

  test('gets the same initialize answer as at first: its server’s, or that of all servers', async () => {
    for (const view of ['server:memory', 'all']) {
      const core = new CoreInMemory();
      const capabilities = { tools: {}, extensions: { 'io.example/x': { a: 1 } } };
      core.server().declare(capabilities, 'Do this.');
      await core.ready();
      const client = await ready(core, { _meta: { 'mcp-bridge/view': view, 'mcp-bridge/resume': true } });
      client.drop();
      await core.settle();
      const { result } = await comeBack(core, client);
      expect(result).toMatchObject({ capabilities: { extensions: capabilities.extensions } });
      expect(result?.instructions).toContain('Do this.');
    }
  });

  test('keeps its subscriptions, its log level and its id', async () => {
    const core = new CoreInMemory();
    core.server().declare({ resources: { subscribe: true }, logging: {} });
    const client = await ready(core, { 'mcp-bridge/clientId': 'me' });
    client.say({ jsonrpc: '2.0', id: 1, method: 'resources/subscribe', params: { uri: 'x:1' } });
    client.say({ jsonrpc: '2.0', id: 2, method: 'logging/setLevel', params: { level: 'error' } });
    await core.settle();
    for (const request of core.server().requests.slice(-2)) core.server().answer(request);
    await core.settle();
    client.drop();
    const other = await ready(core, { 'mcp-bridge/clientId': 'me' });
    expect(other.meta['mcp-bridge/clientId']).toBe('me-2');
    core.server().say({ jsonrpc: '2.0', method: 'notifications/resources/updated', params: { uri: 'x:1' } });
    for (const level of ['info', 'error'])
      core.server().say({ jsonrpc: '2.0', method: 'notifications/message', params: { level, data: 1 } });
    await core.settle();
    await comeBack(core, client);
    await core.settle();
    expect(client.meta['mcp-bridge/clientId']).toBe('me');
    expect(idsOf(client)).toEqual([1, 2, 'notifications/resources/updated', 'notifications/message']);
    expect(client.messages.at(-1)?.params).toMatchObject({ level: 'error' });
  });

  test('loses nothing that it sent before its handshake was answered', async () => {
    const core = new CoreInMemory();
    core.server().opensByItself = false;
    const client = new ResumingClient(wireInMemory(core));
    const greeting = client.shakeHands();
    const pipelined = `${JSON.stringify({ jsonrpc: '2.0', id: 9, method: 'tools/call', params: { name: 'tool' } })}\r\n`;
    client.wire.say(pipelined);
    client.wire.say('\n');
    await core.settle();
    core.server().open();
    await greeting;
    client.sent = `${pipelined}\n${client.sent}`;
    await core.settle();
    client.drop();
    client.call(10);
    await comeBack(core, client);
    await core.settle();
    for (const call of calls(core)) core.server().answer(call);
    await core.settle();
    expect(idsOf(client)).toEqual([9, 10]);
    expect(calls(core)).toHaveLength(2);
  });

  test('is counted from the handshake that worked', async () => {
    const core = new CoreInMemory();
    const client = new ResumingClient(wireInMemory(core));
    expect(codeOf(await client.shakeHands({ 'mcp-bridge/view': 'none' }))).toBe('VIEW_UNKNOWN');
    await client.shakeHands();
    client.call(1);
    await core.settle();
    client.drop();
    await core.settle();
    client.call(2);
    await comeBack(core, client);
    await core.settle();
    expect(calls(core)).toHaveLength(2);
    // A connection on which something had failed before can be gone on with, too.
    client.drop();
    const wire = wireInMemory(core);
    const strange = new ResumingClient(wire);
    expect(codeOf(await strange.shakeHands({ 'mcp-bridge/view': 'none' }))).toBe('VIEW_UNKNOWN');
    const lines: string[] = [];
    const behind: Wire = {
      ...wire,
      get lines() {
        return [...wire.lines.slice(1), ...lines];
      },
    };
    await client.resume(behind);
    for (const call of calls(core)) core.server().answer(call);
    await core.settle();
    expect(idsOf(client)).toEqual([1, 2]);
  });

  test('may drop and come back again and again', async () => {
    const core = new CoreInMemory();
    const client = await ready(core);
    for (let id = 1; id <= 20; id++) {
      client.call(id);
      await core.settle();
      client.drop();
      core.server().answer(calls(core).at(-1));
      await core.settle();
      await comeBack(core, client);
      if (id % 4 === 0) client.acknowledge();
    }
    await core.settle();
    expect(idsOf(client)).toEqual(Array.from({ length: 20 }, (_, i) => i + 1));
    expect(core.manager.clients()).toHaveLength(1);
  });

  test('takes its session from a connection whose end the bridge has not noticed', async () => {
    const core = new CoreInMemory();
    const client = await ready(core);
    const first = core.manager.clients()[0]?.link.outbox.sink;
    client.call(1);
    await core.settle();
    const { wire } = client;
    await comeBack(core, client);
    client.call(2);
    await core.settle();
    for (const call of calls(core)) core.server().answer(call);
    wire.say(`${JSON.stringify({ jsonrpc: '2.0', id: 3, method: 'ping' })}\n`);
    await core.settle();
    expect(idsOf(client)).toEqual([1, 2]);
    expect(first).toBe(core.manager.clients()[0]?.link.outbox.sink);
    expect([core.counters.sessionsResumed, core.manager.clients().length]).toEqual([1, 1]);
  });

  test('is read again only when the reason of its pause is over', async () => {
    const core = new CoreInMemory({ limits: { maxWaitingBytesPerClient: 100, maxInFlightPerClient: 1 } });
    const client = await ready(core);
    for (let id = 1; id <= 5; id++) client.call(id);
    await core.settle();
    client.drop();
    await comeBack(core, client);
    client.call(6);
    for (let answered = 0; answered < 6; answered++) {
      await core.settle();
      core.server().answer(calls(core)[answered]);
    }
    await core.settle();
    expect(idsOf(client)).toEqual([1, 2, 3, 4, 5, 6]);
    expect(core.manager.clients()[0]?.pauses.isEmpty).toBe(true);
  });
});

describe('a token', () => {
  test('is good once: the next answer has another one', async () => {
    const core = new CoreInMemory();
    const client = await ready(core);
    const first = client.token;
    client.drop();
    await comeBack(core, client);
    expect(client.token).not.toBe(first);
    client.say({ jsonrpc: '2.0', id: 1, method: 'ping' });
    await core.settle();
    const refusal = await comeBack(core, client, { token: first });
    expect(refusal.error).toMatchObject({ code: -32600, message: 'The token was used already' });
    expect(codeOf(refusal)).toBe('RESUME_REFUSED');
    expect(core.counters.resumesRefused).toBe(1);
    expect((await comeBack(core, client)).error).toBeUndefined();
  });

  test('stays good while it is not certain that the next one has come', async () => {
    const core = new CoreInMemory();
    const client = await ready(core);
    const { token } = client;
    client.call(1);
    await core.settle();
    client.drop();
    core.server().answer(calls(core)[0]);
    for (let lost = 0; lost < 3; lost++) {
      const wire = wireInMemory(core); // its answer never gets to the client
      wire.say(
        `${JSON.stringify({ jsonrpc: '2.0', id: 'r', method: 'initialize', params: { _meta: { 'mcp-bridge/resume': { token, received: client.receivedBytes } } } })}\n`,
      );
      await core.settle();
      wire.drop();
      await core.settle();
    }
    expect((await comeBack(core, client, { token })).error).toBeUndefined();
    await core.settle();
    expect(idsOf(client)).toEqual([1]);
    expect(core.manager.clients()).toHaveLength(1);
  });

  test('is useless behind requests that name their client, and stays valid', async () => {
    const core = new CoreInMemory();
    const client = await ready(core);
    const { token } = client;
    client.drop();
    await core.settle();
    const wire = wireInMemory(core);
    const _meta = {
      'io.modelcontextprotocol/protocolVersion': '2026-07-28',
      'io.modelcontextprotocol/clientCapabilities': {},
    };
    wire.say(`${JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'server/discover', params: { _meta } })}\n`);
    await core.settle();
    wire.link.lines.length = 0;
    const refusal = await client.resume(wire, { token });
    expect([codeOf(refusal), refusal.error?.message]).toEqual([
      'RESUME_REFUSED',
      'A session is resumed by the first request',
    ]);
    expect((await comeBack(core, client, { token })).error).toBeUndefined();
  });

  test.each([
    ['that is guessed', { token: 'A'.repeat(22) }, 'The token is unknown'],
    ['with more than was sent', { received: 1_000_000 }, /^No more than \d+ bytes were sent/],
    ['with a place where nothing ends', { received: 1 }, /^No message ends at byte 1/],
  ])('%s is refused, and the connection stays usable', async (_, wish, message) => {
    const core = new CoreInMemory();
    const client = await ready(core);
    client.say({ jsonrpc: '2.0', id: 1, method: 'ping' });
    await core.settle();
    client.drop();
    await core.settle();
    client.receivedBytes = 0;
    const wire = wireInMemory(core);
    const refusal = await client.resume(wire, wish);
    expect(refusal.error?.code).toBe(-32600);
    expect(refusal.error?.message).toMatch(message);
    expect(codeOf(refusal)).toBe('RESUME_REFUSED');
    expect(core.manager.clients().filter((session) => core.manager.isParked(session))).toHaveLength(1);
    client.messages.length = 0;
    await client.shakeHands();
    expect(client.meta['mcp-bridge/resumed']).toBe(false);
  });

  test.each([[{ token: 7, received: 0 }], [{ token: 'x' }], [{ token: 'x', received: -1 }], ['yes']])(
    'that is none is a fault of the request: %j',
    async (resume) => {
      const core = new CoreInMemory();
      const client = core.connect();
      client.initialize(1, { _meta: { 'mcp-bridge/resume': resume } });
      await core.settle();
      expect(client.received[0]?.error?.code).toBe(-32602);
    },
  );

  test('that is presented on a connection with a session of its own is refused', async () => {
    const core = new CoreInMemory();
    const [client, other] = [await ready(core), await core.ready()];
    other.initialize(1, { _meta: { 'mcp-bridge/resume': { token: client.token, received: 0 } } });
    await core.settle();
    expect(other.answersTo(1)[0]?.error?.message).toBe('This connection is initialized already, as that of a client');
  });
});

describe('the end of a connection', () => {
  test('is a drop unless the client has said that it leaves', async () => {
    const core = new CoreInMemory();
    const ends = (wire: Wire): void => (wire as Wire & { end: () => void }).end();
    const withEnd = (): Wire & { end: () => void } => {
      const { link } = core.connect();
      return {
        lines: link.lines,
        say: (text) => link.push(Buffer.from(text)),
        drop: () => link.destroy(),
        end: () => link.endByPeer(),
        settle: () => core.settle(),
      };
    };
    const [dropping, leaving] = [await ResumingClient.ready(withEnd()), await ResumingClient.ready(withEnd())];
    dropping.call(1);
    leaving.call(1);
    leaving.say({ jsonrpc: '2.0', method: 'bridge/leave' });
    ends(dropping.wire);
    ends(leaving.wire);
    await core.settle();
    expect(core.manager.parkedCount).toBe(1);
    for (const call of calls(core)) core.server().answer(call);
    await core.settle();
    expect([idsOf(leaving), core.manager.clients().length]).toEqual([[1], 1]);
    expect(codeOf(await leaving.resume(wireInMemory(core)))).toBe('RESUME_REFUSED');
    await comeBack(core, dropping);
    await core.settle();
    expect(idsOf(dropping)).toEqual([1]);
  });

  test('is the end of a session that has been cut off', async () => {
    const core = new CoreInMemory({ limits: { maxMessageBytes: 2000 } });
    const client = await ready(core);
    client.call(1, 'tool', { data: 'x'.repeat(3000) });
    await core.settle();
    expect([core.manager.isEmpty, core.counters.clientsCutOff]).toEqual([true, 1]);
    expect(codeOf(await comeBack(core, client))).toBe('RESUME_REFUSED');
  });
});

describe('the messages between the bridge and its clients', () => {
  const NOTICES = ['bridge/received', 'bridge/again', 'bridge/leave', 'bridge/leaving', 'bridge/serverState'];

  test('is passed on in neither direction', async () => {
    const core = new CoreInMemory();
    const [client, plain] = [await ready(core), await core.ready()];
    client.call(1);
    await core.settle();
    const before = core.server().received.length;
    for (const method of NOTICES) {
      core.server().say({ jsonrpc: '2.0', method, params: { bytes: 5, received: 5, ids: [1] } });
      plain.say({ jsonrpc: '2.0', method, params: { bytes: 5, received: 5, ids: [1] } });
      if (method !== 'bridge/leave') client.say({ jsonrpc: '2.0', method, params: { bytes: 0, ids: [] } });
    }
    await core.settle();
    client.take();
    expect([client.messages, client.leaving, plain.received]).toEqual([[], undefined, []]);
    expect(core.server().received).toHaveLength(before);
  });

  test('report the received bytes now and then, and confirmed bytes are dropped', async () => {
    const core = new CoreInMemory();
    const client = await ready(core);
    for (let id = 1; id <= 300; id++) client.say({ jsonrpc: '2.0', id, method: 'ping' });
    await core.settle();
    client.take();
    expect(client.acknowledgedBytes).toBeGreaterThan(0);
    expect(client.acknowledgedBytes).toBeLessThanOrEqual(client.sent.length);
    client.acknowledge();
    client.say({ jsonrpc: '2.0', method: 'bridge/received', params: { bytes: 1 << 30 } });
    client.say({ jsonrpc: '2.0', method: 'bridge/received', params: { bytes: 'all' } });
    await core.settle();
    expect(core.counters.badFrames).toBe(2);
    client.take();
    expect((await comeBack(core, client)).error).toBeUndefined();
  });
});

describe('the open requests in a confirmation of the bridge', () => {
  const notices = (client: ResumingClient): { bytes: number; open?: number[] }[] =>
    client.wire.lines
      .map((line) => JSON.parse(line) as { method?: string; params?: { bytes: number; open?: number[] } })
      .flatMap(({ method, params }) => (method === 'bridge/received' && params !== undefined ? [params] : []));
  const pings = (client: ResumingClient, count: number): void => {
    for (let n = 0; n < count; n++) client.say({ jsonrpc: '2.0', id: `ping ${n}`, method: 'ping' });
  };

  test('is where their frames end among the bytes of the client', async () => {
    const core = new CoreInMemory();
    const client = await ready(core);
    pings(client, 3);
    client.call(1);
    const first = client.sent.length;
    client.call(2);
    client.call(3, 'tool', { data: 'x'.repeat(500) });
    client.say({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 2 } });
    await core.settle();
    client.call(4);
    const last = client.sent.length;
    await core.settle();
    core.server().answer(calls(core)[2]);
    await core.settle();
    pings(client, 300);
    await core.settle();
    expect(notices(client).at(-1)).toMatchObject({ open: [first, last] });
  });

  test('is nothing while a request is open that came with a line in another encoding', async () => {
    const core = new CoreInMemory();
    const client = await ready(core);
    const params = { name: 'tool', arguments: {} };
    const line = Buffer.from(`${JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params })}\n`);
    const unreadable = Buffer.from(line);
    unreadable[line.indexOf('tool')] = 0xff;
    // Both lines have one length: a place that leaves the first one out would be the end of that.
    client.wire.say(Buffer.concat([unreadable, line]));
    pings(client, 300);
    await core.settle();
    expect(notices(client).at(-1)).toEqual({ bytes: expect.any(Number) });
    core.server().answer(calls(core)[0]);
    pings(client, 300);
    await core.settle();
    expect(notices(client).at(-1)).toMatchObject({ open: [] });
  });

  test.each(['\n', '\r\n', '\n\r\n\n'])('counts empty lines, wherever they stand in a chunk: %j', async (empty) => {
    const core = new CoreInMemory();
    const client = await ready(core);
    const line = (id: number): string =>
      `${JSON.stringify({ jsonrpc: '2.0', id, method: 'tools/call', params: { name: 'tool', arguments: {} } })}\n`;
    const sent = (text: string): number => {
      client.sent += text;
      return client.sent.length;
    };
    const from = client.sent.length;
    const places = [sent(empty + line(1)), sent(empty + line(2)), sent(empty + line(3))];
    const chunk = client.sent.slice(from);
    const half = chunk.length - line(3).length + 9;
    client.wire.say(chunk.slice(0, half));
    client.wire.say(chunk.slice(half));
    client.wire.say(empty);
    sent(empty);
    pings(client, 300);
    await core.settle();
    expect(notices(client).at(-1)).toMatchObject({ open: places });
  });

  test('counts on where the client resumes', async () => {
    const core = new CoreInMemory();
    const client = await ready(core);
    client.call(1);
    const first = client.sent.length;
    await core.settle();
    client.drop();
    client.call(2);
    const second = client.sent.length;
    await comeBack(core, client);
    pings(client, 300);
    await core.settle();
    expect(notices(client).at(-1)).toMatchObject({ open: [first, second] });
  });
});

describe('a client that confirms nothing', () => {
  test('says it by its answer to a ping', async () => {
    const core = new CoreInMemory({ liveness: { pingPeriodMs: 5000 } });
    const client = await ready(core);
    const [session] = core.manager.clients();
    const kept = (): number | undefined => (session?.link as ResumableLink | undefined)?.keptBytes;
    core.server().say({ jsonrpc: '2.0', method: 'notifications/message', params: { level: 'info', data: 1 } });
    await core.pass(6000);
    expect(kept()).toBeGreaterThan(0);
    client.take();
    const ping = client.messages.find(({ method }) => method === 'ping');
    core.server().say({ jsonrpc: '2.0', method: 'notifications/message', params: { level: 'info', data: 2 } });
    await core.settle();
    client.say({ jsonrpc: '2.0', id: ping?.id, result: {} });
    await core.settle();
    expect(kept()).toBe(`${client.wire.lines.at(-1)}\n`.length);
    client.drop();
    await comeBack(core, client);
    await core.settle();
    expect(client.notices('notifications/message').map(({ params }) => params?.data)).toEqual([1, 2]);
  });
});
