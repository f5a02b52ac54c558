// The results of a server of 2026, as a client of 2025 gets them.

import { describe, expect, test } from 'vitest';
import { ERA_2026 } from '../../../src/protocol/era-2026.ts';
import { CoreInMemory, type Message, type TestClient } from '../../support/core-in-memory.ts';

const SERVER_INFO = 'io.modelcontextprotocol/serverInfo';
const TERMS = { resultType: 'complete', ttlMs: 60_000, cacheScope: 'public' };

function coreOf2026(): CoreInMemory {
  const core = new CoreInMemory();
  core.server().era = ERA_2026;
  return core;
}

/** The line by which the client gets this result, in the server's own spelling. */
async function answered(result: string, method = 'tools/call'): Promise<string | undefined> {
  const core = coreOf2026();
  const client = await core.ready();
  client.say({ jsonrpc: '2.0', id: 'c', method, params: { name: 'tool' } });
  await core.settle();
  core.server().say(`{"jsonrpc":"2.0","id":${core.server().requests.at(-1)?.id},"result":${result}}`);
  await core.settle();
  return client.link.lines.at(-1);
}

const line = (result: string): string => `{"jsonrpc":"2.0","id":"c","result":${result}}`;

describe('members that only the era of 2026 has', () => {
  test.each([
    ['none', '{"content":[]}', '{"content":[]}'],
    ['the type', '{"resultType":"complete","content":[]}', '{"content":[]}'],
    ['the type alone', '{ "resultType" : "complete" }', '{  }'],
    ['the type in another spelling', '{"resultType":"com\\u0070lete","a":1}', '{"a":1}'],
    [
      'all of them, and members that nobody knows stay',
      `{"x":1.50, "ttlMs":5,"y" : [ ],"cacheScope":"private","resultType":"complete","_meta":{"${SERVER_INFO}":{"name":"s"},"z":2}}`,
      '{"x":1.50, "y" : [ ],"_meta":{"z":2}}',
    ],
    ['a _meta with nothing else', `{"a":1,"_meta":{"${SERVER_INFO}":{}},"resultType":"complete"}`, '{"a":1}'],
    ['a _meta that is empty by itself', '{"a":1,"_meta":{},"resultType":"complete"}', '{"a":1,"_meta":{}}'],
    ['a result that is no object', '[1]', '[1]'],
  ])('are cut: %s', async (_, result, shown) => {
    expect(await answered(result)).toBe(line(shown));
  });

  test('stay in the payload', async () => {
    const payload = '"structuredContent":{"resultType":"x","ttlMs":1}';
    expect(await answered(`{"resultType":"complete",${payload}}`)).toBe(line(`{${payload}}`));
  });

  test.each(['task', 'x', 5, null])('a result of the type %j is an error', async (resultType) => {
    expect(JSON.parse((await answered(JSON.stringify({ resultType, content: [] }))) ?? '')).toMatchObject({
      id: 'c',
      error: { code: -32603, data: { code: 'SERVER_ANSWER_REFUSED' } },
    });
  });

  test('a result with two types is an error', async () => {
    expect(await answered('{"resultType":"complete","resultType":"task"}')).toContain('-32603');
  });

  test('a server of 2025 may use their names', async () => {
    const core = new CoreInMemory();
    const client = await core.ready();
    client.call(1);
    await core.settle();
    const result = { resultType: 'task', ttlMs: 1, _meta: { [SERVER_INFO]: {} } };
    core.server().say({ jsonrpc: '2.0', id: core.server().requests[0]?.id, result });
    await core.settle();
    expect(client.answersTo(1)).toMatchObject([{ result }]);
  });
});

test('an error passes, also that of a resource that does not exist', async () => {
  const core = coreOf2026();
  const client = await core.ready();
  client.say({ jsonrpc: '2.0', id: 1, method: 'resources/read', params: { uri: 'x:' } });
  await core.settle();
  const error = { code: -32602, message: 'Resource not found', data: { uri: 'x:' } };
  core.server().say({ jsonrpc: '2.0', id: core.server().requests[0]?.id, error });
  await core.settle();
  expect(client.answersTo(1)).toEqual([{ jsonrpc: '2.0', id: 1, error }]);
});

