// What a command has changed holds for a daemon that runs as soon as the command is over, whether its files are watched or not.

import { realpathSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { runCommand } from '../support/command.ts';
import { writeFiles } from '../support/file-tree.ts';
import { FIXTURE, fixtureServer, tempDir } from '../support/test-daemon.ts';

let home: string;
let env: Record<string, string>;
beforeEach(async () => {
  home = realpathSync(tempDir());
  env = { HOME: home, MCP_BRIDGE_SOCKET: join(home, 'b.sock') };
  writeFiles(home, {
    '.cursor/mcp.json': { mcpServers: { theirs: fixtureServer({ OF: 'cursor' }) } },
    'p/.git/HEAD': '',
  });
  await run('start');
});
afterEach(() => run('stop'));

const run = (...args: string[]) => runCommand(args, { env, cwd: join(home, 'p') });
const served = async (): Promise<string[]> => {
  const { servers } = JSON.parse((await run('servers', '--json')).stdout) as { servers: { name: string }[] };
  return servers.map(({ name }) => name).sort();
};
const ADD = ['--', process.execPath, FIXTURE];

test('a server that was added can be called, and one that was removed cannot', async () => {
  for (const name of ['one', 'two', 'three']) {
    expect(await run('add', name, '--env', `OF=${name}`, ...ADD)).toMatchObject({ code: 0, stderr: '' });
    expect(await run('call', name, 'cwd')).toMatchObject({ code: 0, stderr: '' });
  }
  expect(await run('remove', 'two')).toMatchObject({ code: 0, stderr: '' });
  expect(await run('call', 'two', 'cwd')).toMatchObject({
    code: 1,
    stderr: 'mcp-bridge: There is no server "two". There are: one, three, theirs.\n',
  });
});

test('imported servers, and servers moved behind the bridge and back, are there at once', async () => {
  writeFiles(home, { '.config/mcp-bridge/config.json': { discovery: { enabled: false } } });
  await run('reload');
  expect(await run('import', 'cursor')).toMatchObject({ code: 0, stderr: '' });
  expect(await served()).toEqual(['theirs']);
  await run('remove', 'theirs');
  expect(await served()).toEqual([]);
  expect(await run('install', 'cursor', '--replace')).toMatchObject({ code: 0, stderr: '' });
  expect(await served()).toEqual(['theirs']);
  expect(await run('uninstall', 'cursor')).toMatchObject({ code: 0, stderr: '' });
  expect(await served()).toEqual([]);
});

test('a dry run makes no daemon look', async () => {
  const before = await served();
  expect(await run('import', 'cursor', '--dry-run')).toMatchObject({ code: 0, stderr: '' });
  expect(await served()).toEqual(before);
});

test('without a daemon, the commands succeed and do not mention it', async () => {
  await run('stop');
  expect(await run('add', 'one', ...ADD)).toMatchObject({ code: 0, stderr: '' });
  expect(await run('remove', 'one')).toMatchObject({ code: 0, stderr: '' });
  expect(await run('import', 'cursor')).toMatchObject({ code: 0, stderr: '' });
});

test('a server that is added as the same as one of another name takes its place, one that is imported keeps the name that counts', async () => {
  const same = [process.execPath, FIXTURE];
  const taken = (name: string) => `"theirs" is the same server as "${name}", which is the name to use now\n`;
  expect((await run('add', 'ours', '--env', 'OF=cursor', '--', ...same)).stdout).toContain(taken('ours'));
  expect(await served()).toEqual(['ours']);
  await run('remove', 'ours');
  expect((await run('add', 'theirs', '--env', 'OF=cursor', '--', ...same)).stdout).not.toContain('the same');
  await run('remove', 'theirs');
  writeFiles(home, { '.gemini/settings.json': { mcpServers: { copy: fixtureServer({ OF: 'cursor' }) } } });
  const planned = await run('import', 'gemini-cli', '--dry-run');
  expect(planned).toMatchObject({ code: 0, stdout: expect.not.stringContaining('the same server') as string });
  // It is offered as "theirs" already, and rules and views know it by that name.
  expect((await run('import', 'gemini-cli')).stdout).toMatch(
    /^"copy" of gemini-cli went to \S+ as "theirs", because it has this name behind the bridge already\n/,
  );
  expect(await served()).toEqual(['theirs']);
});

test('a server that is added under the name of another one says which one gives way to it', async () => {
  const said = `"theirs" means this one for all clients now, and not that of cursor in ~/.cursor/mcp.json any more\n`;
  expect((await run('add', 'theirs', ...ADD)).stdout).toContain(said);
  await run('remove', 'theirs');
  expect((await run('add', 'another', ...ADD)).stdout).not.toContain('means this one');
});

test('if a project has a server of its user under another name, approve says which name counts', async () => {
  writeFiles(home, { 'p/.cursor/mcp.json': { mcpServers: { of_project: fixtureServer({ OF: 'cursor' }) } } });
  const { stdout } = await run('approve', 'of_project', '--yes');
  expect(stdout).toMatch(/\n"theirs" is the same server as "of_project", which is the name to use now\n$/);
  expect(await served()).toEqual(['of_project']);
});
