// Servers that stand in other programs' files: a real daemon serves them, and follows the files as they change.

import { mkdirSync, realpathSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { ToolListChangedNotificationSchema } from '@modelcontextprotocol/sdk/types.js';
import { describe, expect, test } from 'vitest';
import { runCommand } from '../support/command.ts';
import { type Message, type RawClient, textOf } from '../support/raw-client.ts';
import { fixtureServer, PROGRAM, TestDaemon, tempDir, untilGone } from '../support/test-daemon.ts';

const ALL = { 'mcp-bridge/view': 'all' };
const TOOLS_CHANGED = 'notifications/tools/list_changed';

/** A home of its own, and a project in it. */
class Home {
  readonly dir = realpathSync(tempDir());
  readonly project = join(this.dir, 'project');
  readonly cursor = join(this.dir, '.cursor/mcp.json');
  readonly env = {
    HOME: this.dir,
    XDG_CONFIG_HOME: join(this.dir, '.config'),
    XDG_STATE_HOME: join(this.dir, '.state'),
  };

  constructor() {
    mkdirSync(this.project);
  }

  /** As editors do it: another file in the place of the old one. */
  write(file: string, content: object | string): void {
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(`${file}.new`, typeof content === 'string' ? content : JSON.stringify(content));
    renameSync(`${file}.new`, file);
  }

  servers(file: string, servers: Readonly<Record<string, object>>): void {
    this.write(file, { mcpServers: servers });
  }

  daemon(config?: object): Promise<TestDaemon> {
    return TestDaemon.start(config, { dir: this.dir, env: this.env });
  }
}

async function untilTold(client: RawClient, method: string): Promise<void> {
  for (;;) if ((await client.next()).method === method) return;
}

async function toolsOf(client: RawClient, id: unknown): Promise<string[]> {
  const { result } = await client.request(id, 'tools/list');
  return ((result?.tools ?? []) as { name: string }[]).map(({ name }) => name);
}

const namesIn = (tools: readonly string[]): string[] => [...new Set(tools.map((name) => name.split('__')[0] ?? ''))];
const pidOf = (status: Awaited<ReturnType<TestDaemon['status']>>, name: string): number | null | undefined =>
  status.instances.find(({ server }) => server === name)?.pid;

describe('without any config', () => {
  test('servers of other clients are served, and known before the first client comes', async () => {
    const home = new Home();
    home.servers(home.cursor, { one: fixtureServer() });
    home.write(
      join(home.dir, '.codex/config.toml'),
      `[mcp_servers.two]\ncommand = ${JSON.stringify(process.execPath)}\n`,
    );
    const daemon = await home.daemon();
    expect((await daemon.status()).instances.map(({ server }) => server)).toEqual(['one', 'two']);
    const client = await daemon.client({ 'mcp-bridge/view': 'server:one' });
    expect(textOf(await client.callTool(1, 'echo', { text: 'hi' }))).toBe('hi');
    const env = JSON.parse(textOf(await client.callTool(2, 'env'))) as Record<string, string>;
    expect(env.MCP_BRIDGE_DEPTH).toBe('1');
    client.destroy();
    await daemon.stop();
  });

  test('there is the example as long as there is nothing else', async () => {
    const home = new Home();
    const daemon = await home.daemon();
    const client = await daemon.client(ALL);
    expect(namesIn(await toolsOf(client, 1))).toEqual(['example']);
    home.servers(home.cursor, { one: fixtureServer() });
    await untilTold(client, TOOLS_CHANGED);
    expect(namesIn(await toolsOf(client, 2))).toEqual(['one']);
    client.destroy();
    await daemon.stop();
  });

  test('a server that policy blocks is not served, wherever it is defined', async () => {
    const home = new Home();
    home.servers(home.cursor, { one: fixtureServer(), two: fixtureServer({ A: 'b' }) });
    const mcpServers = { own: fixtureServer({ C: 'd' }), three: fixtureServer({ E: 'f' }) };
    const policy = { deniedMcpServers: [{ serverName: 'two' }, { serverName: 'three' }] };
    const daemon = await home.daemon({ mcpServers, policy });
    expect((await daemon.status()).instances.map(({ server }) => server)).toEqual(['own', 'one']);
    await daemon.stop();
  });

  test('others’ servers are left alone where discovery is switched off', async () => {
    const home = new Home();
    home.servers(home.cursor, { one: fixtureServer() });
    const daemon = await home.daemon({ mcpServers: { own: fixtureServer() }, discovery: { enabled: false } });
    expect((await daemon.status()).instances.map(({ server }) => server)).toEqual(['own']);
    await daemon.stop();
  });

  test('a bridge does not start below another one', async () => {
    const home = new Home();
    const env = { ...home.env, MCP_BRIDGE_DEPTH: '1', MCP_BRIDGE_SOCKET: join(home.dir, 'b.sock') };
    const { code, stderr } = await runCommand(['serve'], { env });
    expect([code, stderr]).toEqual([1, expect.stringContaining('unset MCP_BRIDGE_DEPTH')]);
    const initialize = '{"jsonrpc":"2.0","id":7,"method":"initialize","params":{}}\n';
    const connected = await runCommand(['connect'], { env, input: initialize });
    expect(connected.code).toBe(1);
    expect(JSON.parse(connected.stdout) as Message).toMatchObject({
      id: 7,
      error: { data: { code: 'BELOW_A_BRIDGE' } },
    });
  });
});

describe('a file that changes', () => {
  test('changes the server that is another one now, once its calls are done, and no other', async () => {
    const home = new Home();
    home.servers(home.cursor, { same: fixtureServer({ N: '0' }), other: fixtureServer({ N: '1' }) });
    const daemon = await home.daemon();
    const client = await daemon.client(ALL);
    expect(namesIn(await toolsOf(client, 'list'))).toEqual(['same', 'other']);
    for (const name of ['same', 'other']) await client.callTool(name, `${name}__echo`, { text: 'x' });
    const before = await daemon.status();
    client.send({ jsonrpc: '2.0', id: 'held', method: 'tools/call', params: { name: 'other__hold', arguments: {} } });
    await client.callTool('seen', 'other__seen');
    home.servers(home.cursor, { same: fixtureServer({ N: '0' }), other: fixtureServer({ N: '2' }) });
    await untilTold(client, TOOLS_CHANGED);
    const env = JSON.parse(textOf(await client.callTool('env', 'other__env'))) as Record<string, string>;
    expect(env.N).toBe('2');
    const during = await daemon.status();
    expect(during.instances.filter(({ server }) => server === 'other')).toHaveLength(2);
    expect(pidOf(during, 'same')).toBe(pidOf(before, 'same'));
    client.send({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 'held' } });
    await untilGone(Number(pidOf(before, 'other')));
    await daemon.until(({ instances }) => instances.filter(({ server }) => server === 'other').length === 1);
    client.destroy();
    await daemon.stop();
  });

  test('changes nothing where no definition is another one', async () => {
    const home = new Home();
    home.servers(home.cursor, { same: fixtureServer() });
    const daemon = await home.daemon();
    const client = await daemon.client(ALL);
    await toolsOf(client, 'list');
    home.write(
      home.cursor,
      `// said otherwise\n${JSON.stringify({ other: 1, mcpServers: { same: fixtureServer() } })}`,
    );
    home.servers(join(home.dir, '.codeium/windsurf/mcp_config.json'), { late: fixtureServer({ A: 'b' }) });
    await untilTold(client, TOOLS_CHANGED); // of the other file
    expect(namesIn(await toolsOf(client, 'again'))).toEqual(['same', 'late']);
    expect((await daemon.status()).instances.find(({ server }) => server === 'same')?.restarts).toBe(0);
    client.destroy();
    await daemon.stop();
  });

  test('that is broken counts with its last content, and is reported; a deleted one does not count', async () => {
    const home = new Home();
    home.servers(home.cursor, { one: fixtureServer() });
    const daemon = await home.daemon();
    const client = await daemon.client(ALL);
    await toolsOf(client, 'list');
    home.write(home.cursor, '{ "mcpServers": { "one": ');
    const env = { ...home.env, MCP_BRIDGE_SOCKET: daemon.path };
    const reloaded = await runCommand(['reload'], { env });
    expect(reloaded.stdout).toMatch(/^! .*\.cursor\/mcp\.json:1:26: .*is still used\.\n$/);
    expect((await runCommand(['status'], { env })).stdout).toMatch(/! .*\.cursor\/mcp\.json:1:26/);
    expect(textOf(await client.callTool('call', 'one__echo', { text: 'still' }))).toBe('still');
    rmSync(home.cursor);
    await untilTold(client, TOOLS_CHANGED);
    expect(namesIn(await toolsOf(client, 'gone'))).toEqual(['example']);
    client.destroy();
    await daemon.stop();
  });
});

