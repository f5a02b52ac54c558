// Server processes: what they are told, what they may do, and that nothing of them stays behind.

import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { textOf } from '../support/raw-client.ts';
import { FIXTURE, fixtureServer, isAlive, TestDaemon, tempDir, untilGone } from '../support/test-daemon.ts';

/** A server in a tree of shells, which writes down the pids of the whole tree. */
function treeServer(dir: string): object {
  const inner = `echo $$ >> pids; "${process.execPath}" -e 'setInterval(() => {}, 1000)' & echo $! >> pids; exec "${process.execPath}" "${FIXTURE}"`;
  return {
    command: '/bin/sh',
    args: ['-c', `echo $$ >> pids; /bin/sh -c '${inner.replaceAll("'", `'"'"'`)}'; true`],
    cwd: dir,
  };
}

const pidsOf = (dir: string): number[] => readFileSync(join(dir, 'pids'), 'utf8').trim().split('\n').map(Number);

test('a server gets the variables that programs need and those of its definition, and nothing else', async () => {
  const daemon = await TestDaemon.start(
    { mcpServers: { fixture: fixtureServer({ DECLARED: 'yes' }) } },
    { env: { SECRET_TOKEN: 'no', LC_ALL: 'C' } },
  );
  const client = await daemon.client();
  const env = JSON.parse(textOf(await client.callTool(1, 'env'))) as Record<string, string>;
  expect(env).toMatchObject({ DECLARED: 'yes', LC_ALL: 'C', PATH: process.env.PATH });
  expect(env).not.toHaveProperty('SECRET_TOKEN');
  expect(env).not.toHaveProperty('MCP_BRIDGE_SOCKET');
  client.destroy();
  await daemon.stop();
});

test('a server is started at the first need, once, however many wait for it', async () => {
  const dir = tempDir();
  const starts = join(dir, 'starts');
  writeFileSync(starts, '');
  const daemon = await TestDaemon.start(
    { mcpServers: { fixture: fixtureServer({ FIXTURE_STARTS: starts }) } },
    { dir },
  );
  expect(readFileSync(starts, 'utf8')).toBe('');
  const clients = await Promise.all(Array.from({ length: 30 }, () => daemon.client()));
  expect(readFileSync(starts, 'utf8').trim().split('\n')).toHaveLength(1);
  for (const client of clients) client.destroy();
  await daemon.stop();
});

test('a whole tree of processes goes when the daemon stops', async () => {
  const dir = tempDir();
  const daemon = await TestDaemon.start({ mcpServers: { tree: treeServer(dir) } }, { dir });
  const client = await daemon.client();
  await client.callTool(1, 'echo');
  const pids = pidsOf(dir);
  expect(pids).toHaveLength(3);
  expect(pids.every(isAlive)).toBe(true);
  daemon.kill('SIGTERM');
  await daemon.exited;
  await Promise.all(pids.map(untilGone));
  await daemon.stop();
});

test('a whole tree of processes goes when the daemon is killed, also those that ignore the end of their input', async () => {
  const dir = tempDir();
  const daemon = await TestDaemon.start({ mcpServers: { tree: treeServer(dir) } }, { dir });
  const client = await daemon.client();
  await client.callTool(1, 'echo');
  const pids = pidsOf(dir);
  daemon.kill('SIGKILL');
  await daemon.exited;
  await Promise.all(pids.map(untilGone));
  await daemon.stop();
});

test('processes left in a dead server’s group are ended', async () => {
  const dir = tempDir();
  const daemon = await TestDaemon.start({ mcpServers: { tree: treeServer(dir) } }, { dir });
  const client = await daemon.client();
  await client.callTool(1, 'echo');
  const pids = pidsOf(dir);
  expect((await client.callTool(2, 'crash')).error?.data).toMatchObject({ code: 'SERVER_CRASHED' });
  await Promise.all(pids.map(untilGone));
  client.destroy();
  await daemon.stop();
});

test('100 MB on stderr neither block a server nor fill the daemon', async () => {
  const flood = `for (let i = 0; i < 100; i++) require('fs').writeSync(2, Buffer.alloc(1 << 20, 'e')); import(${JSON.stringify(FIXTURE)})`;
  const daemon = await TestDaemon.start({ mcpServers: { flood: { command: process.execPath, args: ['-e', flood] } } });
  const client = await daemon.client();
  expect(textOf(await client.callTool(1, 'echo', { text: 'through' }))).toBe('through');
  const residentMiB = Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${daemon.pid}/status`, 'utf8'))?.[1]) / 1024;
  expect(residentMiB).toBeLessThan(128);
  client.destroy();
  await daemon.stop();
});

test('a command that does not exist, and a server that says nothing, give a clear error within the limit', async () => {
  const daemon = await TestDaemon.start({
    mcpServers: {
      none: { command: '/no/such/program' },
      lost: { command: 'no-such-program' },
      // A shell, as it has said its words long before the limit also where the machine is busy.
      mute: { command: '/bin/sh', args: ['-c', 'echo hm >&2; exec sleep 600'] },
    },
    limits: { startTimeoutMs: 400 },
  });
  const client = await daemon.connect();
  const none = await client.initialize({ 'mcp-bridge/view': 'server:none' });
  expect(none.error).toMatchObject({
    message: 'Server none could not be started: there is no program /no/such/program',
    data: { code: 'SERVER_START_FAILED' },
  });
  const lost = await client.initialize({ 'mcp-bridge/view': 'server:lost' });
  expect(lost.error).toMatchObject({
    message:
      'Server lost could not be started: there is no program no-such-program on the PATH of the bridge; mcp-bridge restart gives it that of your shell',
  });
  const mute = await client.initialize({ 'mcp-bridge/view': 'server:mute' });
  expect(mute.error).toMatchObject({
    message: 'Server mute did not answer initialize within 400 ms (its startTimeoutMs, or limits.startTimeoutMs): hm',
    data: { code: 'SERVER_START_FAILED' },
  });
  client.destroy();
  await daemon.stop();
});

test('secrets among the arguments are in nothing that is told of a server that fails', async () => {
  const print = 'console.error(process.argv.slice(1).join(" ")); process.exit(3)';
  const given = ['--api-key', 'canary-1', '--token=canary-2', 'sk-canary3canary3', 'http://me:canary%204@host/'];
  const daemon = await TestDaemon.start({
    mcpServers: { leaky: { command: process.execPath, args: ['-e', print, 'said', ...given] } },
  });
  const client = await daemon.connect();
  const { error } = await client.initialize({ 'mcp-bridge/view': 'server:leaky' });
  expect(error?.message).toContain('exited with code 3: said --api-key [api-key] --token=[token] [secret]');
  expect(JSON.stringify([error, await daemon.status(), daemon.log])).not.toContain('canary');
  client.destroy();
  await daemon.stop();
});

test('a client that reads nothing is cut off; the others are served', async () => {
  const daemon = await TestDaemon.start({
    mcpServers: { fixture: fixtureServer() },
    limits: { maxQueuedBytesPerClient: 1 << 20, stallTimeoutMs: 300 },
  });
  const [greedy, other] = [await daemon.client(), await daemon.client()];
  greedy.stopReading();
  const text = 'x'.repeat(500_000);
  for (let id = 0; id < 10; id++)
    greedy.send({ jsonrpc: '2.0', id, method: 'tools/call', params: { name: 'echo', arguments: { text } } });
  await daemon.until(({ counters }) => counters.clientsCutOff === 1);
  expect(textOf(await other.callTool(1, 'echo', { text: 'fine' }))).toBe('fine');
  await daemon.untilLogged('client cut off');
  greedy.destroy();
  other.destroy();
  await daemon.stop();
});
