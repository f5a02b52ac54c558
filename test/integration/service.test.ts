// `mcp-bridge service`: units that systemd understands, and a socket that works by what stands in them. systemctl is a
// program of the test's own that notes what it is told, as no systemd of a user runs here.

import { spawn, spawnSync } from 'node:child_process';
import {
  appendFileSync,
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { expect, onTestFinished, test } from 'vitest';
import { serviceWith } from '../../src/cli/commands/service/service.ts';
import { fakeHost } from '../support/cli-host.ts';
import { type CommandResult, runCommand } from '../support/command.ts';
import { RawClient } from '../support/raw-client.ts';
import { temporaryDir } from '../support/temporary-dir.ts';
import { PROGRAM, ROOT, TestDaemon, untilGone } from '../support/test-daemon.ts';

const NAMES = ['mcp-bridge.service', 'mcp-bridge.socket'];
const hasAnalyze = spawnSync('systemd-analyze', ['--version']).error === undefined;

/** A home, with a systemctl that remembers whether the socket is active. */
function home(name = 'home') {
  const dir = join(temporaryDir(), name);
  const units = join(dir, '.config/systemd/user');
  const bin = join(dir, 'bin');
  const told = join(dir, 'told');
  mkdirSync(bin, { recursive: true });
  const script = `#!/bin/sh
echo "$*" >> '${told}'
case "$*" in
  *is-active*) test -e '${told}.active' ;;
  *enable*) touch '${told}.active' ;;
  *disable*) rm -f '${told}.active' ;;
esac
`;
  writeFileSync(join(bin, 'systemctl'), script);
  chmodSync(join(bin, 'systemctl'), 0o755);
  const env = { HOME: dir, PATH: `${bin}:/usr/bin:/bin` };
  const path = join(dir, 'b.sock');
  return {
    ...{ dir, units, env, path },
    run: (...args: string[]): Promise<CommandResult> =>
      runCommand(['service', ...args, '--mcp-bridge-socket', path], { env }),
    /** What systemctl was told since. */
    told: (): string[] => {
      const lines = existsSync(told) ? readFileSync(told, 'utf8').trim().split('\n') : [];
      writeFileSync(told, '');
      return lines.filter((line) => line !== '').map((line) => line.replace('--user ', ''));
    },
    unit: (unit: string): Record<string, string[]> => parsed(readFileSync(join(units, unit), 'utf8')),
  };
}

/** `Section.Key` with its values. */
function parsed(text: string): Record<string, string[]> {
  const found: Record<string, string[]> = {};
  let section = '';
  for (const line of text.split('\n')) {
    if (/^#|^$/.test(line)) continue;
    const [, name] = /^\[(\w+)\]$/.exec(line) ?? [];
    const [, key, value] = /^(\w+)=(.*)$/.exec(line) ?? [];
    if (name !== undefined) section = name;
    else if (key === undefined) throw new Error(`not a line of a unit: ${line}`);
    else found[`${section}.${key}`] = [...(found[`${section}.${key}`] ?? []), value ?? ''];
  }
  return found;
}

/** The words of a command line, as systemd reads it. */
function wordsOf(line: string): string[] {
  return [...line.matchAll(/"((?:[^"\\]|\\.)*)"/g)].map(([, word = '']) =>
    word.replaceAll('%%', '%').replaceAll('$$', '$').replace(/\\(.)/g, '$1'),
  );
}

test('install writes units with the paths of this installation, and is done when it is done again', async () => {
  const here = home();
  const first = await here.run('install');
  expect([first.code, first.stderr]).toEqual([0, '']);
  expect(readdirSync(here.units).sort()).toEqual(NAMES);
  const [socket, service] = [here.unit('mcp-bridge.socket'), here.unit('mcp-bridge.service')];
  expect(socket['Socket.ListenStream']).toEqual([here.path]);
  expect(socket['Socket.SocketMode']).toEqual(['0600']);
  expect(socket['Install.WantedBy']).toEqual(['sockets.target']);
  expect(service['Unit.Requires']).toEqual(['mcp-bridge.socket']);
  const command = wordsOf(service['Service.ExecStart']?.[0] ?? '');
  expect(command).toEqual([process.execPath, PROGRAM, 'serve', '--mcp-bridge-socket', here.path]);
  expect(service['Service.Environment']).toEqual([`"PATH=${here.env.PATH}"`]);
  expect(here.told()).toEqual([
    'is-active --quiet mcp-bridge.socket',
    'daemon-reload',
    'enable --now mcp-bridge.socket',
  ]);
  const status = await here.run('status');
  expect([status.code, status.stdout.match(/as it was written/g)?.length]).toEqual([0, 2]);
  here.told();
  const second = await here.run('install');
  expect([second.code, second.stdout]).toEqual([0, 'Everything is as it should be\n']);
  expect(here.told()).toEqual(['is-active --quiet mcp-bridge.socket']);
});

