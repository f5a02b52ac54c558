// Approvals, precedence, what is given beside files, and the mark against cycles.

import { posix } from 'node:path';
import { describe, expect, test } from 'vitest';
import { EMPTY_CONFIG } from '../../../src/config/config.ts';
import {
  type DiscoveryOptions,
  definitionHash,
  discoverServers,
  explainPolicy,
  nextDepth,
} from '../../../src/discovery/index.ts';
import { servedServers } from '../../../src/discovery/served-servers.ts';
import { shownLaunch } from '../../../src/discovery/shown-launch.ts';
import { inProject } from '../../../src/downstream/project.ts';
import { aliasesOf } from '../../../src/model/aliases.ts';
import { memoryHost } from '../../support/memory-host.ts';

function discover(files: Readonly<Record<string, unknown>>, options: DiscoveryOptions = {}, env = {}) {
  const texts = Object.entries(files).map(([path, content]) => [
    path,
    { text: typeof content === 'string' ? content : JSON.stringify(content) },
  ]);
  const machine = { platform: 'linux', homedir: '/home/u', cwd: '/home/u/p', env } as const;
  return discoverServers(memoryHost({ ...machine, files: Object.fromEntries(texts) }), options);
}

const PROJECT = {
  '/home/u/p/.cursor/mcp.json': { mcpServers: { s: { command: 'run', env: { T: '$' + '{env:TOKEN}' } } } },
  '/home/u/.cursor/mcp.json': { mcpServers: { s: { command: 'own' } } },
};

async function waitingHash(files: Readonly<Record<string, unknown>>, env = {}): Promise<string> {
  const { servers } = await discover(files, {}, env);
  const waiting = servers.find(({ state }) => state === 'pending-approval');
  if (waiting === undefined) throw new Error('nothing waits');
  return definitionHash(waiting);
}

test('an approved definition is used, and replaces the one that it precedes', async () => {
  const approvals = new Map([[await waitingHash(PROJECT), 'approved' as const]]);
  const { servers } = await discover(PROJECT, { approvals });
  expect(servers.map(({ id, command, state }) => [id, command, state])).toEqual([
    ['s', 'run', 'ready'],
    ['s-cursor', 'own', 'shadowed'],
  ]);
});

test('an approved definition leaves other clients’ servers their ids and aliases', async () => {
  const files = {
    '/home/u/p/.cursor/mcp.json': { mcpServers: { s: { command: 'run' }, 'a b': { command: 'theirs' } } },
    '/home/u/.claude.json': { mcpServers: { s: { command: 'own' }, 'a-b': { command: 'mine' } } },
  };
  const waiting = (await discover(files)).servers.filter(({ state }) => state === 'pending-approval');
  const approvals = new Map(waiting.map((server) => [definitionHash(server), 'approved' as const]));
  const { servers } = await discover(files, { approvals });
  const names = servers.map(({ command, id, alias }) => [command, id, alias]);
  expect(names.sort()).toEqual([
    ['mine', 'a-b', 'a_b'],
    ['own', 's', 's'],
    ['run', 's-cursor', 's_cursor'],
    ['theirs', 'a b', 'a_b_2'],
  ]);
  // As the view of all servers names them.
  const config = EMPTY_CONFIG;
  const served = [...servedServers(servers, config).keys()];
  expect(aliasesOf(served)).toEqual(new Map(servers.map(({ id, alias }) => [id, alias])));
});

test('a user’s server for one project in Claude Code starts outside of it, unless it has a cwd', async () => {
  const entries = {
    a: { command: 'npx', args: ['-y', 'server', '.'] },
    b: { command: 'node', args: ['build/index.js'] },
    c: { command: './run', cwd: '/home/u/p/sub' },
  };
  const files = { '/home/u/.claude.json': { projects: { '/home/u/p': { mcpServers: entries } } } };
  const { servers } = await discover(files);
  const served = [...servedServers(servers, EMPTY_CONFIG, { home: '/home/u' }).values()];
  expect(served).toMatchObject([
    { command: 'npx', args: ['-y', 'server', '/home/u/p'], cwd: '/home/u' },
    { command: 'node', args: ['/home/u/p/build/index.js'], cwd: '/home/u' },
    { command: './run', cwd: '/home/u/p/sub' },
  ]);
});

