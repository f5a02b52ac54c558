// Tools as odd as servers may have them, and questions as odd as agents may ask them, with a real daemon.

import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { runCommand } from '../support/command.ts';
import { type Message, type RawClient, textOf } from '../support/raw-client.ts';
import { ROOT, TestDaemon, tempDir } from '../support/test-daemon.ts';

const STRANGE = join(ROOT, 'test/fixtures/servers/strange-tools.mjs');
const MOVERS = ['\u001b', '\u202e'];

let daemon: TestDaemon;
let client: RawClient;
beforeAll(async () => {
  const mcpServers = { strange: { command: process.execPath, args: [STRANGE] } };
  const config = { client: { view: 'discover' }, discovery: { enabled: false }, mcpServers };
  daemon = await TestDaemon.start(config, { dir: tempDir() });
  // The definition of `large` is longer than what models get of a result.
  client = await daemon.client({ 'mcp-bridge/results': 'whole' });
});
afterAll(async () => {
  client.destroy();
  await daemon.stop();
});

let calls = 0;
const ask = (name: string, args: unknown): Promise<Message> =>
  client.request(`c${++calls}`, 'tools/call', { name, arguments: args });
const found = async (query: string): Promise<string[]> => {
  const { results } = JSON.parse(textOf(await ask('search_tools', { query }))) as { results: { tool: string }[] };
  return results.map(({ tool }) => tool);
};
const shell = (...words: string[]) => runCommand([...words, '--mcp-bridge-socket', daemon.path]);

const NAMES = [
  ...['search_tools', 'execute_tool', 'bare', 'large', 'cyclic', 'l'.repeat(200), 'red\u001b[31m\u202e', 'twice'],
  'a/b:c__d "e"',
];

test('all of them are listed, one of the same name once', async () => {
  const { tools } = JSON.parse(textOf(await ask('list_tools', { server: 'strange' }))) as { tools: { name: string }[] };
  expect(tools.map(({ name }) => name)).toEqual(NAMES);
});

describe.each(NAMES.map((name) => [name.slice(0, 20), name] as const))('the tool %j', (_, name) => {
  test('is described, and run under its own name', async () => {
    expect(JSON.parse(textOf(await ask('get_tool_details', { server: 'strange', tool: name })))).toMatchObject({
      server: 'strange',
      tool: name,
    });
    const wanted = { server: 'strange', tool: name };
    for (const own of [{ arguments: { any: 1 } }, {}, { arguments: '{"any":\n1}' }])
      for (let i = 0; i < 2; i++) expect(textOf(await ask('execute_tool', { ...wanted, ...own }))).toBe(name);
  });

  test('is found by its name', async () => {
    expect((await found(`strange:${name}`))[0]).toBe(name);
  });

  test('is shown by the commands without moving the cursor, and called', async () => {
    const results = [
      await shell('describe', 'strange', name),
      await shell('call', 'strange', name, '--args', '{}', '--json'),
    ];
    for (const { code, stdout, stderr } of results) {
      expect([code, stderr]).toEqual([0, '']);
      expect(stdout).not.toContain('\u001b');
    }
  });
});

test('a table of them moves no cursor', async () => {
  for (const words of [['tools'], ['search', 'turns', 'around'], ['search', 'name']]) {
    const { code, stdout } = await shell(...words);
    expect(code).toBe(0);
    for (const mover of MOVERS) expect(stdout).not.toContain(mover);
  }
});

test.each([
  ['nothing', ''],
  ['a megabyte', 'find a tool '.repeat(2 ** 20 / 12)],
  ['a megabyte without a space', 'x'.repeat(2 ** 20)],
  ['an emoji', '🙂'],
  ['signs of patterns', '(.*)+[a-z]{2,}$^|\\'],
  ['control characters', '\u0000\u001b[31m\u202e'],
  ['half a character', '\ud800'],
  ['the name of a member of every object', '__proto__ constructor'],
])('a question of %s is answered', async (_, query) => {
  expect(Array.isArray(await found(query))).toBe(true);
});

test.each<[string, unknown, string]>([
  ['search_tools', {}, 'query is missing'],
  [
    'search_tools',
    { query: 7, limit: '5', more: 1 },
    'query must be a string; limit must be a number; "more" is not known',
  ],
  ['list_mcp_servers', { all: true }, '"all" is not known'],
  ['list_tools', { includeDisabled: 'yes' }, 'server is missing; includeDisabled must be true or false'],
  ['get_tool_details', { server: 'strange' }, 'tool is missing'],
  ['get_tool_details', { server: [], tool: 'x' }, 'server must be a string'],
  ['execute_tool', {}, 'server is missing; tool is missing'],
  [
    'execute_tool',
    { server: 'strange', tool: 'bare', arguments: 'x', b: 1 },
    'arguments must be an object; the text is not the JSON of an object; "b" is not known',
  ],
  ['execute_tool', { server: 'strange', tool: 'bare', arguments: [] }, 'arguments must be an object'],
  ['list_tools', ['strange'], 'params.arguments must be an object'],
])('%s with the arguments %j is told what is wrong with them', async (tool, args, faults) => {
  expect((await ask(tool, args)).error).toMatchObject({
    code: -32602,
    message: `${tool}: ${faults}`,
    data: { code: 'TOOL_ARGUMENTS_INVALID' },
  });
});

test('nothing of all this has cost the server or the daemon its life', async () => {
  const { instances, counters } = await daemon.status();
  expect(instances).toMatchObject([{ server: 'strange', state: 'ready', restarts: 0 }]);
  expect(counters.serverCrashes).toBe(0);
});
