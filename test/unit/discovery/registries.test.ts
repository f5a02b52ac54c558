// Servers that run already, and say so in a registry.

import { expect, test } from 'vitest';
import { type DiscoveryOptions, definitionHash, discoverServers } from '../../../src/discovery/index.ts';
import { type MemoryFile, memoryHost } from '../../support/memory-host.ts';

const USER = '/home/u/.local/state/mcp-bridge/mcp_servers.json';
const PROJECT = '/home/u/p/.mcp-bridge/mcp_servers.json';
const NISABA = '/home/u/p/.nisaba/mcp_servers.json';

/** As a program that knows nothing but the format writes it. */
function entry(name: string, pid: number, http: object = { enabled: true, host: '0.0.0.0', port: 1338 }, more = {}) {
  const common = { stdio_active: true, started_at: '2025-10-27T15:41:59Z', cwd: '/home/u/p' };
  return { [`${name}_${pid}`]: { name, pid, http, ...common, ...more } };
}

const registry = (servers: object): MemoryFile => ({ text: JSON.stringify({ version: '1.0', servers }) });

function discover(files: Readonly<Record<string, MemoryFile>>, options: DiscoveryOptions = {}) {
  const self = { bins: [], packages: [], endpoints: ['unix:///tmp/mcp-bridge.sock'] };
  const machine = { platform: 'linux', homedir: '/home/u', cwd: '/home/u/p', pids: [10, 11, 12, 13] } as const;
  return discoverServers(memoryHost({ ...machine, self, files }), options);
}

const urlsOf = async (http: object): Promise<unknown[]> => {
  const { servers } = await discover({ [USER]: registry(entry('s', 10, http)) });
  return servers.map(({ state, transport, url }) => [state, transport, url]);
};

test('one of the user can be used at once, and one of the project once somebody has approved it', async () => {
  const files = {
    [USER]: registry(entry('mine', 10, { port: 4000 })),
    [PROJECT]: registry(entry('theirs', 11, { enabled: true, url: 'http://localhost:1339/mcp' })),
    [NISABA]: registry(entry('nabu', 12)),
  };
  const { servers, processes } = await discover(files);
  expect(servers.map(({ id, client, scope, state, file }) => [id, client, scope, state, file])).toEqual([
    ['theirs', 'registry', 'project', 'pending-approval', PROJECT],
    ['nabu', 'registry', 'project', 'pending-approval', NISABA],
    ['mine', 'registry', 'user', 'ready', USER],
  ]);
  expect(processes.map(({ pid }) => pid).sort()).toEqual([10, 11, 12]);
  const hashes = new Set(servers.filter(({ name }) => name === 'nabu').map(definitionHash));
  const approvals = { get: (hash: string) => (hashes.has(hash) ? 'approved' : undefined) } as const;
  const agreed = (await discover(files, { approvals })).servers.map(({ id, state }) => [id, state]);
  expect(agreed).toEqual([
    ['theirs', 'pending-approval'],
    ['nabu', 'ready'],
    ['mine', 'ready'],
  ]);
});

test('a server whose process has ended is left out', async () => {
  const { servers, processes } = await discover({ [USER]: registry({ ...entry('gone', 99), ...entry('mine', 10) }) });
  expect([servers.map(({ name }) => name), processes.map(({ pid }) => pid)]).toEqual([['mine'], [10]]);
});

test.each([
  [{ enabled: true, url: 'http://localhost:1338' }, ['ready', 'auto', 'http://localhost:1338']],
  [{ enabled: true, host: '0.0.0.0', port: 1338 }, ['ready', 'auto', 'http://localhost:1338']],
  [{ port: 1338 }, ['ready', 'auto', 'http://localhost:1338']],
  [{ host: '::1', port: 1338 }, ['ready', 'auto', 'http://[::1]:1338']],
  [{ url: 'http://0.0.0.0:1338/mcp' }, ['ready', 'auto', 'http://localhost:1338/mcp']],
  [{ url: 'http://[::]:1338/sse', transport: 'sse' }, ['ready', 'sse', 'http://localhost:1338/sse']],
  [{ url: 'http://127.0.0.9:1338', transport: 'http' }, ['ready', 'http', 'http://127.0.0.9:1338']],
  [{ enabled: false, url: 'http://localhost:1338' }, ['unsupported', 'auto', undefined]],
  [{ port: 70_000 }, ['unsupported', 'auto', undefined]],
  [{ url: 'http://example.com/mcp' }, ['unsupported', 'auto', 'http://example.com/mcp']],
  [{ url: 'http://127.0.0.1.example.com/mcp' }, ['unsupported', 'auto', 'http://127.0.0.1.example.com/mcp']],
  [{ url: 'http://localhost@example.com/' }, ['unsupported', 'auto', 'http://localhost@example.com/']],
  [{ url: 'file:///etc/passwd' }, ['unsupported', 'auto', 'file:///etc/passwd']],
  [{ url: 'nowhere' }, ['invalid', 'auto', 'nowhere']],
])('%j becomes %j', async (http, expected) => {
  expect(await urlsOf(http)).toEqual([expected]);
});

