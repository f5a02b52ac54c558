// Calls whose time is up.

import { describe, expect, test } from 'vitest';
import { CoreInMemory } from '../../support/core-in-memory.ts';

describe('a call', () => {
  const limits = { callTimeoutMs: 5000, maxCallMs: 20_000 };

  test('whose time is up gets an error, the server a cancellation, and a late answer is dropped', async () => {
    const core = new CoreInMemory({ limits });
    const client = await core.ready();
    client.call(1);
    await core.pass(5000);
    expect(client.received).toEqual([]);
    await core.pass(1000);
    expect(client.received.map(({ error }) => error?.data?.code)).toEqual(['CALL_TIMED_OUT']);
    expect(core.server().cancelled).toEqual([1]);
    expect([core.openCalls, core.counters.timeouts]).toEqual([0, 1]);
    core.server().answer(core.server().requests[0]);
    await core.settle();
    expect([client.received.length, core.counters.strayResponses]).toEqual([1, 1]);
  });

  test('that waits for a server to start times out too, and is never sent', async () => {
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
