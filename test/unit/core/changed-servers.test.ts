// Servers that come, go, or are defined otherwise while clients use them.

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { CoreInMemory, type Message, type TestClient, type TestServer } from '../../support/core-in-memory.ts';

const ALL = { _meta: { 'mcp-bridge/view': 'all' } };
const ONE = { _meta: { 'mcp-bridge/view': 'server:one' } };
const TOOLS_CHANGED = 'notifications/tools/list_changed';

function withTool(server: TestServer, name = 'go'): TestServer {
  server.has({ tools: [{ name, inputSchema: { type: 'object' } }] });
  return server;
}

function say(client: TestClient, id: string, method: string, params: object = {}): void {
  client.say({ jsonrpc: '2.0', id, method, params });
}

const call = (client: TestClient, id: string, name: string): void =>
  say(client, id, 'tools/call', { name, arguments: { id } });

async function toolsOf(core: CoreInMemory, client: TestClient, id: string): Promise<unknown[]> {
  say(client, id, 'tools/list');
  await core.settle();
  return ((client.answersTo(id)[0]?.result?.tools ?? []) as { name: string }[]).map(({ name }) => name);
}

const callsOf = (server: TestServer) => server.requests.filter(({ method }) => method === 'tools/call');

describe('a client of all servers', () => {
  test('is told of a server that is new, and can use it', async () => {
    const core = new CoreInMemory({ servers: ['one'] });
    withTool(core.server('one'));
    const client = await core.ready(ALL);
    expect(await toolsOf(core, client, 'a')).toEqual(['one__go']);
    core.redefine(['one', 'two']);
    withTool(core.server('two'));
    await core.settle();
    expect(client.notifications(TOOLS_CHANGED)).toHaveLength(1);
    expect(await toolsOf(core, client, 'b')).toEqual(['one__go', 'two__go']);
    call(client, 'c', 'two__go');
    await core.settle();
    core.server('two').answer(callsOf(core.server('two'))[0]);
    await core.settle();
    expect(client.answersTo('c')).toMatchObject([{ result: { echo: { id: 'c' } } }]);
  });

  test('is told nothing where nothing is different', async () => {
    const core = new CoreInMemory({ servers: ['one', 'two'] });
    const client = await core.ready(ALL);
    for (const name of ['one', 'two']) withTool(core.server(name));
    await toolsOf(core, client, 'a');
    core.redefine(['one', 'two']);
    await core.settle();
    expect(client.notifications(TOOLS_CHANGED)).toEqual([]);
  });

  test('gets the answers of a removed server to open calls, and nothing more', async () => {
    const core = new CoreInMemory({ servers: ['one', 'two'] });
    const [one] = [core.server('one'), core.server('two')].map((server) => withTool(server));
    const client = await core.ready(ALL);
    await toolsOf(core, client, 'a');
    call(client, 'b', 'one__go');
    await core.settle();
    core.redefine(['two']);
    expect(one?.server.retireDone()).toBe(false);
    call(client, 'c', 'one__go');
    one?.answer(callsOf(one)[0]);
    await core.settle();
    expect(client.answersTo('b')).toMatchObject([{ result: { echo: { id: 'b' } } }]);
    expect(client.answersTo('c')).toMatchObject([{ error: { code: -32602, data: { code: 'TOOL_NOT_FOUND' } } }]);
    expect(one?.server.retireDone()).toBe(true);
    expect(core.openCalls).toBe(0);
  });

  test('gets refusals for unsent calls to a removed server, and hears nothing more of it', async () => {
    const core = new CoreInMemory({ servers: ['one', 'two'], limits: { maxInFlightPerServer: 1 } });
    const one = withTool(core.server('one'));
    withTool(core.server('two'));
    const client = await core.ready(ALL);
    await toolsOf(core, client, 'a');
    for (const id of ['b', 'c']) call(client, id, 'one__go');
    await core.settle();
    core.redefine(['two']);
    await core.settle();
    expect(client.answersTo('c')).toMatchObject([{ error: { data: { code: 'SERVER_NOT_FOUND' } } }]);
    const heard = client.received.length;
    one.say({ jsonrpc: '2.0', method: 'notifications/message', params: { level: 'error', data: 'x' } });
    await core.settle();
    expect(client.received).toHaveLength(heard);
    expect([...one.server.instances].map(({ sessions }) => sessions.size)).toEqual([0]);
    one.answer(callsOf(one)[0]);
    await core.settle();
    expect(client.answersTo('b')).toMatchObject([{ result: { echo: { id: 'b' } } }]);
  });

  test('knows the tools of a server by the same names, whatever servers come before it', async () => {
    const core = new CoreInMemory({ servers: ['a-b'] });
    withTool(core.server('a-b'));
    const client = await core.ready(ALL);
    expect(await toolsOf(core, client, 'a')).toEqual(['a_b__go']);
    core.redefine(['a_b', 'a-b']);
    withTool(core.server('a_b'));
    expect(await toolsOf(core, client, 'b')).toEqual(['a_b_2__go', 'a_b__go']);
  });

  test('keeps its log level also for servers that come later', async () => {
    const core = new CoreInMemory({ servers: [] });
    const client = await core.ready(ALL);
    say(client, 'level', 'logging/setLevel', { level: 'debug' });
    core.redefine(['one']);
    core.server('one').declare({ logging: {}, tools: {} });
    const lists = core.server('one').answers;
    core.server('one').answers = (request, instance) =>
      request.method === 'tools/list' ? { result: { tools: [{ name: 'go' }] } } : lists(request, instance);
    await toolsOf(core, client, 'a');
    expect(core.server('one').received).toContainEqual(
      expect.objectContaining({ method: 'logging/setLevel', params: { level: 'debug' } }),
    );
  });
});

