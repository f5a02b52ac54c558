// A daemon whose process that looks for servers is killed, cannot be started, or is not needed: what is served stays.

import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { textOf } from '../support/raw-client.ts';
import { fixtureServer, isAlive, TestDaemon, tempDir, untilGone } from '../support/test-daemon.ts';

const CURSOR = '.cursor/mcp.json';

function write(dir: string, name: string, content: string | object): void {
  mkdirSync(dirname(join(dir, name)), { recursive: true });
  writeFileSync(join(dir, name), typeof content === 'string' ? content : JSON.stringify(content));
}

function servers(...names: string[]): object {
  return { mcpServers: Object.fromEntries(names.map((name) => [name, fixtureServer({ NAME: name })])) };
}

/** Of the processes that looked for servers, the last one first. */
function finderPids({ log }: TestDaemon): number[] {
  return [...log.matchAll(/"a process that looks for servers","pid":(\d+)/g)].map(([, pid]) => Number(pid)).reverse();
}

const looks = ({ log }: TestDaemon): number => log.match(/"servers are looked for"/g)?.length ?? 0;

const servedBy = async (daemon: TestDaemon): Promise<string[]> =>
  (await daemon.status()).instances.map(({ server }) => server);
const serves = (daemon: TestDaemon, ...names: string[]) =>
  daemon.until(({ instances }) => names.every((name) => instances.some(({ server }) => server === name)));

async function startedIn(dir: string, content: object): Promise<TestDaemon> {
  write(dir, CURSOR, content);
  // What is preloaded holds whoever looks for servers for as long as the file `hold` is there.
  const hold = JSON.stringify(join(dir, 'hold'));
  write(
    dir,
    'held.cjs',
    `const { existsSync } = require('node:fs');
if (process.argv[1]?.endsWith('finder.cjs'))
  while (existsSync(${hold})) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 5);`,
  );
  return TestDaemon.start(undefined, {
    dir,
    logLevel: 'debug',
    env: { NODE_OPTIONS: `--require ${join(dir, 'held.cjs')}` },
  });
}

/** Until there are so many processes that have looked for servers; the last one. */
async function finderPid(daemon: TestDaemon, count: number): Promise<number> {
  while (finderPids(daemon).length < count) await new Promise((resolve) => setTimeout(resolve, 5));
  return finderPids(daemon)[0] ?? 0;
}

test('a finder killed during its work is reported once and replaced, and the served servers stay', async () => {
  const dir = tempDir();
  const daemon = await startedIn(dir, servers('one'));
  const client = await daemon.client({ 'mcp-bridge/view': 'server:one' });
  expect(textOf(await client.callTool(1, 'echo', { text: 'before' }))).toBe('before');
  const before = finderPids(daemon).length;
  write(dir, 'hold', '');
  write(dir, CURSOR, servers('one', 'two'));
  const reloading = daemon
    .client({ 'mcp-bridge/role': 'control' })
    .then((control) => control.request(1, 'bridge/reload'));
  const held = await finderPid(daemon, before + 1);
  // The control session is answered by the look that is killed, whoever has asked for it first.
  while (!daemon.log.includes('"bridge/reload"') && looks(daemon) < 2)
    await new Promise((resolve) => setTimeout(resolve, 5));
  rmSync(join(dir, 'hold'));
  process.kill(held, 'SIGKILL');
  const { result } = await reloading;
  expect(result).toMatchObject({
    removed: [],
    faults: [expect.stringMatching(/ended by SIGKILL\. .*is still used\.$/)],
  });
  expect(textOf(await client.callTool(2, 'echo', { text: 'after' }))).toBe('after');
  await serves(daemon, 'one', 'two');
  expect(daemon.log.match(/the process that looks for servers died/g)).toHaveLength(1);
  expect((await daemon.status()).definitionFaults).toEqual([]);
  client.destroy();
  await daemon.stop();
});

