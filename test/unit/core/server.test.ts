// Which clients share an instance, and when there is another one.

import { describe, expect, test } from 'vitest';
import { CoreInMemory, type Message, type TestClient, type TestInstance } from '../../support/core-in-memory.ts';

const offering = (...roles: string[]): object => ({
  capabilities: Object.fromEntries(roles.map((role) => [role, {}])),
});
const question = (id: unknown): object => ({
  jsonrpc: '2.0',
  id,
  method: 'elicitation/create',
  params: { message: '?' },
});

/** Has each client call once, and answers; what is open then is where each of them has its instance. */
async function used(core: CoreInMemory, ...clients: TestClient[]): Promise<(TestInstance | undefined)[]> {
  const instances = [];
  for (const [n, client] of clients.entries()) {
    client.call(`used-${n}`, { n });
    await core.settle();
    const at = core.server().instances.find(({ requests }) => isCallOf(requests.at(-1), n));
    at?.answer(at.requests.at(-1));
    instances.push(at);
    await core.settle();
  }
  return instances;
}
const isCallOf = (request: Message | undefined, n: number): boolean => argumentsOf(request).n === n;

function argumentsOf(request: Message | undefined): Readonly<Record<string, unknown>> {
  const args = request?.params?.arguments;
  return typeof args === 'object' && args !== null ? { ...args } : {};
}

/** Answers what a client is asked for its roots. */
async function tellRoots(core: CoreInMemory, client: TestClient, ...uris: string[]): Promise<void> {
  const asked = client.notifications('roots/list').at(-1);
  client.say({ jsonrpc: '2.0', id: asked?.id, result: { roots: uris.map((uri) => ({ uri })) } });
  await core.settle();
}

/** A server that asks each client that comes for its roots. */
async function askingForRoots(core: CoreInMemory): Promise<void> {
  core.server().server.known.noteAsksForRoots();
  await core.settle();
}

describe('clients of a server with sharing "auto"', () => {
  test('share one instance if the first offers all that the others do', async () => {
    const core = new CoreInMemory();
    const clients = [await core.ready(offering('sampling', 'roots')), await core.ready(offering('sampling'))];
    clients.push(await core.ready());
    const [first, second, third] = await used(core, ...clients);
    expect([second, third]).toEqual([first, first]);
    expect(core.server().instances.length).toBe(1);
  });

  test('do not share one that was offered less than they offer', async () => {
    const core = new CoreInMemory();
    const [first, second] = await used(core, await core.ready(), await core.ready(offering('sampling')));
    expect(first).not.toBe(second);
    expect([first?.offered, second?.offered]).toEqual([{}, { sampling: {} }]);
  });

  test('share only with clients of equal capabilities, once the server is known to ask back', async () => {
    const core = new CoreInMemory();
    core.server().server.known.noteAsksBack();
    const able = offering('elicitation');
    const [a, b, c] = await used(core, await core.ready(able), await core.ready(), await core.ready(able));
    expect(a).toBe(c);
    expect(a).not.toBe(b);
  });

  test('get an unused instance, started with their capabilities', async () => {
    const core = new CoreInMemory();
    const before = await core.ready(offering('sampling'));
    before.link.destroy();
    await core.settle();
    core.server().crash();
    const [instance] = await used(core, await core.ready(offering('elicitation')));
    expect(instance).toBe(core.server().first);
    expect(instance?.offered).toEqual({ elicitation: {} });
  });

  test('do not get one that is starting for a client that has gone, with other capabilities', async () => {
    const core = new CoreInMemory({ ttlMs: 1_000_000 });
    const leaver = await core.ready(offering('sampling'));
    core.server().crash();
    core.server().opensByItself = false;
    leaver.call(1);
    await core.settle();
    leaver.link.destroy();
    await core.settle();
    const client = core.connect();
    client.initialize('init', offering('elicitation'));
    await core.settle();
    for (const instance of core.server().instances) instance.open();
    await core.settle();
    expect(client.answersTo('init')).toHaveLength(1);
    for (const { inCore, offered } of core.server().instances) expect(inCore.key.capabilities).toEqual(offered);
    expect(core.server().server.known.profiles.map(({ capabilities, live }) => [capabilities, live])).toEqual([
      [{ sampling: {} }, 1],
      [{ elicitation: {} }, 1],
    ]);
  });

  test('leave one idle instance behind when they have gone', async () => {
    const core = new CoreInMemory();
    const clients = [await core.ready(), await core.ready(offering('sampling')), await core.ready(offering('roots'))];
    await used(core, ...clients);
    expect(core.server().instances.length).toBe(3);
    for (const client of clients) client.link.destroy();
    await core.settle();
    for (const instance of core.server().instances) {
      instance.crash();
      core.server().server.stopped(instance.inCore);
    }
    expect(core.server().instances.filter(({ isRetired }) => !isRetired).length).toBe(1);
    expect(core.server().server.isUnused).toBe(true);
  });
});

