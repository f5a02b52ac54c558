// Letters over the end of a real daemon: by `restart`, by `stop` and a later start, by kill -9, and on a disk that refuses; and
// over the end of their reader's `connect`.

import { type ChildProcess, spawn } from 'node:child_process';
import { chmodSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as passTime } from 'node:timers/promises';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { RawClient } from '../support/raw-client.ts';
import { ResumingClient, wireOverSocket } from '../support/resuming-client.ts';
import { PROGRAM, runCommand, tempDir, untilGone } from '../support/test-daemon.ts';

let dir: string;
let path: string;
let env: Record<string, string>;

beforeEach(async () => {
  dir = tempDir();
  path = join(dir, 'b.sock');
  env = { MCP_BRIDGE_SOCKET: path, HOME: dir, XDG_CONFIG_HOME: dir, XDG_STATE_HOME: dir, XDG_CACHE_HOME: dir };
  writeFileSync(join(dir, 'config.json'), JSON.stringify({ mcpServers: {}, agents: { enabled: true } }));
  expect((await run('start', '--config', 'config.json', '--log-level', 'debug')).code).toBe(0);
});
afterEach(async () => {
  await run('stop');
});

const run = (...args: string[]) => runCommand(args, { env, cwd: dir });
const pidNow = async (): Promise<number> => (JSON.parse((await run('status', '--json')).stdout) as { pid: number }).pid;
const keptFiles = (): string[] => readdirSync(join(dir, 'mcp-bridge')).filter((name) => name.startsWith('letters-'));
const log = (): string => readFileSync(join(dir, 'mcp-bridge', 'daemon.log'), 'utf8');
const META = { 'mcp-bridge/view': 'discover' };

async function agent(clientId: string): Promise<RawClient> {
  const client = await RawClient.connect(path);
  await client.initialize({ ...META, 'mcp-bridge/clientId': clientId });
  return client;
}

async function write(to: string, ...texts: string[]): Promise<void> {
  for (const text of texts) expect(await run('send', to, '--message', text)).toMatchObject({ code: 0 });
}

interface Told {
  readonly messages: { readonly id: string; readonly text: string; readonly from: string }[];
  readonly left: number;
}

async function read(client: RawClient, limit = 20): Promise<Told> {
  const { result } = await client.callTool(`read-${Math.random()}`, 'read_messages', { limit });
  const [content] = (result?.content ?? []) as { text: string }[];
  return JSON.parse(content?.text ?? '') as Told;
}
const textsOf = ({ messages }: Told): string[] => messages.map(({ text }) => text);

test('what was not read is there after a restart, also after two, once and in its order; numbers go on', async () => {
  const [a, b] = [await agent('a'), await agent('b')];
  await write('a', 'one', 'two', 'three');
  await write('b', 'four');
  expect(textsOf(await read(a, 1))).toEqual(['one']);
  expect((await run('restart', '--log-level', 'debug')).code).toBe(0);
  expect(keptFiles()).toEqual([]);
  const again = await agent('a');
  await write('a', 'five');
  expect((await run('restart', '--log-level', 'debug')).code).toBe(0);
  const last = await agent('a');
  const told = await read(last);
  expect(textsOf(told)).toEqual(['two', 'three', 'five']);
  expect(told.messages.map(({ id }) => id)).toEqual(['m-2', 'm-3', 'm-5']);
  expect(await read(last)).toMatchObject({ messages: [], left: 0 });
  expect(textsOf(await read(await agent('b')))).toEqual(['four']);
  expect(log()).toMatch(/"letters kept for the next daemon","letters":3,"clients":2/);
  for (const client of [a, b, again, last]) client.destroy();
});

test('they wait in a private file while no daemon runs', async () => {
  await agent('a');
  await write('a', 'one');
  expect((await run('stop')).code).toBe(0);
  const [file] = keptFiles();
  expect(statSync(join(dir, 'mcp-bridge', String(file))).mode & 0o777).toBe(0o600);
  expect((await run('start', '--config', 'config.json')).code).toBe(0);
  expect(textsOf(await read(await agent('a')))).toEqual(['one']);
});

test('a daemon that is killed loses them, and has nobody read one twice', async () => {
  const a = await agent('a');
  await write('a', 'one', 'two');
  await run('restart');
  const again = await agent('a');
  expect(textsOf(await read(again, 1))).toEqual(['one']);
  const pid = await pidNow();
  process.kill(pid, 'SIGKILL');
  await untilGone(pid);
  expect((await run('start', '--config', 'config.json')).code).toBe(0);
  const last = await agent('a');
  expect(await read(last)).toMatchObject({ messages: [], left: 0 });
  await write('a', 'three');
  expect((await run('restart')).code).toBe(0);
  expect(textsOf(await read(await agent('a')))).toEqual(['three']);
  for (const client of [a, again, last]) client.destroy();
});

test('a client that is away, waiting for one, has it from the next daemon', async () => {
  const client = await ResumingClient.ready(await wireOverSocket(path), { ...META, 'mcp-bridge/clientId': 'a' });
  client.call('wait', 'read_messages', { wait: 50 });
  client.call('said', 'list_mcp_servers'); // whose answer shows that the wait has begun
  await client.until(() => client.messages.some(({ id }) => id === 'said'));
  client.drop();
  while (!(await run('clients')).stdout.includes('parked')) await passTime(10);
  await write('a', 'while you were away');
  expect((await run('restart')).code).toBe(0);
  expect(textsOf(await read(await agent('a')))).toEqual(['while you were away']);
});

