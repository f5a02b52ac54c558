// What a person has decided holds when the command is over: the very next command shows it.

import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, mkdirSync, realpathSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import { runCommand } from '../support/command.ts';
import { fixtureServer, ROOT, TestDaemon, tempDir } from '../support/test-daemon.ts';

const DIAL_IN = join(ROOT, 'test/fixtures/servers/dial-in-server.mjs');
const children: ChildProcess[] = [];

afterEach(() => {
  for (const child of children.splice(0)) child.kill('SIGKILL');
});

interface Listed {
  readonly servers: readonly { readonly server: string; readonly tools?: object[] }[];
}

/** A home, a project in it with a server that waits, and a daemon. */
async function place() {
  const home = realpathSync(tempDir());
  const project = join(home, 'project');
  mkdirSync(join(project, '.cursor'), { recursive: true });
  writeFileSync(
    join(project, '.cursor/mcp.json'),
    JSON.stringify({ mcpServers: { theirs: fixtureServer({ WHOSE: 'theirs' }) } }),
  );
  const env = { HOME: home, XDG_CONFIG_HOME: join(home, '.config'), XDG_STATE_HOME: join(home, '.state') };
  const daemon = await TestDaemon.start({ mcpServers: { own: fixtureServer() } }, { dir: home, env });
  const run = (...args: string[]) => runCommand([...args, '--mcp-bridge-socket', daemon.path], { env, cwd: project });
  const tools = async (): Promise<string[]> => {
    const { servers } = JSON.parse((await run('tools', '--json')).stdout) as Listed;
    return servers.flatMap(({ server, tools }) => (tools === undefined ? [] : [server])).sort();
  };
  return { daemon, run, tools, env, project };
}

async function dialIn(path: string, name: string): Promise<void> {
  const child = spawn(process.execPath, [DIAL_IN, path, name], { stdio: ['ignore', 'pipe', 'inherit'] });
  children.push(child);
  await new Promise((resolve) => child.stdout.once('data', resolve));
}

test('other commands mention definitions that wait', async () => {
  const { daemon, run } = await place();
  const json = async (command: string): Promise<unknown> => JSON.parse((await run(command, '--json')).stdout);
  const line = '1 definition waits here for: mcp-bridge approve';
  expect(await json('status'), 'the daemon has not looked here').toMatchObject({ pendingApprovals: null });
  for (const command of ['servers', 'status']) expect((await run(command)).stdout).toContain(`! ${line}\n`);
  expect((await run('doctor')).stdout).toMatch(new RegExp(`note {2}approval: ${line}`));
  for (const command of ['servers', 'status']) expect(await json(command)).toMatchObject({ pendingApprovals: 1 });
  await run('reject', 'theirs');
  for (const command of ['servers', 'status', 'doctor']) expect((await run(command)).stdout).not.toMatch(/waits? here/);
  for (const command of ['servers', 'status']) expect(await json(command)).toMatchObject({ pendingApprovals: 0 });
  await daemon.stop();
});

describe('the next command shows the decision', () => {
  test('about a server that has connected by itself', async () => {
    const { daemon, run, tools } = await place();
    await dialIn(daemon.path, 'notes');
    expect(await tools()).toEqual(['own']);
    for (let round = 0; round < 2; round++) {
      expect(await run('approve', 'notes', '--yes')).toMatchObject({ code: 0, stderr: '' });
      expect(await tools()).toEqual(['notes', 'own']);
      expect(await run('reject', 'notes')).toMatchObject({ code: 0, stderr: '' });
      expect(await tools()).toEqual(['own']);
      children.splice(0).forEach((child) => void child.kill('SIGKILL'));
      await daemon.until(({ dialledIn }) => dialledIn.length === 0);
      await dialIn(daemon.path, 'notes');
    }
    await daemon.stop();
  });

  test('about a server that a project brings', async () => {
    const { daemon, run, tools } = await place();
    expect(await tools()).toEqual(['own']);
    expect(await run('approve', 'theirs', '--yes')).toMatchObject({ code: 0, stderr: '' });
    expect(await tools()).toEqual(['own', 'theirs']);
    expect(await run('reject', 'theirs')).toMatchObject({ code: 0, stderr: '' });
    expect(await tools()).toEqual(['own']);
    await daemon.stop();
  });
});

