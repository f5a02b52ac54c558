import { describe, expect, test } from 'vitest';
import type { RequestOutcome } from '../../../src/core/call-plan.ts';
import type { Session } from '../../../src/core/session.ts';
import { Subscriptions } from '../../../src/core/shared-settings.ts';
import { CoreInMemory } from '../../support/core-in-memory.ts';

async function trio(): Promise<[Session, Session, Session]> {
  const core = new CoreInMemory();
  await Promise.all([core.ready(), core.ready(), core.ready()]);
  return core.manager.clients() as [Session, Session, Session];
}

function instance(mostBytes = 1e6) {
  const asked: string[] = [];
  const shared = new Subscriptions({
    ask: ({ method, params }) => void asked.push(`${method} ${params.uri}`),
    mostBytes,
  });
  const subscribe = (session: Session, uri: string, ending: RequestOutcome = 'result'): void =>
    shared.subscribe(session, uri, false)?.(ending);
  return { shared, subscribe, asked };
}

const [SUBSCRIBE, UNSUBSCRIBE] = ['resources/subscribe x:1', 'resources/unsubscribe x:1'];

describe('subscriptions that clients share', () => {
  test('are kept for each client, and end for the server with the last one', async () => {
    const [a, b, c] = await trio();
    const { shared, subscribe, asked } = instance();
    for (const session of [a, a, b]) subscribe(session, 'x:1');
    subscribe(c, 'x:');
    expect(shared.subscribersOf('x:1')).toEqual(new Set([a, b, c]));
    expect(shared.subscribersOf('x:1/part')).toEqual(new Set([a, b, c]));
    expect(shared.subscribersOf('x:2')).toEqual(new Set([c]));
    expect(shared.subscribersOf('x:12')).toEqual(new Set([c]));
    expect(shared.unsubscribe(a, 'x:1')).toBe(false);
    expect(shared.unsubscribe(b, 'x:1')).toBe(true);
    shared.sendUnsubscribe('x:1')?.('result');
    expect(shared.unsubscribe(b, 'never:')).toBe(true);
    expect(shared.sendUnsubscribe('never:')).toBeUndefined();
    expect(shared.opened()).toEqual([{ method: 'resources/subscribe', params: { uri: 'x:' } }]);
    shared.forget(c);
    expect(asked).toEqual(['resources/unsubscribe x:']);
    expect(shared.opened()).toEqual([]);
  });

  test('take room for as long as they are wanted or asked for, and none when they are refused', async () => {
    const [a] = await trio();
    const { shared, subscribe } = instance(2 * (256 + 3));
    for (const ending of ['error', 'lost'] as const) for (const uri of ['x:1', 'x:2']) subscribe(a, uri, ending);
    const [one, two] = [shared.subscribe(a, 'x:1', false), shared.subscribe(a, 'x:2', false)];
    expect([one, two, shared.subscribe(a, 'x:3', false)]).toEqual([
      expect.any(Function),
      expect.any(Function),
      undefined,
    ]);
    one?.('result');
    two?.('error');
    expect([shared.has(a, 'x:1'), shared.has(a, 'x:2')]).toEqual([true, false]);
    subscribe(a, 'x:3');
    expect(shared.has(a, 'x:3')).toBe(true);
  });

  test('outlast a request for the same one that is refused or given up', async () => {
    const [a] = await trio();
    const { shared, subscribe, asked } = instance();
    subscribe(a, 'x:1');
    subscribe(a, 'x:1', 'error');
    expect(asked).toEqual([]);
    subscribe(a, 'x:1', 'lost'); // which the server may have refused
    expect([shared.has(a, 'x:1'), asked]).toEqual([true, [SUBSCRIBE]]);
  });

  test('are ended by the bridge if the server may have them, and no client does', async () => {
    const [a, b] = await trio();
    const { shared, subscribe, asked } = instance();
    subscribe(a, 'x:1', 'lost');
    expect(asked).toEqual([UNSUBSCRIBE]);
    subscribe(a, 'x:1');
    const other = shared.subscribe(b, 'x:1', false);
    expect(shared.unsubscribe(a, 'x:1')).toBe(false); // as long as it may be granted to the other one
    other?.('error');
    expect(asked).toEqual([UNSUBSCRIBE, UNSUBSCRIBE]);
  });

  test('are the client’s again only by a request that comes behind their end', async () => {
    const [a] = await trio();
    const { shared, subscribe, asked } = instance();
    const late = shared.subscribe(a, 'x:1', false);
    expect(shared.unsubscribe(a, 'x:1')).toBe(true);
    shared.sendUnsubscribe('x:1')?.('result');
    late?.('result');
    expect([shared.has(a, 'x:1'), asked]).toEqual([false, []]);
    subscribe(a, 'x:1');
    expect(shared.has(a, 'x:1')).toBe(true);
  });

  test('go along to another instance, also those that are not granted yet', async () => {
    const [a] = await trio();
    const [one, other] = [instance(), instance()];
    const [granted, refused] = [one.shared.subscribe(a, 'x:1', true), one.shared.subscribe(a, 'x:2', false)];
    one.shared.handOver(a, other.shared);
    expect(other.asked).toEqual(['resources/subscribe x:1', 'resources/subscribe x:2']);
    granted?.('result');
    refused?.('error');
    expect(one.asked).toEqual(['resources/unsubscribe x:1', 'resources/unsubscribe x:2']);
    expect([other.shared.isNamed(a, 'x:1'), other.shared.has(a, 'x:2'), one.shared.has(a, 'x:1')]).toEqual([
      true,
      false,
      false,
    ]);
    expect(other.asked.slice(2)).toEqual(['resources/unsubscribe x:2']);
    expect(one.shared.opened()).toEqual([]);
  });
});