describe('clients of a server with sharing "shared"', () => {
  test('share the one instance, whatever they offer and whatever their roots are', async () => {
    const core = new CoreInMemory({ definition: { sharing: 'shared' } });
    await askingForRoots(core);
    core.server().server.known.noteAsksBack();
    const clients = [
      await core.ready(),
      await core.ready(offering('sampling', 'roots')),
      await core.ready(offering('roots')),
    ];
    expect(new Set(await used(core, ...clients)).size).toBe(1);
    expect(core.server().instances.length).toBe(1);
  });

  test('wait for the end of another one’s conversation', async () => {
    const core = new CoreInMemory({ definition: { sharing: 'shared' } });
    const [one, other] = [await core.ready(offering('elicitation')), await core.ready(offering('elicitation'))];
    one.call(1);
    await core.settle();
    core.server().say(question(7));
    other.call(1);
    await core.settle();
    expect([core.server().instances.length, core.server().requests.length]).toEqual([1, 1]);
    core.server().answer(core.server().requests[0]);
    await core.settle();
    expect(core.server().requests.length).toBe(2);
  });
});

describe('clients of a server with sharing "dedicated"', () => {
  test('have an instance each, which goes with its client', async () => {
    const core = new CoreInMemory({ definition: { sharing: 'dedicated' } });
    const clients = [await core.ready(), await core.ready(), await core.ready()];
    const instances = await used(core, ...clients);
    expect(new Set(instances).size).toBe(3);
    clients[1]?.link.destroy();
    await core.settle();
    expect(instances.map((instance) => instance?.isRetired)).toEqual([false, true, false]);
    expect([...core.server().server.instances].length).toBe(2);
    expect((await used(core, await core.ready()))[0]).not.toBe(instances[1]);
  });

  test('leave no instance behind when they go before it has come up', async () => {
    const core = new CoreInMemory({ definition: { sharing: 'dedicated' } });
    core.server().opensByItself = false;
    const client = core.connect();
    client.initialize();
    await core.settle();
    client.link.destroy();
    await core.settle();
    expect([...core.server().server.instances]).toEqual([]);
    expect(core.server().first.isRetired).toBe(true);
    expect(core.server().server.isUnused).toBe(true);
  });

  test('keep their own when its process dies', async () => {
    const core = new CoreInMemory({ definition: { sharing: 'dedicated' } });
    const client = await core.ready();
    const [before] = await used(core, client);
    before?.crash();
    expect((await used(core, client))[0]).toBe(before);
    expect(core.server().starts).toBe(2);
  });
});

