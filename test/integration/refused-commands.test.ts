// What the commands say and return when a daemon refuses something, when a server keeps silent, and when nobody takes what they
// print: the real command in a home of its own.

import { execFile } from 'node:child_process';
import { existsSync, readFileSync, realpathSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type CommandResult, runCommand } from '../support/command.ts';
import { writeFiles } from '../support/file-tree.ts';
import { fixtureServer, PROGRAM, ROOT, tempDir } from '../support/test-daemon.ts';

const ODD = join(ROOT, 'test/fixtures/servers/odd-tools.mjs');
const SILENT = { command: process.execPath, args: ['-e', 'setInterval(() => undefined, 1e9)'], startTimeoutMs: 9000 };

let home: string;
let project: string;
let env: Record<string, string>;
const run = (...args: string[]): Promise<CommandResult> => runCommand(args, { env, cwd: project });

beforeAll(async () => {
  home = realpathSync(tempDir());
  project = join(home, 'p');
  env = { XDG_CONFIG_HOME: '', XDG_STATE_HOME: '', XDG_CACHE_HOME: '', HOME: home };
  env.MCP_BRIDGE_SOCKET = join(home, 'b.sock');
  writeFiles(home, {
    '.config/mcp-bridge/config.json': {
      mcpServers: {
        fixture: fixtureServer(),
        odd: { command: process.execPath, args: [ODD] },
        dies: { command: process.execPath, args: ['-e', 'console.error("one\\ntwo"); process.exit(3)'] },
      },
      audit: {},
      policy: { deniedMcpServers: [{ serverName: 'denied' }] },
      discovery: { toolRules: [{ pattern: ['fixture:crash'], enabled: false }] },
    },
    'other.json': { mcpServers: {} },
    'p/.git/HEAD': '',
    'p/.mcp.json': { mcpServers: { waiting: fixtureServer(), denied: fixtureServer({ A: 'b' }) } },
  });
  expect((await run('start')).code).toBe(0);
});
afterAll(async () => {
  expect((await run('stop')).stdout).toMatch(/has stopped/);
});

