// A daemon that is handed its socket by whoever has bound it, as systemd does.

import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, openSync, readdirSync, readFileSync, readlinkSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { expect, onTestFinished, test } from 'vitest';
import { runCommand } from '../support/command.ts';
import { RawClient } from '../support/raw-client.ts';
import { temporaryDir } from '../support/temporary-dir.ts';
import { fixtureServer, PROGRAM, ROOT, untilGone, withView } from '../support/test-daemon.ts';

const CONFIG = { mcpServers: { fixture: fixtureServer() } };

interface Activator {
  readonly path: string;
  readonly child: ChildProcess;
  /** Its next word: `runs PID`, or `ended`. */
  says(): Promise<string>;
}

async function activator(more: readonly string[] = []): Promise<Activator> {
  const dir = temporaryDir();
  const path = join(dir, 'b.sock');
  writeFileSync(join(dir, 'config.json'), JSON.stringify(withView(CONFIG)));
  const daemon = [process.execPath, PROGRAM, 'serve', '--config', join(dir, 'config.json')];
  const args = [join(ROOT, 'test/fixtures/activator.py'), path, ...daemon, ...more];
  const child = spawn('python3', more.length > 0 ? args : [...args, '--mcp-bridge-socket', path], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, HOME: dir },
    cwd: dir,
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const says = async (): Promise<string> => String((await lines.next()).value);
  expect(await says()).toBe('bound');
  return { path, child, says };
}

async function runningPid({ says }: Activator): Promise<number> {
  const [word, pid] = (await says()).split(' ');
  expect(word).toBe('runs');
  return Number(pid);
}

const inodeAt = (path: string): number => statSync(path).ino;

test('clients that come before the daemon runs, and after it has ended, are served', async () => {
  const activated = await activator();
  const inode = inodeAt(activated.path);
  const clients = await Promise.all(Array.from({ length: 5 }, () => RawClient.connect(activated.path)));
  const pid = await runningPid(activated);
  for (const client of clients) {
    await client.initialize();
    expect((await client.callTool(1, 'echo', { text: 'x' })).error).toBeUndefined();
  }
  const stopped = await runCommand(['stop', '--mcp-bridge-socket', activated.path]);
  expect([stopped.code, stopped.stderr]).toEqual([0, '']);
  expect(await activated.says()).toBe('ended');
  expect(inodeAt(activated.path)).toBe(inode);
  const later = await RawClient.connect(activated.path);
  const next = await runningPid(activated);
  expect(next).not.toBe(pid);
  await later.initialize();
  process.kill(next, 'SIGTERM');
  await untilGone(next);
});

test('restart lets the owner of the socket start the next daemon, and clients that come meanwhile are served', async () => {
  const activated = await activator();
  const [inode, where] = [inodeAt(activated.path), ['--mcp-bridge-socket', activated.path]];
  const first = await RawClient.connect(activated.path);
  const pid = await runningPid(activated);
  await first.initialize();
  const slow = first.callTool(1, 'slow', { ms: 300 });
  const restarting = runCommand(['restart', ...where]);
  const come: Promise<unknown>[] = [];
  const coming = setInterval(() => come.push(served(activated.path)), 10);
  const { code, stdout } = await restarting;
  clearInterval(coming);
  expect(await activated.says()).toBe('ended');
  const next = await runningPid(activated);
  expect([code, stdout]).toEqual([
    0,
    `mcp-bridge runs at ${activated.path} (pid ${next}, pid ${pid} before); its log is where its service logs\n`,
  ]);
  expect((await slow).error).toBeUndefined();
  expect(come.length).toBeGreaterThan(10);
  expect([...new Set(await Promise.all(come))]).toEqual(['served']);
  expect(inodeAt(activated.path)).toBe(inode);
  const status = await runCommand(['status', '--json', ...where]);
  expect(JSON.parse(status.stdout)).toMatchObject({ pid: next, activated: true });
  process.kill(next, 'SIGTERM');
  await untilGone(next);
});

test('restart cannot change settings of the unit, and then ends nothing', async () => {
  const activated = await activator();
  const client = await RawClient.connect(activated.path);
  const pid = await runningPid(activated);
  await client.initialize();
  const { code, stderr } = await runCommand(['restart', '--mcp-bridge-socket', activated.path, '--log-level', 'debug']);
  expect([code, stderr]).toEqual([2, expect.stringContaining('--log-level has no effect on the service')]);
  expect((await client.callTool(1, 'echo', { text: 'x' })).error).toBeUndefined();
  process.kill(pid, 'SIGTERM');
  await untilGone(pid);
});

