import { describe, expect, test } from 'vitest';
import { ListLooks } from '../../../src/core/list-looks.ts';
import { deferred } from '../../../src/util/deferred.ts';
import { nextTurn } from '../../../src/util/next-turn.ts';
import { CoreInMemory } from '../../support/core-in-memory.ts';
import { FakeClock } from '../../support/fake-clock.ts';

const [ANN, BOB] = [{}, {}];

/** Looks that end when the test says so. */
function looksOf(most: number) {
  const clock = new FakeClock();
  const looks = new ListLooks(most, clock);
  const begun: string[] = [];
  const found = new Map<string, () => void>();
  const left = new Map<string, () => void>();
  const add = (owner: object, at: string) =>
    looks.add(owner, at, async () => {
      begun.push(at);
      const [list, connection] = [deferred<void>(), deferred<void>()];
      found.set(at, () => list.resolve());
      left.set(at, () => connection.resolve());
      await list.promise;
      return { over: connection.promise };
    });
  const end = async (at: string): Promise<void> => {
    found.get(at)?.();
    await nextTurn();
    left.get(at)?.();
    await nextTurn();
  };
  return { clock, looks, begun, add, end, found };
}

describe('looks', () => {
  test('are a few at a time, of one client after the other', async () => {
    const { begun, add, end } = looksOf(2);
    for (const at of ['a1', 'a2', 'a3', 'a4']) add(ANN, at);
    for (const at of ['b1', 'b2']) add(BOB, at);
    await nextTurn();
    expect(begun).toEqual(['a1', 'a2']);
    await end('a1');
    expect(begun).toEqual(['a1', 'a2', 'a3']);
    await end('a2');
    await end('a3');
    expect(begun.slice(3)).toEqual(['b1', 'a4']);
  });

  test('keep their turn until their connection is no longer needed', async () => {
    const { begun, add, end, found } = looksOf(1);
    const { done } = add(ANN, 'one');
    add(ANN, 'two');
    await nextTurn();
    found.get('one')?.();
    await done;
    await nextTurn();
    expect(begun).toEqual(['one']);
    await end('one');
    expect(begun).toEqual(['one', 'two']);
  });

  test('are the same for one client that looks twice', async () => {
    const { begun, add, end } = looksOf(1);
    expect(add(ANN, 'one')).toBe(add(ANN, 'one'));
    await nextTurn();
    await end('one');
    add(ANN, 'one');
    await nextTurn();
    expect(begun).toEqual(['one', 'one']);
  });

  test('that take long give their turn away, and that once', async () => {
    const { clock, begun, add, end } = looksOf(1);
    for (const at of ['hangs', 'next', 'last']) add(ANN, at);
    await nextTurn();
    clock.advance(3000);
    await nextTurn();
    expect(begun).toEqual(['hangs', 'next']);
    await end('hangs');
    expect(begun).toEqual(['hangs', 'next']);
    await end('next');
    expect([begun.length, clock.pending]).toEqual([3, 1]);
  });

  test('are told of when many in a row are over, and a few are not', async () => {
    let told = 0;
    const looks = new ListLooks(8, new FakeClock(), () => told++);
    const look = (n: number): Promise<unknown> =>
      Promise.all(
        Array.from(
          { length: n },
          (_, i) => looks.add(ANN, `${i}`, () => Promise.resolve({ over: Promise.resolve() })).done,
        ),
      ).then(nextTurn);
    await look(255);
    expect(told).toBe(0);
    await look(256);
    expect(told).toBe(1);
    await look(1);
    expect(told).toBe(1);
  });

  test('that fail give their turn away', async () => {
    const looks = new ListLooks(1, new FakeClock());
    const failed = looks.add(ANN, 'one', () => Promise.reject(new Error('no such host')));
    const next = looks.add(ANN, 'two', () => Promise.resolve({ over: Promise.resolve() }));
    await expect(failed.done).rejects.toThrow('no such host');
    await next.done;
  });
});

describe('a list of many servers on other hosts', () => {
  const ALL = { _meta: { 'mcp-bridge/view': 'all' } };
  const names = Array.from({ length: 100 }, (_, i) => `s${i}@host`);

  function manyServers(ttlMs: number) {
    const definition = { transport: 'bus' };
    const core = new CoreInMemory({ servers: names, definition, limits: { maxRemoteStarts: 8 }, ttlMs });
    const servers = names.map((name) => core.server(name));
    let mostOpen = 0;
    const asked = new Map<string, number>();
    for (const server of servers) {
      server.has({ tools: [{ name: 'tool', inputSchema: { type: 'object' } }], prompts: [] });
      const { answers } = server;
      server.answers = (request, instance) => {
        const open = servers.reduce(
          (sum, one) => sum + one.instances.filter(({ state }) => state !== 'idle').length,
          0,
        );
        mostOpen = Math.max(mostOpen, open);
        const key = `${server.name} ${request.method}`;
        asked.set(key, (asked.get(key) ?? 0) + 1);
        return answers(request, instance);
      };
    }
    return { core, servers, asked, mostOpen: () => mostOpen };
  }

  test('asks each of them once, a few at a time, and keeps no connection', async () => {
    const { core, servers, asked, mostOpen } = manyServers(60_000);
    const clients = [await core.ready(ALL), await core.ready(ALL)];
    for (const client of clients) client.say({ jsonrpc: '2.0', id: 1, method: 'tools/list', params: {} });
    await core.settle(); // without any time, the last ones are late
    for (const client of clients) client.say({ jsonrpc: '2.0', id: 2, method: 'tools/list', params: {} });
    await core.settle();
    for (const client of clients) expect(client.answersTo(2)[0]?.result?.tools).toHaveLength(100);
    expect([...asked.values()].filter((times) => times !== 1)).toEqual([]);
    expect([asked.size, mostOpen()]).toEqual([200, 8]);
    expect(servers.flatMap(({ server }) => [...server.instances])).toEqual([]);
  });

  test('keeps the connections where nothing is remembered of a server that does not run', async () => {
    const { core, servers, asked } = manyServers(0);
    const client = await core.ready(ALL);
    for (const id of [1, 2]) {
      client.say({ jsonrpc: '2.0', id, method: 'tools/list', params: {} });
      await core.settle();
    }
    expect(client.answersTo(2)[0]?.result?.tools).toHaveLength(100);
    expect([...asked.values()].filter((times) => times !== 1)).toEqual([]);
    expect(servers.every(({ server }) => server.isOpen)).toBe(true);
  });
});
