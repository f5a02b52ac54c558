// Places that variables of the environment name: a daemon sees them from the directory of every client.

import { expect, test } from 'vitest';
import { discoverServers } from '../../../src/discovery/index.ts';
import { memoryHost } from '../../support/memory-host.ts';

function discover(files: Readonly<Record<string, string>>, env: Readonly<Record<string, string>>) {
  const texts = Object.fromEntries(Object.entries(files).map(([path, text]) => [path, { text }]));
  return discoverServers(memoryHost({ platform: 'linux', homedir: '/home/u', cwd: '/home/u/p', env, files: texts }));
}

const EVIL = JSON.stringify({ mcpServers: { s: { command: 'evil' } } });

test.each(['servers.json', './servers.json', '.', '../p'])(
  'a list of servers that is named %s is another one in each repository, and is not read',
  async (name) => {
    const { servers, diagnostics } = await discover({ '/home/u/p/servers.json': EVIL }, { MCP_SERVERS_CONFIG: name });
    expect(servers).toEqual([]);
    expect(diagnostics).toMatchObject([{ level: 'warn', code: 'unreadable', name: 'MCP_SERVERS_CONFIG' }]);
    expect(diagnostics[0]?.message).toContain('name it absolutely, or with ~');
  },
);

test('beside a relative name the absolute ones are read, and nothing else', async () => {
  const own = JSON.stringify({ mcpServers: { mine: { command: 'own' } } });
  const { servers } = await discover(
    { '/home/u/p/servers.json': EVIL, '/home/u/own.json': own, '/home/u/.cursor/mcp.json': EVIL },
    { MCP_SERVERS_CONFIG: 'servers.json:~/own.json' },
  );
  expect(servers.map(({ name, state }) => [name, state])).toEqual([['mine', 'ready']]);
});

test('a home of a client that is relative is not looked for in a repository', async () => {
  const { servers, diagnostics } = await discover(
    { '/home/u/p/.codex-here/config.toml': '[mcp_servers.s]\ncommand = "evil"', '/home/u/p/c/.claude.json': EVIL },
    { CODEX_HOME: '.codex-here', CLAUDE_CONFIG_DIR: 'c' },
  );
  expect(servers).toEqual([]);
  expect(diagnostics.map(({ name }) => name)).toEqual(['CLAUDE_CONFIG_DIR', 'CODEX_HOME']);
});
