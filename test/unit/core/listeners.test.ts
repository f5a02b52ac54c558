// What clients of the era without a handshake hear without asking again: `subscriptions/listen`.

import { describe, expect, test } from 'vitest';
import { CoreInMemory, type CoreOptions, type Message, type TestClient } from '../../support/core-in-memory.ts';

const PREFIX = 'io.modelcontextprotocol/';
const ID = `${PREFIX}subscriptionId`;
const WHO = {
  [`${PREFIX}protocolVersion`]: '2026-07-28',
  [`${PREFIX}clientInfo`]: { name: 'fresh', version: '1' },
  [`${PREFIX}clientCapabilities`]: {},
};
const ALL_LISTS = { toolsListChanged: true, promptsListChanged: true, resourcesListChanged: true };
const DECLARED = {
  tools: { listChanged: true },
  prompts: {},
  resources: { listChanged: true, subscribe: true },
};
const ACKNOWLEDGED = 'notifications/subscriptions/acknowledged';
const UPDATED = 'notifications/resources/updated';
const TOOLS_CHANGED = 'notifications/tools/list_changed';

type Filter = Readonly<Record<string, unknown>>;

function listen(client: TestClient, id: number | string, notifications: unknown, meta: object = {}): void {
  const params = { _meta: { ...WHO, ...meta }, notifications };
  client.say({ jsonrpc: '2.0', id, method: 'subscriptions/listen', params });
}
const resources = (...uris: string[]): Filter => ({ resourceSubscriptions: uris });
const tagOf = (message: Message | undefined): unknown => (message?.params?._meta as Filter | undefined)?.[ID];
const honouredBy = (client: TestClient, id: number | string): unknown =>
  client.notifications(ACKNOWLEDGED).find((message) => tagOf(message) === id)?.params?.notifications;
const noticesTo = (client: TestClient, id: number | string): unknown[] =>
  client.received
    .filter((message) => message.method !== undefined && message.method !== ACKNOWLEDGED && tagOf(message) === id)
    .map(({ method, params }) => params?.uri ?? method);
const askedOf = (core: CoreInMemory, method: string, server = 'memory'): unknown[] =>
  core
    .server(server)
    .requests.filter((request) => request.method === method)
    .map(({ params }) => params?.uri);

/** Servers that take all subscriptions but those of `no:` URIs. */
function makeCore(options: CoreOptions = {}, capabilities: object = DECLARED): CoreInMemory {
  const core = new CoreInMemory({ ttlMs: 1e9, ...options });
  for (const name of options.servers ?? ['memory']) {
    const server = core.server(name);
    server.declare(capabilities);
    server.answers = ({ method, params }) => {
      if (method === 'resources/subscribe' && String(params?.uri).startsWith('no:'))
        return { error: { code: -32602, message: 'No' } };
      if (method?.startsWith('resources/') && method.endsWith('subscribe')) return { result: {} };
      if (method === 'tools/list') return { result: { tools: [{ name: 'tool', inputSchema: {} }] } };
      if (method === 'prompts/list') return { result: { prompts: [] } };
      if (method === 'resources/list') return { result: { resources: [] } };
      return method === 'resources/templates/list' ? { result: { resourceTemplates: [] } } : undefined;
    };
  }
  return core;
}

async function connected(core: CoreInMemory): Promise<TestClient> {
  const client = core.connect();
  await core.settle();
  return client;
}

const changed = (core: CoreInMemory, method: string, params?: object, server = 'memory'): void =>
  core.server(server).say({ jsonrpc: '2.0', method, ...(params === undefined ? {} : { params }) });
const updated = (core: CoreInMemory, uri: string, server = 'memory'): void =>
  changed(core, UPDATED, { uri, more: 1.5 }, server);