test('a command for headers that a user of Claude Code has for a project starts outside of it, too', async () => {
  const remote = (name: string) => ({ type: 'http', url: `https://h.example/${name}` });
  const entries = {
    a: { ...remote('a'), headersHelper: 'npx -y headers' },
    b: { ...remote('b'), headersHelper: './bin/headers ../x | jq . && bin/more' },
    c: { ...remote('c'), headersHelper: 'headers', cwd: '/home/u/p/sub' },
  };
  const { servers } = await discover({
    '/home/u/.claude.json': { projects: { '/home/u/p': { mcpServers: entries } } },
  });
  const served = [...servedServers(servers, EMPTY_CONFIG, { home: '/home/u' }).values()];
  expect(served).toMatchObject([
    { headersHelper: { command: 'npx -y headers', cwd: '/home/u' } },
    {
      headersHelper: { command: "'/home/u/p/bin/headers' '/home/u/x' | jq . && '/home/u/p/bin/more'", cwd: '/home/u' },
    },
    { headersHelper: { command: 'headers', cwd: '/home/u/p/sub' } },
  ]);
});

test('data beside a client is that of each client, unless the definition says where it starts', async () => {
  const entries = {
    a: { command: 'npx', args: ['-y', 'server', '.', './data', '../x'] },
    b: { command: 'node', args: ['./index.js', '.'] },
    c: { command: 'npx', args: ['-y', 'server', '.'], cwd: '/srv' },
  };
  const { servers } = await discover({
    '/home/u/.claude.json': { mcpServers: entries },
    '/home/u/p/.cursor/mcp.json': { mcpServers: { d: { command: 'run', args: ['.'] } } },
  });
  const all = servers.map((server) => ({ ...server, state: 'ready' as const }));
  const served = [...servedServers(all, EMPTY_CONFIG, { home: '/home/u' }).values()];
  const argsIn = (project: string | undefined) =>
    served.map((definition) => {
      const own = inProject(definition, project);
      return own.transport === 'stdio' ? [own.name, own.cwd, ...own.args.map((arg) => posix.normalize(arg))] : [];
    });
  const others = [
    ['c', '/srv', '-y', 'server', '.'],
    ['d', '/home/u/p', '.'],
  ];
  expect(argsIn('/repo/a')).toEqual([
    ['a', '/home/u', '-y', 'server', '/repo/a', '/repo/a/data', '/repo/x'],
    ['b', '/home/u', 'index.js', '/repo/a'],
    ...others,
  ]);
  expect(argsIn(undefined)).toEqual([
    ['a', '/home/u', '-y', 'server', '/home/u', '/home/u/data', '/home/x'],
    ['b', '/home/u', 'index.js', '/home/u'],
    ...others,
  ]);
});

test('a server that has gone behind the bridge is the one that another client still has', async () => {
  const cwd = '/home/u';
  const behind = (arg: string) => ({ command: 'npx', args: ['-y', 'server', arg], cwd });
  const here = '$' + '{PWD}';
  for (const [arg, moved] of [
    ['.', here],
    ['./data', `${here}/data`],
    ['../x', `${here}/../x`],
  ] as const) {
    const { servers } = await discover({
      '/home/u/.config/mcp-bridge/config.json': { mcpServers: { s: behind(moved) } },
      '/home/u/.cursor/mcp.json': { mcpServers: { t: { command: 'npx', args: ['-y', 'server', arg] } } },
    });
    expect(servers.map(({ client, state }) => [client, state])).toEqual([
      ['bridge', 'ready'],
      ['cursor', 'duplicate'],
    ]);
  }
});

test('a rejected definition is not used, and replaces nothing', async () => {
  const approvals = new Map([[await waitingHash(PROJECT), 'rejected' as const]]);
  const { servers } = await discover(PROJECT, { approvals });
  expect(servers.map(({ id, state }) => [id, state])).toEqual([
    ['s-cursor', 'rejected'],
    ['s', 'ready'],
  ]);
});

