// `mcp-bridge attach`: any stdio server is offered to real daemons, and its end is that of the command.

import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import { runCommand } from '../support/command.ts';
import { textOf } from '../support/raw-client.ts';
import { FIXTURE, fixtureServer, isAlive, PROGRAM, TestDaemon, untilGone } from '../support/test-daemon.ts';

const IDE = { dialIn: { ide: { description: 'An editor' } }, client: { view: 'all' } };
const children: ChildProcess[] = [];

afterEach(() => {
  for (const child of children.splice(0)) child.kill('SIGKILL');
});

const ended = (child: ChildProcess): Promise<unknown> => new Promise((resolve) => child.once('close', resolve));

describe('mcp-bridge attach', () => {
  const attach = (daemon: TestDaemon, name: string, ...command: string[]) => attachWith([], daemon, name, ...command);
  const attachAlone = (daemon: TestDaemon, name: string, ...command: string[]) =>
    attachWith(['--no-autostart'], daemon, name, ...command);
  const attachWith = (options: readonly string[], daemon: TestDaemon, name: string, ...command: string[]) => {
    const where = ['--mcp-bridge-socket', daemon.path, '--config', join(daemon.dir, 'config.json')];
    const args = [PROGRAM, 'attach', name, ...where, ...options, '--', ...command];
    const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'pipe'], cwd: daemon.dir });
    children.push(child);
    const said = { text: '' };
    child.stderr.setEncoding('utf8').on('data', (chunk: string) => {
      said.text += chunk;
    });
    const untilSaid = async (text: string): Promise<void> => {
      while (!said.text.includes(text)) await new Promise((resolve) => setTimeout(resolve, 5));
    };
    return { child, said, untilSaid };
  };

  test('offers a stdio server, also to a daemon that was started again, and ends it', async () => {
    const daemon = await TestDaemon.start(IDE);
    const starts = join(daemon.dir, 'starts');
    const { child, untilSaid } = attachAlone(
      daemon,
      'ide',
      '/usr/bin/env',
      `FIXTURE_STARTS=${starts}`,
      process.execPath,
      FIXTURE,
    );
    await untilSaid('ide is offered');
    const client = await daemon.client({ 'mcp-bridge/view': 'server:ide' });
    expect(textOf(await client.callTool(2, 'echo', { text: 'é' }))).toBe('é');
    client.send({ jsonrpc: '2.0', id: 3, method: 'tools/call', params: { name: 'hang', arguments: {} } });
    await daemon.until(({ instances }) => instances.some(({ calls }) => calls >= 2));
    daemon.kill('SIGKILL');
    await daemon.exited;
    const next = await TestDaemon.start(IDE, { dir: daemon.dir });
    await untilSaid('connecting again\nmcp-bridge: ide is offered');
    const other = await next.client({ 'mcp-bridge/view': 'server:ide' });
    expect(textOf(await other.callTool(1, 'echo', { text: 'again' }))).toBe('again');
    const pids = readFileSync(starts, 'utf8').trim().split('\n').map(Number);
    expect(pids).toHaveLength(1); // it is the same process, which remembers
    const pid = pids[0] as number;
    expect(isAlive(pid)).toBe(true);
    child.kill('SIGTERM');
    await ended(child);
    await untilGone(pid);
    expect((await other.callTool(2, 'echo', {})).error).toBeDefined();
    other.destroy();
    client.destroy();
    await next.stop();
  });

  test.each([
    ['kill -9 $$', 137, 'was ended by SIGKILL'],
    ['kill -HUP $$', 129, 'was ended by SIGHUP'],
    ['exit 3', 3, 'exited with code 3'],
    ['exit 0', 0, undefined],
    ['exec no-such-program-at-all', 127, 'exited with code 127'],
    // What it leaves behind holds its pipes open, and goes with it.
    ['sleep 300 & exit 4', 4, 'exited with code 4'],
  ])('ends as the server does: %s', async (script, code, how) => {
    const daemon = await TestDaemon.start(IDE);
    const { child, said } = attach(daemon, 'ide', '/bin/sh', '-c', script);
    expect(await ended(child)).toBe(code);
    if (how === undefined) expect(said.text).not.toContain('/bin/sh');
    else expect(said.text).toContain(`mcp-bridge: /bin/sh ${how}.\n`);
    await daemon.until(({ dialledIn }) => dialledIn.length === 0);
    await daemon.stop();
  });

  test('offers nothing of a command that cannot be run', async () => {
    const daemon = await TestDaemon.start(IDE);
    const { child, said } = attach(daemon, 'ide', '/no/such/program');
    expect(await ended(child)).toBe(1);
    expect(said.text).toBe(
      'mcp-bridge: /no/such/program could not be started: there is no such program. Name it by its path, or see whether it is on the PATH.\n',
    );
    expect((await daemon.status()).counters).toMatchObject({ serversDialledIn: 0 });
    await daemon.stop();
  });

  test('reports decisions about the server while it is connected', async () => {
    const daemon = await TestDaemon.start(
      { client: { view: 'all' }, mcpServers: {} },
      { env: { HOME: process.env.HOME, XDG_CONFIG_HOME: undefined } },
    );
    const { child, said, untilSaid } = attach(daemon, 'jotter', process.execPath, FIXTURE);
    await untilSaid('jotter is connected, and waits for: mcp-bridge approve jotter\n');
    const run = (...args: string[]) => runCommand([...args, '--mcp-bridge-socket', daemon.path]);
    await run('reject', 'jotter');
    await untilSaid('jotter is connected, but was rejected. To offer it: mcp-bridge approve jotter\n');
    await run('approve', 'jotter', '--yes');
    await untilSaid('jotter is offered\n');
    expect(said.text.split('\n')).toHaveLength(4);
    child.kill('SIGTERM');
    await ended(child);
    await daemon.stop();
  });

  test('starts a daemon in the place of one that has died, and none in the place of one that was stopped', async () => {
    const daemon = await TestDaemon.start(IDE);
    const { child, said, untilSaid } = attach(daemon, 'ide', process.execPath, FIXTURE);
    await untilSaid('ide is offered');
    daemon.kill('SIGTERM');
    await daemon.exited;
    await untilSaid('the bridge was stopped; connecting again\n');
    const next = await TestDaemon.start(IDE, { dir: daemon.dir });
    await untilSaid('connecting again\nmcp-bridge: ide is offered\n');
    next.kill('SIGKILL');
    await untilSaid('the bridge has closed the connection; connecting again\nmcp-bridge: ide is offered\n');
    expect((await next.status()).dialledIn).toMatchObject([{ name: 'ide', state: 'offered' }]);
    child.kill('SIGTERM');
    expect(await ended(child)).toBe(0);
    expect(said.text.match(/ide is offered/g)).toHaveLength(3);
    await runCommand(['stop', '--mcp-bridge-socket', next.path]);
    await next.stop();
  });

  test('says what was tried when the bridge has gone, and ends the server', async () => {
    const daemon = await TestDaemon.start({ ...IDE, mcpBridge: { reconnect: { maxAttempts: 2, initialDelayMs: 5 } } });
    const { child, said, untilSaid } = attachAlone(daemon, 'ide', process.execPath, FIXTURE);
    await untilSaid('ide is offered');
    daemon.kill('SIGKILL');
    expect(await ended(child)).toBe(1);
    expect(said.text).toMatch(
      /The bridge at \S+ could not be reached again, by 2 attempts in \d+\.\d s: No mcp-bridge runs at \S+\. See: mcp-bridge doctor\n$/,
    );
    await daemon.stop();
  });

  test('says so when another one has taken its name meanwhile', async () => {
    const reconnect = { maxAttempts: 2, initialDelayMs: 5 };
    const daemon = await TestDaemon.start({ ...IDE, mcpBridge: { reconnect } });
    const { child, said, untilSaid } = attachAlone(daemon, 'ide', process.execPath, FIXTURE);
    await untilSaid('ide is offered');
    child.kill('SIGSTOP');
    daemon.kill('SIGKILL');
    await daemon.exited;
    const next = await TestDaemon.start({ ...IDE, mcpBridge: { reconnect } }, { dir: daemon.dir });
    const other = attachAlone(next, 'ide', process.execPath, FIXTURE);
    await other.untilSaid('ide is offered');
    child.kill('SIGCONT');
    expect(await ended(child)).toBe(1);
    expect(said.text).toContain(
      `A server ide is connected already (${process.execPath}). Choose another name: mcp-bridge attach NAME -- COMMAND….`,
    );
    other.child.kill('SIGTERM');
    await ended(other.child);
    await next.stop();
  });

  test.each([
    [['ide', '--'], 2, 'Name what to run'],
    [['ide', '--', '/no/such/program'], 1, '/no/such/program could not be started: there is no such program'],
    [['fixture', '--', 'true'], 1, 'A server fixture is defined already'],
    [['b!d', '--', 'true'], 2, '"b!d" is no server'],
    [[], 2, 'Name a server'],
  ])('%j says what is wrong', async (args, code, problem) => {
    const daemon = await TestDaemon.start({ ...IDE, mcpServers: { fixture: fixtureServer() } });
    const result = await runCommand(['attach', '--mcp-bridge-socket', daemon.path, ...args]);
    expect(result).toMatchObject({ code, stdout: '' });
    expect(result.stderr).toContain(problem);
    await daemon.stop();
  });

  test('leaves nothing behind when the server is told to end', async () => {
    const daemon = await TestDaemon.start(IDE);
    const mark = join(daemon.dir, 'left');
    const script = `trap 'echo > ${mark}; exit 0' TERM; while :; do sleep 0.05; done`;
    const { child, untilSaid } = attach(daemon, 'ide', '/bin/sh', '-c', script);
    await untilSaid('ide is offered');
    child.kill('SIGINT');
    expect(await ended(child)).toBe(0);
    expect(existsSync(mark)).toBe(true);
    await daemon.stop();
  });
});