describe('structured content', () => {
  const NUMBERS = { type: 'array', items: { type: 'number' } };
  const CHOICE = { anyOf: [{ type: 'object' }, { type: 'null' }] };
  const TOOLS = [
    { name: 'numbers', inputSchema: { type: 'object' }, outputSchema: NUMBERS },
    { name: 'chöice', inputSchema: { type: 'object' }, outputSchema: CHOICE },
    { name: 'plain', inputSchema: { type: 'object' }, outputSchema: { type: 'object', properties: { a: {} } } },
  ];
  const wrapped = (schema: object): object => ({
    type: 'object',
    properties: { result: schema },
    required: ['result'],
  });

  async function listed(): Promise<{ core: CoreInMemory; client: TestClient }> {
    const core = coreOf2026();
    core.server().declare({ tools: {} });
    core.server().answers = ({ method }) =>
      method === 'tools/list' ? { result: { ...TERMS, tools: TOOLS, nextCursor: undefined } } : undefined;
    const client = await core.ready();
    client.say({ jsonrpc: '2.0', id: 'list', method: 'tools/list' });
    await core.settle();
    return { core, client };
  }

  test('that is no object is that of an object in the list', async () => {
    const { core, client } = await listed();
    const shown = [
      { ...TOOLS[0], outputSchema: wrapped(NUMBERS) },
      { ...TOOLS[1], outputSchema: wrapped(CHOICE) },
      TOOLS[2],
    ];
    expect(client.answersTo('list')).toEqual([{ jsonrpc: '2.0', id: 'list', result: { tools: shown } }]);
    const [page] = core.server().instance.lists.pagesOf('tools') ?? [];
    expect(JSON.parse(page?.result.toString() ?? '')).toEqual({ tools: shown });
    expect(JSON.parse(page?.original?.toString() ?? '')).toEqual({ tools: TOOLS });
    expect(page?.caching).toEqual({ ttlMs: 60_000, cacheScope: 'public' });
  });

  test.each([
    ['numbers', '[ 1, 2]', '{"result":[ 1, 2]}'],
    ['ch\\u00f6ice', '{"a":1}', '{"a":1}'], // in another spelling than in the list the tool is not known
    ['chöice', '{"a":1}', '{"result":{"a":1}}'],
    ['chöice', 'null', '{"result":null}'],
    ['plain', '{"a":1}', '{"a":1}'],
    ['unlisted', '5', '{"result":5}'],
    ['unlisted', '{"a":1}', '{"a":1}'],
  ])('of %s fits the schema that the client was shown: %s', async (name, content, shown) => {
    const { core, client } = await listed();
    client.say(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"${name}"}}`);
    await core.settle();
    const { id } = core.server().requests.at(-1) as Message;
    core
      .server()
      .say(
        `{"jsonrpc":"2.0","id":${id},"result":{"resultType":"complete","structuredContent": ${content} ,"content":[]}}`,
      );
    await core.settle();
    expect(client.link.lines.at(-1)).toBe(
      `{"jsonrpc":"2.0","id":1,"result":{"structuredContent": ${shown} ,"content":[]}}`,
    );
  });

  test('is put into an object also where a cut begins right behind it', async () => {
    const { core, client } = await listed();
    client.call(1);
    await core.settle();
    const { id } = core.server().requests.at(-1) as Message;
    core
      .server()
      .say(`{"result":{"content":[],"structuredContent":[0],"resultType":"complete"},"jsonrpc":"2.0","id":${id}}`);
    await core.settle();
    expect(client.link.lines.at(-1)).toBe(
      '{"result":{"content":[],"structuredContent":{"result":[0]}},"jsonrpc":"2.0","id":1}',
    );
  });

  test('has the schema in joined lists that fits each client’s results', async () => {
    const core = new CoreInMemory({ servers: ['memory', 'other'] });
    core.server().era = ERA_2026;
    core.server().declare({ tools: {} });
    core.server().answers = ({ method }) =>
      method === 'tools/list' ? { result: { ...TERMS, tools: TOOLS } } : undefined;
    const all = { 'mcp-bridge/view': 'all' };
    const [old, young] = [await core.ready({ _meta: all }), core.connect()];
    const _meta = {
      ...all,
      'io.modelcontextprotocol/protocolVersion': '2026-07-28',
      'io.modelcontextprotocol/clientCapabilities': {},
    };
    const schemasOf = async (client: TestClient, params: object): Promise<unknown> => {
      client.say({ jsonrpc: '2.0', id: 'l', method: 'tools/list', params });
      await core.pass(10_000);
      const tools = client.answersTo('l')[0]?.result?.tools as { name: string; outputSchema: unknown }[];
      return tools.map(({ name, outputSchema }) => [name.startsWith('memory__'), outputSchema]);
    };
    const plain = TOOLS[2]?.outputSchema;
    expect(await schemasOf(old, {})).toEqual(
      [wrapped(NUMBERS), wrapped(CHOICE), plain].map((schema) => [true, schema]),
    );
    expect(await schemasOf(young, { _meta })).toEqual([NUMBERS, CHOICE, plain].map((schema) => [true, schema]));
  });

  test('is shown to a client of 2026 as it is', async () => {
    const { core } = await listed();
    const client = core.connect();
    const _meta = {
      'io.modelcontextprotocol/protocolVersion': '2026-07-28',
      'io.modelcontextprotocol/clientCapabilities': {},
    };
    client.say({ jsonrpc: '2.0', id: 2, method: 'tools/list', params: { _meta } });
    client.call(3, {}, _meta);
    await core.settle();
    const { id } = core.server().requests.at(-1) as Message;
    core.server().say({ jsonrpc: '2.0', id, result: { resultType: 'complete', structuredContent: [1] } });
    await core.settle();
    expect(client.answersTo(2)).toMatchObject([{ result: { resultType: 'complete', tools: TOOLS } }]);
    expect(client.answersTo(3)).toMatchObject([{ result: { resultType: 'complete', structuredContent: [1] } }]);
  });
});