test('a changed definition asks again, a changed token does not', async () => {
  const hash = await waitingHash(PROJECT, { TOKEN: 'a' });
  expect(await waitingHash(PROJECT, { TOKEN: 'b' })).toBe(hash);
  const definitions = [
    { command: 'run', args: ['x'], env: { T: '$' + '{env:TOKEN}' } },
    { command: 'run', env: { T: 'other' } },
    { command: 'run', env: { T: '$' + '{env:TOKEN}', NODE_OPTIONS: '--require ./x' } },
  ];
  for (const s of definitions)
    expect(await waitingHash({ '/home/u/p/.cursor/mcp.json': { mcpServers: { s } } }, { TOKEN: 'a' })).not.toBe(hash);
});

test('a person who is asked sees the files of variables, and which values are run', async () => {
  const s = { command: 'sh', args: ['-c', '$API_KEY'], envFile: '.env' };
  const text = 'API_KEY=touch X\nTOKEN=hunter2';
  const files = { '/home/u/p/.vscode/mcp.json': { servers: { s } }, '/home/u/p/.env': text };
  const { servers } = await discover(files);
  expect(servers.map((server) => shownLaunch(server))).toMatchObject([
    { envFile: '/home/u/p/.env', env: ['API_KEY', 'TOKEN'], executed: { API_KEY: 'touch X' } },
  ]);
  const { servers: without } = await discover({ '/home/u/p/.vscode/mcp.json': { servers: { s } } });
  expect(without.map((server) => shownLaunch(server).envFile)).toEqual(['/home/u/p/.env']);
});

test('changed variables from a file ask again, and so does a changed sign-in', async () => {
  const s = { command: 'run', envFile: '.env' };
  const withFile = (text: string) => ({ '/home/u/p/.vscode/mcp.json': { servers: { s } }, '/home/u/p/.env': text });
  const hashes = [await waitingHash(withFile('A=1')), await waitingHash(withFile('A=1\nNODE_OPTIONS=x'))];
  const remote = { type: 'http', url: 'https://x.example/mcp' };
  const signedIn = [remote, { ...remote, oauth: { authServerMetadataUrl: 'https://evil.example' } }];
  for (const fields of signedIn)
    hashes.push(await waitingHash({ '/home/u/p/.mcp.json': { mcpServers: { s: fields } } }));
  expect(new Set(hashes).size).toBe(4);
});

test('a tool filter is part of the approval: another filter asks again', async () => {
  const withFilter = (filter: object) => ({
    '/home/u/p/.cursor/mcp.json': { mcpServers: { s: { command: 'run', ...filter } } },
  });
  const filters = [{}, { disabledTools: ['write_*'] }, { disabledTools: ['read_*'] }, { enabledTools: ['read_*'] }];
  const hashes = await Promise.all(filters.map((filter) => waitingHash(withFilter(filter))));
  expect(new Set(hashes).size).toBe(filters.length);
});

test('a definition without a filter keeps the approval that an older bridge has stored', async () => {
  const { servers } = await discover({ '/home/u/p/.cursor/mcp.json': { mcpServers: { s: { command: 'run' } } } });
  const [server] = servers;
  if (server === undefined) throw new Error('no server was found');
  expect(definitionHash(server)).toBe('633f48a2deeac60051a5916f76a5c758b702ec6fbe7f1d7e0129c4f329e8cdef');
});

test('another name, or the file of another client, asks again', async () => {
  const s = { command: 'run' };
  const [cursor, roo] = ['/home/u/p/.cursor/mcp.json', '/home/u/p/.roo/mcp.json'];
  const hashes = await Promise.all([
    waitingHash({ [cursor]: { mcpServers: { s } } }),
    waitingHash({ [cursor]: { mcpServers: { github: s } } }),
    waitingHash({ [roo]: { mcpServers: { s } } }),
  ]);
  expect(new Set(hashes).size).toBe(3);
});

