// Clients that begin without a handshake: each of their requests says for itself who asks.

import { describe, expect, test } from 'vitest';
import { CoreInMemory, type Message, type TestClient } from '../../support/core-in-memory.ts';

const VERSION = 'io.modelcontextprotocol/protocolVersion';
const CAPABILITIES = 'io.modelcontextprotocol/clientCapabilities';
const INFO = 'io.modelcontextprotocol/clientInfo';
const LEVEL = 'io.modelcontextprotocol/logLevel';
const SERVER_INFO = 'io.modelcontextprotocol/serverInfo';

const WHO = { [VERSION]: '2026-07-28', [INFO]: { name: 'fresh', version: '1' }, [CAPABILITIES]: {} };

function ask(client: TestClient, id: number | string, method: string, params: object = {}, meta: object = WHO): void {
  client.say({ jsonrpc: '2.0', id, method, params: { ...params, _meta: meta } });
}
const callTool = (client: TestClient, id: number | string, meta: object = WHO): void =>
  ask(client, id, 'tools/call', { name: 'tool', arguments: { a: 1 } }, meta);

async function connected(core: CoreInMemory): Promise<TestClient> {
  const client = core.connect();
  await core.settle();
  return client;
}

const errorOf = (message: Message | undefined) => message?.error;

describe('a request that names its client', () => {
  test('is sent without the members for the bridge, and answered in the form of its era', async () => {
    const core = new CoreInMemory();
    const client = await connected(core);
    client.say(
      `{"jsonrpc":"2.0","id":"a","method":"tools/call","params":{"name":"tool","arguments":{"x": 1.50},"_meta":{"${VERSION}":"2026-07-28","own":[1],"${CAPABILITIES}":{},"traceparent":"t","${INFO}":{"name":"f","version":"1"},"mcp-bridge/cwd":"/w","progressToken":"p"}}}`,
    );
    await core.settle();
    const server = core.server();
    expect(server.link?.lines).toEqual([
      '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"tool","arguments":{"x": 1.50},"_meta":{"own":[1],"traceparent":"t","progressToken":1}}}',
    ]);
    server.say('{"jsonrpc":"2.0","result":{"content": [1.50]},"id":1}');
    await core.settle();
    expect(client.link.lines).toEqual([
      `{"jsonrpc":"2.0","result":{"resultType":"complete","_meta":{"${SERVER_INFO}":{"name":"memory","version":"1"}},"content": [1.50]},"id":"a"}`,
    ]);
    expect(core.openCalls).toBe(0);
  });

  test('leaves no empty _meta behind, wherever it stands', async () => {
    const core = new CoreInMemory();
    const client = await connected(core);
    const meta = `"_meta":{"${VERSION}":"2026-07-28" , "${CAPABILITIES}" : {} }`;
    const framed = (params: string): string => `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{${params}}}`;
    const cases = [
      [`${meta}`, ''],
      [`${meta},"name":"tool"`, '"name":"tool"'],
      [`"name":"tool" , ${meta}`, '"name":"tool" '],
      [`"name":"tool", ${meta} ,"arguments":{}`, '"name":"tool", "arguments":{}'],
    ] as const;
    for (const [said, passed] of cases) {
      client.say(framed(said));
      await core.settle();
      const line = core.server().link?.lines.at(-1) ?? '';
      const { id } = JSON.parse(line) as Message;
      expect(line).toBe(framed(passed).replace('"id":1', `"id":${id}`));
      core.server().say({ jsonrpc: '2.0', id, result: {} });
      await core.settle();
    }
  });

  test('may escape the slashes of its keys, as some encoders do', async () => {
    const core = new CoreInMemory();
    const client = await connected(core);
    client.say(
      `{"jsonrpc":"2.0","id":1,"method":"tools\\/call","params":{"name":"tool","_meta":{"io.modelcontextprotocol\\/protocolVersion":"2026-07-28","io.modelcontextprotocol\\/clientCapabilities":{}}}}`,
    );
    await core.settle();
    expect(core.server().link?.lines).toEqual([
      '{"jsonrpc":"2.0","id":1,"method":"tools\\/call","params":{"name":"tool"}}',
    ]);
  });

  test.each([
    ['no version', { [CAPABILITIES]: {} }, -32602, undefined],
    ['no capabilities', { [VERSION]: '2026-07-28' }, -32602, undefined],
    ['capabilities that are no object', { ...WHO, [CAPABILITIES]: true }, -32602, undefined],
    ['a version that is no text', { ...WHO, [VERSION]: 1 }, -32602, undefined],
    ['a name that is no text', { ...WHO, [INFO]: { name: 1, version: '1' } }, -32602, undefined],
    ['an unknown level', { ...WHO, [LEVEL]: 'loud' }, -32602, undefined],
    [
      'an unknown version',
      { ...WHO, [VERSION]: '2099-01-01' },
      -32022,
      { supported: ['2026-07-28'], requested: '2099-01-01' },
    ],
  ])('with %s is refused, also on a connection where another one was served', async (_, meta, code, data) => {
    const core = new CoreInMemory();
    const client = await connected(core);
    callTool(client, 'good');
    callTool(client, 'bad', meta);
    ask(client, 'listen', 'subscriptions/listen', {}, meta);
    await core.settle();
    for (const id of ['bad', 'listen'])
      expect(client.answersTo(id).map(errorOf)).toEqual([
        expect.objectContaining({ code, ...(data === undefined ? {} : { data }) }),
      ]);
    expect(core.server().requests).toHaveLength(1);
  });

  test.each([
    'initialize',
    'ping',
    'logging/setLevel',
    'resources/subscribe',
    'resources/unsubscribe',
    'tasks/list',
    'tasks/result',
  ])('may not be %s, which its era does not have', async (method) => {
    const core = new CoreInMemory();
    const client = await connected(core);
    ask(client, 1, method);
    await core.settle();
    expect(client.answersTo(1).map(({ error }) => error?.code)).toEqual([-32601]);
  });

  test('cannot be initialize, so that the connection goes on as before', async () => {
    const core = new CoreInMemory();
    const client = await connected(core);
    ask(client, 1, 'initialize');
    callTool(client, 2);
    await core.settle();
    expect(client.answersTo(2)).toEqual([]);
    expect(core.server().requests).toHaveLength(1);
  });

  test('is asked for its version if it is server/discover, also when nothing was said before', async () => {
    const core = new CoreInMemory();
    const client = await connected(core);
    client.say({ jsonrpc: '2.0', id: 1, method: 'server/discover', params: {} });
    await core.settle();
    expect(client.answersTo(1).map(({ error }) => error?.code)).toEqual([-32602]);
  });

  test('is answered under its id, whatever type that has, and an id is in use on the whole connection', async () => {
    const core = new CoreInMemory();
    const client = await connected(core);
    for (const id of [0, '', '0']) callTool(client, id);
    callTool(client, 0, { ...WHO, [INFO]: { name: 'other', version: '1' } });
    await core.settle();
    expect(client.answersTo(0).map(({ error }) => error?.code)).toEqual([-32600]);
    for (const request of core.server().requests) core.server().answer(request);
    await core.settle();
    for (const id of ['', '0']) expect(client.answersTo(id)).toHaveLength(1);
    expect(client.answersTo(0)).toHaveLength(2);
  });

  test('is cancelled by its id', async () => {
    const core = new CoreInMemory();
    const client = await connected(core);
    callTool(client, 7);
    await core.settle();
    client.say({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 7, _meta: WHO } });
    await core.settle();
    expect(core.server().cancelled).toEqual([1]);
    expect(core.openCalls).toBe(0);
    expect(client.received).toEqual([]);
  });

  test('ends with its connection', async () => {
    const core = new CoreInMemory();
    const client = await connected(core);
    callTool(client, 7);
    await core.settle();
    client.link.destroy();
    await core.settle();
    expect(core.server().cancelled).toEqual([1]);
    expect(core.openCalls).toBe(0);
  });

  test('is still answered after its client has ended its side', async () => {
    const core = new CoreInMemory();
    const client = await connected(core);
    callTool(client, 7);
    await core.settle();
    client.link.endByPeer();
    await core.settle();
    expect(client.link.isClosed).toBe(false);
    core.server().answer(core.server().requests[0]);
    await core.settle();
    expect(client.answersTo(7)).toHaveLength(1);
    expect(client.link.isClosed).toBe(true);
  });
});