test('a project’s servers are served after approval to clients that work there, and those are notified', async () => {
  const home = new Home();
  home.servers(home.cursor, { mine: fixtureServer() });
  const daemon = await home.daemon();
  const there = await daemon.client({ ...ALL, 'mcp-bridge/cwd': home.project });
  const elsewhere = await daemon.client({ ...ALL, 'mcp-bridge/cwd': '/' });
  for (const client of [there, elsewhere]) expect(namesIn(await toolsOf(client, 1))).toEqual(['mine']);
  home.servers(join(home.project, '.mcp.json'), { theirs: fixtureServer({ A: 'b' }) });
  const env = { ...home.env, MCP_BRIDGE_SOCKET: daemon.path };
  expect((await runCommand(['reload'], { env })).stdout).toBe('Nothing has changed\n');
  expect(namesIn(await toolsOf(there, 2))).toEqual(['mine']);
  const approved = await runCommand(['approve', 'theirs', '--yes'], { env, cwd: home.project });
  expect([approved.code, approved.stderr]).toEqual([0, '']);
  await untilTold(there, TOOLS_CHANGED);
  expect(namesIn(await toolsOf(there, 3))).toEqual(['mine', 'theirs']);
  expect(textOf(await there.callTool(4, 'theirs__cwd'))).toBe(home.project);
  expect(namesIn(await toolsOf(elsewhere, 3))).toEqual(['mine']);
  for (const client of [there, elsewhere]) client.destroy();
  await daemon.stop();
});

