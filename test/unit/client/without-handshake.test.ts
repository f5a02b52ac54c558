// A client of the era in which each request stands alone, on a connection that lasts.

import { describe, expect, test } from 'vitest';
import { World } from '../../support/connection-world.ts';
import type { Message } from '../../support/raw-client.ts';

const ENVELOPE = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientCapabilities': {},
};
const ask = (id: unknown, method: string, params: object = {}): object => ({
  id,
  method,
  params: { ...params, _meta: ENVELOPE },
});
const call = (id: unknown): object => ask(id, 'tools/call', { name: 'unsafe', arguments: { text: String(id) } });
const listen = (id: unknown, notifications: object): object => ask(id, 'subscriptions/listen', { notifications });
const acknowledged = (id: unknown, notifications: object): object => ({
  method: 'notifications/subscriptions/acknowledged',
  params: { notifications, _meta: { 'io.modelcontextprotocol/subscriptionId': id } },
});

const META = { 'mcp-bridge/view': 'all', 'mcp-bridge/clientId': 'bärbel' };
const DEFAULTS = { method: 'bridge/defaults', params: { _meta: { 'mcp-bridge/cwd': '/', ...META } } };

const methods = (said: readonly Message[] | undefined): unknown[] => (said ?? []).map(({ method }) => method);

/** The daemon dies, and the next one is there. */
async function nextDaemon(world: World): Promise<void> {
  world.daemon.kill();
  await world.settle();
  world.daemon.isRunning = true;
}

