// What `mcp-bridge doctor` finds around the bridge: directories, the log, clients, leftovers, servers that do not start.

import { spawn, spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { runCommand } from '../support/command.ts';
import { fixtureServer, PROGRAM, TestDaemon, tempDir } from '../support/test-daemon.ts';

interface Finding {
  check: string;
  level: string;
  message: string;
  remedy: string | null;
}

async function doctor(home: string, socket: string, ...args: string[]): Promise<{ code: number; findings: Finding[] }> {
  const env = { HOME: home, XDG_CONFIG_HOME: '', XDG_STATE_HOME: '', XDG_CACHE_HOME: '', MCP_BRIDGE_SOCKET: socket };
  const { code, stdout } = await runCommand(['doctor', '--json', ...args], { env, cwd: home });
  return { code, ...(JSON.parse(stdout) as { findings: Finding[] }) };
}

test('a directory that others may write to is wrong, and a log that has grown large is noted', async () => {
  const home = tempDir();
  const state = join(home, '.local/state/mcp-bridge');
  mkdirSync(state, { recursive: true });
  chmodSync(state, 0o700);
  writeFileSync(join(state, 'daemon.log'), '');
  const socket = join(home, 'b.sock');
  const well = await doctor(home, socket);
  expect(well.code).toBe(0);
  expect(well.findings).toContainEqual(expect.objectContaining({ check: 'state directory', level: 'ok' }));
  truncateSync(join(state, 'daemon.log'), 65 * 1024 * 1024);
  chmodSync(state, 0o777);
  const { code, findings } = await doctor(home, socket);
  expect(code).toBe(1);
  expect(findings).toContainEqual(
    expect.objectContaining({ check: 'state directory', level: 'wrong', remedy: `chmod go-w ${state}` }),
  );
  expect(findings).toContainEqual(
    expect.objectContaining({ check: 'log', level: 'note', remedy: expect.stringContaining('truncate -s 0') }),
  );
});

test('a directory that cannot be made is wrong, and it is said how to have another one', async () => {
  const home = tempDir();
  writeFileSync(join(home, '.local'), 'no directory');
  mkdirSync(join(home, '.cache'));
  writeFileSync(join(home, '.cache/mcp-bridge'), 'no directory either');
  const { code, findings } = await doctor(home, join(home, 'b.sock'));
  expect(code).toBe(1);
  expect(findings.filter(({ level }) => level === 'wrong')).toEqual([
    {
      check: 'state directory',
      level: 'wrong',
      message: `${home}/.local/state/mcp-bridge cannot be made: ${home}/.local is no directory`,
      remedy: 'Set XDG_STATE_HOME to a directory of yours',
    },
    expect.objectContaining({ check: 'cache directory', message: `${home}/.cache/mcp-bridge is no directory` }),
  ]);
});

const mayBecomeNobody = process.getuid?.() === 0 && spawnSync('setpriv', ['--version']).error === undefined;

test.runIf(mayBecomeNobody)('a user whose home belongs to another user gets a finding for each directory', async () => {
  const home = tempDir();
  chmodSync(home, 0o755);
  const socket = join(home, 'b.sock');
  const env = { PATH: process.env.PATH, HOME: home, MCP_BRIDGE_SOCKET: socket };
  const user = ['--reuid=65534', '--regid=65534', '--clear-groups', process.execPath];
  const asNobody = () => spawnSync('setpriv', [...user, PROGRAM, 'doctor'], { env, cwd: '/', encoding: 'utf8' });
  const unwritable = asNobody();
  for (const name of ['STATE', 'CACHE', 'CONFIG'])
    expect(unwritable.stdout).toMatch(
      new RegExp(
        `WRONG .* cannot be made: ${home} cannot be written: EACCES. Set XDG_${name}_HOME to a directory of yours`,
      ),
    );
  expect([unwritable.status, unwritable.stderr]).toEqual([1, '']);
  chmodSync(home, 0o700);
  const closed = asNobody();
  expect(closed.stdout).toMatch(/WRONG state directory: .* cannot be looked at: EACCES. Set XDG_STATE_HOME/);
  expect([closed.status, closed.stderr]).toEqual([1, '']);
});

test('with --start each server is started, failed starts are faults, and clients that bypass the bridge are named', async () => {
  const daemon = await TestDaemon.start({
    mcpServers: { fixture: fixtureServer(), broken: fixtureServer({ FIXTURE_EXIT: '3' }) },
  });
  const home = tempDir();
  mkdirSync(join(home, '.cursor'));
  const entry = { command: 'node', args: ['x.js'] };
  writeFileSync(join(home, '.cursor/mcp.json'), JSON.stringify({ mcpServers: { fixture: entry, other: entry } }));
  const { code, findings } = await doctor(home, daemon.path, '--start');
  expect(code).toBe(1);
  expect(findings.filter(({ level }) => level === 'wrong').map(({ check }) => check)).toEqual(['server broken']);
  expect(findings).toContainEqual(
    expect.objectContaining({ check: 'server fixture', level: 'ok', message: expect.stringMatching(/has \d+ tools/) }),
  );
  const past = findings.filter(({ check }) => check === 'clients');
  expect(past).toMatchObject([{ level: 'note', remedy: expect.stringContaining('install cursor --replace') }]);
  expect(past[0]?.message).toMatch(/: fixture$/);
  // What has failed is known from now on.
  const later = await doctor(home, daemon.path);
  expect(later.findings.filter(({ check }) => check === 'server broken')).toMatchObject([
    { level: 'note', message: expect.stringContaining('3'), remedy: expect.stringContaining('logs broken') },
  ]);
  await daemon.stop();
});

test('with --start it checks the servers of its own directory, not those of other projects', async () => {
  const home = tempDir();
  const project = join(home, 'project');
  mkdirSync(join(project, '.git'), { recursive: true });
  writeFileSync(join(project, '.mcp.json'), JSON.stringify({ mcpServers: { there: fixtureServer({ AT: 'there' }) } }));
  const env = {
    HOME: home,
    XDG_CONFIG_HOME: join(home, '.config'),
    XDG_STATE_HOME: undefined,
    XDG_CACHE_HOME: undefined,
  };
  const daemon = await TestDaemon.start(undefined, { dir: home, env });
  const at = { env: { ...env, MCP_BRIDGE_SOCKET: daemon.path }, cwd: project };
  expect((await runCommand(['approve', 'there', '--yes'], at)).code).toBe(0);
  expect((await runCommand(['tools', 'there'], at)).code).toBe(0);
  expect((await daemon.status()).instances.map(({ server }) => server)).toContain('there');
  const elsewhere = await runCommand(['doctor', '--start', '--json'], { ...at, cwd: home });
  const { findings } = JSON.parse(elsewhere.stdout) as { findings: { check: string; level: string }[] };
  expect(findings.filter(({ check, level }) => check.startsWith('server ') && level === 'wrong')).toEqual([]);
  await daemon.stop();
});

test('without a daemon nothing can be started, and that is said', async () => {
  const home = tempDir();
  const { code, findings } = await doctor(home, join(home, 'b.sock'), '--start');
  expect(code).toBe(1);
  expect(findings).toContainEqual(expect.objectContaining({ check: 'servers', remedy: 'First: mcp-bridge start' }));
});

test.runIf(process.platform === 'linux')(
  'a server that has outlived its daemon is noted, one that has one is not',
  async () => {
    const daemon = await TestDaemon.start({ mcpServers: { fixture: fixtureServer() } });
    const client = await daemon.client();
    await client.callTool(1, 'echo', { text: 'x' });
    const served = (await daemon.status()).instances[0]?.pid;
    const left = spawn('sleep', ['600'], { detached: true, env: { ...process.env, MCP_BRIDGE_DEPTH: '1' } });
    onTestFinished(() => void left.kill('SIGKILL'));
    const { code, findings } = await doctor(tempDir(), daemon.path);
    const found = findings.filter(({ check }) => check === 'leftovers');
    expect(code).toBe(0);
    expect(found).toContainEqual(
      expect.objectContaining({
        level: 'note',
        message: expect.stringContaining(`Process ${left.pid} (sleep 600)`),
        remedy: expect.stringContaining(`kill -- -${left.pid}`),
      }),
    );
    expect(found.map(({ message }) => message).join('\n')).not.toContain(`Process ${served} `);
    client.destroy();
    await daemon.stop();
  },
);