describe('clients of a server that asks for roots', () => {
  test('wait until their roots are known, and share an instance if they have the same', async () => {
    const core = new CoreInMemory();
    await askingForRoots(core);
    const seen = await core.ready(); // so that the server's profile is known
    await used(core, seen);
    const clients = [await core.ready(offering()), await core.ready(), await core.ready()];
    expect(new Set([...(await used(core, ...clients)), core.server().first]).size).toBe(1);
  });

  test('are told apart by their roots, in whatever order these come', async () => {
    const core = new CoreInMemory({ ttlMs: 1_000_000 });
    await used(core, await core.ready(offering('roots')));
    await askingForRoots(core);
    const clients = [];
    for (const roots of [['a:1', 'a:2'], ['a:2', 'a:1'], ['a:1']]) {
      const client = await core.ready(offering('roots'));
      client.call('first', { roots });
      await core.settle();
      expect(client.answersTo('first')).toEqual([]);
      await tellRoots(core, client, ...roots);
      clients.push(client);
    }
    const at = core
      .server()
      .instances.filter(({ requests }) => requests.some((request) => 'roots' in argumentsOf(request)));
    expect(at.map(({ inCore }) => inCore.sessions.size)).toEqual([2, 1]);
    expect(at.map(({ inCore }) => inCore.key.rootsKey)).toEqual(['"a:1" "a:2"', '"a:1"']);
  });

  test('without an answer about their roots have none after ten seconds', async () => {
    const core = new CoreInMemory({ ttlMs: 1_000_000 });
    await used(core, await core.ready(offering('roots')));
    await askingForRoots(core);
    const client = await core.ready(offering('roots'));
    client.call(1, { mine: true });
    await core.pass(12_000);
    const requests = core.server().instances.flatMap((instance) => instance.requests);
    const calls = requests.filter((request) => argumentsOf(request).mine === true);
    expect(calls.length).toBe(1);
  });

  test('that go while they are asked start nothing', async () => {
    const core = new CoreInMemory({ ttlMs: 1_000_000 });
    const first = await core.ready(offering('roots'));
    await used(core, first);
    await askingForRoots(core);
    const { starts } = core.server();
    const client = await core.ready(offering('roots'));
    client.call(1);
    await core.settle();
    expect(client.notifications('roots/list').length).toBe(1);
    client.link.destroy();
    await core.settle();
    expect([core.server().starts, core.openCalls, core.server().server.bindings.size]).toEqual([starts, 0, 1]);
  });

  test('get an instance of their own when their roots become others', async () => {
    const core = new CoreInMemory({ ttlMs: 1_000_000 });
    await used(core, await core.ready(offering('roots')));
    await askingForRoots(core);
    const [one, other] = [await core.ready(offering('roots')), await core.ready(offering('roots'))];
    for (const client of [one, other]) {
      client.call('first');
      await core.settle();
      await tellRoots(core, client, 'a:1');
    }
    const shared = core.server().instances.at(-1);
    expect(shared?.inCore.sessions.size).toBe(2);
    one.call('under way', { kept: 1 });
    await core.settle();
    one.say({ jsonrpc: '2.0', method: 'notifications/roots/list_changed' });
    await core.settle();
    one.call('waits', { moved: 1 });
    await core.settle();
    await tellRoots(core, one, 'a:2');
    const own = core.server().instances.at(-1);
    expect(own).not.toBe(shared);
    expect(own?.inCore.key.rootsKey).toBe('"a:2"');
    expect(own?.requests.map(({ params }) => params?.arguments)).toEqual([{ moved: 1 }]);
    expect(shared?.inCore.sessions.size).toBe(1);
    for (const request of shared?.requests ?? []) shared?.answer(request);
    await core.settle();
    expect(one.answersTo('under way').map(({ result }) => result)).toEqual([{ echo: { kept: 1 } }]);
  });

  test('do not get one whose server was told that there are no roots', async () => {
    const core = new CoreInMemory();
    const [without] = [await core.ready()];
    core.server().say({ jsonrpc: '2.0', id: 'r', method: 'roots/list' });
    await core.settle();
    const first = core.server().first;
    without.link.destroy();
    await core.settle();
    const client = await core.ready();
    expect((await used(core, client))[0]).toBe(first);
    expect(first.inCore.key.rootsKey).toBe('');
  });

  test('do not get an instance whose last client went while it was asked for its roots', async () => {
    const core = new CoreInMemory({ ttlMs: 1_000_000 });
    const leaver = await core.ready(offering('roots'));
    core.server().say({ jsonrpc: '2.0', id: 'r', method: 'roots/list' });
    await core.settle();
    leaver.link.destroy();
    await core.settle();
    const client = await core.ready(offering('roots'));
    client.call(1, { n: 0 });
    await core.settle();
    await tellRoots(core, client, 'a:1');
    expect(core.server().first.requests).toEqual([]);
    expect(core.server().instances.length).toBe(2);
  });
});

