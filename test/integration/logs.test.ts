// `mcp-bridge logs`: the log of daemons in the background, and what servers' processes have written on stderr.

import { appendFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { putAsideLog } from '../../src/local/bounded-log.ts';
import { runCommand } from '../support/command.ts';
import { onTerminal, program } from '../support/lasting-command.ts';
import { fixtureServer, TestDaemon, tempDir } from '../support/test-daemon.ts';

const home = process.env.HOME ?? '';
const logFile = join(home, '.local/state/mcp-bridge/daemon.log');

test('where there is no log, it is said where logs are', async () => {
  expect(existsSync(logFile)).toBe(false);
  const { code, stdout, stderr } = await runCommand(['logs']);
  expect([code, stdout]).toEqual([1, '']);
  expect(stderr).toContain(`There is no log at ${logFile}. `);
  expect(stderr).toContain('in the foreground to its stderr');
  expect(stderr).toContain('journalctl --user -u mcp-bridge');
  expect(existsSync(logFile)).toBe(false);
});

test('how many lines is a number', async () => {
  const wrong = { code: 2, stderr: expect.stringContaining('--lines is how many lines to show') };
  for (const count of ['x', '-1', '1.5']) expect(await runCommand(['logs', `--lines=${count}`])).toMatchObject(wrong);
});

describe('the log of a daemon in the background', () => {
  const where = ['--mcp-bridge-socket', join(home, 'b.sock')];
  const run = (...args: string[]) => runCommand([...args, ...where]);
  beforeEach(async () => {
    await run('start');
  });
  afterEach(async () => {
    await run('stop');
  });

  test('is shown from behind, for people, and to scripts one object a line', async () => {
    appendFileSync(logFile, 'a trace of Node\n');
    const lines = readFileSync(logFile, 'utf8').split('\n').slice(0, -1);
    const objects = lines.map((line) => (line.startsWith('{') ? line : JSON.stringify({ message: line })));
    expect(objects).not.toEqual(lines);
    expect((await run('logs', '--json')).stdout).toBe(objects.map((line) => `${line}\n`).join(''));
    const last = (await run('logs', '-n', '2')).stdout.split('a trace')[0];
    expect(last).toMatch(/^\d{4}-\d\d-\d\dT[\d:.]+Z info {2}listening {2}path=\S+b\.sock {2}pid=\d+\n$/);
    appendFileSync(logFile, '{"time":"t","level":"error","message":"m","said":"\\u001b[2J"}\n');
    expect((await run('logs', '-n', '1')).stdout).toBe('t error m  said=\\u{1b}[2J\n');
  });

  test('is that of the daemon at this socket, and of the others where they are asked for', async () => {
    const other = join(home, 'other.sock');
    await runCommand(['start', '--mcp-bridge-socket', other]);
    await runCommand(['stop', '--mcp-bridge-socket', other]);
    // The daemon logs its end when its socket has gone already.
    while (!/"stopped".*other\.sock/.test(readFileSync(logFile, 'utf8'))) await nextTurn();
    appendFileSync(logFile, 'a trace of Node\n');
    const { stdout } = await run('logs');
    expect(stdout).toMatch(/listening {2}path=\S+\/b\.sock/);
    expect(stdout).toContain('a trace of Node\n');
    expect(stdout).not.toContain('other.sock');
    expect(stdout).not.toContain('socket=');
    expect((await runCommand(['logs', '--mcp-bridge-socket', other])).stdout).toMatch(
      /listening .*other\.sock(.*\n)*.*stopped\n/,
    );
    expect((await run('logs', '-n', '2', '--all')).stdout).toMatch(
      /stopped {2}socket=\S+\/other\.sock\na trace of Node\n$/,
    );
    expect((await run('logs', '-n', '2')).stdout).toMatch(/listening .*b\.sock.*\na trace/);
    const none = await runCommand(['logs', '-n', '1', '--mcp-bridge-socket', join(home, 'none.sock')]);
    expect(none).toMatchObject({ code: 0, stdout: 'a trace of Node\n', stderr: '' });
    writeFileSync(logFile, '{"time":"t","level":"info","message":"m","socket":"/other.sock"}\n');
    const silent = await runCommand(['logs', '--mcp-bridge-socket', join(home, 'none.sock')]);
    expect(silent).toMatchObject({ code: 0, stdout: '' });
    expect(silent.stderr).toContain('none.sock has logged anything here; --all shows the lines of others');
  });

  test('is followed over its being put aside, and over a restart of the daemon, until Ctrl-C', async () => {
    const shown = program('logs', '-f', '-n', '1', ...where);
    await shown.until(/info {2}listening/);
    appendFileSync(logFile, 'before\n');
    putAsideLog(logFile, 0);
    appendFileSync(logFile, 'behind\n', { mode: 0o600 });
    await shown.until(/^before\nbehind\n/m);
    await run('restart');
    await shown.until(/info {2}stopping {2}reason=restart\n(?:.*\n)*?.*info {2}listening .*\n/);
    shown.child.kill('SIGINT');
    expect(await shown.ended).toBe(0);
    const said = shown.said().split('\n');
    expect(said.filter((line) => line === 'before' || line === 'behind')).toEqual(['before', 'behind']);
  });

  test('is no longer followed when its reader has gone', async () => {
    const shown = program('logs', '--follow', '--json', ...where);
    await shown.until(/"listening"/);
    shown.child.stdout.destroy();
    appendFileSync(logFile, 'one more\n');
    expect(await shown.ended).toBe(0);
  });

  test('has colours on a terminal', async () => {
    appendFileSync(logFile, '{"time":"t","level":"warn","message":"m"}\n');
    const shown = onTerminal(20, 80, 'logs', '-n', '1');
    await shown.until(/t ␛\[33mwarn ␛\[0m m/);
    expect(await shown.ended).toBe(0);
  });
});

describe('the stderr of a server', () => {
  const TOKEN = 'canary-0123456789';
  const noisy = "process.stderr.write('cannot open the door\\n'); process.exitCode = 3";
  let daemon: TestDaemon;
  beforeEach(async () => {
    daemon = await TestDaemon.start({
      client: { view: 'all' },
      mcpServers: {
        fixture: fixtureServer({ TOKEN }),
        own: { ...fixtureServer(), sharing: 'dedicated' },
        broken: { command: process.execPath, args: ['-e', noisy] },
        remote: { url: 'http://127.0.0.1:9/mcp' },
      },
    });
  });
  afterEach(() => daemon.stop());

  const logs = (...args: string[]) => runCommand(['logs', ...args, '--mcp-bridge-socket', daemon.path]);
  async function complain(name: string, text: string, client?: Awaited<ReturnType<typeof daemon.client>>) {
    const own = client ?? (await daemon.client());
    await own.callTool(text, `${name}__complain`, { text });
    if (client === undefined) own.destroy();
  }
  const pidOf = async (name: string) =>
    (await daemon.status()).instances.find(({ server }) => server === name)?.pid ?? 0;

  test('is shown without secrets and without sequences that move the cursor', async () => {
    expect((await logs('fixture')).stdout).toBe(
      'fixture has not been started by this daemon, so there is nothing that it has written\n',
    );
    await complain('fixture', `one\n\u001b[31mred\u001b[0m \u001b[2J\tkey ${TOKEN}\nand so`);
    const pid = await pidOf('fixture');
    const text = `fixture (pid ${pid}):\none\nred \\u{1b}[2J\tkey [TOKEN]\nand so\n`;
    expect(await logs('fixture')).toEqual({ code: 0, stdout: text, stderr: '' });
    expect((await logs('fixture', '-n', '1')).stdout).toBe(`fixture (pid ${pid}):\nand so\n`);
    const { stdout } = await logs('fixture', '--json');
    expect(stdout).not.toContain('canary');
    expect(JSON.parse(stdout)).toMatchObject({ server: 'fixture', processes: [{ pid, running: true, from: 0 }] });
  });

  test('is there when the process has gone, or never got ready', async () => {
    const client = await daemon.client();
    await client.callTool(1, 'broken__x', {});
    client.destroy();
    expect((await logs('broken')).stdout).toMatch(/^broken \(pid \d+, ended\):\ncannot open the door\n$/);
    await complain('fixture', 'last\n');
    const pid = await pidOf('fixture');
    process.kill(pid, 'SIGKILL');
    await daemon.until(({ instances }) => instances.every((one) => one.pid !== pid));
    expect((await logs('fixture')).stdout).toBe(`fixture (pid ${pid}, ended):\nlast\n`);
  });

  test('is under a heading for each instance, and is forgotten with it', async () => {
    const [one, two] = [await daemon.client(), await daemon.client()];
    await complain('own', 'from one\n', one);
    await complain('own', 'from two\n', two);
    expect((await logs('own')).stdout).toMatch(/^own \(pid \d+\):\nfrom one\n\nown \(pid \d+\):\nfrom two\n$/);
    two.destroy();
    await daemon.until(({ instances }) => instances.filter(({ server }) => server === 'own').length === 1);
    expect((await logs('own')).stdout).toMatch(/^own \(pid \d+\):\nfrom one\n$/);
    one.destroy();
  });

  test('is followed over the end of the process, and says when the daemon has gone', async () => {
    await complain('fixture', 'first\n');
    const shown = program('logs', 'fixture', '-f', '--mcp-bridge-socket', daemon.path);
    let told = '';
    shown.child.stderr.on('data', (chunk) => {
      told += chunk;
    });
    await shown.until(/^fixture \(pid \d+\):\nfirst\n/m);
    await complain('fixture', 'second\nthi');
    await shown.until(/^second\n/m);
    await complain('fixture', 'rd\n');
    await shown.until(/^third\n/m);
    const pid = await pidOf('fixture');
    process.kill(pid, 'SIGKILL');
    await daemon.until(({ instances }) => instances.every((one) => one.pid !== pid));
    await complain('fixture', 'anew\n');
    await shown.until(/\nfixture \(pid \d+\):\nanew\n/);
    daemon.kill('SIGKILL');
    await daemon.exited;
    while (!told.includes('waiting for it to come back')) await new Promise((resolve) => setImmediate(resolve));
    shown.child.kill('SIGINT');
    expect(await shown.ended).toBe(0);
    expect(shown.said().match(/first|second|third|anew/g)).toEqual(['first', 'second', 'third', 'anew']);
  });

  test('is nowhere for a server at a URL, and for one that does not exist', async () => {
    const remote = await logs('remote');
    expect([remote.code, remote.stderr]).toEqual([1, expect.stringContaining('is at a URL, and has no process here')]);
    const unknown = await logs('fixtur');
    expect([unknown.code, unknown.stderr]).toEqual([1, expect.stringContaining('Did you mean fixture?')]);
    const socket = join(tempDir(), 'b.sock');
    const nobody = await runCommand(['logs', 'fixture', '--mcp-bridge-socket', socket]);
    expect([nobody.code, nobody.stderr]).toEqual([1, expect.stringContaining('No mcp-bridge runs at')]);
    expect(existsSync(socket)).toBe(false);
  });
});

test('a log that somebody else has put there in another shape is not read', async () => {
  const state = tempDir();
  writeFileSync(join(state, 'mcp-bridge'), 'no directory');
  const { code, stderr } = await runCommand(['logs'], { env: { XDG_STATE_HOME: state } });
  expect([code, stderr]).toEqual([1, expect.stringContaining('There is no log at')]);
});