describe('a request to listen', () => {
  test('is acknowledged first, with the parts that the server declares and accepts (C16)', async () => {
    const core = makeCore();
    const client = await connected(core);
    listen(client, 'l', { ...ALL_LISTS, ...resources('x:1', 'no:1') });
    await core.settle();
    expect(client.received).toEqual([
      {
        jsonrpc: '2.0',
        method: ACKNOWLEDGED,
        params: {
          _meta: { [ID]: 'l' },
          notifications: { toolsListChanged: true, resourcesListChanged: true, resourceSubscriptions: ['x:1'] },
        },
      },
    ]);
  });

  test('is acknowledged without resources where the server takes no subscriptions', async () => {
    const core = makeCore({}, { tools: {}, resources: {} });
    const client = await connected(core);
    listen(client, 1, { ...ALL_LISTS, ...resources('x:1') });
    await core.settle();
    expect(honouredBy(client, 1)).toEqual({});
    expect(askedOf(core, 'resources/subscribe')).toEqual([]);
  });

  test.each([0, '', '0', 7])('has its id %j in everything that it hears', async (id) => {
    const core = makeCore();
    const client = await connected(core);
    listen(client, id, { toolsListChanged: true });
    await core.settle();
    changed(core, TOOLS_CHANGED);
    await core.settle();
    expect(client.received.map(tagOf)).toEqual([id, id]);
  });

  test.each([undefined, [], { toolsListChanged: 1 }, { resourceSubscriptions: 'x:1' }, { resourceSubscriptions: [1] }])(
    'for %j is refused',
    async (notifications) => {
      const core = makeCore();
      const client = await connected(core);
      listen(client, 1, notifications);
      await core.settle();
      expect(client.answersTo(1).map(({ error }) => error?.code)).toEqual([-32602]);
      expect(core.openCalls).toBe(0);
    },
  );

  test('hears of changes that come while the server is asked, behind the acknowledgement (C16)', async () => {
    const core = makeCore();
    const { answers } = core.server();
    core.server().answers = (request, instance) =>
      request.method === 'resources/subscribe' && request.params?.uri === 'x:2'
        ? undefined
        : answers(request, instance);
    const client = await connected(core);
    listen(client, 1, { toolsListChanged: true, ...resources('x:1', 'x:2') });
    await core.settle();
    changed(core, TOOLS_CHANGED);
    for (const uri of ['x:1', 'x:1', 'x:2']) updated(core, uri);
    await core.settle();
    expect(client.received).toEqual([]);
    core.server().answer(core.server().requests.find(({ params }) => params?.uri === 'x:2'));
    await core.settle();
    expect(client.received.map(({ method }) => method)[0]).toBe(ACKNOWLEDGED);
    expect(noticesTo(client, 1)).toEqual([TOOLS_CHANGED, 'x:1', 'x:2']);
  });
});

