// The periodic look at a client: whether it still answers, and takes what is meant for it.

import { describe, expect, test } from 'vitest';
import { CoreInMemory } from '../../support/core-in-memory.ts';

const ping = (message: { method?: string }): boolean => message.method === 'ping';

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
