// Sessions whose clients are away: what goes on meanwhile, and when they are given up.

import { describe, expect, test } from 'vitest';
import { CoreInMemory, type Message } from '../../support/core-in-memory.ts';
import { wireInMemory } from '../../support/resuming-client.ts';
import { calls, codeOf, comeBack, idsOf, ready } from '../../support/resuming-in-memory.ts';

describe('a session whose client is away', () => {
  test('is given up after the grace time, and its calls are cancelled', async () => {
    const core = new CoreInMemory();
    const client = await ready(core, { 'mcp-bridge/clientId': 'me' });
    client.call(1);
    await core.settle();
    client.drop();
    await core.pass(29_000);
    expect([core.server().cancelled, core.manager.parkedCount]).toEqual([[], 1]);
    await core.pass(2_000);
    expect(core.server().cancelled).toEqual([calls(core)[0]?.id]);
    expect([core.manager.parkedCount, core.manager.isEmpty, core.openCalls]).toEqual([0, true, 0]);
    expect(core.counters.sessionsExpired).toBe(1);
    const refusal = await comeBack(core, client);
    expect([codeOf(refusal), refusal.error?.message]).toEqual(['RESUME_REFUSED', 'The session has been given up']);
    await client.shakeHands({ 'mcp-bridge/clientId': 'me' });
    expect(client.meta['mcp-bridge/clientId']).toBe('me');
  });

  test('is neither pinged nor cut off, and the time of its calls goes on', async () => {
    const core = new CoreInMemory({
      liveness: { pingPeriodMs: 1000, maxMissedPings: 1, cutOffSilentClients: true },
      limits: { callTimeoutMs: 5000, stallTimeoutMs: 1000 },
    });
    const client = await ready(core);
    client.call(1);
    await core.settle();
    client.drop();
    await core.pass(20_000);
    await comeBack(core, client);
    await core.settle();
    expect(idsOf(client)).toEqual([1]);
    expect(codeOf(client.messages[0] as Message)).toBe('CALL_TIMED_OUT');
    expect(core.counters.clientsCutOff).toBe(0);
    await core.pass(3_000); // and now it is looked after as before
    expect(client.notices('').length + client.messages.filter(({ method }) => method === 'ping').length).toBe(1);
  });

  test('gets servers’ questions when it is back', async () => {
    const core = new CoreInMemory({ limits: { callTimeoutMs: 60_000 } });
    const client = await ready(core, {}, { capabilities: { sampling: {} } });
    client.call(1);
    await core.settle();
    client.drop();
    core.server().say({ jsonrpc: '2.0', id: 'q', method: 'sampling/createMessage', params: {} });
    await core.pass(10_000);
    await comeBack(core, client);
    await core.settle();
    client.take();
    const question = client.messages.find(({ method }) => method === 'sampling/createMessage');
    client.say({ jsonrpc: '2.0', id: question?.id, result: { role: 'assistant' } });
    await core.settle();
    expect(core.server().received.at(-1)).toMatchObject({ id: 'q', result: { role: 'assistant' } });
  });

  test('does not keep servers waiting for its roots', async () => {
    const core = new CoreInMemory();
    const client = await ready(core, {}, { capabilities: { roots: {} } });
    await ready(core, {}, { capabilities: { roots: {} } });
    client.drop();
    core.server().say({ jsonrpc: '2.0', id: 'q', method: 'roots/list' });
    await core.pass(12_000);
    expect(core.server().received.at(-1)).toMatchObject({ id: 'q', result: { roots: [] } });
  });

  test('is given up when more waits for it than is kept', async () => {
    const core = new CoreInMemory({ limits: { maxResumeBytesPerClient: 100_000 } });
    const client = await ready(core);
    client.call(1);
    await core.settle();
    client.drop();
    await core.settle();
    const data = 'x'.repeat(10_000);
    for (let sent = 0; sent < 1000 && core.manager.parkedCount > 0; sent++) {
      core.server().say({ jsonrpc: '2.0', method: 'notifications/message', params: { level: 'info', data } });
      if (sent % 5 === 0) await core.settle();
    }
    await core.settle();
    expect(core.server().cancelled).toEqual([calls(core)[0]?.id]);
    expect([core.counters.sessionsNotKept, core.manager.isEmpty, core.openCalls]).toEqual([1, true, 0]);
    expect(codeOf(await comeBack(core, client))).toBe('RESUME_REFUSED');
  });

  test('is not filled by messages of other clients', async () => {
    const core = new CoreInMemory({ limits: { maxResumeBytesPerClient: 100_000 }, agents: { maxPerSecond: 1000 } });
    const away = await ready(core, { 'mcp-bridge/clientId': 'away', 'mcp-bridge/accepts': true });
    const other = await ready(core);
    away.call(1);
    await core.settle();
    away.drop();
    await core.settle();
    const params = { to: 'away', method: 'note', notify: true, params: { text: 'x'.repeat(10_000) } };
    for (let id = 1; id <= 20; id++) other.say({ jsonrpc: '2.0', id, method: 'bridge/send', params });
    await core.settle();
    other.take();
    expect(other.messages.map(codeOf)).toEqual([undefined, undefined, ...Array<string>(18).fill('CLIENT_BUSY')]);
    core.server().answer(calls(core)[0]);
    await core.settle();
    expect((await comeBack(core, away)).error).toBeUndefined();
    await core.settle();
    expect(idsOf(away)).toEqual(['note', 'note', 1]);
  });

  test('is given up when all of them together have more than may be kept', async () => {
    const core = new CoreInMemory({ limits: { maxParkedBytes: 30_000 } });
    const [small, large] = [await ready(core), await ready(core)];
    small.call(1);
    large.call(1);
    await core.settle();
    small.drop();
    large.drop();
    await core.settle();
    core.server().answer(calls(core)[0]);
    core.server().say({ jsonrpc: '2.0', id: calls(core)[1]?.id, result: { data: 'x'.repeat(40_000) } });
    await core.settle();
    expect(codeOf(await comeBack(core, large))).toBe('RESUME_REFUSED');
    await comeBack(core, small);
    await core.settle();
    expect(idsOf(small)).toEqual([1]);
    expect(core.counters.sessionsNotKept).toBe(1);
  });

  test('is not kept beyond the number that may be', async () => {
    const core = new CoreInMemory({ limits: { maxParkedClients: 2 } });
    const clients = [await ready(core), await ready(core), await ready(core)];
    for (const client of clients) client.drop();
    await core.settle();
    expect([core.manager.parkedCount, core.counters.sessionsNotKept]).toEqual([2, 1]);
    const answers = [];
    for (const client of clients) answers.push(codeOf(await comeBack(core, client)));
    expect(answers).toEqual([undefined, undefined, 'RESUME_REFUSED']);
  });

  test('makes room for another client while it has no connection', async () => {
    const core = new CoreInMemory({ limits: { maxClients: 1 } });
    const client = await ready(core);
    client.drop();
    await core.settle();
    const other = await core.ready();
    other.call(1);
    await core.settle();
    expect(calls(core)).toHaveLength(1);
    other.link.destroy();
    await core.settle();
    expect((await comeBack(core, client)).error).toBeUndefined();
    const tooMany = core.connect();
    await core.settle();
    expect(tooMany.received[0]?.error?.message).toMatch(/clients already \(limits\.maxClients\)$/);
  });

  test('cannot continue if bytes that its client lacks were dropped while it was connected', async () => {
    const core = new CoreInMemory({ limits: { maxResumeBytesPerClient: 1000 } });
    const client = await ready(core);
    client.take();
    for (let i = 0; i < 10; i++) {
      const params = { level: 'info', data: 'x'.repeat(500) };
      core.server().say({ jsonrpc: '2.0', method: 'notifications/message', params });
      await core.settle();
    }
    client.call(1);
    await core.settle();
    core.server().answer(calls(core)[0]);
    await core.settle();
    expect(client.wire.lines.length).toBeGreaterThan(10); // the connection itself goes on unharmed
    const { receivedBytes } = client;
    client.drop();
    const refusal = await client.resume(wireInMemory(core), { received: receivedBytes });
    expect(refusal.error?.message).toMatch(/is not kept any more$/);
    expect((await comeBack(core, client)).error).toBeUndefined(); // with what it has really got
  });
});