test('changed content of a file in a variable asks again', async () => {
  const entry = (fields: object) => ({ type: 'local', command: ['run'], ...fields });
  const withTexts = (opts: string, head: string) => ({
    '/home/u/p/opencode.json': {
      mcp: {
        s: entry({ environment: { NODE_OPTIONS: '{file:./opts}', T: '{env:TOKEN}' }, headers: { H: '{file:head}' } }),
      },
    },
    '/home/u/p/opts': opts,
    '/home/u/p/head': head,
  });
  const hash = await waitingHash(withTexts('--x', 'h'), { TOKEN: 'a' });
  expect(await waitingHash(withTexts('--x', 'h'), { TOKEN: 'b' })).toBe(hash);
  expect(await waitingHash(withTexts('--require ./evil', 'h'), { TOKEN: 'a' })).not.toBe(hash);
  expect(await waitingHash(withTexts('--x', 'other'), { TOKEN: 'a' })).not.toBe(hash);
});

test('a variable that an entry only names, and its file of variables sets, asks again when it changes', async () => {
  const withFile = (text: string) => ({
    '/home/u/p/.codex/config.toml': '[mcp_servers.s]\ncommand = "run"\nenvFile = ".env"\nenv_vars = ["NODE_OPTIONS"]\n',
    '/home/u/p/.env': text,
  });
  const hash = await waitingHash(withFile('NODE_OPTIONS=--x'));
  expect(await waitingHash(withFile('NODE_OPTIONS=--require ./evil'))).not.toBe(hash);
  // What the environment has counts before the file, and as it is written.
  const own = await waitingHash(withFile('NODE_OPTIONS=--x'), { NODE_OPTIONS: 'a' });
  expect(await waitingHash(withFile('NODE_OPTIONS=--y'), { NODE_OPTIONS: 'b' })).toBe(own);
});

const EVERYWHERE = {
  '/home/u/MCPs/s.json': { command: 'first' },
  '/home/u/.claude.json': {
    mcpServers: { s: { command: 'second' } },
    projects: { '/home/u/p': { mcpServers: { s: { command: 'local' } } } },
  },
  '/home/u/.cursor/mcp.json': { mcpServers: { s: { command: 'third' } } },
};

test('the first of the list of places wins over everything where that is asked for', async () => {
  const { servers } = await discover(EVERYWHERE, { precedence: 'first-wins' });
  expect(servers.filter(({ state }) => state === 'ready')).toMatchObject([{ id: 's', alias: 's', command: 'first' }]);
});

test('by scope each client keeps its own, with separate ids and aliases', async () => {
  const { servers } = await discover(EVERYWHERE);
  const ready = servers.filter(({ state }) => state === 'ready');
  expect(ready.map(({ id, alias, command }) => [id, alias, command])).toEqual([
    ['s', 's', 'local'],
    ['s-seed-dir', 's_seed_dir', 'first'],
    ['s-cursor', 's_cursor', 'third'],
  ]);
});

test("the bridge's own definition stands for everybody's of its name", async () => {
  const own = { '/home/u/p/mcp-bridge.config.json': { mcpServers: { s: { command: 'own' } } } };
  const { servers } = await discover({ ...EVERYWHERE, ...own });
  expect(servers.filter(({ state }) => state === 'ready')).toMatchObject([{ client: 'bridge', command: 'own' }]);
});

test('definitions given besides files count by their scope', async () => {
  const given = [
    { client: 'bridge', scope: 'dynamic', file: '--server', servers: { flag: { command: 'f' } } },
    {
      client: 'claude-code',
      scope: 'hosted',
      file: 'claude.ai',
      servers: { 'claude.ai X': { type: 'http', url: 'https://x.example/mcp' } },
    },
  ];
  const { servers } = await discover(
    { '/home/u/.claude.json': { mcpServers: { x: { type: 'http', url: 'https://x.example/mcp/' } } } },
    { given },
  );
  expect(servers.map(({ name, scope, state }) => [name, scope, state])).toEqual([
    ['flag', 'dynamic', 'ready'],
    ['x', 'user', 'ready'],
    ['claude.ai X', 'hosted', 'duplicate'],
  ]);
});

test("the bridge's own policy holds for everybody", async () => {
  const policy = { deniedMcpServers: [{ serverCommand: ['third'] }] };
  const { servers, policies } = await discover(EVERYWHERE, { policy });
  expect(servers.filter(({ state }) => state === 'blocked-by-policy')).toMatchObject([
    { client: 'cursor', reason: 'it is denied by deniedMcpServers[0] in policy' },
  ]);
  const decisions = servers.map((server) => [server.command, explainPolicy(server, policies).rule]);
  expect(Object.fromEntries(decisions)).toEqual({
    ...{ first: undefined, second: undefined, local: undefined },
    third: 'deniedMcpServers[0] in policy',
  });
});

