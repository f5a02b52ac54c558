// The view and the tools that a client gets, by who it is, where it works and what it asks for: over the socket, through
// `connect` and over HTTP, in both eras.

import { spawn } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import { runProgram } from '../support/command.ts';
import { BOTH_CONTENTS, ERAS, EraClient } from '../support/era-client.ts';
import { asking2026, HttpClient } from '../support/http-client.ts';
import { RawClient, textOf } from '../support/raw-client.ts';
import { fixtureServer, PROGRAM, TestDaemon } from '../support/test-daemon.ts';

const ends: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

async function bridge(config: object): Promise<TestDaemon> {
  const daemon = await TestDaemon.start({ mcpServers: BOTH_CONTENTS, client: { view: 'discover' }, ...config });
  ends.push(() => daemon.stop());
  return daemon;
}

const namesIn = (result: unknown): string[] =>
  ((result as { tools?: { name: string }[] } | undefined)?.tools ?? []).map(({ name }) => name).sort();
const toolsOf = async (client: EraClient): Promise<string[]> => namesIn((await client.request('tools/list')).result);

const SHOP = '/work/shop';
const BY_PLACE = {
  clients: [
    { match: { name: 'era*', directory: '/elsewhere' }, view: 'all' },
    { match: { directory: '/work/*/' }, view: 'toolset:few', toolRules: [{ pattern: ['young:show'], enabled: false }] },
    {
      match: { name: ['era*', 'raw'] },
      view: 'all',
      servers: ['old'],
      toolRules: [{ pattern: ['lines'], enabled: false }],
    },
  ],
  toolsets: {
    few: { tools: ['old:give', 'young:sh*'] },
    none: { tools: ['nothing:*'] },
    found: { tools: ['give'], view: 'discover' },
  },
};

describe.each(ERAS)('in the era of %s', (era) => {
  const connect = (daemon: TestDaemon, view: string | undefined, cwd = '/'): Promise<EraClient> =>
    EraClient.connect(daemon, era, view, cwd);

  test('a client gets the view of the first entry that fits its name and its directory', async () => {
    const daemon = await bridge(BY_PLACE);
    expect(await toolsOf(await connect(daemon, undefined, SHOP))).toEqual(['old__give']);
    expect(await toolsOf(await connect(daemon, undefined, `${SHOP}/src/deep`))).toEqual(['old__give']);
    expect(await toolsOf(await connect(daemon, undefined, '/workshop'))).toEqual(['old__give', 'old__show']);
    const all = ['give', 'lines', 'show'].flatMap((tool) => [`old__${tool}`, `young__${tool}`]);
    expect(await toolsOf(await connect(daemon, undefined, '/elsewhere'))).toEqual(all.sort());
  });

  test('servers and toolRules of its entry bind it, whatever view it asks for', async () => {
    const daemon = await bridge(BY_PLACE);
    expect(await toolsOf(await connect(daemon, 'all'))).toEqual(['old__give', 'old__show']);
    expect(await toolsOf(await connect(daemon, 'server:old'))).toEqual(['give', 'show']);
    expect(await toolsOf(await connect(daemon, 'toolset:few'))).toEqual(['old__give']);
    const discover = await connect(daemon, 'discover');
    expect((await discover.call('old', 'lines', { count: 1 })).error?.data?.code).toBe('TOOL_DISABLED');
    expect((await discover.call('young', 'give')).error?.data?.code).toBe('SERVER_NOT_FOUND');
    const alone = await connect(daemon, 'server:young');
    expect(JSON.stringify(alone.answer ?? (await alone.request('tools/list')))).toContain('There is no server');
  });

  test('a toolset has its tools and no others, in the view that it names', async () => {
    const daemon = await bridge({ toolsets: BY_PLACE.toolsets });
    const few = await connect(daemon, 'toolset:few');
    expect(await toolsOf(few)).toEqual(['old__give', 'young__show']);
    const { error } = await few.callTool('young__give', { result: {} });
    expect(error?.message).toMatch(/no tool|disabled/);
    expect(await toolsOf(await connect(daemon, 'toolset:none'))).toEqual([]);
    const found = await connect(daemon, 'toolset:found');
    expect(await toolsOf(found)).toContain('execute_tool');
    const run = { server: 'old', tool: 'lines', arguments: { count: 1 } };
    expect((await found.callTool('execute_tool', run)).error?.data?.code).toBe('TOOL_DISABLED');
    const missing = await connect(daemon, 'toolset:nobody');
    expect(JSON.stringify(missing.answer ?? (await missing.request('tools/list')))).toMatch(/VIEW_UNKNOWN.*few/s);
  });

  test('the servers of a toolset are those with a tool in it, by whatever pattern', async () => {
    const mcpServers = { ...BOTH_CONTENTS, fixture: fixtureServer() };
    const sets = { bare: ['echo'], one: ['young'], colon: ['fixture:ech*', 'old:nothing'] };
    const toolsets = Object.fromEntries(
      Object.entries(sets).flatMap(([name, tools]) => [
        [name, { tools }],
        [`${name}-found`, { tools, view: 'discover' }],
      ]),
    );
    const daemon = await bridge({ mcpServers, toolsets });
    // From here on it is known what the servers have.
    expect(await toolsOf(await connect(daemon, 'all'))).toContain('fixture__echo');
    for (const [set, server] of [
      ['bare', 'fixture'],
      ['one', 'young'],
      ['colon', 'fixture'],
    ] as const) {
      const client = await connect(daemon, `toolset:${set}`);
      const tools = server === 'fixture' ? ['echo'] : ['give', 'lines', 'show'];
      expect(await toolsOf(client)).toEqual(tools.map((tool) => `${server}__${tool}`));
      const said = client.answer ?? (await client.request('server/discover'));
      expect(said.result?.instructions ?? '').toBe(server === 'fixture' ? '# fixture\n\nFixture.' : '');
      const { result } = await client.request('resources/list');
      const uris = ((result?.resources ?? []) as { uri: string }[]).map(({ uri }) => uri);
      const page = (name: string, of: string): string => `ui://mcp-bridge/${name}/ui://contents-${of}/page.html`;
      expect(uris.filter((uri) => uri.startsWith('ui:'))).toEqual(server === 'young' ? [page('young', '2026')] : []);
      for (const uri of [page('old', '2025'), 'ui://contents-2025/page.html'])
        expect((await client.request('resources/read', { uri })).error).toBeDefined();
      const found = await connect(daemon, `toolset:${set}-found`);
      const listed = JSON.parse(textOf(await found.callTool('list_mcp_servers'))) as { servers: { name: string }[] };
      expect(listed.servers.map(({ name }) => name)).toEqual([server]);
    }
  });

  test('a toolset may be asked for by its URL', async () => {
    const daemon = await bridge({ toolsets: BY_PLACE.toolsets });
    const http = new HttpClient({ socketPath: daemon.path });
    ends.push(() => http.close());
    const path = '/mcp/toolset/few';
    if (era === '2025') {
      const session = await http.begin({}, path);
      expect(namesIn((await (await session.request('tools/list')).json()).result)).toEqual([
        'old__give',
        'young__show',
      ]);
    } else {
      const { result } = await (await http.ask({ ...asking2026('tools/list'), path })).json();
      expect(namesIn(result)).toEqual(['old__give', 'young__show']);
    }
  });
});

