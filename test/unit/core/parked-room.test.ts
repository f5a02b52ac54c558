// What is kept for all clients that are away together: whose session makes room, and for what.

import { describe, expect, test } from 'vitest';
import type { ResumableLink } from '../../../src/wire/resumable-link.ts';
import { CoreInMemory, type Message } from '../../support/core-in-memory.ts';
import { ResumingClient, wireInMemory } from '../../support/resuming-client.ts';

const ready = (core: CoreInMemory, meta: object = {}): Promise<ResumingClient> =>
  ResumingClient.ready(wireInMemory(core), { ...meta });
const comeBack = (core: CoreInMemory, client: ResumingClient): Promise<Message> => client.resume(wireInMemory(core));
const calls = (core: CoreInMemory): Message[] => core.server().requests.filter(({ method }) => method === 'tools/call');
const idsOf = (client: ResumingClient): unknown[] => {
  client.take();
  return client.messages.flatMap(({ id }) => id ?? []);
};
const codeOf = ({ error }: Message): unknown => error?.data?.code;
const kept = (core: CoreInMemory): number[] =>
  core.manager.clients().map(({ link }) => (link as ResumableLink).keptBytes);
const flood = async (core: CoreInMemory, bytes: number): Promise<void> => {
  const data = 'x'.repeat(bytes);
  core.server().say({ jsonrpc: '2.0', method: 'notifications/message', params: { level: 'info', data } });
  await core.settle();
};

describe('a session whose client is away', () => {
  test('keeps its answer whatever notices others are flooded with, and whatever came first', async () => {
    for (const isParkedFirst of [true, false]) {
      const core = new CoreInMemory({ servers: ['memory', 'flooding'], limits: { maxParkedBytes: 100_000 } });
      const view = (name: string) => ({ 'mcp-bridge/view': `server:${name}` });
      const asker = await ready(core, view('memory'));
      const flooded: ResumingClient[] = [];
      for (let n = 0; n < 20; n++) flooded.push(await ready(core, view('flooding')));
      asker.call(1);
      await core.settle();
      const [call] = calls(core);
      if (isParkedFirst) asker.drop();
      for (const client of flooded) client.drop();
      await core.settle();
      const answer = { jsonrpc: '2.0', id: call?.id, result: { data: 'x'.repeat(45_000) } };
      const say = (data: string): void =>
        core
          .server('flooding')
          .say({ jsonrpc: '2.0', method: 'notifications/message', params: { level: 'info', data } });
      say('x'.repeat(3_000));
      await core.settle();
      if (!isParkedFirst) asker.drop();
      core.server('memory').say(answer);
      await core.settle();
      for (let n = 0; n < 40; n++) {
        say('x'.repeat(1_000));
        await core.settle();
        expect(core.manager.parkedBytes).toBe(kept(core).reduce((sum, bytes) => sum + bytes, 0));
        expect(core.manager.parkedBytes).toBeLessThanOrEqual(100_000);
      }
      expect(core.counters.sessionsNotKept).toBeGreaterThan(10);
      expect((await comeBack(core, asker)).error).toBeUndefined();
      await core.settle();
      expect(idsOf(asker)).toEqual([1]);
    }
  });

  test('a thousand of them never have more than may be kept, as it is counted', async () => {
    const MOST = 1_000_000;
    const core = new CoreInMemory({ limits: { maxParkedBytes: MOST } });
    const clients: ResumingClient[] = [];
    for (let n = 0; n < 1000; n++) clients.push(await ready(core));
    for (const client of clients) client.drop();
    await core.settle();
    expect(core.manager.parkedCount).toBe(1000);
    for (let n = 0; n < 20; n++) {
      await flood(core, 250);
      expect(core.manager.parkedBytes).toBe(kept(core).reduce((sum, bytes) => sum + bytes, 0));
      expect(core.manager.parkedBytes).toBeLessThanOrEqual(MOST);
    }
    expect(core.manager.parkedCount).toBeGreaterThan(100);
    expect(core.manager.parkedCount + core.counters.sessionsNotKept).toBe(1000);
    await core.pass(31_000);
    expect([core.manager.parkedCount, core.manager.parkedBytes, core.openCalls]).toEqual([0, 0, 0]);
  });

  test('is kept at the cost of the one with the most, not of those with less', async () => {
    const core = new CoreInMemory({ limits: { maxParkedBytes: 50_000 } });
    const [large, small, largest] = [await ready(core), await ready(core), await ready(core)];
    for (const client of [large, small, largest]) client.call(1);
    await core.settle();
    const answer = (n: number, bytes: number): void =>
      core.server().say({ jsonrpc: '2.0', id: calls(core)[n]?.id, result: { data: 'x'.repeat(bytes) } });
    large.drop();
    small.drop();
    answer(0, 30_000);
    answer(1, 15_000);
    answer(2, 40_000);
    await core.settle();
    largest.drop(); // with what it has not said to have
    await core.settle();
    expect([core.manager.parkedCount, core.counters.sessionsNotKept]).toEqual([2, 1]);
    expect(codeOf(await comeBack(core, largest))).toBe('RESUME_REFUSED');
    const middle = await ready(core);
    middle.call(1);
    await core.settle();
    answer(3, 20_000);
    await core.settle();
    middle.drop();
    await core.settle();
    expect(codeOf(await comeBack(core, large))).toBe('RESUME_REFUSED');
    for (const client of [small, middle]) expect((await comeBack(core, client)).error).toBeUndefined();
  });
});
