// `mcp-bridge doctor` with what it may find.

import { chmodSync, chownSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { runCommand } from '../support/command.ts';
import { fixtureServer, TestDaemon, tempDir } from '../support/test-daemon.ts';

interface Report {
  socket: { path: string | null; candidates: { source: string; value: string | null; counts: boolean }[] };
  config: { file: string | null; candidates: { source: string; counts: boolean }[] };
  clientId: { id: string | null; candidates: { source: string; counts: boolean }[] };
  findings: { check: string; level: string; message: string; remedy: string | null }[];
}

async function doctor(args: string[], env: object = {}, cwd?: string): Promise<Report & { code: number }> {
  const { code, stdout } = await runCommand(['doctor', '--json', ...args], {
    env,
    ...(cwd === undefined ? {} : { cwd }),
  });
  return { code, ...(JSON.parse(stdout) as Report) };
}

const of = ({ findings }: Report, check: string) => findings.filter((finding) => finding.check === check);
const counting = (candidates: { source: string; counts: boolean }[]) =>
  candidates.filter(({ counts }) => counts).map(({ source }) => source);

test('a bridge that is well is said to be, and why it is this one', async () => {
  const daemon = await TestDaemon.start({ mcpServers: { fixture: fixtureServer() } });
  const report = await doctor(['--mcp-client-id', 'me'], { MCP_BRIDGE_SOCKET: daemon.path, MCP_CLIENT_ID: 'other' });
  expect(report.code).toBe(0);
  expect(report.socket).toEqual({
    path: daemon.path,
    candidates: [
      { source: '--mcp-bridge-socket', value: null, counts: false },
      { source: 'MCP_BRIDGE_SOCKET', value: daemon.path, counts: true },
      { source: 'mcpBridge.socketPath of the config file', value: null, counts: false },
      { source: 'the default', value: '/tmp/mcp-bridge.sock', counts: false },
    ],
  });
  expect([report.clientId.id, counting(report.clientId.candidates)]).toEqual(['me', ['--mcp-client-id']]);
  expect(of(report, 'socket')).toMatchObject([{ level: 'ok', message: expect.stringMatching(/yours .*mode 600/) }]);
  expect(of(report, 'daemon')).toMatchObject([
    { level: 'ok', message: expect.stringContaining(`pid ${daemon.pid}`), remedy: null },
  ]);
  expect(of(report, 'version').map(({ level }) => level)).not.toContain('wrong');
  const { stdout } = await runCommand(['doctor'], { env: { MCP_BRIDGE_SOCKET: daemon.path } });
  expect(stdout).toContain(`> MCP_BRIDGE_SOCKET: ${daemon.path}`);
  await daemon.stop();
});

test('the config file is named, with its faults', async () => {
  const dir = tempDir();
  const file = join(dir, 'mcp-bridge.config.json');
  writeFileSync(file, JSON.stringify({ mcpBridge: { socketPath: 'x.sock' }, client: { id: 'c' }, nonsense: 1 }));
  const report = await doctor([], {}, dir);
  expect([report.code, report.socket.path, report.clientId.id, report.config.file]).toEqual([
    1,
    join(dir, 'x.sock'),
    'c',
    file,
  ]);
  expect(counting(report.config.candidates)).toEqual([file]);
  expect(of(report, 'config')).toMatchObject([{ level: 'wrong', message: `${file}: nonsense is not known` }]);
  rmSync(file);
  expect(await doctor(['--mcp-bridge-socket', join(dir, 'x.sock')], {}, dir)).toMatchObject({ code: 0 });
});

test('a rule of policy that can fit nothing is named, by doctor and by config check', async () => {
  const dir = tempDir();
  const file = join(dir, 'mcp-bridge.config.json');
  const policy = { allowedMcpServers: [{ serverName: 'ok' }, { serverCommand: ['np*', 'x'] }] };
  writeFileSync(file, JSON.stringify({ mcpBridge: { socketPath: 'x.sock' }, policy }));
  const problem = 'fits nothing: a command that is allowed has no wildcards';
  expect(of(await doctor(['--config', file]), 'policy')).toMatchObject([
    { level: 'wrong', message: `${file}: the rule policy.allowedMcpServers[1] ${problem}` },
  ]);
  const { code, stdout } = await runCommand(['config', 'check', file], { cwd: dir });
  expect([code, stdout.includes(problem)]).toEqual([1, true]);
});

test('a missing daemon is a fault only if nothing starts one', async () => {
  const dir = tempDir();
  const socket = ['--mcp-bridge-socket', join(dir, 'b.sock')];
  const started = await doctor(socket);
  expect([started.code, of(started, 'daemon')]).toMatchObject([
    0,
    [{ level: 'note', remedy: expect.stringContaining('mcp-bridge start') }],
  ]);
  const file = join(dir, 'c.json');
  writeFileSync(file, JSON.stringify({ mcpBridge: { autoConnect: false } }));
  expect(await doctor([...socket, '--config', file])).toMatchObject({ code: 1 });
});

test('a path that is no socket, too long, or open to others is wrong, and has a remedy', async () => {
  const dir = tempDir();
  writeFileSync(join(dir, 'file'), '');
  const file = await doctor(['--mcp-bridge-socket', join(dir, 'file')]);
  expect([file.code, of(file, 'socket')]).toMatchObject([
    1,
    [{ message: expect.stringContaining('is not a socket'), remedy: expect.stringContaining('another path') }],
  ]);
  expect(of(file, 'daemon')).toEqual([]); // that is all there is to say
  const long = await doctor(['--mcp-bridge-socket', join(dir, 'x'.repeat(120))]);
  expect([long.code, long.socket.path, of(long, 'socket')]).toMatchObject([
    1,
    null,
    [{ message: expect.stringContaining('more than 103 bytes'), remedy: expect.stringContaining('shorter') }],
  ]);
  const daemon = await TestDaemon.start();
  chmodSync(daemon.path, 0o666);
  const open = await doctor(['--mcp-bridge-socket', daemon.path]);
  expect([open.code, of(open, 'socket')]).toMatchObject([1, [{ message: expect.stringContaining('mode 666') }]]);
  await daemon.stop();
});

test('a program that takes connections and says nothing of ours is no bridge', async () => {
  const path = join(tempDir(), 'b.sock');
  const server = createServer((socket) => socket.destroy()).listen(path);
  await new Promise((resolve) => server.once('listening', resolve));
  chmodSync(path, 0o600);
  const report = await doctor(['--mcp-bridge-socket', path]);
  expect([report.code, of(report, 'daemon')]).toMatchObject([
    1,
    [{ message: expect.stringContaining('did not answer') }],
  ]);
  await new Promise((resolve) => server.close(resolve));
});

test.runIf(process.getuid?.() === 0)("another user's socket is named with its owner", async () => {
  const dir = tempDir();
  mkdirSync(join(dir, 'theirs'));
  const path = join(dir, 'theirs', 'b.sock');
  const server = createServer().listen(path);
  await new Promise((resolve) => server.once('listening', resolve));
  chownSync(path, 12345, 12345);
  const report = await doctor(['--mcp-bridge-socket', path]);
  expect([report.code, of(report, 'socket')]).toMatchObject([
    1,
    [{ message: expect.stringMatching(/another user \(uid 12345; you are 0\)/) }],
  ]);
  await new Promise((resolve) => server.close(resolve));
});