test('one that dies each time is tried once more, and not for ever', async () => {
  const dir = tempDir();
  // What is preloaded ends whoever looks for servers as soon as it is asked for something.
  write(
    dir,
    'deadly.cjs',
    "if (process.argv[1].endsWith('finder.cjs')) process.stdin.once('data', () => process.exit(7));",
  );
  write(dir, CURSOR, servers('one'));
  const env = { NODE_OPTIONS: `--require ${join(dir, 'deadly.cjs')}` };
  const config = { mcpServers: { own: fixtureServer() }, discovery: { enabled: true } };
  const daemon = await TestDaemon.start(config, { dir, logLevel: 'debug', env });
  expect(await servedBy(daemon)).toEqual(['own']);
  const deaths = (): number => daemon.log.match(/servers died","how":"has ended with code 7"/g)?.length ?? 0;
  while (deaths() < 2) await new Promise((resolve) => setTimeout(resolve, 10));
  expect(await servedBy(daemon)).toEqual(['own']);
  write(dir, 'config.json', { ...config, $schema: 'another text' });
  while (deaths() < 4) await new Promise((resolve) => setTimeout(resolve, 10));
  expect(await servedBy(daemon)).toEqual(['own']);
  expect(deaths()).toBe(4);
  expect(daemon.log.match(/Servers could not be looked for/g)).toHaveLength(1);
  await daemon.stop();
});

test('one that is killed before it is asked is not missed', async () => {
  const dir = tempDir();
  const daemon = await startedIn(dir, servers('one'));
  const first = await finderPid(daemon, 1);
  process.kill(first, 'SIGKILL');
  await untilGone(first);
  expect(await servedBy(daemon)).toEqual(['one']);
  expect(daemon.log).not.toContain('looks for servers died');
  await daemon.stop();
});

test.each([
  ['SIGKILL', 'before it is asked'],
  ['SIGTERM', 'before it is asked'],
  ['SIGKILL', 'in the middle of it'],
  ['SIGTERM', 'in the middle of it'],
] as const)('it ends with a daemon that gets %s %s', async (signal, when) => {
  const dir = tempDir();
  write(dir, 'hold', '');
  const daemon = await startedIn(dir, servers('one'));
  const pid = await finderPid(daemon, 1);
  if (when === 'in the middle of it') {
    const client = await daemon.connect();
    client.send({ jsonrpc: '2.0', id: 1, method: 'initialize', params: { capabilities: {} } });
    while (looks(daemon) === 0) await new Promise((resolve) => setTimeout(resolve, 5));
  }
  expect(isAlive(pid)).toBe(true);
  daemon.kill(signal);
  if (signal === 'SIGTERM' && when === 'before it is asked') await untilGone(pid); // also while it is held
  rmSync(join(dir, 'hold'));
  await daemon.exited;
  await untilGone(pid);
  await daemon.stop();
});

test('where it cannot be started, the config’s own servers are served, and it is tried again at the next change', async () => {
  const dir = tempDir();
  write(dir, CURSOR, servers('found'));
  // No program starts with a variable of that size: as where there is no memory for one.
  const config = (size: number): string =>
    `process.env.TOO_LARGE = 'x'.repeat(${size});\n` +
    `const policy = { deniedMcpServers: [{ serverName: 'denied' }] };\n` +
    `export default { ...${JSON.stringify(servers('own', 'denied'))}, policy };\n`;
  write(dir, 'config.mjs', config(200_000));
  const daemon = await TestDaemon.start(undefined, {
    dir,
    logLevel: 'debug',
    args: ['--config', join(dir, 'config.mjs')],
  });
  expect(await servedBy(daemon)).toEqual(['own']);
  expect((await daemon.status()).definitionFaults).toEqual([expect.stringContaining('cannot be started: E2BIG')]);
  expect(daemon.log.match(/cannot be started: E2BIG/g)).toHaveLength(1);
  write(dir, 'config.mjs', config(0));
  await serves(daemon, 'own', 'found');
  expect((await daemon.status()).definitionFaults).toEqual([]);
  await daemon.stop();
});

test('with discovery off no finder is started, and policy still applies', async () => {
  const dir = tempDir();
  write(dir, CURSOR, servers('found'));
  const config = {
    ...servers('own', 'denied'),
    discovery: { enabled: false },
    policy: { deniedMcpServers: [{ serverName: 'denied' }] },
  };
  const daemon = await TestDaemon.start(config, { dir, logLevel: 'debug' });
  expect(await servedBy(daemon)).toEqual(['own']);
  write(dir, 'config.json', { ...config, ...servers('own', 'other', 'denied') });
  await serves(daemon, 'own', 'other');
  expect(await servedBy(daemon)).toEqual(['own', 'other']);
  expect([finderPids(daemon), childrenOf(daemon.pid)]).toEqual([[], []]);
  await daemon.stop();
});

function childrenOf(pid: number): string[] {
  return readdirSync(`/proc/${pid}/task`).flatMap((task) =>
    readFileSync(`/proc/${pid}/task/${task}/children`, 'utf8').trim().split(' ').filter(Boolean),
  );
}