test('a file that cannot be used is told, and keeps no daemon from starting', async () => {
  const a = await agent('a');
  await write('a', 'one');
  await run('stop');
  const [name] = keptFiles();
  const file = join(dir, 'mcp-bridge', String(name));
  const text = readFileSync(file, 'utf8');
  writeFileSync(file, text.slice(0, -10));
  expect((await run('start', '--config', 'config.json')).code).toBe(0);
  expect(await read(await agent('a'))).toMatchObject({ messages: [] });
  expect(log()).toContain('letters of the daemon before cannot be used');
  await run('stop');
  expect(readFileSync(file, 'utf8')).toBe(text.slice(0, -10));
  expect((await run('start', '--config', 'config.json')).code).toBe(0);
  const b = await agent('b');
  await write('b', 'of another daemon');
  await run('stop');
  expect(readFileSync(`${file}.unused`, 'utf8')).toBe(text.slice(0, -10));
  expect(readFileSync(file, 'utf8')).toContain('of another daemon');
  writeFileSync(file, text);
  chmodSync(file, 0o644);
  expect((await run('start', '--config', 'config.json')).code).toBe(0);
  expect(await read(await agent('a'))).toMatchObject({ messages: [] });
  expect(log()).toContain("is not this user's alone");
  for (const client of [a, b]) client.destroy();
});

test('where they cannot be written, the daemon says so and ends', async () => {
  const a = await agent('a');
  await write('a', 'one');
  // The name is taken by what nobody replaces.
  expect((await run('stop')).code).toBe(0);
  const [name] = keptFiles();
  expect((await run('start', '--config', 'config.json')).code).toBe(0);
  mkdirSync(join(dir, 'mcp-bridge', String(name)));
  const again = await agent('a');
  expect((await run('stop')).code).toBe(0);
  expect(log()).toContain('letters cannot be kept for the next daemon');
  for (const client of [a, again]) client.destroy();
});

interface Agent {
  readonly client: RawClient;
  readonly child: ChildProcess;
  readonly ended: Promise<unknown>;
}

/** An agent as it is configured: through `connect`, under an id of its own. */
async function connected(clientId: string): Promise<Agent> {
  const child = spawn(process.execPath, [PROGRAM, 'connect', '--view', 'discover', '--no-autostart'], {
    env: { ...process.env, ...env, MCP_CLIENT_ID: clientId },
    cwd: dir,
    stdio: ['pipe', 'pipe', 'ignore'],
  });
  const ended = new Promise((resolve) => child.once('exit', resolve));
  const client = new RawClient(child.stdout, child.stdin);
  await client.initialize();
  return { client, child, ended };
}

async function youAre(client: RawClient): Promise<string> {
  const { result } = await client.callTool('who', 'list_agents');
  const [content] = (result?.content ?? []) as { text: string }[];
  return (JSON.parse(content?.text ?? '') as { you: string }).you;
}

async function startWithGrace(resumeGraceMs: number): Promise<void> {
  await run('stop');
  const config = { mcpServers: {}, agents: { enabled: true }, limits: { resumeGraceMs } };
  writeFileSync(join(dir, 'config.json'), JSON.stringify(config));
  expect((await run('start', '--config', 'config.json', '--log-level', 'debug')).code).toBe(0);
}

const untilParked = async (): Promise<void> => {
  while (!(await run('clients')).stdout.includes('parked')) await passTime(10);
};

test('an agent that is killed and started again has what it had not read, once its old session is given up', async () => {
  await startWithGrace(10_000);
  const ann = await connected('ann');
  await write('ann', 'one', 'two');
  expect(textsOf(await read(ann.client, 1))).toEqual(['one']);
  ann.child.kill('SIGKILL');
  await ann.ended;
  await untilParked();
  const again = await connected('ann');
  expect(await youAre(again.client)).toBe('ann-2');
  const { result } = await again.client.callTool('wait', 'read_messages', { wait: 50 });
  expect(JSON.stringify(result)).toContain('two');
  again.client.end();
  await again.ended;
  const last = await connected('ann');
  expect([await youAre(last.client), textsOf(await read(last.client))]).toEqual(['ann', []]);
  last.client.end();
  await last.ended;
});

test('an agent that is killed has them also from the next daemon, and one that closes when it comes again', async () => {
  await startWithGrace(0);
  const [ann, bob] = [await connected('ann'), await connected('bob')];
  await write('ann', 'one');
  await write('bob', 'two');
  ann.child.kill('SIGKILL');
  bob.client.end();
  await Promise.all([ann.ended, bob.ended]);
  while (/\b(ann|bob)\b/.test((await run('clients')).stdout)) await passTime(10);
  const bobAgain = await connected('bob');
  expect(textsOf(await read(bobAgain.client))).toEqual(['two']);
  expect((await run('restart')).code).toBe(0);
  const annAgain = await connected('ann');
  expect(textsOf(await read(annAgain.client))).toEqual(['one']);
  for (const { client, ended } of [bobAgain, annAgain]) {
    client.end();
    await ended;
  }
});