test.runIf(hasAnalyze)('systemd has nothing to say against the units, whatever the paths are', async () => {
  const here = home('a b%h $HOME "q" é');
  expect((await here.run('install')).stderr).toBe('');
  const files = NAMES.map((name) => join(here.units, name));
  const runtime = temporaryDir();
  const { status, stderr } = spawnSync('systemd-analyze', ['--user', 'verify', ...files], {
    encoding: 'utf8',
    env: { ...process.env, HOME: here.dir, XDG_RUNTIME_DIR: runtime },
  });
  expect([status, stderr]).toEqual([0, '']);
});

test('the units’ command line makes a daemon that takes over the socket', async () => {
  const here = home('a b%h $HOME "q"');
  await here.run('install');
  const command = wordsOf(here.unit('mcp-bridge.service')['Service.ExecStart']?.[0] ?? '');
  const path = (here.unit('mcp-bridge.socket')['Socket.ListenStream']?.[0] ?? '').replaceAll('%%', '%');
  const activator = spawn('python3', [join(ROOT, 'test/fixtures/activator.py'), path, ...command], {
    stdio: ['ignore', 'pipe', 'ignore'],
    env: { HOME: here.dir, PATH: process.env.PATH },
  });
  onTestFinished(() => void activator.kill('SIGKILL'));
  const lines = createInterface({ input: activator.stdout })[Symbol.asyncIterator]();
  expect((await lines.next()).value).toBe('bound');
  const client = await RawClient.connect(path);
  const [, pid] = String((await lines.next()).value).split(' ');
  await client.initialize();
  process.kill(Number(pid), 'SIGTERM');
  await untilGone(Number(pid));
});

test('the daemon of the units outlives a config that is half-written, and comes back when one is back that has gone', async () => {
  const here = home();
  const config = join(here.dir, 'named.json');
  const whole = JSON.stringify({ mcpServers: {} });
  writeFileSync(config, whole);
  expect((await here.run('install', '--config', config)).stderr).toBe('');
  const service = here.unit('mcp-bridge.service');
  const command = wordsOf(service['Service.ExecStart']?.[0] ?? '');
  expect(command.slice(-2)).toEqual(['--config', config]);
  // systemd starts it again for as long as it takes.
  expect([service['Service.Restart'], service['Unit.StartLimitIntervalSec']]).toEqual([['on-failure'], ['0']]);
  const activator = spawn('python3', [join(ROOT, 'test/fixtures/activator.py'), here.path, ...command], {
    stdio: ['ignore', 'pipe', 'ignore'],
    env: { HOME: here.dir, PATH: process.env.PATH },
  });
  onTestFinished(() => void activator.kill('SIGKILL'));
  const lines = createInterface({ input: activator.stdout })[Symbol.asyncIterator]();
  const says = async (): Promise<string> => String((await lines.next()).value);
  expect(await says()).toBe('bound');
  const where = ['--mcp-bridge-socket', here.path];
  const status = async () => {
    const { stdout } = await runCommand(['status', '--json', ...where], { env: here.env });
    return JSON.parse(stdout) as { pid: number; configFaults: string[] };
  };
  const first = await status();
  expect(await says()).toBe(`runs ${first.pid}`);

  writeFileSync(config, '{ "mcpServers": {');
  const restarted = await runCommand(['restart', ...where], { env: here.env });
  expect(restarted).toMatchObject({ code: 1, stderr: expect.stringContaining('named.json:1:') });
  expect((await status()).pid).toBe(first.pid);

  // As `systemctl restart` does, which asks nobody.
  process.kill(first.pid, 'SIGTERM');
  expect(await says()).toBe('ended');
  const second = await status();
  expect(await says()).toBe(`runs ${second.pid}`);
  // The search for servers has read the file too, or not yet, and says the same of it in words of its own.
  expect(second.configFaults).toContainEqual(
    expect.stringMatching(/named\.json:1:.* What it said at \S+ is still used\.$/),
  );

  rmSync(config);
  process.kill(second.pid, 'SIGTERM');
  expect(await says()).toBe('ended');
  const client = await RawClient.connect(here.path);
  const failed = await says();
  expect([failed, await says()]).toEqual([expect.stringMatching(/^runs /), 'ended']);
  writeFileSync(config, whole);
  expect((await client.initialize()).error).toBeUndefined();
  const third = await status();
  process.kill(third.pid, 'SIGTERM');
  await untilGone(third.pid);
});

test('--dry-run writes nothing', async () => {
  const here = home();
  const { code, stdout } = await here.run('install', '--dry-run');
  expect(code).toBe(0);
  for (const name of NAMES) expect(stdout).toContain(`${join(here.units, name)} would be:`);
  expect(stdout).toContain(`ListenStream=${here.path}`);
  expect([existsSync(here.units), here.told()]).toEqual([false, []]);
  await here.run('install');
  expect((await here.run('uninstall', '--dry-run')).stdout).toContain('would be removed');
  expect(readdirSync(here.units).sort()).toEqual(NAMES);
});

