// Which answers are cut where they are passed on: results of tools and of tasks in the joined views, and nothing else.

import { expect, test } from 'vitest';
import { CoreInMemory, type Message, type TestClient } from '../../support/core-in-memory.ts';

const LONG = { content: [{ type: 'text', text: 'line\n'.repeat(1000) }] };
const TOOL = { name: 'tool', inputSchema: { type: 'object' }, execution: { taskSupport: 'optional' } };

async function inAll(): Promise<{ core: CoreInMemory; client: TestClient }> {
  const core = new CoreInMemory({ servers: ['memory', 'other'], results: { maxBytes: 1000 } });
  for (const server of ['memory', 'other']) core.server(server).has({ tools: [TOOL] });
  const client = await core.ready({ _meta: { 'mcp-bridge/view': 'all' } });
  client.say({ jsonrpc: '2.0', id: 'list', method: 'tools/list' });
  for (let n = 0; n < 20 && client.answersTo('list').length === 0; n++) await core.settle();
  return { core, client };
}

async function answered(core: CoreInMemory, client: TestClient, request: Message, answer: object): Promise<Message> {
  client.say({ jsonrpc: '2.0', ...request });
  await core.settle();
  const { id } = core.server().requests.at(-1) ?? {};
  core.server().say({ jsonrpc: '2.0', id, ...answer });
  await core.settle();
  return client.answersTo(request.id as string)[0] ?? {};
}

const noteIn = ({ result }: Message): unknown => ((result?.content ?? []) as { text?: string }[]).at(-2)?.text;

test('the result of a task is cut like that of a call', async () => {
  const { core, client } = await inAll();
  const call = { id: 'call', method: 'tools/call', params: { name: 'memory__tool', task: {} } };
  await answered(core, client, call, { result: { task: { taskId: 't', status: 'working' } } });
  const asked = { id: 'result', method: 'tasks/result', params: { taskId: 't' } };
  expect(noteIn(await answered(core, client, asked, { result: LONG }))).toContain('This result was cut');
  expect(core.counters.resultsCut).toBe(1);
});

test('errors, prompts and progress are passed on as they came', async () => {
  const { core, client } = await inAll();
  const call = (id: string): Message => ({ id, method: 'tools/call', params: { name: 'memory__tool' } });
  const error = { code: -32000, message: 'x'.repeat(5000), data: { all: 'y'.repeat(5000) } };
  expect((await answered(core, client, call('error'), { error })).error).toEqual(error);
  const odd = { result: { content: 'x'.repeat(5000) } };
  expect((await answered(core, client, call('odd'), odd)).result).toEqual(odd.result);
  const twice = `{"content":[],"content":[{"type":"text","text":"${'x'.repeat(5000)}"}]}`;
  client.say({ jsonrpc: '2.0', ...call('twice') });
  await core.settle();
  const { id } = core.server().requests.at(-1) ?? {};
  core.server().say(`{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":${twice}}`);
  await core.settle();
  expect(client.link.lines.at(-1)).toContain(twice);
  expect(core.counters.resultsCut).toBe(0);
});

test('a result for which there is no room is passed on whole', async () => {
  const core = new CoreInMemory({
    servers: ['memory', 'other'],
    results: { maxBytes: 1000, maxMemoryBytes: 4000, maxDiskBytes: 0 },
  });
  for (const server of ['memory', 'other']) core.server(server).has({ tools: [TOOL] });
  const client = await core.ready({ _meta: { 'mcp-bridge/view': 'all' } });
  client.say({ jsonrpc: '2.0', id: 'list', method: 'tools/list' });
  for (let n = 0; n < 20 && client.answersTo('list').length === 0; n++) await core.settle();
  const call = { id: 'call', method: 'tools/call', params: { name: 'memory__tool' } };
  expect((await answered(core, client, call, { result: LONG })).result).toEqual(LONG);
});

test('answers of the bridge about tools are cut like those of tools, and read_result takes values out of them', async () => {
  const core = new CoreInMemory({ servers: ['memory', 'other'], results: { maxBytes: 2000 } });
  const tools = Array.from({ length: 100 }, (_, n) => ({
    ...TOOL,
    name: `tool_${n}`,
    description: `Does the thing ${n}`,
  }));
  const properties = Object.fromEntries(tools.map(({ name }) => [name, { type: 'string' }]));
  core.server('memory').has({ tools: [...tools, { name: 'wide', inputSchema: { type: 'object', properties } }] });
  core.server('other').has({ tools: [] });
  const client = await core.ready({ _meta: { 'mcp-bridge/view': 'discover' } });
  let calls = 0;
  const asked = async (name: string, args: object): Promise<{ text: string; note: string }> => {
    const id = `asked-${++calls}`;
    client.say({ jsonrpc: '2.0', id, method: 'tools/call', params: { name, arguments: args } });
    while (client.answersTo(id).length === 0) {
      await core.settle();
      await new Promise(setImmediate); // a module is loaded, and reading has turns
    }
    const [first, note] = (client.answersTo(id)[0]?.result?.content ?? []) as { text?: string }[];
    return { text: first?.text ?? '', note: note?.text ?? '' };
  };
  const list = await asked('list_tools', { server: 'memory' });
  expect(list.text).toMatch(/^\{"server":"memory","tools":\[/);
  expect(Buffer.byteLength(JSON.stringify(list.text))).toBeLessThanOrEqual(2002);
  const idIn = (note: string): string => /"id":"([^"]+)"/.exec(note)?.[1] ?? '';
  const name = await asked('read_result', { id: idIn(list.note), path: 'tools[99].name' });
  expect(name.text.split('\n')[0]).toBe('"tool_99"');
  const details = await asked('get_tool_details', { server: 'memory', tool: 'wide' });
  const path = 'inputSchema.properties.tool_77.type';
  expect((await asked('read_result', { id: idIn(details.note), path })).text.split('\n')[0]).toBe('"string"');
  expect((await asked('get_tool_details', { server: 'memory', tool: 'tool_1' })).note).toBe('');
});