describe('a client of one server', () => {
  test('has sent calls answered by the old definition, and all others by the new one', async () => {
    const core = new CoreInMemory({ servers: ['one'], limits: { maxInFlightPerServer: 1 } });
    const before = core.server('one');
    const client = await core.ready(ONE);
    call(client, 'sent', 'go');
    call(client, 'waiting', 'go');
    await core.settle();
    core.redefine(['one'], ['one']);
    const after = core.server('one');
    expect(before.server.retireDone()).toBe(false);
    await core.settle();
    before.answer(callsOf(before)[0]);
    expect(callsOf(after).map(({ params }) => params?.arguments)).toEqual([{ id: 'waiting' }]);
    after.answer(callsOf(after)[0]);
    await core.settle();
    expect(client.answersTo('sent')).toHaveLength(1);
    expect(client.answersTo('waiting')).toHaveLength(1);
    expect(callsOf(before)).toHaveLength(1);
    expect(before.server.retireDone()).toBe(true);
    expect(before.first.isRetired).toBe(true);
  });

  test('takes its subscriptions and its log level along', async () => {
    const core = new CoreInMemory({ servers: ['one'] });
    const capabilities = { resources: { subscribe: true }, logging: {} };
    core.server('one').declare(capabilities);
    core.server('one').answers = () => ({ result: {} });
    const client = await core.ready(ONE);
    say(client, 's', 'resources/subscribe', { uri: 'x:1' });
    say(client, 'l', 'logging/setLevel', { level: 'info' });
    await core.settle();
    core.redefine(['one'], ['one']);
    core.server('one').declare(capabilities);
    call(client, 'c', 'go');
    await core.settle();
    const told = core.server('one').requests.map(({ method, params }) => [method, params?.uri ?? params?.level]);
    expect(told).toContainEqual(['resources/subscribe', 'x:1']);
    expect(told).toContainEqual(['logging/setLevel', 'info']);
  });

  test('gets an error that the server does not exist, until there is one again', async () => {
    const core = new CoreInMemory({ servers: ['one', 'two'] });
    const client = await core.ready(ONE);
    core.redefine(['two']);
    call(client, 'a', 'go');
    await toolsOf(core, client, 'b');
    for (const id of ['a', 'b'])
      expect(client.answersTo(id)).toMatchObject([
        { error: { code: -32601, message: 'Server one is not offered any more', data: { code: 'SERVER_NOT_FOUND' } } },
      ]);
    core.redefine(['one', 'two']);
    call(client, 'c', 'go');
    await core.settle();
    core.server('one').answer(callsOf(core.server('one'))[0]);
    await core.settle();
    expect(client.answersTo('c')).toMatchObject([{ result: { echo: { id: 'c' } } }]);
  });

  test('with its own instance gets the answers to calls sent before the change', async () => {
    const core = new CoreInMemory({ servers: ['one'], definition: { sharing: 'dedicated' } });
    const before = core.server('one');
    const client = await core.ready(ONE);
    call(client, 'sent', 'go');
    await core.settle();
    core.redefine(['one'], ['one']);
    before.answer(callsOf(before)[0]);
    await core.settle();
    expect(client.answersTo('sent')).toMatchObject([{ result: { echo: { id: 'sent' } } }]);
    expect(before.server.retireDone()).toBe(true);
  });

  test('is welcomed by the repaired server if that was changed while it failed to start', async () => {
    const core = new CoreInMemory({ servers: ['one'] });
    const before = core.server('one');
    before.opensByItself = false;
    const client = core.connect();
    client.initialize('init', ONE);
    await core.settle();
    core.redefine(['one'], ['one']);
    before.failToStart();
    await core.settle();
    expect(client.answersTo('init')).toMatchObject([{ result: { serverInfo: { name: 'memory' } } }]);
    expect(core.server('one').starts).toBe(1);
  });

  test('is not told that a list has changed before it has got it', async () => {
    const core = new CoreInMemory({ servers: ['one'] });
    withTool(core.server('one'));
    const client = await core.ready(ONE);
    await toolsOf(core, client, 'a');
    expect(client.notifications(TOOLS_CHANGED)).toEqual([]);
  });

  test('is welcomed also if its server is defined otherwise while that starts', async () => {
    const core = new CoreInMemory({ servers: ['one'] });
    const before = core.server('one');
    before.opensByItself = false;
    const client = core.connect();
    client.initialize('init', ONE);
    await core.settle();
    core.redefine(['one'], ['one']);
    expect(before.server.retireDone()).toBe(false);
    before.open();
    await core.settle();
    expect(client.answersTo('init')).toMatchObject([{ result: { serverInfo: { name: 'memory' } } }]);
    expect(before.server.retireDone()).toBe(true);
    call(client, 'c', 'go');
    await core.settle();
    expect(callsOf(core.server('one'))).toHaveLength(1);
  });
});