test('a decision is kept without a daemon, and if the daemon does not answer', async () => {
  const { daemon, run, tools, env, project } = await place();
  const elsewhere = join(tempDir(), 'none.sock');
  const decide = (command: string, ...args: string[]) =>
    runCommand([command, 'theirs', ...args, '--mcp-bridge-socket', elsewhere], { env, cwd: project });
  expect(await decide('approve', '--yes')).toMatchObject({ code: 0, stderr: '' });
  await run('reload');
  expect(await tools()).toEqual(['own', 'theirs']);
  writeFileSync(elsewhere, 'no socket');
  const { code, stdout, stderr } = await decide('reject');
  expect({ code, stdout: stdout.split('\n').at(-2) }).toEqual({ code: 0, stdout: 'Rejected: cursor:theirs' });
  expect(stderr).toMatch(/^mcp-bridge: It is done, but the daemon has not looked yet: .*none\.sock/);
  await run('reload');
  expect(await tools()).toEqual(['own']);
  await daemon.stop();
});

test('if the config decides about a connected server, the command says so and saves nothing', async () => {
  const home = realpathSync(tempDir());
  const config = join(home, 'config.json');
  const env = { HOME: home, XDG_CONFIG_HOME: '', XDG_STATE_HOME: join(home, '.state') };
  const policy = { deniedMcpServers: [{ serverName: 'notes' }] };
  const daemon = await TestDaemon.start({ dialIn: { ide: {} }, policy }, { dir: home, env });
  const run = (...args: string[]) => runCommand([...args, '--mcp-bridge-socket', daemon.path], { env, cwd: home });
  for (const name of ['ide', 'notes', 'jotter']) await dialIn(daemon.path, name);
  expect(await run('reject', 'jotter', 'ide')).toEqual({
    code: 1,
    stdout: '',
    stderr:
      `mcp-bridge: Nothing was rejected: ${config} offers ide, whatever is decided here. ` +
      'Remove dialIn.ide from that file. If ide is offered even then: mcp-bridge reject ide\n',
  });
  expect(await run('approve', 'jotter', 'notes', '--yes')).toEqual({
    code: 1,
    stdout: '',
    stderr:
      `mcp-bridge: Nothing was approved: policy blocks notes: it is denied by policy.deniedMcpServers[0] in ${config}. ` +
      'Whoever wrote that rule can change it. Then: mcp-bridge approve notes\n',
  });
  expect((await daemon.status()).dialledIn).toMatchObject([
    { name: 'ide', state: 'offered', configured: true },
    { name: 'notes', state: 'blocked', configured: false },
    { name: 'jotter', state: 'waiting', configured: false },
  ]);
  expect(existsSync(join(home, '.state/mcp-bridge/dial-ins.json'))).toBe(false);
  await daemon.stop();
});

test('commands say why a connected server waits', async () => {
  const { daemon, run } = await place();
  await dialIn(daemon.path, 'notes');
  const waits = (name: string): string =>
    `mcp-bridge: Server ${name} has connected by itself, and waits for approval. mcp-bridge approve ${name}\n`;
  for (const args of [
    ['tools', 'notes'],
    ['describe', 'notes', 'look'],
    ['call', 'notes', 'look'],
    ['discover', '--explain', 'notes'],
  ])
    expect(await run(...args)).toEqual({ code: 1, stdout: '', stderr: waits('notes') });
  await run('reject', 'notes');
  expect((await run('tools', 'notes')).stderr).toContain('and was rejected. To offer it after all: mcp-bridge approve');
  await run('approve', 'notes', '--yes');
  expect((await run('discover', '--explain', 'notes')).stderr).toContain('and is offered. See: mcp-bridge tools notes');
  expect((await run('discover', '--explain', 'nope')).stderr).toContain('No file defines a server nope');
  await daemon.stop();
});
