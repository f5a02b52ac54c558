import { describe, expect, test } from 'vitest';
import { CoreInMemory, type Message, type TestClient } from '../../support/core-in-memory.ts';

const ROOTED = { capabilities: { roots: {} } };
const ROOTS = { roots: [{ uri: 'a:1', name: 'one' }] };
const ask = (id: unknown): object => ({ jsonrpc: '2.0', id, method: 'roots/list' });

const askedOf = (client: TestClient): Message[] => client.notifications('roots/list');
const answersTo = (core: CoreInMemory, id: unknown): unknown[] =>
  core
    .server()
    .received.filter((message) => message.method === undefined && message.id === id)
    .map(({ result, error }) => (result === undefined ? error?.code : result));

async function answer(core: CoreInMemory, client: TestClient, result: unknown): Promise<void> {
  client.say({ jsonrpc: '2.0', id: askedOf(client).at(-1)?.id, result });
  await core.settle();
}

describe('a server that asks for roots', () => {
  test('gets those of its one client, in its words, also outside any call', async () => {
    const core = new CoreInMemory();
    const client = await core.ready(ROOTED);
    core.server().say(ask('r'));
    await core.settle();
    await answer(core, client, ROOTS);
    expect(answersTo(core, 'r')).toEqual([ROOTS]);
  });

  test('gets those that all of its clients agree on, and none if they do not', async () => {
    const core = new CoreInMemory();
    const [one, other] = [await core.ready(ROOTED), await core.ready(ROOTED)];
    core.server().say(ask('r'));
    await core.settle();
    await answer(core, one, ROOTS);
    expect(answersTo(core, 'r')).toEqual([]);
    await answer(core, other, { roots: [{ uri: 'a:1' }] });
    expect(answersTo(core, 'r')).toEqual([ROOTS]);
    other.say({ jsonrpc: '2.0', method: 'notifications/roots/list_changed' });
    await core.settle();
    core.server().say(ask('s'));
    await core.settle();
    expect(askedOf(other).length).toBe(2);
  });

  test('gets none where clients have different ones', async () => {
    const core = new CoreInMemory();
    const [one, other] = [await core.ready(ROOTED), await core.ready(ROOTED)];
    core.server().say(ask('r'));
    await core.settle();
    await answer(core, one, ROOTS);
    await answer(core, other, { roots: [] });
    expect(answersTo(core, 'r')).toEqual([{ roots: [] }]);
    expect(core.server().backend.key.rootsKey).toBe('disagreed');
  });

  test('waits for a client that is not ready yet', async () => {
    const core = new CoreInMemory();
    const client = core.connect();
    client.initialize('init', ROOTED);
    await core.settle();
    core.server().say(ask('r'));
    await core.settle();
    expect(askedOf(client)).toEqual([]);
    client.say({ jsonrpc: '2.0', method: 'notifications/initialized' });
    await core.settle();
    await answer(core, client, ROOTS);
    expect(answersTo(core, 'r')).toEqual([ROOTS]);
  });

  test('does not wait for ever for a client that never says it is ready, nor for one that never answers', async () => {
    const core = new CoreInMemory();
    const [one, silent] = [await core.ready(ROOTED), await core.ready(ROOTED)];
    const unready = core.connect();
    unready.initialize('init', ROOTED);
    await core.settle();
    core.server().say(ask('r'));
    await core.settle();
    await answer(core, one, ROOTS);
    expect([answersTo(core, 'r'), askedOf(silent).length]).toEqual([[], 1]);
    await core.pass(12_000);
    expect(answersTo(core, 'r')).toEqual([{ roots: [] }]);
    unready.say({ jsonrpc: '2.0', method: 'notifications/initialized' });
    await core.settle();
    expect(askedOf(unready)).toEqual([]);
  });

  test('is told what the others say when one of them goes', async () => {
    const core = new CoreInMemory();
    const [one, leaver] = [await core.ready(ROOTED), await core.ready(ROOTED)];
    core.server().say(ask('r'));
    await core.settle();
    await answer(core, one, ROOTS);
    leaver.link.destroy();
    await core.settle();
    expect(answersTo(core, 'r')).toEqual([ROOTS]);
  });

  test('gets no answer to what it has asked before it was started again', async () => {
    const core = new CoreInMemory();
    const [one, other] = [await core.ready(ROOTED), await core.ready(ROOTED)];
    core.server().say(ask(1));
    await core.settle();
    core.server().crash();
    one.call(1);
    await core.settle();
    for (const client of [one, other]) await answer(core, client, ROOTS);
    expect(core.server().received.filter(({ method }) => method === undefined)).toEqual([]);
  });

  test.each([null, 7, [], {}, { roots: null }, { roots: {} }, { roots: [null, 7, {}, []] }, 'x'])(
    'survives a client that says %j',
    async (odd) => {
      const core = new CoreInMemory();
      const [one, other] = [await core.ready(ROOTED), await core.ready(ROOTED)];
      core.server().say(ask('r'));
      await core.settle();
      for (const client of [one, other]) await answer(core, client, odd);
      expect(answersTo(core, 'r')).toEqual([odd]);
      one.call(1);
      await core.settle();
      expect(core.server().requests.length).toBe(1);
    },
  );
});