describe('a client that listens', () => {
  test('hears of lists that it has never read, once for each change (C16)', async () => {
    const core = makeCore();
    const client = await connected(core);
    listen(client, 1, { toolsListChanged: true });
    await core.settle();
    for (const name of ['a', 'b']) {
      const { answers } = core.server();
      core.server().answers = (request, instance) =>
        request.method === 'tools/list' ? { result: { tools: [{ name }] } } : answers(request, instance);
      changed(core, TOOLS_CHANGED, { _meta: { own: [1.5] } });
      await core.settle();
    }
    expect(noticesTo(client, 1)).toEqual([TOOLS_CHANGED, TOOLS_CHANGED]);
    expect(client.link.lines.at(-1)).toBe(
      `{"jsonrpc":"2.0","method":"${TOOLS_CHANGED}","params":{"_meta":{"own":[1.5],"${ID}":1}}}`,
    );
  });

  test('hears nothing that it has not asked for (A11)', async () => {
    const core = makeCore();
    const client = await connected(core);
    listen(client, 1, { promptsListChanged: true, ...resources('x:1') });
    await core.settle();
    changed(core, TOOLS_CHANGED);
    updated(core, 'x:2');
    changed(core, 'notifications/message', { level: 'error', data: 1 });
    await core.settle();
    expect(client.received).toHaveLength(1);
  });

  test('hears each change under each of its requests (C16)', async () => {
    const core = makeCore();
    const client = await connected(core);
    listen(client, 1, resources('x:1', 'x:2'));
    listen(client, 'two', { toolsListChanged: true, ...resources('x:1') });
    await core.settle();
    expect(askedOf(core, 'resources/subscribe')).toEqual(['x:1', 'x:2']);
    for (const uri of ['x:1', 'x:2', 'x:1/part']) updated(core, uri);
    changed(core, TOOLS_CHANGED);
    await core.settle();
    expect(noticesTo(client, 1)).toEqual(['x:1', 'x:2', 'x:1/part']);
    expect(noticesTo(client, 'two')).toEqual(['x:1', 'x:1/part', TOOLS_CHANGED]);
    expect(client.link.lines.at(-1)).toContain(`"${ID}":"two"`);
    expect(client.link.lines.join('\n')).toContain('"more":1.5');
  });

  test('has a resource in common with clients of the era before: the server is told once (C16)', async () => {
    const core = makeCore();
    const old = await core.ready();
    const [one, two] = [await connected(core), await connected(core)];
    old.say({ jsonrpc: '2.0', id: 1, method: 'resources/subscribe', params: { uri: 'x:1' } });
    await core.settle();
    listen(one, 1, resources('x:1'));
    listen(two, 1, resources('x:1'));
    await core.settle();
    expect(askedOf(core, 'resources/subscribe')).toEqual(['x:1']);
    for (const client of [one, two]) expect(honouredBy(client, 1)).toEqual(resources('x:1'));
    one.cancel(1);
    two.link.destroy();
    await core.settle();
    expect(askedOf(core, 'resources/unsubscribe')).toEqual([]);
    updated(core, 'x:1');
    await core.settle();
    expect(old.notifications(UPDATED)).toHaveLength(1);
    expect(noticesTo(one, 1)).toEqual([]);
    old.say({ jsonrpc: '2.0', id: 2, method: 'resources/unsubscribe', params: { uri: 'x:1' } });
    await core.settle();
    expect(askedOf(core, 'resources/unsubscribe')).toEqual(['x:1']);
  });

  test('ends a subscription with the last of its requests, and may begin again (C16)', async () => {
    const core = makeCore();
    const client = await connected(core);
    for (const id of [1, 2]) listen(client, id, resources('x:1'));
    await core.settle();
    client.cancel(1);
    await core.settle();
    expect(askedOf(core, 'resources/unsubscribe')).toEqual([]);
    client.cancel(2);
    await core.settle();
    expect(askedOf(core, 'resources/unsubscribe')).toEqual(['x:1']);
    expect(client.received).toHaveLength(2);
    expect(core.openCalls).toBe(0);
    listen(client, 3, resources('x:1'));
    await core.settle();
    updated(core, 'x:1');
    await core.settle();
    expect(noticesTo(client, 3)).toEqual(['x:1']);
  });

  test('ends its subscriptions with its connection', async () => {
    const core = makeCore();
    const client = await connected(core);
    listen(client, 1, resources('x:1'));
    await core.settle();
    client.link.destroy();
    await core.settle();
    expect(askedOf(core, 'resources/unsubscribe')).toEqual(['x:1']);
    expect(core.openCalls).toBe(0);
  });

  test('may take its request back while the server is asked', async () => {
    const core = makeCore();
    const { answers } = core.server();
    core.server().answers = (request, instance) =>
      request.method === 'resources/subscribe' ? undefined : answers(request, instance);
    const client = await connected(core);
    listen(client, 1, resources('x:1'));
    await core.settle();
    client.cancel(1);
    await core.settle();
    expect(core.server().cancelled).toHaveLength(1);
    expect(askedOf(core, 'resources/unsubscribe')).toEqual(['x:1']);
    expect(core.openCalls).toBe(0);
    expect(client.received).toEqual([]);
  });

  test('alone gets an error if the bridge fails while it subscribes', async () => {
    const core = makeCore();
    const uncaught: unknown[] = [];
    const note = (error: unknown): void => void uncaught.push(error);
    process.on('unhandledRejection', note);
    const client = await connected(core);
    let begun = 0;
    core.events.callBegun.on(() => {
      if (++begun === 2) throw new Error('a fault of the bridge'); // the first is the client's own request
    });
    listen(client, 1, resources('x:1'));
    await core.settle();
    listen(client, 2, resources('x:1'));
    await core.settle();
    process.off('unhandledRejection', note);
    expect(uncaught).toEqual([]);
    expect(client.answersTo(1)).toMatchObject([{ error: { code: -32603, message: 'The bridge has failed' } }]);
    expect(honouredBy(client, 2)).toEqual(resources('x:1'));
  });

  test('gets a result for each request when it has ended its side, and is let go (C17)', async () => {
    const core = makeCore();
    const client = await connected(core);
    listen(client, 1, { toolsListChanged: true });
    listen(client, 'two', resources('x:1'));
    await core.settle();
    client.link.endByPeer();
    await core.settle();
    for (const id of [1, 'two'])
      expect(client.answersTo(id).map(({ result }) => result)).toEqual([
        {
          resultType: 'complete',
          _meta: { [ID]: id, [`${PREFIX}serverInfo`]: { name: 'memory', version: '1' } },
        },
      ]);
    expect(client.link.isClosed).toBe(true);
    expect(askedOf(core, 'resources/unsubscribe')).toEqual(['x:1']);
  });

  test('gets a result also if it has ended its side while its servers were looked for (C17)', async () => {
    let found = (): void => undefined;
    const core = makeCore({ prepare: () => new Promise((resolve) => (found = resolve)) });
    const client = await connected(core);
    listen(client, 1, { toolsListChanged: true });
    await core.settle();
    client.link.endByPeer();
    await core.settle();
    found();
    await core.settle();
    await core.settle();
    expect(client.answersTo(1)).toMatchObject([{ result: { resultType: 'complete' } }]);
    expect(client.link.isClosed).toBe(true);
  });

  test('gets a result when the daemon ends, which does not wait for it (C17)', async () => {
    const core = makeCore();
    const client = await connected(core);
    listen(client, 1, { toolsListChanged: true });
    await core.settle();
    const drained = core.manager.drain();
    await core.settle();
    await drained;
    expect(client.answersTo(1)[0]?.result).toMatchObject({ _meta: { [ID]: 1 } });
    listen(client, 2, { toolsListChanged: true });
    await core.settle();
    expect(client.answersTo(2)[0]?.error?.data?.code).toBe('SHUTTING_DOWN');
  });

  test('gets a result when its server is no longer offered', async () => {
    const core = makeCore({ servers: ['a', 'b'] });
    const client = await connected(core);
    listen(client, 1, { toolsListChanged: true }, { 'mcp-bridge/view': 'server:a' });
    await core.settle();
    core.redefine(['b']);
    await core.settle();
    expect(client.answersTo(1)[0]?.result).toMatchObject({ _meta: { [ID]: 1 } });
  });

  test('learns what may have changed when its server was started again (C18)', async () => {
    const core = makeCore();
    const client = await connected(core);
    listen(client, 1, { ...ALL_LISTS, ...resources('x:1') });
    await core.settle();
    core.server().crash();
    const { answers } = core.server();
    core.server().answers = (request, instance) =>
      request.method === 'tools/list' ? { result: { tools: [{ name: 'other' }] } } : answers(request, instance);
    client.say({ jsonrpc: '2.0', id: 2, method: 'prompts/get', params: { _meta: WHO, name: 'p' } });
    await core.settle();
    expect(askedOf(core, 'resources/subscribe')).toEqual(['x:1']);
    expect(noticesTo(client, 1).sort()).toEqual([TOOLS_CHANGED, 'x:1']);
    updated(core, 'x:1');
    await core.settle();
    expect(noticesTo(client, 1)).toHaveLength(3);
  });

  test('has so many requests and so many bytes of URIs at a time', async () => {
    const core = makeCore({ limits: { maxSubscribedBytesPerClient: 600 } });
    const client = await connected(core);
    listen(client, 'two', resources('x:1', 'x:2'));
    listen(client, 'more', resources('x:3'));
    for (let id = 0; id < 64; id++) listen(client, id, { toolsListChanged: true });
    await core.settle();
    expect(honouredBy(client, 'two')).toEqual(resources('x:1', 'x:2'));
    for (const id of ['more', 63]) expect(client.answersTo(id).map(({ error }) => error?.code)).toEqual([-32600]);
    expect(honouredBy(client, 62)).toEqual({ toolsListChanged: true });
    client.cancel('two');
    listen(client, 'again', resources('x:3'));
    await core.settle();
    expect(honouredBy(client, 'again')).toEqual(resources('x:3'));
  });

  test('that reads slowly hears of each change once, when it reads on', async () => {
    const core = makeCore({ limits: { maxQueuedBytesPerClient: 10_000 } });
    const client = await connected(core);
    listen(client, 1, { toolsListChanged: true, ...resources('x:1') });
    await core.settle();
    client.link.block();
    for (let i = 0; i < 1000; i++) {
      changed(core, TOOLS_CHANGED);
      updated(core, 'x:1');
      if (i % 50 === 0) await core.settle();
    }
    await core.settle();
    const before = client.received.length;
    client.link.unblock();
    await core.settle();
    expect(client.link.isClosed).toBe(false);
    expect(client.received.length).toBeGreaterThan(before);
    expect(client.received.length).toBeLessThan(200);
    expect(new Set(noticesTo(client, 1).slice(-2))).toEqual(new Set([TOOLS_CHANGED, 'x:1']));
  });
});