describe('a connection', () => {
  test('is asked for the server’s capabilities, which differ from the bridge’s', async () => {
    const core = new CoreInMemory();
    const client = await connected(core);
    ask(client, 1, 'server/discover');
    await core.settle();
    expect(client.answersTo(1).map(({ result }) => result)).toEqual([
      {
        resultType: 'complete',
        supportedVersions: ['2026-07-28'],
        capabilities: {},
        ttlMs: 0,
        cacheScope: 'private',
        _meta: { [SERVER_INFO]: { name: 'memory', version: '1' } },
      },
    ]);
  });

  test('may go over to a handshake, and is then held to it', async () => {
    const core = new CoreInMemory();
    const client = await connected(core);
    ask(client, 1, 'server/discover');
    callTool(client, 2);
    await core.settle();
    client.initialize();
    await core.settle();
    expect(client.answersTo('init')[0]?.result).toBeDefined();
    callTool(client, 3);
    await core.settle();
    expect(client.answersTo(3).map(({ error }) => error?.code)).toEqual([-32600]);
    core.server().answer(core.server().requests[0]);
    await core.settle();
    expect(client.answersTo(2)).toHaveLength(1);
  });

  test('does not take an id that is open from before its handshake', async () => {
    const core = new CoreInMemory();
    const client = await connected(core);
    callTool(client, 7);
    await core.settle();
    client.initialize();
    await core.settle();
    client.call(7);
    await core.settle();
    expect(client.answersTo(7).map(({ error }) => error?.code)).toEqual([-32600]);
    core.server().answer(core.server().requests[0]);
    await core.settle();
    expect(client.answersTo(7)).toHaveLength(2);
  });

  test('has one request under an id also where several that say different things wait for servers to be known', async () => {
    const found: (() => void)[] = [];
    const core = new CoreInMemory({ prepare: () => new Promise((resolve) => found.push(resolve)) });
    const client = await connected(core);
    callTool(client, 7);
    callTool(client, 7, { ...WHO, [INFO]: { name: 'other', version: '1' } });
    await core.settle();
    for (const resolve of found) resolve();
    await core.settle();
    await core.settle();
    expect(core.server().requests).toHaveLength(1);
    expect(client.answersTo(7)).toMatchObject([{ error: { code: -32600 } }]);
  });

  test('does not begin a handshake under the id of an open request', async () => {
    const core = new CoreInMemory();
    const client = await connected(core);
    callTool(client, 'init');
    await core.settle();
    client.initialize();
    await core.settle();
    expect(client.answersTo('init').map(({ error }) => error?.code)).toEqual([-32600]);
    core.server().answer(core.server().requests[0]);
    await core.settle();
    client.initialize();
    await core.settle();
    expect(client.answersTo('init')).toMatchObject([{ error: {} }, { result: {} }, { result: { capabilities: {} } }]);
  });

  test('is read on after requests have waited for servers that it does not see', async () => {
    let found = (): void => undefined;
    const core = new CoreInMemory({ prepare: () => new Promise((resolve) => (found = resolve)) });
    const client = await connected(core);
    const meta = { ...WHO, 'mcp-bridge/view': 'server:nobody' };
    for (let id = 0; id < 70; id++) callTool(client, id, meta);
    await core.settle();
    expect(client.link.isPaused).toBe(true);
    found();
    await core.settle();
    await core.settle();
    expect(client.link.isPaused).toBe(false);
    expect(client.received.slice(0, 64).every(({ error }) => error?.data?.code === 'SERVER_NOT_FOUND')).toBe(true);
  });

  test('may cancel a request that waits for servers to be known', async () => {
    let found = (): void => undefined;
    const core = new CoreInMemory({ prepare: () => new Promise((resolve) => (found = resolve)) });
    const client = await connected(core);
    for (const id of [1, 2]) callTool(client, id);
    client.cancel(1);
    await core.settle();
    found();
    await core.settle();
    await core.settle();
    expect(core.server().requests).toHaveLength(1);
    expect(core.counters.strayCancels).toBe(0);
  });

  test('is not read while one of its clients has too much waiting, however little the others have', async () => {
    const core = new CoreInMemory({ limits: { maxWaitingBytesPerClient: 2000, maxInFlightPerServer: 1 } });
    core.server().opensByItself = false;
    const client = await connected(core);
    callTool(client, 'small', { ...WHO, [INFO]: { name: 'other', version: '1' } });
    ask(client, 'large', 'tools/call', { name: 'tool', arguments: { text: 'x'.repeat(3000) } });
    await core.settle();
    expect(client.link.isPaused).toBe(true);
    core.server().open();
    await core.settle();
    expect(core.server().requests).toHaveLength(1);
    expect(client.link.isPaused).toBe(true);
    core.server().answer(core.server().requests[0]);
    await core.settle();
    expect(client.link.isPaused).toBe(false);
  });

  test('gets no notices that it has not asked for', async () => {
    const core = new CoreInMemory();
    const client = await connected(core);
    ask(client, 1, 'tools/list');
    callTool(client, 2);
    await core.settle();
    core.server().say({ jsonrpc: '2.0', method: 'notifications/tools/list_changed' });
    core.server().say({ jsonrpc: '2.0', method: 'notifications/message', params: { level: 'error', data: 1 } });
    await core.settle();
    expect(client.received.filter(({ method }) => method !== undefined)).toEqual([]);
  });
});

