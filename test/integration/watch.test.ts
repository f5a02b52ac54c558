// `mcp-bridge status --watch` and `top`, in a pipe and on a terminal.

import { rmSync } from 'node:fs';
import { expect, test } from 'vitest';
import { runCommand } from '../support/command.ts';
import { onTerminal, program } from '../support/lasting-command.ts';
import { fixtureServer, TestDaemon, tempDir } from '../support/test-daemon.ts';

test('a pipe gets plain snapshots, with the events between them, across a restart of the daemon', async () => {
  const dir = tempDir();
  const config = { mcpServers: { fixture: fixtureServer() } };
  const daemon = await TestDaemon.start(config, { dir });
  const shown = program('top', '--interval', '0.1', '--mcp-bridge-socket', daemon.path);
  await shown.until(/pid \d+, up .*\nclients: 0 {3}requests: - {3}memory: \d/);
  const client = await daemon.client({ 'mcp-bridge/clientId': 'me' });
  let id = 0;
  const params = { name: 'echo', arguments: { text: 'x' } };
  const calls = setInterval(() => client.send({ jsonrpc: '2.0', id: ++id, method: 'tools/call', params }), 5);
  await shown.until(/^fixture +ready +\d+ +1 +\d+ +[\d.]+\/s +\d+ +[\d.]+ ms +[\d.]+ ms +(?:\d|-)/m);
  await shown.until(/^me +raw 1 +server:fixture +ready/m);
  clearInterval(calls);
  client.destroy();
  daemon.kill('SIGKILL');
  await daemon.exited;
  await shown.until(/^No mcp-bridge runs at .*; waiting for it to come back \(to start one: mcp-bridge start\)$/m);
  const next = await TestDaemon.start(config, { dir });
  await shown.until(new RegExp(`pid ${next.pid}, `));
  expect(shown.said()).not.toContain('␛');
  shown.child.kill('SIGINT');
  expect(await shown.ended).toBe(0);
  await next.stop();
  rmSync(dir, { recursive: true, force: true });
});

test('the reader of the pipe may go, and scripts get a line of JSON each time', async () => {
  const daemon = await TestDaemon.start({ mcpServers: { fixture: fixtureServer() } });
  const json = program('status', '--watch', '--json', '--interval', '0.1', '--mcp-bridge-socket', daemon.path);
  const [line = ''] = [await json.until(/.+\n/)];
  expect(JSON.parse(line)).toMatchObject({ pid: daemon.pid, connections: [], latencies: [] });
  json.child.stdout.destroy();
  expect(await json.ended).toBe(0);
  await daemon.stop();
});

test.each([
  ['q', 'q'],
  ['Ctrl-C', '\\x03'],
])('a terminal is written over, follows its size, and is as it was after %s', async (_, key) => {
  const daemon = await TestDaemon.start({ mcpServers: { fixture: fixtureServer() } });
  const shown = onTerminal(20, 60, 'status', '--watch', '--interval', '0.1', '--mcp-bridge-socket', daemon.path);
  await shown.until(/␛\[\?1049h␛\[\?25l/);
  const screen = await shown.until(/␛\[H(?:.|\s)*?␛\[J/);
  expect(screen).toContain('q ends');
  expect(widest(screen)).toBe(60);
  shown.child.stdin.write('resize 3 30\n');
  const small = await shown.until(/␛\[H(?:␛\[K[^\n␛]{0,30}\r\n){2}␛\[K[^\n␛]{0,30}(?=␛\[H)/);
  expect(widest(small)).toBe(30);
  expect(small).toMatch(/…\r\n.*…?\r\n␛\[Kq ends; lines not shown: 2$/);
  shown.child.stdin.write(`type ${key}\n`);
  await shown.until(/␛\[\?25h␛\[\?1049l/);
  let told = '';
  shown.child.stderr.on('data', (chunk) => {
    told += chunk;
  });
  expect([await shown.ended, told]).toEqual([0, 'restored\n']);
  await daemon.stop();
});

function widest(screen: string): number {
  const lines = screen.replace(/␛\[(?:[HKJ]|\d+m)/g, '').split('\r\n');
  return Math.max(...lines.map(({ length }) => length));
}

test('an invalid interval is reported, and only watching commands take one', async () => {
  const wrong = await runCommand(['top', '--interval', '0']);
  expect(wrong).toMatchObject({ code: 2, stderr: expect.stringContaining('--interval is a number of seconds') });
  const alone = await runCommand(['status', '--interval', '2']);
  expect(alone).toMatchObject({ code: 2, stderr: expect.stringContaining('--interval goes with --watch') });
});

test('top is a screen of 80 by 24 with three lists, which keys sort, filter and scroll', async () => {
  const daemon = await TestDaemon.start({ mcpServers: { fixture: fixtureServer() } });
  const client = await daemon.client({ 'mcp-bridge/clientId': 'me' });
  const shown = onTerminal(24, 80, 'top', '--interval', '0.1', '--mcp-bridge-socket', daemon.path);
  const type = (keys: string): void => void shown.child.stdin.write(`type ${keys}\n`);
  const screens = (): string[][] =>
    shown
      .said()
      .split('␛[H')
      .slice(1)
      .map((screen) => screen.replace(/␛\[(?:[KJ]|\?\S+?[hl])/g, '').split('\r\n'));
  await shown.until(/\[servers 1\][\s\S]*?fixture +ready/);
  type('2');
  await shown.until(/\[clients 1\][\s\S]*?me +raw 1 +server:fixture/);
  type('3');
  await shown.until(/\[calls 0 open, 0 ended\][\s\S]*?No call since this was opened/);
  client.send({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'hold', arguments: {} } });
  await shown.until(/\[calls 1 open, 0 ended\][\s\S]*?me +fixture +hold +at server/);
  for (const id of [2, 3]) await client.callTool(id, 'echo', { text: 'x' });
  await client.callTool(4, 'release');
  await shown.until(/\[calls 0 open, 4 ended\]/);
  type('/hol');
  await shown.until(/filter: hol_\r\n(?:[^\r]*\r\n){2}␛\[K\S+ +me +fixture +hold +ok +\S+ m?s +\S+ m?s\r\n␛\[K\r\n/);
  type('q'); // a letter of the filter
  await shown.until(/filter: holq_[\s\S]*?Nothing has "holq" in it/);
  type('\\x1b');
  await shown.until(/\[calls 0 open, 4 ended\]\r\n/);
  for (const screen of screens().slice(0, -1)) {
    expect(screen.length).toBeLessThanOrEqual(24);
    for (const line of screen) expect(line.length).toBeLessThanOrEqual(80);
  }
  type('q');
  expect(await shown.ended).toBe(0);
  await daemon.stop();
});
