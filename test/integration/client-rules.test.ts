// What the config says of some clients only: what they see, what they may use, and what they call it.

import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { type RawClient, textOf } from '../support/raw-client.ts';
import { fixtureServer, TestDaemon, tempDir } from '../support/test-daemon.ts';

const ends: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

const TWO = { memory: fixtureServer({ OF: 'claude' }), 'memory-cursor': fixtureServer({ OF: 'cursor' }) };
const CURSOR = { 'mcp-bridge/client': 'cursor' };

async function bridge(config: object, files: Readonly<Record<string, string>> = {}): Promise<TestDaemon> {
  const dir = tempDir();
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(dir, name)), { recursive: true });
    writeFileSync(join(dir, name), text);
  }
  const env = { XDG_STATE_HOME: join(dir, '.state'), CODEX_HOME: join(dir, '.codex') };
  const daemon = await TestDaemon.start(
    { client: { view: 'discover' }, discovery: { enabled: true }, ...config },
    { dir, env },
  );
  ends.push(() => daemon.stop());
  return daemon;
}

async function ownerOf(client: RawClient, tool: string): Promise<unknown> {
  const answer = await client.callTool('env', tool);
  return (JSON.parse(textOf(answer)) as { OF?: string }).OF;
}

async function toolsOf(client: RawClient): Promise<string[]> {
  const { result } = await client.request('list', 'tools/list');
  return ((result?.tools ?? []) as { name: string }[]).map(({ name }) => name);
}

test('a client has its own server under the name that it used, in each view', async () => {
  const names = { memory: 'memory-cursor', 'memory-claude-code': 'memory' };
  const daemon = await bridge({ mcpServers: TWO, clients: [{ match: { client: 'cursor' }, view: 'all', names }] });
  const cursor = await daemon.client(CURSOR);
  expect(await ownerOf(cursor, 'memory__env')).toBe('cursor');
  expect(await ownerOf(cursor, 'memory_claude_code__env')).toBe('claude');
  const single = await daemon.client({ ...CURSOR, 'mcp-bridge/view': 'server:memory' });
  expect(await ownerOf(single, 'env')).toBe('cursor');
  const discover = await daemon.client({ ...CURSOR, 'mcp-bridge/view': 'discover' });
  const found = await discover.callTool('s', 'list_mcp_servers');
  const listed = JSON.parse(textOf(found)) as { servers: { name: string }[] };
  expect(listed.servers.map(({ name }) => name).sort()).toEqual(['memory', 'memory-claude-code']);
  const run = await discover.callTool('e', 'execute_tool', { server: 'memory', tool: 'env', arguments: {} });
  expect((JSON.parse(textOf(run)) as { OF: string }).OF).toBe('cursor');
  const others = await daemon.client({ 'mcp-bridge/view': 'server:memory' });
  expect(await ownerOf(others, 'env')).toBe('claude');
});

test('rules for one client apply to it in every view, and to no other client', async () => {
  const toolRules = [{ pattern: 'memory:echo', enabled: false }];
  const daemon = await bridge({ mcpServers: TWO, clients: [{ match: { name: 'ra?' }, toolRules }] });
  for (const [view, echo] of [
    ['server:memory', 'echo'],
    ['all', 'memory__echo'],
  ] as const) {
    const client = await daemon.client({ 'mcp-bridge/view': view });
    expect(await toolsOf(client)).not.toContain(echo);
    const { error } = await client.callTool('c', echo, { text: 'x' });
    expect(error?.message).toContain('is disabled');
    expect(error?.data?.hint).toBe('It is switched off for this client, by clients[0].toolRules of the config.');
  }
  const discover = await daemon.client();
  const refused = await discover.callTool('e', 'execute_tool', { server: 'memory', tool: 'echo', arguments: {} });
  expect(JSON.stringify(refused.error)).toContain('TOOL_DISABLED');
  const other = await daemon.connect();
  const params = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'other', version: '1' } };
  await other.request('i', 'initialize', { ...params, _meta: { 'mcp-bridge/view': 'server:memory' } });
  expect(textOf(await other.callTool('c', 'echo', { text: 'x' }))).toBe('x');
});

