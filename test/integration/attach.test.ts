// `mcp-bridge attach`: any stdio server is offered to real daemons, and its end is that of the command.

import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import { textOf } from '../support/raw-client.ts';
import { FIXTURE, fixtureServer, isAlive, PROGRAM, runCommand, TestDaemon, untilGone } from '../support/test-daemon.ts';

const IDE = { dialIn: { ide: { description: 'An editor' } }, client: { view: 'all' } };
const children: ChildProcess[] = [];

afterEach(() => {
  for (const child of children.splice(0)) child.kill('SIGKILL');
});

const ended = (child: ChildProcess): Promise<unknown> => new Promise((resolve) => child.once('exit', resolve));

describe('mcp-bridge attach', () => {
  const attach = (daemon: TestDaemon, name: string, ...command: string[]) => {
    const args = [PROGRAM, 'attach', name, '--mcp-bridge-socket', daemon.path, '--no-autostart', '--', ...command];
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
    const { child, untilSaid } = attach(
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

  test('ends when the server ends, and says how', async () => {
    const daemon = await TestDaemon.start(IDE);
    const { child, said } = attach(daemon, 'ide', process.execPath, '-e', 'process.exit(7)');
    expect(await ended(child)).toBe(7);
    expect(said.text).toContain('exited with code 7');
    await daemon.stop();
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
