// Letters over the end of a real daemon, and over the end of their reader's `connect`.

import { type ChildProcess, spawn } from 'node:child_process';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as passTime } from 'node:timers/promises';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { runCommand } from '../support/command.ts';
import { RawClient } from '../support/raw-client.ts';
import { PROGRAM, tempDir } from '../support/test-daemon.ts';

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
const log = (): string => readFileSync(join(dir, 'mcp-bridge', 'daemon.log'), 'utf8');

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

test('unread letters end with their daemon, which logs how many, and leaves no file of them', async () => {
  const client = await RawClient.connect(path);
  await client.initialize({ 'mcp-bridge/view': 'discover', 'mcp-bridge/clientId': 'ann' });
  const bob = await connected('bob');
  await write('ann', 'one', 'two', 'three');
  await write('bob', 'four');
  bob.client.end();
  await bob.ended; // its letter waits for the next bob
  expect(textsOf(await read(client, 1))).toEqual(['one']);
  expect((await run('restart')).code).toBe(0);
  expect(log()).toMatch(/"unread letters end with this daemon","letters":3,"clients":2/);
  const [ann, nextBob] = [await connected('ann'), await connected('bob')];
  expect([await read(ann.client), await read(nextBob.client)]).toMatchObject(
    Array(2).fill({ messages: [], left: 0 }) as object[],
  );
  expect(readdirSync(join(dir, 'mcp-bridge')).filter((name) => name.includes('letter'))).toEqual([]);
  await write('ann', 'of the next daemon');
  expect(textsOf(await read(ann.client))).toEqual(['of the next daemon']);
  for (const { client: open, ended } of [ann, nextBob]) {
    open.end();
    await ended;
  }
  client.destroy();
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

test('an agent that is killed and started again gets its unread letters, once its old session is given up', async () => {
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

test('an agent that was killed and one that has closed get their unread letters when they come again', async () => {
  await startWithGrace(0);
  const [ann, bob] = [await connected('ann'), await connected('bob')];
  await write('ann', 'one');
  await write('bob', 'two');
  ann.child.kill('SIGKILL');
  bob.client.end();
  await Promise.all([ann.ended, bob.ended]);
  while (/\b(ann|bob)\b/.test((await run('clients')).stdout)) await passTime(10);
  const [bobAgain, annAgain] = [await connected('bob'), await connected('ann')];
  expect(textsOf(await read(bobAgain.client))).toEqual(['two']);
  expect(textsOf(await read(annAgain.client))).toEqual(['one']);
  for (const { client, ended } of [bobAgain, annAgain]) {
    client.end();
    await ended;
  }
});