test('a client sees the servers that the config lets it see, and no view leads around that', async () => {
  const daemon = await bridge({ mcpServers: TWO, clients: [{ match: { client: 'cursor' }, servers: ['*-cursor'] }] });
  const all = await daemon.client({ ...CURSOR, 'mcp-bridge/view': 'all' });
  expect((await toolsOf(all)).every((name) => name.startsWith('memory_cursor__'))).toBe(true);
  const denied = await daemon.client({ ...CURSOR, 'mcp-bridge/view': 'server:memory' });
  expect(
    (await denied.initialize({ ...CURSOR, 'mcp-bridge/view': 'server:memory' }, 'again')).error?.message,
  ).toContain('There is no server "memory"');
});

test('rules for a client that change count at once', async () => {
  const daemon = await bridge({ mcpServers: TWO });
  const client = await daemon.client({ ...CURSOR, 'mcp-bridge/view': 'server:memory' });
  expect(textOf(await client.callTool('c', 'echo', { text: 'x' }))).toBe('x');
  const clients = [{ match: { client: 'cursor' }, toolRules: [{ pattern: 'memory:*', enabled: false }] }];
  writeFileSync(join(daemon.dir, 'config.json'), JSON.stringify({ mcpServers: TWO, clients }));
  const control = await daemon.client({ 'mcp-bridge/role': 'control' });
  await control.request('r', 'bridge/reload');
  expect((await client.callTool('d', 'echo', { text: 'x' })).error?.message).toContain('is disabled');
});

test('servers that a client may no longer see leave its views at once, and can come back', async () => {
  const daemon = await bridge({ mcpServers: TWO });
  const views = ['server:memory', 'all', 'discover'];
  const clients = await Promise.all(views.map((view) => daemon.client({ ...CURSOR, 'mcp-bridge/view': view })));
  const [single, all, discover] = clients as [RawClient, RawClient, RawClient];
  const echo = { server: 'memory', tool: 'echo', arguments: { text: 'x' } };
  const answers = async () => [
    await single.callTool(1, 'echo', { text: 'x' }),
    await all.callTool(2, 'memory__echo', { text: 'x' }),
    await discover.callTool(3, 'execute_tool', echo),
  ];
  const control = await daemon.client({ 'mcp-bridge/role': 'control' });
  const configure = async (entries: object[]): Promise<void> => {
    writeFileSync(join(daemon.dir, 'config.json'), JSON.stringify({ mcpServers: TWO, clients: entries }));
    await control.request('r', 'bridge/reload');
  };
  expect((await answers()).map(textOf)).toEqual(['x', 'x', 'x']);
  await configure([{ match: { client: 'cursor' }, servers: ['*-cursor'] }]);
  for (const answer of await answers()) expect(textOf(answer)).not.toBe('x');
  expect((await toolsOf(all)).every((name) => name.startsWith('memory_cursor__'))).toBe(true);
  await configure([]);
  expect((await answers()).map(textOf)).toEqual(['x', 'x', 'x']);
});

test('a filter in one client hides tools from that client only', async () => {
  const { command, args } = fixtureServer() as { command: string; args: readonly string[] };
  const codex = `[mcp_servers.notes]\ncommand = ${JSON.stringify(command)}\nargs = ${JSON.stringify(args)}\ndisabled_tools = ["echo"]\n`;
  const cursor = JSON.stringify({ mcpServers: { notepad: { command, args } } });
  const daemon = await bridge({}, { '.codex/config.toml': codex, '.cursor/mcp.json': cursor });
  const views = async (client: object): Promise<boolean[]> => {
    const seen: boolean[] = [];
    for (const view of ['server:notes', 'server:notepad']) {
      const session = await daemon.client({ ...client, 'mcp-bridge/view': view });
      seen.push((await toolsOf(session)).includes('echo'));
    }
    return seen;
  };
  expect(await views({ 'mcp-bridge/client': 'codex' })).toEqual([false, false]);
  expect(await views(CURSOR)).toEqual([true, true]);
});
