// Servers whose program was updated while they did not run: nothing is refused on the word of what they have said before.

import { realpathSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import type { Message } from '../support/raw-client.ts';
import { ROOT, TestDaemon, tempDir } from '../support/test-daemon.ts';

const FIXTURE = join(ROOT, 'test/fixtures/servers/changing-tools.mjs');
const schema = (...names: string[]) => ({
  type: 'object',
  properties: Object.fromEntries(names.map((name) => [name, { type: 'string' }])),
  additionalProperties: false,
});
const OLD = { name: 'read', description: 'Reads a file', inputSchema: schema('path') };
const NEW = [
  { ...OLD, inputSchema: schema('path', 'encoding') },
  { ...OLD, name: 'write' },
];

let daemon: TestDaemon | undefined;
afterEach(() => daemon?.stop());

/** A daemon that knows the server from before, which has these tools now. */
async function updated(now: object): Promise<TestDaemon> {
  const dir = realpathSync(tempDir());
  const file = join(dir, 'tools.json');
  writeFileSync(file, JSON.stringify({ tools: [OLD] }));
  const config = {
    mcpServers: { files: { command: process.execPath, args: [FIXTURE, file] } },
    discovery: { enabled: false },
    policy: { onToolChange: 'allow' },
  };
  const before = await TestDaemon.start(config, { dir });
  const client = await before.client({ 'mcp-bridge/view': 'all' });
  await client.request(1, 'tools/list');
  client.destroy();
  before.kill('SIGTERM');
  await before.exited;
  writeFileSync(file, JSON.stringify(now));
  daemon = await TestDaemon.start(config, { dir });
  return daemon;
}

async function calls(view: string, now: object, tools: readonly (readonly [string, object])[]): Promise<Message[]> {
  const client = await (await updated(now)).client({ 'mcp-bridge/view': view });
  const answers: Message[] = [];
  for (const [i, [tool, args]] of tools.entries()) answers.push(await client.callTool(i + 1, tool, args));
  client.destroy();
  return answers;
}

const run = (tool: string, args: object): [string, object] => [
  'execute_tool',
  { server: 'files', tool, arguments: args },
];

test('its new tools are found with a single start', async () => {
  const answers = await calls('discover', { tools: NEW }, [
    run('write', {}),
    run('read', { path: 'a', encoding: 'utf8' }),
    ['get_tool_details', { server: 'files', tool: 'write' }],
    run('nope', {}),
  ]);
  expect(answers.map(({ error }) => error?.data?.code)).toEqual([undefined, undefined, undefined, 'TOOL_NOT_FOUND']);
  const { instances } = await (daemon as TestDaemon).status();
  expect(instances).toMatchObject([{ server: 'files', state: 'ready', restarts: 0 }]);
});

test('so is it under its joined name', async () => {
  const answers = await calls('all', { tools: NEW }, [
    ['files__write', {}],
    ['files__nope', {}],
  ]);
  expect(answers.map(({ error }) => error?.data?.code)).toEqual([undefined, 'TOOL_NOT_FOUND']);
});

test('a server that cannot be started refuses by its last answers, and says how to ask it again', async () => {
  const answers = await calls('discover', { isGone: true }, [run('write', {}), run('read', { encoding: 'utf8' })]);
  for (const [i, code] of ['TOOL_NOT_FOUND', 'TOOL_ARGUMENTS_INVALID'].entries()) {
    const { message, data } = answers[i]?.error ?? {};
    expect([data?.code, message]).toEqual([code, expect.stringContaining('mcp-bridge refresh files')]);
  }
});
