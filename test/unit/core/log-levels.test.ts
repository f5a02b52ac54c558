import { describe, expect, test } from 'vitest';
import type { Session } from '../../../src/core/session.ts';
import { LogLevels } from '../../../src/core/shared-settings.ts';
import { CoreInMemory } from '../../support/core-in-memory.ts';

async function trio(): Promise<[Session, Session, Session]> {
  const core = new CoreInMemory();
  await Promise.all([core.ready(), core.ready(), core.ready()]);
  return core.manager.clients() as [Session, Session, Session];
}

function instance() {
  const asked: (string | undefined)[] = [];
  return { shared: new LogLevels({ ask: ({ params }) => void asked.push(params.level) }), asked };
}

describe('log levels that clients share', () => {
  test('are the most verbose for the server, and each its own for the clients', async () => {
    const [a, b, c] = await trio();
    const { shared, asked } = instance();
    expect([shared.areSet, shared.isForServer(a, 'error')]).toEqual([false, true]);
    shared.ask(a, 'error')('result');
    expect(shared.isForServer(b, 'debug')).toBe(true);
    shared.ask(b, 'debug')('result');
    expect(shared.isForServer(a, 'alert')).toBe(false);
    expect(shared.isForServer(a, 'loud')).toBe(true);
    const who = (level: string) => [a, b, c].map((session) => shared.admits(session, level));
    expect([who('debug'), who('info'), who('critical'), who('odd')]).toEqual([
      [false, true, false],
      [false, true, true],
      [true, true, true],
      [true, true, true],
    ]);
    for (const session of [b, c, a]) shared.forget(session);
    expect(asked).toEqual(['error']);
    expect(shared.areSet).toBe(false);
  });

  test('are those of the latest requests, in whatever order these are answered', async () => {
    const [a, b] = await trio();
    const { shared, asked } = instance();
    const [one, two] = [shared.ask(a, 'error'), shared.ask(a, 'debug')];
    expect(shared.isForServer(b, 'error')).toBe(false);
    shared.set(b, 'error');
    two('result');
    one('result');
    expect([shared.admits(a, 'debug'), shared.admits(b, 'debug'), asked]).toEqual([true, false, []]);
  });

  test('are corrected when the server refuses one, or its state is unknown', async () => {
    const [a, b] = await trio();
    const { shared, asked } = instance();
    const refused = shared.ask(a, 'debug');
    shared.set(b, 'error');
    expect(asked).toEqual([]);
    refused('error');
    expect(asked).toEqual(['error']);
    shared.ask(a, 'debug')('lost');
    expect(asked).toEqual(['error', 'error']);
    shared.ask(a, 'loud')('result'); // some servers know others
    expect(asked).toEqual(['error', 'error', 'error']);
    expect([shared.admits(a, 'info'), shared.admits(b, 'info')]).toEqual([true, false]);
  });

  test('stay when a request that was sent before is answered last', async () => {
    const [a, b] = await trio();
    const { shared } = instance();
    const loud = shared.ask(a, 'loud');
    shared.ask(a, 'debug')('lost');
    shared.ask(a, 'error')('result');
    loud('error');
    expect([shared.areSet, shared.admits(a, 'info'), shared.isForServer(b, 'alert')]).toEqual([true, false, false]);
  });

  test('are told to a server that was started again, whatever one before it was told', async () => {
    const [a] = await trio();
    const { shared, asked } = instance();
    shared.set(a, 'debug');
    expect(shared.opened()).toEqual([{ method: 'logging/setLevel', params: { level: 'debug' } }]);
    shared.forget(a);
    expect(shared.opened()).toEqual([]);
    shared.set(a, 'debug');
    expect(asked).toEqual(['debug', 'debug']);
  });

  test('go along to another instance, also one that is not granted yet', async () => {
    const [a] = await trio();
    const [one, other] = [instance(), instance()];
    one.shared.ask(a, 'info')('result');
    const late = one.shared.ask(a, 'debug');
    one.shared.handOver(a, other.shared);
    expect(other.asked).toEqual(['info']);
    late('result');
    expect([one.asked, other.asked]).toEqual([[], ['info', 'debug']]);
    expect([one.shared.areSet, other.shared.admits(a, 'debug')]).toEqual([false, true]);
  });
});