describe.each([true, false])('a client without a handshake, in chunks: %s', (inChunks) => {
  const newWorld = (): World => {
    const world = new World({ meta: META });
    world.inChunks = inChunks;
    return world;
  };

  test('is announced once, before its first request', async () => {
    const world = newWorld();
    world.say(ask(1, 'server/discover'));
    world.say(call(2));
    await world.exchange();
    expect(world.daemon.said).toMatchObject([[DEFAULTS, { id: 1 }, { id: 2 }]]);
    expect(world.daemon.said[0]?.[1]).toEqual({ jsonrpc: '2.0', ...ask(1, 'server/discover') });
    world.say(ask(3, 'tools/list'));
    await world.exchange();
    expect(methods(world.daemon.said[0]).filter((method) => method === 'bridge/defaults')).toHaveLength(1);
    for (let n = 0; n < 3; n++) world.daemon.answer();
    await world.exchange();
    expect([1, 2, 3].map((id) => world.answersTo(id).length)).toEqual([1, 1, 1]);
  });

  test('may still say initialize, and a client that does so at once is not announced', async () => {
    const world = newWorld();
    await world.introduce();
    expect(world.daemon.said).toEqual([[]]);
    const other = newWorld();
    other.say(ask(1, 'server/discover'));
    await other.exchange();
    other.daemon.answer();
    await other.exchange();
    await other.introduce();
    expect(other.daemon.said).toMatchObject([[DEFAULTS, { id: 1 }]]);
    other.daemon.drop();
    await other.settle();
    await other.untilBack();
    expect(other.events.at(-1)).toEqual({ kind: 'resumed', session: 'kept' });
  });

  test('is announced behind an initialize that was refused', async () => {
    const world = newWorld();
    world.daemon.refusal = { code: -32602, message: 'no' };
    world.say({ id: 'hello', method: 'initialize', params: { protocolVersion: '2025-11-25', capabilities: {} } });
    await world.exchange();
    expect(world.answersTo('hello')).toMatchObject([{ error: { message: 'no' } }]);
    world.say(call(1));
    await world.exchange();
    expect(world.daemon.said).toMatchObject([[DEFAULTS, { id: 1 }]]);
  });

  test('hears nothing of the connection as long as it says nothing, and needs none', async () => {
    const world = newWorld();
    world.daemon.tell({ id: null, error: { code: -32600, message: 'No initialize came in time' } });
    await world.exchange();
    world.daemon.drop();
    for (let round = 0; round < 5; round++) {
      await world.settle();
      world.clock.advance(1000);
    }
    expect([world.heard, world.events, world.starts]).toEqual([[], [], []]);
    world.say(call(1));
    await world.exchange();
    expect(world.daemon.said).toMatchObject([[DEFAULTS, { id: 1 }]]);
    world.daemon.tell({ id: null, error: { code: -32700, message: 'not JSON' } });
    await world.exchange();
    expect(world.answersTo(null)).toHaveLength(1);
  });

  test('loses a call that may not be made twice, and no other', async () => {
    const world = newWorld();
    world.say(call('a'));
    world.say(ask('b', 'tools/list'));
    world.say(ask('c', 'resources/read', { uri: 'x:/' }));
    await world.exchange();
    await nextDaemon(world);
    world.say(call('d'));
    await world.untilBack();
    await world.exchange();
    expect(world.answersTo('a')).toMatchObject([{ error: { code: -32603, data: { code: 'OUTCOME_UNKNOWN' } } }]);
    expect(world.daemon.said).toMatchObject([[DEFAULTS, { id: 'b' }, { id: 'c' }, { id: 'd' }]]);
    for (let n = 0; n < 3; n++) world.daemon.answer();
    await world.exchange();
    expect(['a', 'b', 'c', 'd'].map((id) => world.answersTo(id).length)).toEqual([1, 1, 1, 1]);
    expect([...world.daemon.runs]).toEqual([
      ['a', 1],
      ['d', 1],
    ]);
  });

  test('with nothing open it needs no daemon: one is there with its next request', async () => {
    const world = newWorld();
    world.say(call(1));
    await world.exchange();
    world.daemon.answer();
    await world.exchange();
    world.daemon.drop();
    for (let round = 0; round < 5; round++) {
      await world.settle();
      world.clock.advance(1000);
    }
    expect([world.events, world.starts]).toEqual([[], []]);
    world.say(call(2));
    await world.exchange();
    world.daemon.answer();
    await world.exchange();
    expect(world.answersTo(2)).toHaveLength(1);
  });

  test('keeps its subscription, and learns which resources may have changed meanwhile', async () => {
    const world = newWorld();
    const wanted = { toolsListChanged: true, resourceSubscriptions: ['file:///ä'] };
    world.say(listen('s', { ...wanted, promptsListChanged: true }));
    await world.exchange();
    world.daemon.tell(acknowledged('s', wanted));
    await world.exchange();
    expect(methods(world.heard)).toEqual(['notifications/subscriptions/acknowledged']);
    for (let daemon = 0; daemon < 5; daemon++) {
      world.heard.length = 0;
      await nextDaemon(world);
      await world.untilBack();
      await world.exchange();
      expect(world.daemon.said).toMatchObject([[DEFAULTS, { id: 's', method: 'subscriptions/listen' }]]);
      world.daemon.tell(acknowledged('s', wanted));
      await world.exchange();
      const _meta = { 'io.modelcontextprotocol/subscriptionId': 's' };
      expect(world.heard).toEqual([
        { jsonrpc: '2.0', method: 'notifications/tools/list_changed', params: { _meta } },
        { jsonrpc: '2.0', method: 'notifications/resources/updated', params: { uri: 'file:///ä', _meta } },
      ]);
    }
  });

  test('a subscription that no daemon lives through ends with an error', async () => {
    const world = newWorld();
    world.say(listen(7, { toolsListChanged: true }));
    for (let daemon = 0; daemon < 3; daemon++) {
      await world.exchange();
      await nextDaemon(world);
      await world.untilBack();
    }
    await world.exchange();
    expect(world.answersTo(7)).toMatchObject([{ error: { data: { code: 'OUTCOME_UNKNOWN' } } }]);
  });

  test('does not wait for a subscription once it has ended', async () => {
    const world = newWorld();
    world.say(listen(7, { toolsListChanged: true }));
    world.say(call(1));
    await world.exchange();
    world.daemon.tell(acknowledged(7, { toolsListChanged: true }));
    world.connection.end();
    await world.exchange();
    expect(world.daemon.said[0]?.at(-1)).toMatchObject({ method: 'notifications/cancelled', params: { requestId: 7 } });
    expect(world.closed).toBeUndefined();
    world.daemon.answer();
    await world.exchange();
    expect(world.answersTo(1)).toHaveLength(1);
    expect(world.closed).toEqual({ error: undefined });
  });
});
