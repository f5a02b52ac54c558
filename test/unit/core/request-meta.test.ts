// The `_meta` of a request, as a server of each era gets it from a client of each era.

import { describe, expect, test } from 'vitest';
import { ERA_2026 } from '../../../src/protocol/era-2026.ts';
import { CoreInMemory, type Message, type TestClient } from '../../support/core-in-memory.ts';

const PREFIX = 'io.modelcontextprotocol/';
const ENVELOPE = {
  [`${PREFIX}protocolVersion`]: '2026-07-28',
  [`${PREFIX}clientInfo`]: { name: 'test', version: '1' },
  [`${PREFIX}clientCapabilities`]: {},
};

function coreOf2026(): CoreInMemory {
  const core = new CoreInMemory();
  core.server().era = ERA_2026;
  return core;
}

/** The client speaks without a handshake from now on. */
function speaks2026(core: CoreInMemory, client: TestClient): void {
  Object.defineProperty(core.sessionOf(client), 'era', { value: ERA_2026 });
}

const metaOf = ({ params }: Message): unknown => params?._meta;

async function sent(core: CoreInMemory, client: TestClient, ...lines: (string | object)[]): Promise<Message[]> {
  const before = core.server().instances[0] === undefined ? 0 : core.server().requests.length;
  client.say(...lines);
  await core.settle();
  return core.server().requests.slice(before);
}

describe('a client of 2025 and a server of 2026', () => {
  test.each([
    ['no params', '{"jsonrpc":"2.0","id":1,"method":"x/y"}', { _meta: ENVELOPE }],
    ['no params, and spaces', ' { "jsonrpc":"2.0","id":1,"method":"x/y" }', { _meta: ENVELOPE }],
    ['empty params', '{"jsonrpc":"2.0","id":1,"method":"x/y","params":{ }}', { _meta: ENVELOPE }],
    ['params without _meta', '{"jsonrpc":"2.0","id":1,"method":"x/y","params":{"a":[1]}}', { a: [1], _meta: ENVELOPE }],
    ['an empty _meta', '{"jsonrpc":"2.0","id":1,"method":"x/y","params":{"_meta":{ }}}', { _meta: ENVELOPE }],
    [
      'members in _meta',
      '{"jsonrpc":"2.0","id":1,"method":"x/y","params":{"_meta":{"a": 1},"b":2}}',
      { _meta: { a: 1, ...ENVELOPE }, b: 2 },
    ],
    [
      'members of the envelope in _meta, which the client has no right to',
      `{"jsonrpc":"2.0","id":1,"method":"x/y","params":{"_meta":{"${PREFIX}clientCapabilities":{"sampling":{}},"a":1,"IO.modelcontextprotocol/protocolVersion":"x","${PREFIX}logLevel":"debug"}}}`,
      { _meta: { a: 1, ...ENVELOPE } },
    ],
    ['a _meta that is no object', '{"jsonrpc":"2.0","id":1,"method":"x/y","params":{"_meta":3}}', { _meta: 3 }],
    ['params that are no object', '{"jsonrpc":"2.0","id":1,"method":"x/y","params":[]}', []],
  ])('the request says who asks: %s', async (_, line, params) => {
    const core = coreOf2026();
    const [request] = await sent(core, await core.ready(), line);
    expect(request?.params).toEqual(params);
  });

  test('the progress token is ours, and the envelope stands beside it', async () => {
    const core = coreOf2026();
    const client = await core.ready();
    client.call(1, { a: 1 }, { progressToken: 'theirs', traceparent: '00-1' });
    await core.settle();
    const [request] = core.server().requests;
    expect(request && metaOf(request)).toEqual({ progressToken: request?.id, traceparent: '00-1', ...ENVELOPE });
  });

  test('the capabilities are the client’s, without tasks and without a notice of changed roots', async () => {
    const core = coreOf2026();
    const capabilities = {
      roots: { listChanged: true },
      sampling: { tools: {} },
      elicitation: { form: {}, url: {} },
      tasks: { cancel: {} },
      experimental: { x: { y: 1 } },
      extensions: { 'com.example/ü': {} },
    };
    const client = await core.ready({ capabilities });
    client.call(1);
    await core.settle();
    const { tasks: _, ...others } = capabilities;
    const [request] = core.server().requests;
    expect(request && metaOf(request)).toMatchObject({ [`${PREFIX}clientCapabilities`]: { ...others, roots: {} } });
  });

  test('each client is named in its own requests, and without pictures', async () => {
    const core = coreOf2026();
    const icons = [{ src: `data:image/png;base64,${'A'.repeat(5000)}` }];
    const one = await core.ready({ clientInfo: { name: 'één', version: '2', title: 'One' } });
    const other = await core.ready({ clientInfo: { name: 'other', version: '3', icons } });
    one.call(1);
    other.call(1);
    await core.settle();
    const names = core
      .server()
      .requests.map((request) => (metaOf(request) as Record<string, unknown>)[`${PREFIX}clientInfo`]);
    expect(names).toEqual([
      { name: 'één', version: '2', title: 'One' },
      { name: 'other', version: '3' },
    ]);
  });

  test('requests of the bridge itself have an envelope too', async () => {
    const core = coreOf2026();
    core.server().has({ tools: [] });
    const client = await core.ready({ capabilities: { sampling: {} } });
    client.call(1);
    await core.settle();
    const list = core.server().requests.find(({ method }) => method === 'tools/list');
    expect(list && metaOf(list)).toEqual({
      [`${PREFIX}protocolVersion`]: '2026-07-28',
      [`${PREFIX}clientInfo`]: { name: 'mcp-bridge', version: '0' },
      [`${PREFIX}clientCapabilities`]: { sampling: {} },
    });
  });

  test('a request that was not read is sent again with one envelope', async () => {
    const core = coreOf2026();
    const client = await core.ready();
    client.call(1, {}, { a: 1 });
    await core.settle();
    const line = core.server().link?.lines.at(-1) ?? '';
    expect(
      core.server().instance.returned({ b: Buffer.from(`${line}\n`), start: 0, end: Buffer.byteLength(line) }),
    ).toBe(true);
    core.server().crash();
    await core.settle();
    const [again] = core.server().requests;
    expect(again && metaOf(again)).toEqual({ a: 1, ...ENVELOPE });
  });
});

