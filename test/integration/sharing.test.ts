// Real servers that are known not to bear being shared as others are, behind the bridge with the config that anybody has.

import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { runCommand } from '../support/command.ts';
import { textOf } from '../support/raw-client.ts';
import { cleanUp, ROOT, TestDaemon, tempDir } from '../support/test-daemon.ts';

afterAll(() => expect(cleanUp()).toEqual([]));

const serverOf = (name: string, env: object = {}): object => ({
  command: process.execPath,
  args: [join(ROOT, 'node_modules/@modelcontextprotocol', name, 'dist/index.js')],
  env,
});
const thought = (thoughtNumber: number): object => ({
  thought: 'hm',
  nextThoughtNeeded: true,
  thoughtNumber,
  totalThoughts: 9,
});

async function historyLengths(daemon: TestDaemon): Promise<unknown[]> {
  const clients = [await daemon.client(), await daemon.client()];
  const said: unknown[] = [];
  for (const client of clients) {
    for (const n of [1, 2]) {
      const { result } = await client.callTool(n, 'sequentialthinking', thought(n));
      said.push((result?.structuredContent as { thoughtHistoryLength?: number } | undefined)?.thoughtHistoryLength);
    }
  }
  for (const client of clients) client.destroy();
  return said;
}

test('clients do not see each other’s thoughts, unless the user says that they share them', async () => {
  const thinking = serverOf('server-sequential-thinking');
  const apart = await TestDaemon.start({ mcpServers: { mine: thinking } });
  expect(await historyLengths(apart)).toEqual([1, 2, 1, 2]);
  await apart.stop();
  const shared = await TestDaemon.start({ mcpServers: { mine: { ...thinking, sharing: 'shared' } } });
  expect(await historyLengths(shared)).toEqual([1, 2, 3, 4]);
  await shared.stop();
});

test('the tools of a dedicated server are known to all once one process has listed them', async () => {
  const daemon = await TestDaemon.start({ mcpServers: { mine: serverOf('server-sequential-thinking') } });
  const run = (...args: string[]) => runCommand([...args, '--mcp-bridge-socket', daemon.path, '--no-autostart']);
  const processes = async (): Promise<number> => (await daemon.status()).instances.length;
  expect((await run('servers')).stdout).toMatch(/^mine +idle +\?/m);
  expect((await run('refresh')).stdout).toMatch(/^mine +1 /m);
  expect((await run('servers')).stdout).toMatch(/^mine +ready +1 +\d{4}-\d\d-\d\d$/m);
  expect(await processes()).toBe(1);
  const client = await daemon.client({ 'mcp-bridge/view': 'discover' });
  const found = await client.callTool(1, 'search_tools', { query: 'think step by step' });
  expect(textOf(found)).toContain('sequentialthinking');
  expect(await processes()).toBe(1);
  const arguments_ = thought(1);
  await client.callTool(2, 'execute_tool', { server: 'mine', tool: 'sequentialthinking', arguments: arguments_ });
  expect(await processes()).toBe(2);
  client.destroy();
  await daemon.stop();
});

test('nothing is lost that clients write to the memory server at the same time', async () => {
  const dir = tempDir();
  const file = join(dir, 'memory.json');
  const daemon = await TestDaemon.start({
    mcpServers: { mine: serverOf('server-memory', { MEMORY_FILE_PATH: file }) },
  });
  const clients = await Promise.all([1, 2, 3].map(() => daemon.client()));
  await Promise.all(
    clients.map(async (client, of) => {
      for (let i = 0; i < 10; i++) {
        const entities = [{ name: `${of}-${i}`, entityType: 'thing', observations: ['x'.repeat(2000)] }];
        client.send({
          jsonrpc: '2.0',
          id: i,
          method: 'tools/call',
          params: { name: 'create_entities', arguments: { entities } },
        });
      }
      for (let i = 0; i < 10; i++) await client.next();
    }),
  );
  expect(readFileSync(file, 'utf8').trim().split('\n').length).toBe(30);
  for (const client of clients) client.destroy();
  await daemon.stop();
});

test('settings by name hold for a server that was found in the file of another program', async () => {
  const home = tempDir();
  mkdirSync(join(home, '.cursor'));
  const found = serverOf('server-sequential-thinking');
  writeFileSync(join(home, '.cursor/mcp.json'), JSON.stringify({ mcpServers: { found } }));
  const daemon = await TestDaemon.start(
    { client: { view: 'server:found' }, serverSettings: { found: { sharing: 'shared' } } },
    { env: { HOME: home } },
  );
  expect(await historyLengths(daemon)).toEqual([1, 2, 3, 4]);
  await daemon.stop();
});