describe('a client of a joined view that listens', () => {
  const inAll = { 'mcp-bridge/view': 'all' };

  test('hears of joined lists, and of resources of several servers (C16, G1)', async () => {
    const core = makeCore({ servers: ['a', 'b'] });
    const listed: Readonly<Record<string, string>> = { a: 'x:1', b: 'y:1' };
    for (const [name, uri] of Object.entries(listed)) {
      const { answers } = core.server(name);
      core.server(name).answers = (request, instance) =>
        request.method === 'resources/list'
          ? { result: { resources: [{ uri, name: uri }] } }
          : answers(request, instance);
    }
    const client = await connected(core);
    listen(client, 1, { ...ALL_LISTS, ...resources('x:1', 'y:1', 'mcp-bridge://b/z:1', 'no:1') }, inAll);
    await core.settle();
    await core.pass(6000);
    expect(honouredBy(client, 1)).toEqual({ ...ALL_LISTS, ...resources('x:1', 'y:1', 'mcp-bridge://b/z:1') });
    expect(askedOf(core, 'resources/subscribe', 'a')).toContain('x:1');
    expect(askedOf(core, 'resources/subscribe', 'b')).toEqual(expect.arrayContaining(['y:1', 'z:1']));
    const before = noticesTo(client, 1).length;
    updated(core, 'x:1', 'a');
    updated(core, 'y:1', 'b');
    updated(core, 'z:1', 'b');
    await core.settle();
    expect(noticesTo(client, 1).slice(before)).toEqual(['x:1', 'y:1', 'mcp-bridge://b/z:1']);
    const { answers } = core.server('b');
    core.server('b').answers = (request, instance) =>
      request.method === 'tools/list' ? { result: { tools: [{ name: 'n' }] } } : answers(request, instance);
    changed(core, TOOLS_CHANGED, undefined, 'b');
    await core.settle();
    expect(noticesTo(client, 1).slice(before + 3)).toEqual([TOOLS_CHANGED]);
    client.cancel(1);
    await core.settle();
    expect(askedOf(core, 'resources/unsubscribe', 'a')).toEqual(['x:1']);
    expect(askedOf(core, 'resources/unsubscribe', 'b').sort()).toEqual(['y:1', 'z:1']);
  });

  test('hears nothing of the tools of servers in the view discover, which has others', async () => {
    const core = makeCore({ servers: ['a', 'b'] });
    const client = await connected(core);
    listen(client, 1, ALL_LISTS, { 'mcp-bridge/view': 'discover' });
    await core.settle();
    expect(honouredBy(client, 1)).toEqual({
      toolsListChanged: true,
      promptsListChanged: true,
      resourcesListChanged: true,
    });
    listen(client, 2, ALL_LISTS, { 'mcp-bridge/view': 'all' });
    const inAll = { _meta: { ...WHO, 'mcp-bridge/view': 'all' } };
    client.say({ jsonrpc: '2.0', id: 3, method: 'tools/list', params: inAll });
    await core.settle();
    await core.settle();
    const { answers } = core.server('a');
    core.server('a').answers = (request, instance) =>
      request.method === 'tools/list' ? { result: { tools: [{ name: 'other' }] } } : answers(request, instance);
    changed(core, TOOLS_CHANGED, undefined, 'a');
    await core.settle();
    expect(noticesTo(client, 2)).toContain(TOOLS_CHANGED);
    expect(noticesTo(client, 1)).not.toContain(TOOLS_CHANGED);
  });
});