test('an SDK client in a project is notified when new servers of the project are approved', async () => {
  const home = new Home();
  home.servers(home.cursor, { mine: fixtureServer() });
  const daemon = await home.daemon();
  const client = new Client({ name: 'agent', version: '1' });
  const told = new Promise<void>((resolve) =>
    client.setNotificationHandler(ToolListChangedNotificationSchema, () => resolve()),
  );
  const args = [PROGRAM, 'connect', '--view', 'all', '--mcp-bridge-socket', daemon.path];
  const env = { ...home.env, MCP_BRIDGE_SOCKET: daemon.path };
  await client.connect(
    new StdioClientTransport({ command: process.execPath, args, env, cwd: home.project, stderr: 'ignore' }),
  );
  const names = async (): Promise<string[]> => namesIn((await client.listTools()).tools.map(({ name }) => name));
  expect(await names()).toEqual(['mine']);
  home.servers(join(home.project, '.mcp.json'), { theirs: fixtureServer({ A: 'b' }) });
  expect((await runCommand(['approve', 'theirs', '--yes'], { env, cwd: home.project })).code).toBe(0);
  await told;
  expect((await names()).sort()).toEqual(['mine', 'theirs']);
  const result = await client.callTool({ name: 'theirs__cwd', arguments: {} });
  expect(result.content).toEqual([{ type: 'text', text: home.project }]);
  await client.close();
  await daemon.stop();
});

test('a config that changes is followed too, and one that breaks counts as it was', async () => {
  const home = new Home();
  const config = join(home.env.XDG_CONFIG_HOME, 'mcp-bridge/config.json');
  const daemon = await home.daemon();
  const client = await daemon.client(ALL);
  expect(namesIn(await toolsOf(client, 1))).toEqual(['example']);
  home.servers(config, { own: fixtureServer() });
  await untilTold(client, TOOLS_CHANGED);
  expect(namesIn(await toolsOf(client, 2))).toEqual(['own']);
  home.write(config, '{');
  const env = { ...home.env, MCP_BRIDGE_SOCKET: daemon.path };
  expect((await runCommand(['reload'], { env })).code).toBe(0);
  expect((await daemon.status()).configFaults).toMatchObject([expect.stringContaining('config.json:1:2')]);
  expect(textOf(await client.callTool(3, 'own__echo', { text: 'still' }))).toBe('still');
  client.destroy();
  await daemon.stop();
});