const NAMES = ['one', 'two', 'three'];
const step = fc.oneof(
  fc.record({ kind: fc.constant('call' as const), client: fc.nat(2), server: fc.constantFrom(...NAMES) }),
  fc.record({ kind: fc.constant('answer' as const), nth: fc.nat(5) }),
  fc.record({
    kind: fc.constant('redefine' as const),
    names: fc.shuffledSubarray(NAMES),
    changed: fc.subarray(NAMES),
  }),
  fc.record({ kind: fc.constant('crash' as const), nth: fc.nat(5) }),
);

const idOf = ({ params }: Message): unknown => (params?.arguments as { id?: string } | undefined)?.id;

test('whatever becomes of the servers, each call gets one answer, and nothing is left behind', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (steps) => {
      const core = new CoreInMemory({ servers: NAMES });
      const seen = new Set<TestServer>();
      let current: readonly TestServer[] = [];
      const note = (names: readonly string[]): void => {
        current = names.map((name) => withTool(core.server(name)));
        for (const server of current) seen.add(server);
      };
      note(NAMES);
      const clients = [await core.ready(ALL), await core.ready(ALL), await core.ready(ONE)];
      const answered = new Set<unknown>();
      const open = () =>
        [...seen].flatMap((server) =>
          server.instances.flatMap((instance) =>
            instance.requests.flatMap((request) =>
              request.method === 'tools/call' && !answered.has(idOf(request)) ? [{ instance, request }] : [],
            ),
          ),
        );
      const answer = ({ instance, request }: ReturnType<typeof open>[number]): void => {
        answered.add(idOf(request));
        instance.answer(request);
      };
      const ids: [TestClient, string][] = [];
      for (const [n, one] of steps.entries()) {
        if (one.kind === 'call') {
          const client = clients[one.client] as TestClient;
          ids.push([client, `c${n}`]);
          call(client, `c${n}`, one.client === 2 ? 'go' : `${one.server}__go`);
        } else if (one.kind === 'answer') {
          const found = open()[one.nth];
          if (found !== undefined) answer(found);
        } else if (one.kind === 'crash') {
          [...seen].flatMap(({ instances }) => instances)[one.nth]?.crash();
        } else {
          core.redefine(one.names, one.changed);
          note(one.names);
        }
        await core.settle();
      }
      for (let round = 0; round < ids.length + 1; round++) {
        for (const found of open()) answer(found);
        await core.settle();
      }
      for (const [client, id] of ids) expect(client.answersTo(id), id).toHaveLength(1);
      for (const server of seen) if (!current.includes(server)) expect(server.server.retireDone()).toBe(true);
      expect(core.openCalls).toBe(0);
    }),
    { numRuns: 200 },
  );
});
