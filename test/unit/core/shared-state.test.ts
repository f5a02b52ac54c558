import { describe, expect, test } from 'vitest';
import { SharedState } from '../../../src/core/shared-state.ts';
import { CoreInMemory } from '../../support/core-in-memory.ts';

async function clients() {
  const core = new CoreInMemory();
  await Promise.all([core.ready(), core.ready(), core.ready()]);
  return core.manager.clients();
}
type Trio = [
  Awaited<ReturnType<typeof clients>>[number],
  Awaited<ReturnType<typeof clients>>[number],
  Awaited<ReturnType<typeof clients>>[number],
];
const trio = async (): Promise<Trio> => (await clients()) as Trio;

describe('subscriptions that clients share', () => {
  test('are kept for each client, and end for the server with the last one', async () => {
    const [a, b, c] = await trio();
    const shared = new SharedState();
    for (const session of [a, a, b]) shared.subscribed(session, 'x:1');
    shared.subscribed(c, 'x:');
    expect(shared.subscribersOf('x:1')).toEqual(new Set([a, b, c]));
    expect(shared.subscribersOf('x:1/part')).toEqual(new Set([a, b, c]));
    expect(shared.subscribersOf('x:2')).toEqual(new Set([c]));
    expect(shared.subscribersOf('x:12')).toEqual(new Set([c]));
    expect(shared.unsubscribe(a, 'x:1')).toBe(true);
    expect(shared.unsubscribe(b, 'x:1')).toBe(false);
    expect(shared.unsubscribe(b, 'never:')).toBe(false);
    expect(shared.wishes()).toEqual([{ method: 'resources/subscribe', params: { uri: 'x:' } }]);
    expect(shared.forget(c)).toEqual([{ method: 'resources/unsubscribe', params: { uri: 'x:' } }]);
    expect(shared.wishes()).toEqual([]);
  });
});

describe('log levels that clients share', () => {
  test('are the most verbose for the server, and each its own for the clients', async () => {
    const [a, b, c] = await trio();
    const shared = new SharedState();
    expect(shared.levelWith(a, 'error')).toBe('error');
    shared.setLevel(a, 'error');
    expect(shared.levelWith(b, 'debug')).toBe('debug');
    shared.setLevel(b, 'debug');
    expect(shared.levelWith(a, 'alert')).toBe('debug');
    expect(shared.levelWith(a, 'loud')).toBeUndefined();
    const who = (level: string) => [a, b, c].map((session) => shared.admitsLog(session, level));
    expect([who('debug'), who('info'), who('critical'), who('odd')]).toEqual([
      [false, true, false],
      [false, true, true],
      [true, true, true],
      [true, true, true],
    ]);
    expect(shared.forget(b)).toEqual([{ method: 'logging/setLevel', params: { level: 'error' } }]);
    expect(shared.forget(c)).toEqual([]);
    expect(shared.forget(a)).toEqual([]);
    expect(shared.hasLevels).toBe(false);
  });
});
