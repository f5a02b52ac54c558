// The handshake: what comes before it and behind it, and how it fails.

import { describe, expect, test } from 'vitest';
import { CoreInMemory } from '../../support/core-in-memory.ts';

describe('a handshake', () => {
  test('is answered with the server’s answer, and starts it once for all clients that come at once', async () => {
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

  test('gives each client its own id, the wanted one if it is free', async () => {
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
      [3, -32602],
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

  test('is refused unread if it is longer than 256 KiB, and may be tried again', async () => {
    const core = new CoreInMemory();
    const client = core.connect();
    client.initialize('long', { clientInfo: { name: 'n', version: 'v'.repeat(262_144) } });
    await core.settle();
    expect(client.received).toMatchObject([
      { id: 'long', error: { code: -32602, message: 'initialize is longer than 262144 bytes' } },
    ]);
    client.initialize('short', { clientInfo: { name: 'n', version: 'v'.repeat(200_000) } });
    await core.settle();
    expect(client.received[1]).toMatchObject({ id: 'short', result: {} });
  });

  test('need not be awaited by a quick client: later frames are kept in order', async () => {
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

  test('pauses reading from a client that sends too much behind it', async () => {
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

  test('that fails gives the reason, and may be tried again', async () => {
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

  test('may come at any time: a silent connection stays, until another client needs its place', async () => {
    const core = new CoreInMemory({ limits: { maxClients: 3 } });
    const [silent, busy, late] = [core.connect(), core.connect(), core.connect()];
    busy.say({ jsonrpc: '2.0', id: 1, method: 'ping' });
    await core.pass(4999);
    expect(core.connect().received).toMatchObject([{ id: null, error: { code: -32603 } }]); // they may be about to speak
    await core.pass(60_000);
    expect([silent, late].map(({ received }) => received)).toEqual([[], []]);
    const next = core.connect();
    await core.settle();
    expect(silent.link.isClosed).toBe(true);
    expect(silent.received).toEqual([]);
    expect(core.counters).toMatchObject({ handshakeTimeouts: 1, clientsCutOff: 1 });
    for (const client of [late, next]) {
      client.initialize();
      await core.settle();
      expect(client.answersTo('init')[0]?.result).toBeDefined();
    }
    expect(core.manager.clients().map(({ link }) => link)).toEqual([busy.link, late.link, next.link]);
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
    expect(core.server().instance.sessions.size).toBe(0);
    expect(core.manager.clients()).toEqual([]);
  });

  test('of the role control is answered by the bridge, and its requests go to the control methods', async () => {
    const core = new CoreInMemory({
      control: (request, { output }) => output.answerControl(`{"asked":${request.toString()}}`),
    });
    const client = core.connect();
    client.initialize('init', { _meta: { 'mcp-bridge/role': 'control' } });
    await core.settle();
    expect(client.received[0]?.result).toMatchObject({ serverInfo: { name: 'mcp-bridge-server' } });
    client.say('{"jsonrpc":"2.0","id":1,"method":"status"}');
    await core.settle();
    expect(client.link.lines[1]).toBe('{"asked":{"jsonrpc":"2.0","id":1,"method":"status"}}');
    expect(core.manager.clients()).toEqual([]);
  });

  test('of the role control begins requests that are not counted as a client’s', async () => {
    const core = new CoreInMemory();
    const [control, client] = [core.connect(), core.connect()];
    control.initialize('init', { _meta: { 'mcp-bridge/role': 'control' } });
    control.say({ jsonrpc: '2.0', id: 1, method: 'bridge/status' });
    client.initialize();
    await core.settle();
    client.say({ jsonrpc: '2.0', id: 1, method: 'ping' });
    await core.settle();
    expect(core.counters.requests).toBe(2);
  });
});