test('a unit that a person has changed is neither replaced nor removed without a message', async () => {
  const here = home();
  await here.run('install');
  const file = join(here.units, 'mcp-bridge.service');
  appendFileSync(file, 'Nice=5\n');
  const text = readFileSync(file, 'utf8');
  for (const action of ['install', 'uninstall']) {
    const { code, stderr } = await here.run(action);
    expect([code, stderr]).toEqual([
      1,
      `mcp-bridge: ${file} has been changed since it was written. Look at it; --force will ${action === 'install' ? 'replace' : 'remove'} it.\n`,
    ]);
    expect(readFileSync(file, 'utf8')).toBe(text);
  }
  expect((await here.run('status')).stdout).toContain(`${file}: changed by hand`);
  expect((await here.run('install', '--force')).code).toBe(0);
  expect(readFileSync(file, 'utf8')).not.toContain('Nice');
  writeFileSync(file, '[Service]\nExecStart=/bin/true\n');
  expect((await here.run('uninstall')).stderr).toContain('was not written by mcp-bridge');
});

test('uninstall removes exactly what was written', async () => {
  const here = home();
  await here.run('install');
  writeFileSync(join(here.units, 'other.service'), '');
  here.told();
  const { code, stdout } = await here.run('uninstall');
  expect([code, stdout.split('\n').length]).toEqual([0, 3]);
  expect(readdirSync(here.units)).toEqual(['other.service']);
  expect(here.told()).toEqual(['disable --now mcp-bridge.socket', 'stop mcp-bridge.service', 'daemon-reload']);
  expect((await here.run('uninstall')).stdout).toBe('There is nothing to remove\n');
});

test('other settings renew the units, and systemd reads them again', async () => {
  const here = home();
  await here.run('install');
  here.told();
  const other = join(here.dir, 'other.sock');
  const { code } = await runCommand(['service', 'install', '--mcp-bridge-socket', other], { env: here.env });
  expect(code).toBe(0);
  expect(here.unit('mcp-bridge.socket')['Socket.ListenStream']).toEqual([other]);
  expect(here.told()).toEqual([
    'is-active --quiet mcp-bridge.socket',
    'disable --now mcp-bridge.socket',
    'stop mcp-bridge.service',
    'daemon-reload',
    'enable --now mcp-bridge.socket',
  ]);
});

test('a daemon that has the socket already is not robbed of it', async () => {
  const here = home();
  const daemon = await TestDaemon.start({ mcpServers: {} }, { dir: here.dir });
  const { code, stderr } = await here.run('install');
  expect([code, stderr]).toEqual([
    1,
    `mcp-bridge: A daemon (pid ${daemon.pid}) has ${here.path}. End it with: mcp-bridge stop\n`,
  ]);
  expect(existsSync(here.units)).toBe(false);
  await daemon.stop();
});

test('without systemd it says so, and writes nothing', async () => {
  const here = home();
  const env = { ...here.env, PATH: join(here.dir, 'nothing') };
  const { code, stderr } = await runCommand(['service', 'install', '--mcp-bridge-socket', here.path], { env });
  expect([code, stderr]).toEqual([
    1,
    'mcp-bridge: There is no systemctl on this machine. Clients start the daemon themselves, with mcp-bridge connect. --dry-run shows the units.\n',
  ]);
  expect(existsSync(here.units)).toBe(false);
});

test('on macOS the daemon runs all the time, as launchd would read it', async () => {
  const dir = join(temporaryDir(), 'a <b> & c');
  mkdirSync(dir);
  const host = { ...fakeHost(dir, dir), program: PROGRAM };
  const told: string[] = [];
  const tell = (command: readonly string[]) => {
    told.push(command.join(' '));
    return { isDone: false, said: '' };
  };
  const values = { action: 'install', 'dry-run': true, 'mcp-bridge-socket': join(dir, 's') } as const;
  expect(await serviceWith(values, host, { platform: 'darwin', tell })).toBe(0);
  const text = host.said();
  const plist = text.slice(text.indexOf('<?xml'));
  const program = `import plistlib, json, sys
print(json.dumps(plistlib.loads(sys.stdin.buffer.read())))`;
  const { stdout } = spawnSync('python3', ['-c', program], { input: plist.trim(), encoding: 'utf8' });
  expect(JSON.parse(stdout)).toMatchObject({
    Label: 'mcp-bridge',
    ProgramArguments: [process.execPath, PROGRAM, 'serve', '--mcp-bridge-socket', join(dir, 's')],
    KeepAlive: { SuccessfulExit: false },
    RunAtLoad: true,
    WorkingDirectory: dir,
    StandardErrorPath: join(dir, '.local/state/mcp-bridge/daemon.log'),
  });
  expect(text).toContain(join(dir, 'Library/LaunchAgents/mcp-bridge.plist'));
  expect(told).toEqual([]);
  await expect(serviceWith(values, host, { platform: 'win32', tell })).rejects.toThrow('There are no units for win32');
});