/** All lines, once there is a line of this tool. The daemon writes the file after it has answered. */
async function recordedUntil(last: string): Promise<readonly unknown[][]> {
  const file = join(home, '.local/state/mcp-bridge/audit.jsonl');
  for (;;) {
    const lines = existsSync(file) ? readFileSync(file, 'utf8').split('\n').slice(0, -1) : [];
    const all = lines.map((line) => {
      const { server, tool, outcome, code } = JSON.parse(line) as Record<string, unknown>;
      return [server, tool, outcome, code];
    });
    if (all.some(([server, tool]) => `${server}:${tool}` === last)) return all;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

test('a call that is refused is recorded, however its arguments are given', async () => {
  const calls = [
    ['fixture', 'crash', 'TOOL_DISABLED'],
    ['fixture', 'nope', 'TOOL_NOT_FOUND'],
    ['nobody', 'echo', 'SERVER_NOT_FOUND'],
  ] as const;
  for (const [server, tool] of calls)
    expect(await run('call', server, tool, 'text=a', 'n=1', 'n=2')).toMatchObject({ code: 1, stdout: '' });
  const all = await recordedUntil('nobody:echo');
  for (const [server, tool, code] of calls)
    expect(all.filter(([s, t]) => s === server && t === tool)).toEqual([[server, tool, 'refused', code]]);
});

test('for a server that may not be used, the commands say why', async () => {
  for (const args of [
    ['tools', 'waiting'],
    ['describe', 'waiting', 'echo'],
    ['call', 'waiting', 'echo', 'text=a'],
  ])
    expect(await run(...args)).toEqual({
      code: 1,
      stdout: '',
      stderr: 'mcp-bridge: Server waiting waits for approval. mcp-bridge approve waiting\n',
    });
  expect((await run('tools', 'denied', '--changed')).stderr).toBe(
    'mcp-bridge: Server denied is blocked by policy. mcp-bridge policy explain denied\n',
  );
});

test('a name that is not known is a failure, beside one that is', async () => {
  expect(await run('refresh', 'odd', 'nope')).toMatchObject({
    code: 1,
    stdout: expect.stringMatching(/^odd /m),
    stderr: expect.stringContaining('There is no server "nope"'),
  });
  for (const option of ['--changed', '--accept'])
    expect(await run('tools', 'odd', 'nope', option)).toMatchObject({
      code: 1,
      stdout: '',
      stderr: expect.stringContaining('Server odd has no tool "nope"'),
    });
  expect(await run('tools', 'odd', 'typed', '--changed')).toMatchObject({ code: 0 });
});

test('with --json errors are JSON', async () => {
  const { code, stdout } = await run('call', 'fixture', 'crash', '--json');
  expect([code, JSON.parse(stdout)]).toEqual([
    1,
    { error: { code: -32602, message: expect.any(String), data: expect.objectContaining({ code: 'TOOL_DISABLED' }) } },
  ]);
  for (const args of [
    ['tools', 'nope'],
    ['describe', 'odd', 'nope'],
    ['search', 'x', '--server', 'nope'],
  ]) {
    const failed = await run(...args, '--json');
    expect([failed.code, JSON.parse(failed.stdout)]).toEqual([1, { error: expect.objectContaining({ code: -32601 }) }]);
  }
  const wrong = await run('call', 'odd', 'typed', 'mode=fasst', '--json');
  expect([wrong.code, JSON.parse(wrong.stdout)]).toMatchObject([2, { error: { code: 'USAGE' } }]);
});

test('the last words of a server stand in lines that can be read', async () => {
  expect((await run('tools', 'dies')).stderr).toBe(
    'mcp-bridge: Server dies exited with code 3: two. Its last words were: one\n  two\n',
  );
  for (const command of [['status'], ['doctor', '--start']])
    expect((await run(...command)).stdout).not.toContain('\\u{a}');
});

test('a config that the daemon does not run with is told of', async () => {
  const other = join(home, 'other.json');
  const words = `mcp-bridge at ${env.MCP_BRIDGE_SOCKET} runs with ${home}/.config/mcp-bridge/config.json, not with ${other}. mcp-bridge restart --config ${other}\n`;
  expect(await run('start', '--config', other)).toEqual({ code: 1, stdout: '', stderr: `mcp-bridge: ${words}` });
  for (const command of [['status'], ['search', 'echo'], ['refresh', 'odd']])
    expect(await run(...command, '--config', other)).toMatchObject({ code: 0, stderr: `mcp-bridge: ${words}` });
  expect((await run('status', '--config', join(home, '.config/mcp-bridge/config.json'))).stderr).toBe('');
});

test('output that cannot be written is a failure, but a closed pipe is not', async () => {
  const shell = (line: string): Promise<CommandResult> =>
    new Promise((resolve) => {
      const options = { env: { ...process.env, ...env }, cwd: project };
      execFile('/bin/sh', ['-c', line, process.execPath, PROGRAM], options, (error, stdout, stderr) =>
        resolve({ code: error === null ? 0 : Number(error.code), stdout, stderr }),
      );
    });
  for (const command of ['call fixture echo text=a', 'tools odd', 'config path', '--help'])
    expect(await shell(`"$0" "$1" ${command} > /dev/full`)).toEqual({
      code: 1,
      stdout: '',
      stderr: 'mcp-bridge: write error: No space left on device.\n',
    });
  expect(await shell('"$0" "$1" --help | true')).toEqual({ code: 0, stdout: '', stderr: '' });
});

test('a server that keeps silent hides no other, and is named', async () => {
  const config = join(home, 'silent.json');
  const mcpServers = { odd: { command: process.execPath, args: [ODD] }, silent: SILENT };
  writeFiles(home, { 'silent.json': { mcpServers, discovery: { enabled: false } } });
  const options = { env: { ...env, MCP_BRIDGE_SOCKET: join(home, 'silent.sock') }, cwd: project };
  await runCommand(['start', '--config', config], options);
  const { code, stdout, stderr } = await runCommand(['tools'], options);
  expect([code, stdout]).toEqual([0, expect.stringMatching(/^SERVER .*\nodd /)]);
  expect(stderr).toMatch(/^mcp-bridge: Server silent .*\n$/);
  await runCommand(['stop'], options);
});

test('where no daemon runs at a place that was given, the hint starts one there', async () => {
  const socket = join(home, "it's none.sock");
  const line = (options: string): string =>
    `mcp-bridge: No mcp-bridge runs at ${socket}. Start it with: mcp-bridge start${options}\n`;
  const given = ['--mcp-bridge-socket', socket];
  const there = line(` --mcp-bridge-socket '${home}/it'\\''s none.sock'`);
  for (const args of [['status'], ['tools', '--no-autostart']])
    expect(await run(...args, ...given)).toMatchObject({ code: 1, stderr: there });
  const other = { ...env, MCP_BRIDGE_SOCKET: socket };
  expect((await runCommand(['status'], { env: other, cwd: project })).stderr).toBe(line(''));
});