describe('a connection that declares common members for its requests', () => {
  const defaults = (client: TestClient, _meta: unknown): void =>
    client.say({ jsonrpc: '2.0', method: 'bridge/defaults', params: { _meta } });
  const listTools = (client: TestClient, id: number, meta: object = WHO): void =>
    ask(client, id, 'tools/list', {}, meta);

  test('gives each request its view, directory and id, unless the request says otherwise', async () => {
    const core = new CoreInMemory({ servers: ['one', 'two'] });
    const client = await connected(core);
    defaults(client, { 'mcp-bridge/view': 'server:two', 'mcp-bridge/clientId': 'reviewer', 'mcp-bridge/pid': 7 });
    callTool(client, 1);
    await core.settle();
    expect(core.server('two').requests).toHaveLength(1);
    expect(core.manager.clients().map(({ clientId, principal }) => [clientId, principal.pid])).toEqual([
      ['reviewer', 7],
    ]);
    callTool(client, 2, { ...WHO, 'mcp-bridge/view': 'server:one' });
    await core.settle();
    expect(core.server('one').requests).toHaveLength(1);
  });

  test('may declare others later, which apply to the requests behind it', async () => {
    const core = new CoreInMemory({ servers: ['one', 'two'] });
    const client = await connected(core);
    callTool(client, 'before');
    await core.settle();
    defaults(client, { 'mcp-bridge/view': 'server:one', 'mcp-bridge/clientId': 'reviewer' });
    callTool(client, 1);
    await core.settle();
    core.server('one').answer(core.server('one').requests[0]);
    callTool(client, 2);
    await core.settle();
    defaults(client, { 'mcp-bridge/view': 'server:one', 'mcp-bridge/clientId': 'reviewer' }); // as before
    callTool(client, 3);
    await core.settle();
    expect(core.server('one').requests).toHaveLength(3);
    for (const request of core.server('one').requests.slice(1)) core.server('one').answer(request);
    await core.settle();
    defaults(client, { 'mcp-bridge/view': 'server:two', 'mcp-bridge/clientId': 'reviewer' });
    callTool(client, 4);
    await core.settle();
    expect(core.server('two').requests).toHaveLength(1);
    expect(core.manager.clients().map(({ clientId }) => clientId)).toEqual(['reviewer']);
  });

  test('may leave open requests as they were', async () => {
    const core = new CoreInMemory({ servers: ['one', 'two'] });
    const client = await connected(core);
    defaults(client, { 'mcp-bridge/view': 'server:one' });
    callTool(client, 1);
    await core.settle();
    defaults(client, { 'mcp-bridge/view': 'server:two' });
    callTool(client, 2);
    await core.settle();
    for (const name of ['one', 'two']) core.server(name).answer(core.server(name).requests[0]);
    await core.settle();
    for (const id of [1, 2]) expect(client.answersTo(id)).toMatchObject([{ result: { echo: { a: 1 } } }]);
  });

  test('is counted and passed over behind a handshake, and no server sees it', async () => {
    const core = new CoreInMemory();
    const client = await core.ready();
    client.call(1);
    await core.settle();
    defaults(client, { 'mcp-bridge/view': 'all' });
    await core.settle();
    expect(core.counters.badFrames).toBe(1);
    expect(core.server().received.map(({ method }) => method)).toEqual(['tools/call']);
  });

  test('has each request refused if its declared members are invalid', async () => {
    for (const wrong of [{ 'mcp-bridge/cwd': 'x' }, { 'mcp-bridge/client': 'a b' }, { 'mcp-bridge/view': 1 }]) {
      const core = new CoreInMemory();
      const client = await connected(core);
      defaults(client, wrong);
      listTools(client, 1);
      await core.settle();
      expect(errorOf(client.answersTo(1)[0])).toMatchObject({ code: -32602 });
    }
  });

  test('is passed over if it is malformed or too long, and counted', async () => {
    const core = new CoreInMemory();
    const client = await connected(core);
    for (const wrong of [undefined, [], 'x', { 'mcp-bridge/view': 'x'.repeat(20_000) }]) defaults(client, wrong);
    callTool(client, 1);
    await core.settle();
    expect(core.counters.badFrames).toBe(4);
    expect(core.server().requests).toHaveLength(1);
    expect(client.received).toEqual([]);
  });
});
