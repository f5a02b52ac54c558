// `mcp-bridge demo`: it does what it says, and leaves nothing.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, existsSync, readdirSync, rmSync, symlinkSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { expect, test } from 'vitest';
import { runCommand } from '../support/command.ts';
import { natsTest } from '../support/nats-server.ts';
import { PROGRAM, ROOT, tempDir, untilGone } from '../support/test-daemon.ts';

const home = tempDir();
const env = { HOME: home, TMPDIR: tempDir(), MCP_BRIDGE_SOCKET: `${home}/mine.sock` };

/** The processes of a demonstration, and its socket, by what it says. */
function partsOf(said: string): { pids: number[]; socket: string } {
  const socket = /process \d+, at (\S+)/.exec(said)?.[1] ?? '';
  return { pids: [...said.matchAll(/(?:process |pid )(\d+)/g)].map(([, pid]) => Number(pid)), socket };
}

test('three clients share a server, find, call, write to each other, and outlive its death; nothing is left', async () => {
  const { code, stdout, stderr } = await runCommand(['demo'], { env });
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  const [first, second, ...more] = [...stdout.matchAll(/One process, (\d+), serves all 3/g)].map(([, pid]) => pid);
  expect(more).toEqual([]);
  expect(first).not.toBe(second);
  expect(stdout).toContain(`kill -9 ${first}\n`);
  expect(stdout.match(new RegExp(`answered by process ${first}: [123]$`, 'gm'))).toHaveLength(3);
  expect(stdout.match(new RegExp(`answered by process ${second}: [123]$`, 'gm'))).toHaveLength(3);
  expect(stdout).toContain('found: add of the server example');
  expect(stdout).toContain('a: 20, b: 22}: 42');
  expect(stdout).toMatch(/No client was cut off: .*\n.*What the server had in memory, such as its count, is gone\n/);
  expect(stdout).toMatch(/reviewer reads a message from writer: /);
  expect(stdout).toMatch(/What to do next:\n {2}mcp-bridge discover/);
  expect(stdout).not.toContain('\u001b');
  const { pids, socket } = partsOf(stdout);
  expect(pids.length).toBeGreaterThan(6);
  await Promise.all(pids.map(untilGone));
  expect(existsSync(dirname(socket))).toBe(false);
  expect(readdirSync(home)).toEqual([]);
});

test('Ctrl-C in the midst of it ends all of it', async () => {
  const child = spawn(process.execPath, [PROGRAM, 'demo'], { env: { ...process.env, ...env }, cwd: home });
  let said = '';
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
    if (!said.includes('1. Three') && (said + chunk).includes('1. Three')) child.kill('SIGINT');
    said += chunk;
  });
  const code = await new Promise((resolve) => child.once('close', resolve));
  expect(code).toBe(130);
  const { pids, socket } = partsOf(said);
  await Promise.all(pids.map(untilGone));
  expect([existsSync(dirname(socket)), readdirSync(home)]).toEqual([false, []]);
});

test('where a part does not work it says so, and fails', async () => {
  const without = tempDir();
  cpSync(dirname(PROGRAM), join(without, 'dist'), { recursive: true });
  symlinkSync(join(ROOT, 'node_modules'), join(without, 'node_modules'));
  rmSync(join(without, 'dist/example-server.js'));
  const child = spawn(process.execPath, [join(without, 'dist/mcp-bridge.cjs'), 'demo'], {
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const [said, complaints] = [text(child.stdout), text(child.stderr)];
  const code = await new Promise((resolve) => child.once('close', resolve));
  expect([code, await complaints]).toEqual([1, expect.stringMatching(/^mcp-bridge: .*Server example/)]);
  expect(await said).not.toContain('One process');
  expect(readdirSync(env.TMPDIR)).toEqual([]);
});

test('where it can make no directory it says what to do', async () => {
  const nowhere = join(tempDir(), 'none');
  expect(await runCommand(['demo'], { env: { ...env, TMPDIR: nowhere } })).toEqual({
    code: 1,
    stdout: '',
    stderr: `mcp-bridge: No directory can be made in ${nowhere}: ENOENT. Set TMPDIR to a directory that is there and that you may write to.\n`,
  });
});

natsTest('three hosts meet, call each other, and go on when one of each part is killed; nothing is left', async () => {
  const { code, stdout, stderr } = await runCommand(['demo', '--hosts'], { env });
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  expect(stdout.split('\n').filter((line) => line.length > 80)).toEqual([]);
  expect(stdout).toMatch(/● n1, process \d+ ─+ ● n2, process \d+ ─+ ● n3, process \d+\n {3}┌─ laptop ─+┐ {2}┌─ build/);
  expect(stdout).toMatch(/✗ n1, killed ─+ ● n2.*\n.*\n.*daemon \d+ .*\n.*on NATS by n[23] /);
  const [, killed, next] =
    /kill -9 (\d+), which is the server on build.*build has started process (\d+)/s.exec(stdout) ?? [];
  expect(Number(next)).toBeGreaterThan(0);
  expect(next).not.toBe(killed);
  expect(stdout).toContain('Server example@build cannot be reached: host build takes no calls for it');
  expect(stdout).toMatch(/on any host:\n {5}Calls answered by process \d+: \d+\n {3}build has left the lists/);
  expect(stdout).toMatch(/daemon killed +│.*uses example@lab +│/s);
  const pids = [...stdout.matchAll(/(?:process|daemon|example) (\d+)/g)].map(([, pid]) => Number(pid));
  expect(new Set(pids).size).toBeGreaterThanOrEqual(9);
  await Promise.all(pids.map(untilGone));
  expect([readdirSync(env.TMPDIR), readdirSync(home)]).toEqual([[], []]);
});

/** Ends the demonstration in the midst of it; its exit code, once nothing of it runs. */
async function endedBy(signal: NodeJS.Signals, TMPDIR: string): Promise<number | null> {
  const child = spawn(process.execPath, [PROGRAM, 'demo', '--hosts'], {
    env: { ...process.env, ...env, TMPDIR },
    cwd: home,
  });
  let said = '';
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
    if (!said.includes('2. An agent') && (said + chunk).includes('2. An agent')) child.kill(signal);
    said += chunk;
  });
  const [code] = (await once(child, 'close')) as [number | null];
  const pids = [...said.matchAll(/(?:process|daemon|example) (\d+)/g)].map(([, pid]) => Number(pid));
  expect(pids.length).toBeGreaterThanOrEqual(6);
  await Promise.all(pids.map(untilGone));
  return code;
}

natsTest('Ctrl-C or kill -9 in the midst of it ends all hosts', async () => {
  const [calm, killed] = [tempDir(), tempDir()];
  expect(await Promise.all([endedBy('SIGINT', calm), endedBy('SIGKILL', killed)])).toEqual([130, null]);
  expect([readdirSync(calm), readdirSync(home)]).toEqual([[], []]);
});