describe('a client that would have to wait for another one’s conversation', () => {
  const ABLE = offering('elicitation');

  /** Two clients, of which one talks with the server, whose tool is known to ask. */
  async function conversing(
    maxInstancesPerServer = 8,
  ): Promise<{ core: CoreInMemory; talking: TestClient; other: TestClient }> {
    const core = new CoreInMemory({ limits: { maxInstancesPerServer } });
    const [talking, other] = [await core.ready(ABLE), await core.ready(ABLE)];
    talking.call('talk', { n: -1 });
    await core.settle();
    core.server().say(question('q'));
    await core.settle();
    return { core, talking, other };
  }

  test('moves to an instance of its own', async () => {
    const { core, talking, other } = await conversing();
    other.call(1, { moved: true });
    await core.settle();
    const [, second] = core.server().instances;
    expect(second?.requests.map(({ params }) => params?.arguments)).toEqual([{ moved: true }]);
    expect(core.server().instances.map(({ inCore }) => inCore.sessions.size)).toEqual([1, 1]);
    second?.answer(second.requests[0]);
    core.server().answer(core.server().requests[0]);
    await core.settle();
    expect([talking.answersTo('talk').length, other.answersTo(1).length, core.openCalls]).toEqual([1, 1, 0]);
  });

  test('moves also when it waits already at the time of the first question', async () => {
    const core = new CoreInMemory();
    const [talking, other] = [await core.ready(ABLE), await core.ready(ABLE)];
    talking.call(1);
    await core.settle();
    other.call(1, { moved: true });
    await core.settle();
    expect(core.server().requests.length).toBe(1);
    core.server().say(question('q'));
    await core.settle();
    expect(core.server().instances[1]?.requests.map(({ params }) => params?.arguments)).toEqual([{ moved: true }]);
  });

  test('waits where there are as many instances as there may be', async () => {
    const { core, other } = await conversing(1);
    other.call(1, { waits: true });
    await core.settle();
    expect(core.server().instances.length).toBe(1);
    core.server().answer(core.server().requests[0]);
    await core.settle();
    expect(core.server().requests.at(-1)?.params?.arguments).toEqual({ waits: true });
  });

  test('moves to an unused instance instead of waiting, whatever that was offered before', async () => {
    const core = new CoreInMemory({ limits: { maxInstancesPerServer: 2 } });
    const [talking, other, leaver] = [
      await core.ready(ABLE),
      await core.ready(ABLE),
      await core.ready(offering('sampling')),
    ];
    leaver.link.destroy();
    await core.settle();
    const [first, second] = core.server().instances;
    second?.crash();
    talking.call('talk');
    await core.settle();
    first?.say(question('q'));
    other.call(1, { moved: true });
    await core.settle();
    expect(core.server().instances.length).toBe(2);
    expect(second?.offered).toEqual({ elicitation: {} });
    expect(second?.requests.map(({ params }) => params?.arguments)).toEqual([{ moved: true }]);
  });

  test('takes its waiting calls along, in order', async () => {
    const { core, other } = await conversing();
    const server = core.server();
    const sent = server.requests.length;
    for (const id of [1, 2, 3]) other.call(id, { id });
    await core.settle();
    const [, second] = server.instances;
    const callsOf = (instance: TestInstance | undefined): unknown[] =>
      (instance?.requests ?? []).flatMap(({ method, params }) => (method === 'tools/call' ? [params?.arguments] : []));
    expect(callsOf(second)).toEqual([{ id: 1 }, { id: 2 }, { id: 3 }]);
    expect(server.requests.length).toBe(sent);
    expect(core.sessionOf(other)).toMatchObject({ waitingBytes: 0, sentCount: 3 });
  });

  test('gets notices of its subscriptions only from its new instance', async () => {
    const core = new CoreInMemory();
    for (const method of ['resources/subscribe', 'resources/unsubscribe', 'logging/setLevel'])
      core.server().answers = (
        (before) => (request, instance) =>
          request.method === method ? { result: {} } : before(request, instance)
      )(core.server().answers);
    const [talking, other] = [await core.ready(ABLE), await core.ready(ABLE)];
    other.say({ jsonrpc: '2.0', id: 's', method: 'resources/subscribe', params: { uri: 'a:1' } });
    other.say({ jsonrpc: '2.0', id: 'l', method: 'logging/setLevel', params: { level: 'debug' } });
    await core.settle();
    talking.call('talk');
    await core.settle();
    core.server().say(question('q'));
    other.call(1);
    await core.settle();
    const [first, second] = core.server().instances;
    expect(second?.requests.map(({ method }) => method)).toEqual([
      'logging/setLevel',
      'resources/subscribe',
      'tools/call',
    ]);
    expect(first?.requests.at(-1)).toMatchObject({ method: 'resources/unsubscribe', params: { uri: 'a:1' } });
    const updated = { jsonrpc: '2.0', method: 'notifications/resources/updated', params: { uri: 'a:1' } };
    const log = { jsonrpc: '2.0', method: 'notifications/message', params: { level: 'debug', data: 1 } };
    for (const instance of [first, second]) for (const notice of [updated, log]) instance?.say(notice);
    await core.settle();
    expect(other.notifications('notifications/resources/updated').length).toBe(1);
    expect(other.notifications('notifications/message').length).toBe(1);
  });

  test('keeps its log level also when the answer to it was still under way, and the old instance forgets it', async () => {
    const core = new CoreInMemory();
    const [talking, other] = [await core.ready(ABLE), await core.ready(ABLE)];
    for (let n = 0; n < 3; n++) {
      other.say({ jsonrpc: '2.0', id: n, method: 'logging/setLevel', params: { level: 'info' } });
      await core.settle();
      core.server().answer(core.server().requests.at(-1)); // so that it needs no lane
      await core.settle();
    }
    talking.call('talk');
    await core.settle();
    core.server().say(question('q'));
    await core.settle();
    other.say({ jsonrpc: '2.0', id: 'level', method: 'logging/setLevel', params: { level: 'debug' } });
    await core.settle();
    const inFlight = core.server().requests.at(-1);
    expect(inFlight?.params).toEqual({ level: 'debug' });
    other.call(1);
    await core.settle();
    const [first, second] = core.server().instances;
    first?.answer(inFlight);
    await core.settle();
    expect(other.answersTo('level')).toHaveLength(1);
    expect(second?.requests.at(-1)).toMatchObject({ method: 'logging/setLevel', params: { level: 'debug' } });
    first?.crash();
    talking.call('again');
    await core.settle();
    expect(first?.requests.map(({ method }) => method)).toEqual(['tools/call']);
  });

  test('gets the answers of open calls on the old instance, and their errors when it dies', async () => {
    const core = new CoreInMemory();
    const [talking, other] = [await core.ready(ABLE), await core.ready(ABLE)];
    for (let n = 0; n < 3; n++) {
      other.say({ jsonrpc: '2.0', id: `q${n}`, method: 'x/quiet' });
      await core.settle();
      core.server().answer(core.server().requests.at(-1));
      await core.settle();
    }
    talking.call('talk');
    await core.settle();
    core.server().say(question('q'));
    await core.settle();
    other.say({ jsonrpc: '2.0', id: 'old 1', method: 'x/quiet' }, { jsonrpc: '2.0', id: 'old 2', method: 'x/quiet' });
    await core.settle();
    other.call('new');
    await core.settle();
    const [first, second] = core.server().instances;
    expect([first?.inCore.sessions.size, second?.inCore.sessions.size]).toEqual([1, 1]);
    first?.answer(first.requests.find(({ id, method }) => method === 'x/quiet' && id === first.requests.at(-2)?.id));
    first?.crash();
    await core.settle();
    expect(other.answersTo('old 1').length + other.answersTo('old 2').length).toBe(2);
    second?.answer(second.requests[0]);
    await core.settle();
    expect(other.answersTo('new').length).toBe(1);
  });

  test('has its task on the instance that has worked on it, and it is cancelled when the client goes', async () => {
    const { core, other } = await conversing();
    const task = { name: 'tool', arguments: {}, task: { ttl: 1 } };
    other.say({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: task });
    await core.settle();
    const [first, second] = core.server().instances;
    const call = second?.requests.at(-1);
    second?.say({ jsonrpc: '2.0', id: call?.id, result: { task: { taskId: 't', status: 'working' } } });
    await core.settle();
    other.say({ jsonrpc: '2.0', id: 2, method: 'tasks/get', params: { taskId: 't' } });
    await core.settle();
    expect([first?.requests.at(-1)?.method, second?.requests.at(-1)?.method]).toEqual(['tools/call', 'tasks/get']);
    other.link.destroy();
    await core.settle();
    expect(second?.received.filter(({ method }) => method === 'tasks/cancel').length).toBe(1);
  });

  test('has its tasks on the old instance cancelled too when it goes', async () => {
    const core = new CoreInMemory();
    const [talking, other] = [await core.ready(ABLE), await core.ready(ABLE)];
    other.say({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'long', task: {} } });
    await core.settle();
    core.server().say({ jsonrpc: '2.0', id: core.server().requests[0]?.id, result: { task: { taskId: 't' } } });
    await core.settle();
    talking.call('talk');
    await core.settle();
    core.server().say(question('q'));
    other.call(2);
    await core.settle();
    const [first, second] = core.server().instances;
    expect(second?.requests.length).toBe(1);
    other.link.destroy();
    await core.settle();
    expect(first?.received.filter(({ method }) => method === 'tasks/cancel').map(({ params }) => params)).toEqual([
      { taskId: 't' },
    ]);
    first?.say({ jsonrpc: '2.0', method: 'notifications/tasks/status', params: { taskId: 't', status: 'cancelled' } });
    expect(first?.inCore.tasks.ownerOf('t')).toBeUndefined();
  });
});