test('if nobody holds the socket any more, restart starts the next daemon itself', async () => {
  const activated = await activator();
  const client = await RawClient.connect(activated.path);
  const pid = await runningPid(activated);
  await client.initialize();
  activated.child.kill('SIGKILL');
  const where = ['--mcp-bridge-socket', activated.path];
  const { code, stdout } = await runCommand(['restart', ...where]);
  expect([code, stdout]).toEqual([0, expect.stringContaining(`pid ${pid} before); its log is /`)]);
  expect(JSON.parse((await runCommand(['status', '--json', ...where])).stdout)).toMatchObject({ activated: false });
  expect((await runCommand(['stop', ...where])).code).toBe(0);
});

/** What a client is told that has connected now. */
async function served(path: string): Promise<unknown> {
  const client = await RawClient.connect(path);
  client.send({ jsonrpc: '2.0', id: 1, method: 'ping' });
  const { error } = await client.next();
  client.destroy();
  return error === undefined ? 'served' : error.message;
}

test('a daemon that is killed leaves the socket to the next one', async () => {
  const activated = await activator();
  const first = await RawClient.connect(activated.path);
  const pid = await runningPid(activated);
  await first.initialize();
  process.kill(pid, 'SIGKILL');
  expect(await activated.says()).toBe('ended');
  const second = await RawClient.connect(activated.path);
  const next = await runningPid(activated);
  await second.initialize();
  process.kill(next, 'SIGTERM');
  await untilGone(next);
});

test('servers get neither the socket nor the variables', async () => {
  const activated = await activator();
  const client = await RawClient.connect(activated.path);
  const pid = await runningPid(activated);
  await client.initialize();
  await client.callTool(1, 'echo', { text: 'x' });
  const fds = (of: number): string[] => readdirSync(`/proc/${of}/fd`).map((fd) => readlinkSync(`/proc/${of}/fd/${fd}`));
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ').map(Number);
  expect(children.length).toBeGreaterThan(0);
  const listening = readlinkSync(`/proc/${pid}/fd/3`);
  expect(listening).toMatch(/^socket:/);
  for (const child of children) {
    expect(fds(child)).not.toContain(listening);
    expect(readFileSync(`/proc/${child}/environ`, 'utf8')).not.toContain('LISTEN_');
  }
  process.kill(pid, 'SIGTERM');
  await untilGone(pid);
});

test('a socket at another path than the one that is meant is refused', async () => {
  const activated = await activator(['--mcp-bridge-socket', '/tmp/mcp-bridge-elsewhere.sock']);
  const errors: string[] = [];
  activated.child.stderr?.setEncoding('utf8').on('data', (text: string) => errors.push(text));
  const client = await RawClient.connect(activated.path);
  await runningPid(activated);
  expect(await activated.says()).toBe('ended');
  const closed = new Promise((resolve) => activated.child.once('close', resolve));
  activated.child.kill('SIGKILL');
  await closed;
  client.destroy();
  expect(errors.join('')).toContain('is not at /tmp/mcp-bridge-elsewhere.sock');
  expect(existsSync('/tmp/mcp-bridge-elsewhere.sock')).toBe(false);
});

/** Runs `serve` with this as descriptor 3, and the variables that say so. */
function runServe(fd: number, path: string, variables = 'LISTEN_PID=$$ LISTEN_FDS=1'): Promise<string> {
  const script = `${variables} exec "$0" "$@"`;
  const args = ['-c', script, process.execPath, PROGRAM, 'serve', '--mcp-bridge-socket', path];
  const child = spawn('/bin/sh', args, { stdio: ['ignore', 'ignore', 'pipe', fd] });
  return new Promise((resolve) => {
    let text = '';
    child.stderr?.setEncoding('utf8').on('data', (chunk: string) => {
      text += chunk;
      if (chunk.includes('listening on')) child.kill('SIGTERM');
    });
    child.once('close', () => resolve(text));
  });
}

test('a descriptor that is no listening socket is refused, and one for another process is ignored', async () => {
  const dir = temporaryDir();
  const path = join(dir, 'b.sock');
  const file = openSync('/dev/null', 'r');
  expect(await runServe(file, path)).toContain('Descriptor 3 was handed to the daemon, and is no socket');
  expect(await runServe(file, path, 'LISTEN_PID=$$ LISTEN_FDS=2')).toContain('2 sockets were handed to the daemon');
  expect(await runServe(file, path, 'LISTEN_PID=1 LISTEN_FDS=1')).toContain(`listening on ${path}`);
  const other = createServer().listen(join(dir, 'other.sock'));
  onTestFinished(() => void other.close());
  await new Promise((resolve) => other.once('listening', resolve));
  const { fd } = (other as unknown as { _handle: { fd: number } })._handle;
  expect(await runServe(fd, path)).toContain(`is not at ${path}`);
});
