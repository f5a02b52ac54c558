// What is known of servers spares their processes: clients that only look start nothing, also after the daemon has gone.

import { appendFileSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { type Message, type RawClient, textOf } from '../support/raw-client.ts';
import { fixtureServer, TestDaemon, tempDir } from '../support/test-daemon.ts';

const CHANGED = 'notifications/tools/list_changed';

/** A config of one fixture, and the files by which it is watched and changed. */
function oneServer(dir: string): { config: object; starts: () => number; addTool: (name: string) => void } {
  const [starts, tools] = [join(dir, 'starts'), join(dir, 'tools')];
  for (const file of [starts, tools]) writeFileSync(file, '');
  return {
    config: { mcpServers: { fixture: fixtureServer({ FIXTURE_STARTS: starts, FIXTURE_TOOLS: tools }) } },
    starts: () => readFileSync(starts, 'utf8').split('\n').length - 1,
    addTool: (name) => appendFileSync(tools, `${name}\n`),
  };
}

/** A daemon that was started anew after another one has learnt what there is. */
async function restarted(dir: string, config: object): Promise<TestDaemon> {
  const before = await TestDaemon.start(config, { dir });
  const client = await before.client({ 'mcp-bridge/view': 'server:fixture' });
  await client.request(1, 'tools/list');
  await client.request(2, 'prompts/list');
  client.destroy();
  await before.until(({ instances }) => instances[0]?.sessions === 0);
  before.kill('SIGTERM');
  await before.exited;
  return TestDaemon.start(config, { dir });
}

/** What the daemon has kept. */
const filesOf = (dir: string): string[] =>
  readdirSync(dir, { recursive: true, encoding: 'utf8' })
    .filter((file) => /catalog\/[0-9a-f]{32}\.json$/.test(file))
    .map((file) => join(dir, file));

const namesIn = ({ result }: Message): string[] =>
  ((result?.tools ?? []) as { name: string }[]).map(({ name }) => name);

async function untilTold(client: RawClient, method: string): Promise<void> {
  for (let message = await client.next(); message.method !== method; ) message = await client.next();
}

describe.each([
  ['server:fixture', ''],
  ['all', 'fixture__'],
])('ten clients of %s that start at once', (view, prefix) => {
  test('start no process while they look; the first call starts one for all of them', async () => {
    const dir = tempDir();
    const { config, starts } = oneServer(dir);
    const daemon = await restarted(dir, config);
    const before = starts();
    const clients = await Promise.all(Array.from({ length: 10 }, () => daemon.client({ 'mcp-bridge/view': view })));
    const lists = await Promise.all(clients.map((client) => client.request(1, 'tools/list')));
    for (const list of lists) expect(namesIn(list)).toContain(`${prefix}echo`);
    expect(starts()).toBe(before);
    expect((await daemon.status()).counters.serverStarts).toBe(0);
    const said = await Promise.all(clients.map((client, n) => client.callTool(2, `${prefix}echo`, { text: `${n}` })));
    expect(said.map(textOf)).toEqual(clients.map((_, n) => `${n}`));
    expect(starts()).toBe(before + 1);
    for (const client of clients) client.destroy();
    await daemon.stop();
  });

  test('are told when the list is another one than it was', async () => {
    const dir = tempDir();
    const { config, addTool } = oneServer(dir);
    const daemon = await restarted(dir, config);
    addTool('added');
    const meta = { 'mcp-bridge/view': view };
    const [caller, watcher, other] = [await daemon.client(meta), await daemon.client(meta), await daemon.client(meta)];
    for (const client of [caller, watcher])
      expect(namesIn(await client.request(1, 'tools/list'))).not.toContain(`${prefix}added`);
    caller.send({
      jsonrpc: '2.0',
      id: 2,
      method: 'tools/call',
      params: { name: `${prefix}echo`, arguments: { text: 'x' } },
    });
    await Promise.all([caller, watcher].map((client) => untilTold(client, CHANGED)));
    for (const client of [caller, watcher, other])
      expect(namesIn(await client.request(3, 'tools/list'))).toContain(`${prefix}added`);
    expect(other.lines.filter((line) => line.includes(CHANGED))).toEqual([]); // it had seen no other list
    for (const client of [caller, watcher, other]) client.destroy();
    await daemon.stop();
  });
});

test('a catalog that is torn is as good as none', async () => {
  const dir = tempDir();
  const { config, starts } = oneServer(dir);
  const daemon = await restarted(dir, config);
  const before = starts();
  daemon.kill('SIGTERM');
  await daemon.exited;
  const files = filesOf(dir);
  expect(files.length).toBe(1);
  for (const file of files) writeFileSync(file, readFileSync(file).subarray(0, 100));
  const next = await TestDaemon.start(config, { dir });
  const client = await next.client();
  expect(namesIn(await client.request(1, 'tools/list'))).toContain('echo');
  expect(starts()).toBe(before + 1);
  client.destroy();
  await next.stop();
});
