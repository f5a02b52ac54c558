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

  test('gets those that all of its clients have in common, and is shared by them', async () => {
    const core = new CoreInMemory();
    const [one, other] = [await core.ready(ROOTED), await core.ready(ROOTED)];
    core.server().say(ask('r'));
    await core.settle();
    await answer(core, one, ROOTS);
    expect(answersTo(core, 'r')).toEqual([ROOTS]);
    await answer(core, other, { roots: [{ uri: 'a:1' }] });
    expect([core.server().instances.length, core.server().instance.sessions.size]).toEqual([1, 2]);
    other.say({ jsonrpc: '2.0', method: 'notifications/roots/list_changed' });
    await core.settle();
    expect(askedOf(other).length).toBe(2);
  });

  test('is shared by clients with the same roots also where these are megabytes, and no instance is known by all of them', async () => {
    const core = new CoreInMemory();
    const clients = [await core.ready(ROOTED), await core.ready(ROOTED), await core.ready(ROOTED)];
    const many = (of: string) => ({ roots: Array.from({ length: 50_000 }, (_, i) => ({ uri: `a:${of}/${i}` })) });
    core.server().say(ask('r'));
    await core.settle();
    for (const [i, client] of clients.entries()) await answer(core, client, many(i === 2 ? 'other' : 'same'));
    await core.pass(1_000);
    const instances = core.server().instances.map(({ inCore }) => inCore);
    expect(instances.map(({ sessions }) => sessions.size).sort()).toEqual([1, 2]);
    expect(Math.max(...instances.map(({ key }) => key.rootsKey?.length ?? 0))).toBeLessThan(100);
    expect(answersTo(core, 'r')).toEqual([many('same')]);
  });

  test('gets those of one client only: each client with other roots gets its own instance before its next call', async () => {
    const core = new CoreInMemory();
    const clients = [await core.ready(ROOTED), await core.ready(ROOTED), await core.ready(ROOTED)];
    core.server().say(ask('r'));
    await core.settle();
    for (const [i, client] of clients.entries()) client.call('call', { of: i });
    await core.settle();
    expect(core.server().instances.flatMap(({ requests }) => requests)).toEqual([]);
    for (const [i, client] of clients.entries()) await answer(core, client, { roots: [{ uri: `a:${i}` }] });
    await core.pass(1_000);
    expect(answersTo(core, 'r')).toEqual([{ roots: [{ uri: 'a:0' }] }]);
    const sent = core
      .server()
      .instances.map(({ inCore, requests }) => [inCore.key.rootsKey, requests.map(({ params }) => params?.arguments)]);
    expect(sent).toEqual([0, 1, 2].map((of) => [`"a:${of}"`, [{ of }]]));
  });

  test('gets those of the client whose call it works on, and the others move elsewhere', async () => {
    const core = new CoreInMemory();
    const [one, other] = [await core.ready(ROOTED), await core.ready(ROOTED)];
    await core.pass(1_000);
    other.call('asks');
    await core.settle();
    core.server().say(ask('r'));
    await core.settle();
    one.call('elsewhere');
    await answer(core, one, { roots: [{ uri: 'a:1' }] });
    await answer(core, other, { roots: [{ uri: 'a:2' }] });
    expect(answersTo(core, 'r')).toEqual([{ roots: [{ uri: 'a:2' }] }]);
    expect(core.server().first.requests.length).toBe(1);
    expect(core.server().instances.map(({ inCore }) => inCore.key.rootsKey)).toEqual(['"a:2"', '"a:1"']);
  });

  test('is refused while clients with different ones have calls under way there, and told as soon as one is left', async () => {
    const core = new CoreInMemory({ limits: { questionHeldMs: 5_000 } });
    const clients = [await core.ready(ROOTED), await core.ready(ROOTED)];
    await core.pass(1_000);
    for (const client of clients) client.call('under way');
    await core.settle();
    core.server().say(ask('r'));
    await core.settle();
    for (const [i, client] of clients.entries()) await answer(core, client, { roots: [{ uri: `a:${i}` }] });
    expect(answersTo(core, 'r')).toEqual([]);
    core.server().answer(core.server().requests[0]);
    await core.settle();
    expect(answersTo(core, 'r')).toEqual([{ roots: [{ uri: 'a:1' }] }]);
  });

  test('gets an error that its client is uncertain if the calls under way do not end', async () => {
    const core = new CoreInMemory({ limits: { questionHeldMs: 5_000 } });
    const clients = [await core.ready(ROOTED), await core.ready(ROOTED)];
    await core.pass(1_000);
    for (const client of clients) client.call('under way');
    await core.settle();
    core.server().say(ask('r'));
    await core.settle();
    for (const [i, client] of clients.entries()) await answer(core, client, { roots: [{ uri: `a:${i}` }] });
    await core.pass(7_000);
    expect(answersTo(core, 'r')).toEqual([-32603]);
    expect(core.server().instance.key.rootsKey).toBe('disagreed');
  });

  test('gets an answer to each question, also to one that came later, and when the client of a call under way has gone', async () => {
    const core = new CoreInMemory({ limits: { questionHeldMs: 5_000 } });
    const clients = [await core.ready(ROOTED), await core.ready(ROOTED), await core.ready(ROOTED)];
    await core.pass(1_000);
    for (const client of clients) client.call('under way');
    await core.settle();
    core.server().say(ask('r'));
    clients[2]?.link.destroy();
    await core.pass(3_000);
    core.server().say(ask('s'));
    await core.pass(7_000);
    expect([...answersTo(core, 'r'), ...answersTo(core, 's')]).toEqual([-32603, -32603]);
  });

  test('has them before the first call, however soon that comes', async () => {
    const core = new CoreInMemory();
    let asks = 0;
    core.server().answers = ({ method }, instance) => {
      if (method === 'ping' && ++asks === 1) instance.say(ask('r'));
      return method === 'ping' ? { result: {} } : undefined;
    };
    core.server().answersPings = false;
    const client = await core.ready(ROOTED);
    client.call(1);
    await core.settle();
    await answer(core, client, ROOTS);
    expect(core.server().requests.filter(({ method }) => method === 'tools/call')).toEqual([]);
    await core.pass(1_000);
    const heard = core.server().received.map(({ method, result }) => method ?? result);
    expect(heard).toEqual(['ping', ROOTS, 'ping', 'tools/call']);
  });

  test('gets calls after ten seconds at most, however often it asks', async () => {
    const core = new CoreInMemory();
    const client = await core.ready(ROOTED);
    core.server().say(ask('first'));
    client.link.onLine = (line) => {
      const { id, method } = JSON.parse(line) as Message;
      if (method === 'roots/list') client.say({ jsonrpc: '2.0', id, result: ROOTS });
    };
    client.call(1);
    await core.settle();
    for (let i = 0; i < 200; i++) {
      core.clock.advance(90);
      core.server().say(ask(`again${i}`));
      await core.settle();
    }
    expect(core.server().requests.filter(({ method }) => method === 'tools/call').length).toBe(1);
  });

  test('gets calls after a second if it answers no ping, and after ten if its client does not name its roots', async () => {
    const core = new CoreInMemory();
    core.server().answersPings = false;
    const client = await core.ready(ROOTED);
    client.call(1);
    await core.settle();
    const calls = (): number => core.server().requests.filter(({ method }) => method === 'tools/call').length;
    expect(calls()).toBe(0);
    await core.pass(1_000);
    expect(calls()).toBe(1);
    core.server().crash();
    client.call(2);
    await core.settle();
    core.server().say(ask('r'));
    await core.pass(9_000);
    expect(calls()).toBe(0);
    await core.pass(1_000);
    expect(calls()).toBe(1);
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
    expect([answersTo(core, 'r'), askedOf(silent).length]).toEqual([[ROOTS], 1]);
    await core.pass(12_000);
    silent.call('late');
    await core.settle();
    expect(core.server().instances.map(({ inCore }) => inCore.key.rootsKey)).toEqual(['"a:1"', '']);
    unready.say({ jsonrpc: '2.0', method: 'notifications/initialized' });
    await core.settle();
    expect(askedOf(unready)).toEqual([]);
  });

  test('gets the roots of the remaining clients when one of them goes', async () => {
    const core = new CoreInMemory();
    const [one, leaver] = [await core.ready(ROOTED), await core.ready(ROOTED)];
    core.server().say(ask('r'));
    await core.settle();
    await answer(core, one, ROOTS);
    leaver.link.destroy();
    await core.settle();
    expect(answersTo(core, 'r')).toEqual([ROOTS]);
  });

  test('gets no answer to questions from before its restart', async () => {
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
      await core.pass(1_000);
      expect(core.server().requests.length).toBe(1);
    },
  );
});