describe('a client of 2026', () => {
  const meta = { ...ENVELOPE, 'mcp-bridge/view': 'all', 'mcp-bridge/clientId': 'x', 'mcp-bridge/cwd': '/', a: 1 };

  test('keeps its envelope towards a server of 2026, but for the members that are the bridge’s', async () => {
    const core = coreOf2026();
    const client = await core.ready();
    speaks2026(core, client);
    client.call(1, {}, meta);
    await core.settle();
    expect(core.server().requests.map(metaOf)).toEqual([{ ...ENVELOPE, a: 1 }]);
  });

  test('is a client without an envelope to a server of 2025', async () => {
    const core = new CoreInMemory();
    const client = await core.ready();
    speaks2026(core, client);
    client.call(1, {}, meta);
    client.call(2, {}, ENVELOPE);
    await core.settle();
    expect(core.server().requests.map(({ params }) => params)).toEqual([
      { name: 'tool', arguments: {}, _meta: { a: 1 } },
      { name: 'tool', arguments: {} },
    ]);
  });

  test('is read with the keys of its era also when its request has waited', async () => {
    const core = new CoreInMemory();
    core.server().opensByItself = false;
    const client = core.connect();
    client.initialize();
    await core.settle();
    core.server().open();
    await core.settle();
    client.say({ jsonrpc: '2.0', method: 'notifications/initialized' });
    core.server().crash();
    speaks2026(core, client);
    client.call(1, {}, meta);
    await core.settle();
    core.server().open();
    await core.settle();
    expect(core.server().requests.map(metaOf)).toEqual([{ a: 1 }]);
  });
});
