// The commands about inputs, switches, resources and prompts, with a real daemon behind them.

import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { runCommand } from '../support/command.ts';
import { FIXTURE, ROOT, TestDaemon, tempDir } from '../support/test-daemon.ts';

const EVERYTHING = join(ROOT, 'node_modules/@modelcontextprotocol/server-everything/dist/index.js');

let daemon: TestDaemon;
let env: Record<string, string>;

beforeAll(async () => {
  const dir = tempDir();
  const file = join(dir, 'Code/User/mcp.json');
  mkdirSync(dirname(file), { recursive: true });
  const asking = { command: process.execPath, args: [FIXTURE], env: { KEY: `\${input:api-key}` } };
  const everything = { command: process.execPath, args: [EVERYTHING, 'stdio'] };
  writeFileSync(file, JSON.stringify({ servers: { asking, everything } }));
  const homes = { HOME: dir, XDG_CONFIG_HOME: dir, XDG_STATE_HOME: join(dir, '.state'), XDG_CACHE_HOME: dir };
  daemon = await TestDaemon.start(undefined, { dir, env: homes });
  env = { ...homes, MCP_BRIDGE_SOCKET: daemon.path };
});

afterAll(() => daemon.stop());

const URL_NOWHERE = 'http://127.0.0.1:9/mcp';

const run = (args: readonly string[], input = '') => runCommand(args, { env, cwd: daemon.dir, input });

test('a missing input is listed, given from a pipe, and reaches its server; it is never printed', async () => {
  expect(JSON.parse((await run(['input', 'list', '--json'])).stdout)).toEqual([
    { name: 'api-key', state: 'missing', servers: ['asking'] },
  ]);
  expect((await run(['status'])).stdout).toContain('asking needs api-key: mcp-bridge input set NAME');
  const given = await run(['input', 'set', 'api-key'], 'sekrit\n');
  expect(given).toMatchObject({ code: 0, stderr: '', stdout: expect.not.stringContaining('sekrit') as string });
  expect((await run(['call', 'asking', 'env'])).stdout).toContain('"KEY":"sekrit"');
  const listed = await run(['input', 'list']);
  expect(listed.stdout).toMatch(/api-key +kept/);
  expect(listed.stdout).not.toContain('sekrit');
  expect(await run(['input', 'remove', 'api-key'])).toMatchObject({ code: 0 });
  expect(await run(['input', 'remove', 'api-key'])).toMatchObject({ code: 1 });
  expect(await run(['input', 'set'])).toMatchObject({ code: 2 });
});

test('a server that is switched off is gone at once, and is there again when it is on', async () => {
  const names = async () =>
    (JSON.parse((await run(['servers', '--json'])).stdout) as { servers: { name: string }[] }).servers.map(
      ({ name }) => name,
    );
  expect(await names()).toContain('everything');
  expect((await run(['disable', 'everything'])).stdout).toBe('everything is off\n');
  expect(await names()).not.toContain('everything');
  expect((await run(['disable', 'everything'])).stdout).toBe('everything is off already\n');
  expect((await run(['enable', 'everything'])).stdout).toBe('everything is on\n');
  expect(await names()).toContain('everything');
  expect(await run(['disable', 'everythin'])).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('everything') as string,
  });
});

test('resources are listed and read', async () => {
  const { resources } = JSON.parse((await run(['resources', 'list', '--server', 'everything', '--json'])).stdout) as {
    resources: { uri: string }[];
  };
  const uri = resources[0]?.uri ?? '';
  expect((await run(['resources', 'list'])).stdout).toContain(uri);
  expect((await run(['resources', 'read', uri])).stdout.length).toBeGreaterThan(10);
  expect(await run(['resources', 'read'])).toMatchObject({ code: 2 });
  expect(await run(['resources', 'read', 'nothing://here'])).toMatchObject({ code: 1 });
});

test('prompts are listed and filled in', async () => {
  const { prompts } = JSON.parse((await run(['prompts', 'list', '--server', 'everything', '--json'])).stdout) as {
    prompts: { name: string; arguments?: { name: string }[] }[];
  };
  const withArguments = prompts.find(({ arguments: given = [] }) => given.length > 0);
  const pairs = (withArguments?.arguments ?? []).map(({ name }) => `${name}=Lisbon`);
  const filled = await run(['prompts', 'get', `everything__${withArguments?.name ?? ''}`, ...pairs]);
  expect(filled).toMatchObject({ code: 0, stdout: expect.stringContaining('Lisbon') as string });
  expect(await run(['prompts', 'get'])).toMatchObject({ code: 2 });
});

test('an announcement is taken out again', async () => {
  const announced = ['announce', 'far', '--url', URL_NOWHERE, '--pid', String(process.pid)];
  expect(await run(announced)).toMatchObject({ code: 0 });
  const running = async () => (await run(['servers', '--running'])).stdout;
  expect(await running()).toContain('far');
  expect(await run(['announce', 'far', '--remove'])).toMatchObject({ code: 0 });
  expect(await running()).not.toContain('far');
  expect(await run(['announce', 'far', '--remove'])).toMatchObject({ code: 1 });
});