test('connect asks for the view of a flag, else for that of MCP_BRIDGE_VIEW, else for none', async () => {
  const daemon = await bridge(BY_PLACE);
  const seen = async (args: readonly string[], env: object): Promise<string[]> => {
    const shim = spawn(process.execPath, [PROGRAM, 'connect', '--mcp-bridge-socket', daemon.path, ...args], {
      stdio: ['pipe', 'pipe', 'ignore'],
      env: { ...process.env, XDG_CONFIG_HOME: daemon.dir, ...env },
    });
    const client = new RawClient(shim.stdout, shim.stdin);
    await client.initialize();
    const { result } = await client.request(1, 'tools/list');
    client.end();
    await new Promise((resolve) => shim.once('exit', resolve));
    return namesIn(result);
  };
  expect(await seen([], {})).toEqual(['old__give', 'old__show']);
  expect(await seen([], { MCP_BRIDGE_VIEW: 'server:old' })).toEqual(['give', 'show']);
  expect(await seen(['--toolset', 'few'], { MCP_BRIDGE_VIEW: 'server:old' })).toEqual(['old__give']);
});

test('a toolset that is made, changed and removed is used at once', async () => {
  const daemon = await bridge({});
  const config = ['--config', join(daemon.dir, 'config.json')];
  const run = (...args: string[]) =>
    runProgram(['toolset', ...args, ...config], { env: { HOME: daemon.dir, MCP_BRIDGE_SOCKET: daemon.path } });
  const toolsIn = async (): Promise<string[]> => toolsOf(await EraClient.connect(daemon, '2026', 'toolset:mine', '/'));
  writeFileSync(config[1] ?? '', readFileSync(config[1] ?? '', 'utf8').replace('{', '{ // mine\n'));
  expect(await run('mine', 'old:give')).toMatchObject({ code: 0, stdout: expect.stringContaining('"mine" is new') });
  expect(await toolsIn()).toEqual(['old__give']);
  expect(await run('mine', 'old:show', 'young:give')).toMatchObject({ code: 0 });
  expect(await toolsIn()).toEqual(['old__show', 'young__give']);
  expect(JSON.parse((await run('--json')).stdout)).toEqual([
    { name: 'mine', tools: ['old:show', 'young:give'], view: 'all' },
  ]);
  expect(readFileSync(config[1] ?? '', 'utf8')).toContain('// mine');
  const holding = await EraClient.connect(daemon, '2025', 'toolset:mine', '/');
  expect(await run('mine', '--remove')).toMatchObject({ code: 0 });
  expect(await toolsOf(holding)).toEqual([]);
  expect((await run('mine')).stderr).toContain('There is no toolset mine');
  expect((await run('mine', '{a')).stderr).toContain('{a');
  expect((await run('my set', 'a')).stderr).toContain('letters, digits');
});