test('a variable in a URL is not filled in', async () => {
  const url = ['http://localhost:1/$', '{HOME}'].join('');
  const { servers } = await discover({ [USER]: registry(entry('s', 10, { url })) });
  expect(servers).toMatchObject([{ url }]);
});

test('the config may allow other machines, and name more registries', async () => {
  const file = '/srv/other/.mcp-bridge/mcp_servers.json';
  const registries = { files: [file], mayBeRemote: true };
  const { servers } = await discover(
    { [file]: registry(entry('far', 10, { url: 'https://example.com/mcp' })) },
    { registries },
  );
  expect(servers).toMatchObject([{ name: 'far', scope: 'user', state: 'ready', url: 'https://example.com/mcp', file }]);
});

test('the bridge itself is none, and other bridges are none to use', async () => {
  const servers = {
    ...entry('mcp-bridge', 10, { enabled: false }, { socket: '/tmp/mcp-bridge.sock' }),
    ...entry('mcp-bridge', 11, { enabled: false }, { socket: '/tmp/other.sock' }),
  };
  const found = (await discover({ [USER]: registry(servers) })).servers;
  expect(found.map(({ name, state }) => [name, state])).toEqual([
    ['mcp-bridge', 'self'],
    ['mcp-bridge_11', 'unsupported'],
  ]);
});

test('two of one name are two servers, also of two registries', async () => {
  const { servers } = await discover({
    [USER]: registry({ ...entry('s', 10, { port: 1 }), ...entry('s', 11, { port: 2 }) }),
    [PROJECT]: registry(entry('s', 12, { port: 3 })),
  });
  expect(servers.map(({ id, state, url }) => [id, state, url])).toEqual([
    ['s-registry', 'pending-approval', 'http://localhost:3'],
    ['s', 'ready', 'http://localhost:1'],
    ['s_11', 'ready', 'http://localhost:2'],
  ]);
});

test('one that is configured under its URL is the same server', async () => {
  const config = { text: JSON.stringify({ mcpServers: { mine: { url: 'http://localhost:1338' } } }) };
  const { servers } = await discover({ '/home/u/.cursor/mcp.json': config, [USER]: registry(entry('s', 10)) });
  expect(servers.map(({ name, state }) => [name, state])).toEqual([
    ['mine', 'ready'],
    ['s', 'duplicate'],
  ]);
});

test.each([
  ['{"version": "2.0", "servers": {}}', 'future-version', 'which a newer program has written'],
  ['{"version": "1.0", "servers": [', 'parse', 'Correct the file'],
  ['[1]', 'bad-container', 'is no object'],
  ['{"servers": {"s_10": {"name": "a\\u001b[2J", "pid": 10, "http": {"port": 1}}}}', 'invalid-entry', 'cannot be used'],
])('%s is told', async (text, code, words) => {
  const { servers, diagnostics } = await discover({ [USER]: { text } });
  expect(servers).toEqual([]);
  expect(diagnostics).toMatchObject([{ code, message: expect.stringContaining(words) }]);
});

test("a user's registry that others may write is not used, and a project's waits for approval anyway", async () => {
  const file = (name: string): MemoryFile => ({ ...registry(entry(name, 10)), mode: '666' });
  const { servers, diagnostics } = await discover({ [USER]: file('mine'), [PROJECT]: file('theirs') });
  expect(servers.map(({ name, state }) => [name, state])).toEqual([['theirs', 'pending-approval']]);
  expect(diagnostics).toMatchObject([{ code: 'not-private', path: USER }]);
});
