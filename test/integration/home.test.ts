// A home that HOME does not name: nothing in the working directory is taken for the user's own.

import { spawnSync } from 'node:child_process';
import { chownSync, realpathSync } from 'node:fs';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { runProgram } from '../support/command.ts';
import { writeFiles } from '../support/file-tree.ts';
import { fixtureServer, PROGRAM, tempDir } from '../support/test-daemon.ts';

let dir: string;
let xdg: Record<string, string>;
beforeEach(() => {
  dir = realpathSync(tempDir());
  xdg = { XDG_CONFIG_HOME: join(dir, 'c'), XDG_STATE_HOME: join(dir, 's'), XDG_CACHE_HOME: join(dir, 'k') };
  writeFiles(dir, {
    'repository/.git/HEAD': '',
    'repository/.cursor/mcp.json': { mcpServers: { theirs: fixtureServer() } },
    'repository/.config/mcp-bridge/config.json': { mcpServers: { configured: fixtureServer() } },
    'repository/x/mcp-bridge/config.json': { mcpServers: { configured: fixtureServer() } },
    'c/mcp-bridge/config.json': { mcpServers: { mine: fixtureServer() } },
  });
});
afterEach(() => run({}, 'stop'));

const run = (env: object, ...args: string[]) =>
  runProgram(args, { cwd: join(dir, 'repository'), env: { MCP_BRIDGE_SOCKET: join(dir, 'b.sock'), ...xdg, ...env } });

const HOMES = [[''], ['.'], ['relative']];

test.each(HOMES)('with HOME=%j, servers of a repository wait for approval', async (HOME) => {
  const { servers } = JSON.parse((await run({ HOME }, 'discover', '--json', '--client', 'cursor')).stdout) as {
    servers: { name: string; state: string }[];
  };
  expect(servers.find(({ name }) => name === 'theirs')).toMatchObject({ state: 'pending-approval' });
});

test.each(HOMES)(
  'with HOME=%j, a daemon serves none of it, and servers get the home that the system has',
  async (HOME) => {
    expect((await run({ HOME }, 'start')).code).toBe(0);
    const { servers } = JSON.parse((await run({ HOME }, 'servers', '--json')).stdout) as {
      servers: { name: string }[];
    };
    expect(servers.map(({ name }) => name)).toContain('mine');
    expect(servers.map(({ name }) => name)).not.toContain('theirs');
    const env = JSON.parse((await run({ HOME }, 'call', 'mine', 'env')).stdout) as Record<string, string>;
    expect(env.HOME).toBe(userInfo().homedir);
  },
);

test('a directory of XDG that is relative is none', async () => {
  const { stdout } = await run({ HOME: dir, XDG_CONFIG_HOME: 'x' }, 'config', 'path');
  expect(stdout).toBe(`${join(dir, '.config/mcp-bridge/config.json')}\n`);
});

const isRoot = process.getuid?.() === 0;
test.runIf(isRoot).each([['serve'], ['servers'], ['start']])(
  '%s says what to do where a user has no home at all',
  (command) => {
    chownSync(dir, 54_321, 54_321);
    const env = { ...process.env, ...xdg, HOME: '', MCP_BRIDGE_SOCKET: join(dir, 'b.sock') };
    const as = { uid: 54_321, gid: 54_321, cwd: dir, encoding: 'utf8', env } as const;
    expect(spawnSync(process.execPath, [PROGRAM, command], as)).toMatchObject({
      status: 1,
      stderr:
        'mcp-bridge: Where your home directory is cannot be told: HOME names none. Set HOME to the absolute path of a directory of yours.\n',
    });
    expect(spawnSync(process.execPath, [PROGRAM, '--version'], as)).toMatchObject({ status: 0, stderr: '' });
  },
);
