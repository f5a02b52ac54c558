// One daemon a path, whatever happens to it and whoever else wants to be it.

import { spawn, spawnSync } from 'node:child_process';
import { chmodSync, chownSync, existsSync, lstatSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { startDaemon } from '../../src/client/start-daemon.ts';
import { LockFile } from '../../src/local/lock-file.ts';
import { runCommand } from '../support/command.ts';
import { RawClient } from '../support/raw-client.ts';
import { fixtureServer, PROGRAM, TestDaemon, tempDir, untilGone } from '../support/test-daemon.ts';

const CONFIG = { mcpServers: { fixture: fixtureServer() } };
const isRoot = process.getuid?.() === 0;

test('a second daemon on the same path names the first one and exits with 1', async () => {
  const daemon = await TestDaemon.start(CONFIG);
  const second = await runCommand(['serve', '--mcp-bridge-socket', daemon.path]);
  expect(second.code).toBe(1);
  expect(second.stderr).toBe(
    `mcp-bridge: Another daemon (pid ${daemon.pid}) has ${daemon.path}. Use it as it is, or end it with: mcp-bridge stop\n`,
  );
  expect((await (await daemon.client()).callTool(1, 'echo', { text: 'x' })).error).toBeUndefined();
  await daemon.stop();
});

test('a daemon that is stopped in its tracks is not taken over', async () => {
  const daemon = await TestDaemon.start(CONFIG);
  daemon.kill('SIGSTOP');
  const second = await runCommand(['serve', '--mcp-bridge-socket', daemon.path]);
  expect(second.code).toBe(1);
  daemon.kill('SIGCONT');
  await daemon.client();
  await daemon.stop();
});

test('after kill -9 the next one takes the path over at once', async () => {
  const daemon = await TestDaemon.start(CONFIG);
  daemon.kill('SIGKILL');
  await daemon.exited;
  expect(existsSync(daemon.path)).toBe(true);
  const next = await TestDaemon.start(CONFIG, { dir: daemon.dir });
  await next.client();
  await next.stop();
});

/** A command under which root is refused what the permissions of files refuse. */
const AS_ANYBODY = isRoot ? ['setpriv', '--bounding-set=-dac_override,-dac_read_search'] : [];

test('a daemon that cannot remove its socket answers what it was asked, ends its servers, and says so', async () => {
  const daemon = await TestDaemon.start(CONFIG, { under: AS_ANYBODY });
  const client = await daemon.client();
  const [instance] = (await daemon.status()).instances;
  const answer = client.callTool(1, 'slow', { ms: 500 });
  await daemon.until(({ instances }) => instances.some(({ calls }) => calls > 0));
  chmodSync(daemon.dir, 0o500);
  daemon.kill('SIGTERM');
  expect(await daemon.exited).toEqual({ code: 0, signal: null });
  chmodSync(daemon.dir, 0o700);
  expect((await answer).error).toBeUndefined();
  await untilGone(Number(instance?.pid));
  expect(daemon.log).toContain(`Cannot remove ${daemon.path}: permission denied`);
  expect(daemon.log).toContain('"message":"stopped"');
  expect(existsSync(daemon.path)).toBe(true);
  const next = await TestDaemon.start(CONFIG, { dir: daemon.dir });
  await next.client();
  await next.stop();
});

test('a daemon that cannot remove its socket does not end for want of clients: no other could take its place', async () => {
  const daemon = await TestDaemon.start(
    { ...CONFIG, daemon: { idleExitMs: 1000 } },
    { under: AS_ANYBODY, args: ['--autostarted'] },
  );
  chmodSync(daemon.dir, 0o500);
  await daemon.untilLogged('the socket stays behind');
  expect((await (await daemon.client()).callTool(1, 'echo', { text: 'x' })).error).toBeUndefined();
  chmodSync(daemon.dir, 0o700);
  await daemon.stop();
});

test('of twelve daemons that start at once on a stale socket, exactly one wins', async () => {
  const dir = tempDir();
  const path = join(dir, 'b.sock');
  for (let round = 0; round < 3; round++) {
    const starters = Array.from({ length: 12 }, () =>
      spawn(process.execPath, [PROGRAM, 'serve', '--mcp-bridge-socket', path], {
        stdio: ['ignore', 'ignore', 'pipe'],
        env: { ...process.env, XDG_CONFIG_HOME: dir },
      }),
    );
    const ends = starters.map(
      (child) =>
        new Promise<'listens' | number>((resolve) => {
          child.stderr
            .setEncoding('utf8')
            .on('data', (text: string) => text.includes('listening on') && resolve('listens'));
          child.once('exit', (code) => resolve(code ?? -1));
        }),
    );
    const outcomes = await Promise.all(ends);
    expect(outcomes.filter((outcome) => outcome === 'listens')).toHaveLength(1);
    expect(outcomes.filter((outcome) => outcome === 1)).toHaveLength(11);
    const winner = starters[outcomes.indexOf('listens')];
    (await RawClient.connect(path)).destroy();
    winner?.kill('SIGKILL'); // the socket stays, stale, for the next round
    await new Promise((resolve) => winner?.once('exit', resolve));
  }
  rmSync(dir, { recursive: true });
});

test('the socket is for its owner alone, also under umask 000, and so is the lock', async () => {
  const dir = tempDir();
  const path = join(dir, 'b.sock');
  const script = `umask 000; exec "${process.execPath}" "${PROGRAM}" serve --mcp-bridge-socket "${path}"`;
  const child = spawn('/bin/sh', ['-c', script], {
    stdio: ['ignore', 'ignore', 'pipe'],
    env: { ...process.env, XDG_CONFIG_HOME: dir },
  });
  await new Promise<void>((resolve) => child.stderr.on('data', () => resolve()));
  expect(lstatSync(path).mode & 0o777).toBe(0o600);
  expect(lstatSync(`${path}.lock`).mode & 0o777).toBe(0o600);
  child.kill();
  await new Promise((resolve) => child.once('exit', resolve));
  rmSync(dir, { recursive: true });
});

test('a daemon that stops takes its socket with it, and leaves one that is not its own', async () => {
  const tidy = await TestDaemon.start(CONFIG);
  const stopped = runCommand(['stop', '--mcp-bridge-socket', tidy.path]);
  expect((await stopped).code).toBe(0);
  expect(existsSync(tidy.path)).toBe(false);
  await tidy.stop();

  const robbed = await TestDaemon.start(CONFIG);
  rmSync(robbed.path);
  const usurper = createServer().listen(robbed.path);
  await new Promise((resolve) => usurper.once('listening', resolve));
  const inode = lstatSync(robbed.path).ino;
  robbed.kill('SIGTERM');
  await robbed.exited;
  expect(lstatSync(robbed.path).ino).toBe(inode);
  await new Promise((resolve) => usurper.close(resolve));
  await robbed.stop();
});

describe('a path that will not do is refused with a reason and a remedy, by daemon and client alike', () => {
  async function refused(path: string, reason: RegExp): Promise<void> {
    for (const args of [['serve'], ['status']]) {
      const { code, stderr } = await runCommand([...args, '--mcp-bridge-socket', path]);
      expect(code).toBe(1);
      expect(stderr).toMatch(reason);
      expect(stderr.trimEnd().split('\n')).toHaveLength(1);
    }
  }

  test('one that is too long', async () => {
    const dir = tempDir();
    await refused(join(dir, 'x'.repeat(104 - dir.length - 1)), /more than 103 bytes.*shorter path/);
    const daemon = await TestDaemon.start(CONFIG, {
      dir,
      args: ['--mcp-bridge-socket', join(dir, 'x'.repeat(103 - dir.length - 1))],
    });
    await (await RawClient.connect(join(dir, 'x'.repeat(103 - dir.length - 1)))).initialize();
    await daemon.stop();
  });

  test('a file', async () => {
    const dir = tempDir();
    writeFileSync(join(dir, 'file'), 'precious');
    await refused(join(dir, 'file'), /is not a socket/);
    expect(lstatSync(join(dir, 'file')).size).toBe(8);
    rmSync(dir, { recursive: true });
  });

  test('a link', async () => {
    const dir = tempDir();
    symlinkSync(join(dir, 'elsewhere'), join(dir, 'link'));
    await refused(join(dir, 'link'), /is not a socket/);
    rmSync(dir, { recursive: true });
  });

  test('a directory that is not there', async () => {
    const { code, stderr } = await runCommand(['serve', '--mcp-bridge-socket', join(tempDir(), 'no/such/b.sock')]);
    expect(code).toBe(1);
    expect(stderr).toMatch(/Cannot open .*ENOENT.*directory must exist/);
  });

  test.runIf(isRoot)("another user's socket, or lock", async () => {
    const dir = tempDir();
    const path = join(dir, 'b.sock');
    const server = createServer().listen(path);
    await new Promise((resolve) => server.once('listening', resolve));
    chownSync(path, 12345, 12345);
    chmodSync(path, 0o666);
    await refused(path, /belongs to another user/);
    await new Promise((resolve) => server.close(resolve));
    mkdirSync(join(dir, 'locked'));
    writeFileSync(join(dir, 'locked/b.sock.lock'), '');
    chownSync(join(dir, 'locked/b.sock.lock'), 12345, 12345);
    const { code, stderr } = await runCommand(['serve', '--mcp-bridge-socket', join(dir, 'locked/b.sock')]);
    expect([code, stderr]).toEqual([1, expect.stringMatching(/b\.sock\.lock belongs to another user/)]);
    rmSync(dir, { recursive: true });
  });
});

test.runIf(isRoot)('a user without a name, as containers have them, has a daemon like anybody else', () => {
  const dir = tempDir();
  chownSync(dir, 54_321, 54_321);
  const place = ['--mcp-bridge-socket', join(dir, 'b.sock')];
  const asNobody = (...args: string[]) =>
    spawnSync(process.execPath, [PROGRAM, ...args, ...place], {
      ...{ cwd: dir, encoding: 'utf8', env: { ...process.env, HOME: dir }, uid: 54_321, gid: 54_321 },
    });
  expect(asNobody('start')).toMatchObject({ status: 0, stderr: '' });
  expect(asNobody('status')).toMatchObject({ status: 0, stderr: '' });
  expect(asNobody('stop')).toMatchObject({ status: 0, stderr: '' });
  rmSync(dir, { recursive: true });
});

test('a command that was stopped while starting a daemon is not waited for without end', async () => {
  const dir = tempDir();
  const path = join(dir, 'b.sock');
  const state = join(dir, 'mcp-bridge');
  mkdirSync(state, { mode: 0o700 });
  const held = LockFile.take(join(state, `start-${path.replace(/[^\w.-]/g, '_')}.lock`));
  const environment = { ...process.env, XDG_STATE_HOME: dir, XDG_CONFIG_HOME: dir };
  const options = { path, program: PROGRAM, serveArgs: [], environment, homedir: dir };
  const { socket } = await startDaemon(options, 0);
  socket.destroy();
  held?.release();
  expect((await runCommand(['stop', '--mcp-bridge-socket', path])).code).toBe(0);
  rmSync(dir, { recursive: true });
});