test('an input is supplied by whoever asks, or by its variable', async () => {
  const files = {
    '/home/u/.config/Code/User/mcp.json': { servers: { s: { command: 'c', args: ['$' + '{input:api-key}'] } } },
  };
  const stateWith = async (options: DiscoveryOptions, env = {}) => (await discover(files, options, env)).servers[0];
  expect(await stateWith({})).toMatchObject({ state: 'needs-input', inputs: ['api-key'] });
  expect(await stateWith({ input: (id) => `for ${id}` })).toMatchObject({ state: 'ready', args: ['for api-key'] });
  expect(await stateWith({}, { MCP_BRIDGE_INPUT_API_KEY: 'k' })).toMatchObject({ state: 'ready', args: ['k'] });
});

test('a bridge may be started below none', () => {
  expect([undefined, '', '0', '1', '2', 'x'].map(nextDepth)).toEqual([1, 1, 1, undefined, undefined, 1]);
});

test('the servers of Agent Plugins are named after them, and know two variables', async () => {
  const files = {
    '/opt/p/plugin.json': { name: 'tools' },
    '/opt/p/mcp.json': {
      mcpServers: { s: { type: 'stdio', command: './run', args: ['$' + '{PLUGIN_ROOT}/x', '$' + '{HOME}'] } },
    },
  };
  const { servers } = await discover(files, { agentPlugins: ['/opt/p'] }, { HOME: '/h' });
  expect(servers).toMatchObject([
    {
      name: 'plugin:tools:s',
      client: 'agent-plugin',
      scope: 'plugin',
      cwd: '/opt/p',
      args: ['/opt/p/x', '$' + '{HOME}'],
    },
  ]);
});

test('a server and its hosted proxy are the same server', async () => {
  const proxied = 'https://p.example/v2/ccr-sessions/1?to=https%3A%2F%2Fx.example%2Fmcp';
  const mcpServers = {
    direct: { type: 'http', url: 'https://x.example/mcp' },
    proxied: { type: 'http', url: proxied },
    other: { type: 'http', url: 'https://p.example/v2/ccr-sessions/2' },
  };
  const { servers } = await discover({ '/home/u/.claude.json': { mcpServers } });
  expect(servers.map(({ url, state }) => [url, state])).toEqual([
    ['https://x.example/mcp', 'ready'],
    [proxied, 'duplicate'],
    ['https://p.example/v2/ccr-sessions/2', 'ready'],
  ]);
});

describe('beside the bridge’s config that was read already', () => {
  const project = { mcpServers: { mine: { command: 'b' }, other: { command: 'c' } } };
  const files = {
    '/home/u/p/mcp-bridge.config.json': project,
    '/home/u/.config/mcp-bridge/config.json': { mcpServers: { unread: { command: 'd' } } },
  };
  const ownConfig = { file: '/elsewhere/config.js', servers: { mine: { command: 'a' } } };

  test('a project’s config of the bridge belongs to the project', async () => {
    const { servers } = await discover(files, { ownConfig });
    expect(servers.map(({ name, command, scope, state }) => [name, command, scope, state])).toEqual([
      ['mine', 'a', 'dynamic', 'ready'],
      ['mine', 'b', 'project', 'shadowed'],
      ['other', 'c', 'project', 'pending-approval'],
    ]);
  });

  test('a project’s config may be the given one', async () => {
    const own = { file: '/home/u/p/mcp-bridge.config.json', servers: { mine: { command: 'b' } } };
    const { servers } = await discover(files, { ownConfig: own });
    expect(servers.map(({ name, scope, state }) => [name, scope, state])).toEqual([['mine', 'dynamic', 'ready']]);
  });

  test('none may have been found', async () => {
    const { servers } = await discover(files, { ownConfig: { file: undefined, servers: undefined } });
    expect(servers.map(({ state }) => state)).toEqual(['pending-approval', 'pending-approval']);
  });
});
