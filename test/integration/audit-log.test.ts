// The record of calls that a real daemon keeps: what stands in it, and that none is missing, whatever happens to the
// daemon or to the disk.

import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import type { AuditReport } from '../../src/control/report.ts';
import { runCommand } from '../support/command.ts';
import type { RawClient } from '../support/raw-client.ts';
import { fixtureServer, TestDaemon, tempDir } from '../support/test-daemon.ts';

interface Line {
  readonly time: string;
  readonly client: string | null;
  readonly connection: number;
  readonly view: string | null;
  readonly server: string | null;
  readonly tool: string | null;
  readonly about?: { readonly server: string | null; readonly tool: string | null };
  readonly outcome: string;
  readonly code?: string;
  readonly durationMs: number;
  readonly requestBytes: number;
  readonly answerBytes: number;
  readonly argumentsBytes?: number;
  readonly argumentsSha256?: string;
  readonly arguments?: unknown;
}

const ends: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

async function bridge(config: object, dir = tempDir()): Promise<TestDaemon> {
  const discovery = { cache: { enabled: false } };
  const daemon = await TestDaemon.start(
    { discovery, audit: {}, mcpServers: { fixture: fixtureServer() }, ...config },
    { dir },
  );
  ends.push(() => daemon.stop());
  return daemon;
}

const fileOf = ({ dir }: TestDaemon): string => join(dir, '.local/state/mcp-bridge/audit.jsonl');
const as = (view: string, clientId: string) => ({ 'mcp-bridge/view': view, 'mcp-bridge/clientId': clientId });
const textIn = (path: string): string => (existsSync(path) ? readFileSync(path, 'utf8') : '');
const linesIn = (path: string): Line[] =>
  textIn(path)
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line) as Line);

async function untilLines(path: string, count: number): Promise<Line[]> {
  while (linesIn(path).length < count) await new Promise((resolve) => setTimeout(resolve, 10));
  return linesIn(path);
}

async function reportOf(daemon: TestDaemon): Promise<AuditReport> {
  return ((await daemon.status()) as unknown as { audit: AuditReport }).audit;
}

async function until(daemon: TestDaemon, holds: (report: AuditReport) => boolean): Promise<AuditReport> {
  for (;;) {
    const report = await reportOf(daemon);
    if (holds(report)) return report;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

const SECRET = 'sk-CANARY-0123456789';
const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');

test('each call has a line with its outcome, however it came, and no line has its arguments', async () => {
  const daemon = await bridge({
    mcpServers: { fixture: { ...fixtureServer(), timeoutMs: 1500 } },
    discovery: { toolRules: [{ pattern: ['*:env'], enabled: false }] },
  });
  const args = { text: SECRET };
  const direct = await daemon.client(as('server:fixture', 'direct'));
  const all = await daemon.client(as('all', 'all'));
  const agent = await daemon.client(as('discover', 'agent'));
  const execute = (id: number, tool: string, own: object, server = 'fixture') =>
    agent.callTool(id, 'execute_tool', { server, tool, arguments: own });

  await direct.callTool(1, 'echo', args);
  await all.callTool(1, 'fixture__echo', args);
  await execute(1, 'echo', args);
  await runCommand(['call', 'fixture', 'echo', `text=${SECRET}`, '--mcp-bridge-socket', daemon.path]);
  await direct.callTool(2, 'env', args);
  await all.callTool(2, 'fixture__env', args);
  await execute(2, 'env', args);
  await execute(3, 'nope', args);
  await execute(4, 'echo', args, 'nobody');
  await direct.callTool(3, 'nope', args); // the server refuses that itself
  direct.send({ jsonrpc: '2.0', id: 4, method: 'tools/call', params: { name: 'hold', arguments: args } });
  direct.send({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 4, reason: SECRET } });
  const lost = await daemon.client(as('server:fixture', 'lost'));
  lost.send({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'hold', arguments: args } });
  await daemon.until(({ instances }) => (instances[0]?.calls ?? 0) > 5);
  lost.destroy();
  await direct.callTool(5, 'hold', args);
  await direct.callTool(6, 'crash', args);

  const path = fileOf(daemon);
  const lines = await untilLines(path, 15);
  expect(
    lines.map(({ client, view, server, tool, outcome, code = '' }) => [client, view, server, tool, outcome, code]),
  ).toEqual([
    ['direct', 'server:fixture', 'fixture', 'echo', 'ok', ''],
    ['all', 'all', 'fixture', 'echo', 'ok', ''],
    ['agent', 'discover', 'fixture', 'echo', 'ok', ''],
    ['mcp-bridge-cli', 'discover', null, 'get_tool_details', 'ok', ''],
    ['mcp-bridge-cli', 'discover', 'fixture', 'echo', 'ok', ''],
    ['direct', 'server:fixture', 'fixture', 'env', 'refused', 'TOOL_DISABLED'],
    ['all', 'all', 'fixture', 'env', 'refused', 'TOOL_DISABLED'],
    ['agent', 'discover', 'fixture', 'env', 'refused', 'TOOL_DISABLED'],
    ['agent', 'discover', 'fixture', 'nope', 'refused', 'TOOL_NOT_FOUND'],
    ['agent', 'discover', 'nobody', 'echo', 'refused', 'SERVER_NOT_FOUND'],
    ['direct', 'server:fixture', 'fixture', 'nope', 'error', ''],
    ['direct', 'server:fixture', 'fixture', 'hold', 'cancelled', ''],
    ['lost', 'server:fixture', 'fixture', 'hold', 'client-gone', ''],
    ['direct', 'server:fixture', 'fixture', 'hold', 'timeout', 'CALL_TIMED_OUT'],
    ['direct', 'server:fixture', 'fixture', 'crash', 'crashed', 'SERVER_CRASHED'],
  ]);
  expect(lines.flatMap(({ about }) => about ?? [])).toEqual([{ server: 'fixture', tool: 'echo' }]);
  const own = JSON.stringify(args);
  for (const line of lines.filter(({ tool }) => tool !== 'get_tool_details'))
    expect(line).toMatchObject({ argumentsBytes: own.length, argumentsSha256: sha256(own) });
  expect(new Set(lines.map(({ connection }) => connection)).size).toBe(5);
  const [first] = lines;
  const request = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'echo', arguments: args } };
  expect(first).toMatchObject({
    requestBytes: JSON.stringify(request).length,
    answerBytes: (direct.lines.find((line) => line.includes(SECRET))?.length ?? 0) + 1,
  });
  expect(new Date(first?.time ?? '').toISOString()).toBe(first?.time);
  expect(readFileSync(path, 'utf8')).not.toContain('CANARY');
  expect(statSync(path).mode & 0o777).toBe(0o600);
  expect(await reportOf(daemon)).toEqual({ file: path, lines: 15, lost: 0, failure: null, refuses: false });
});

test('with audit.arguments the arguments stand in it as they came, and move no cursor', async () => {
  const daemon = await bridge({ audit: { arguments: true } });
  const client = await daemon.client(as('discover', 'me'));
  const text = `${SECRET} größe \u202e \u007f \u009b \u2028 \u{e0001}`;
  client.send(
    `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"execute_tool","arguments":{"server":"fixture","tool":"echo",\t"arguments":{"text":${JSON.stringify(text)},\t"n":1.50}}}}`,
  );
  await client.answerTo(1);
  const [line] = await untilLines(fileOf(daemon), 1);
  expect(line).toMatchObject({ client: 'me', tool: 'echo', arguments: { text, n: 1.5 } });
  expect(line?.argumentsSha256).toBeUndefined();
  await client.callTool(2, 'me\u202e\u009b31m', {});
  expect((await untilLines(fileOf(daemon), 2))[1]?.tool).toBe('me\u202e\u009b31m');
  const written = readFileSync(fileOf(daemon), 'utf8');
  expect(written).toMatch(/größe.*"n":1\.50\}/);
  expect(written.replaceAll('\n', '')).not.toMatch(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u);
});

test('only the first 16 KiB of long arguments are hashed', async () => {
  const daemon = await bridge({});
  const client = await daemon.client(as('server:fixture', 'me'));
  const args = { text: 'x'.repeat(300_000) };
  await client.callTool(1, 'echo', args);
  const [line] = await untilLines(fileOf(daemon), 1);
  const own = JSON.stringify(args);
  expect(line).toMatchObject({ argumentsBytes: own.length, argumentsSha256: sha256(own.slice(0, 16_384)) });
});

test('where it is switched off, nothing is written', async () => {
  const daemon = await bridge({ audit: { enabled: false } });
  await (await daemon.client()).callTool(1, 'echo', { text: 'x' });
  expect(await reportOf(daemon)).toBeNull();
  daemon.kill('SIGTERM');
  await daemon.exited;
  expect(existsSync(fileOf(daemon))).toBe(false);
});

/** Calls with numbers of their own, so many of each client under way; how many were answered. */
async function load(clients: readonly RawClient[], calls: number): Promise<number> {
  const counts = clients.map(async (client, of) => {
    for (let id = 0; id < calls; id++)
      client.send({ jsonrpc: '2.0', id, method: 'tools/call', params: { name: 'echo', arguments: { text: `${of}` } } });
    for (let answered = 0; answered < calls; answered++) await client.next().catch(() => undefined);
    return calls;
  });
  return (await Promise.all(counts)).reduce((sum, count) => sum + count, 0);
}

const textsOf = (dir: string, name: string): string[] =>
  readdirSync(dir)
    .filter((each) => each.startsWith(name) && !each.endsWith('.lock'))
    .map((each) => readFileSync(join(dir, each), 'utf8'));

test('two daemons that write to one file, and put it aside all the time, lose no line', async () => {
  const shared = tempDir();
  const audit = { file: join(shared, 'log'), maxBytes: 65_536, keep: 1000 };
  const daemons = await Promise.all([bridge({ audit }), bridge({ audit })]);
  const clients = await Promise.all(
    daemons.flatMap((daemon, n) => [1, 2, 3].map((m) => daemon.client(as('server:fixture', `c${n}-${m}`)))),
  );
  let calls = 0;
  for (let wave = 0; wave < 5; wave++) calls += await load(clients, 300);
  for (const daemon of daemons) {
    daemon.kill('SIGTERM'); // at once: what is gathered is written then
    await daemon.exited;
  }
  const texts = textsOf(shared, 'log');
  const lines = texts.flatMap((text) => text.split('\n').slice(0, -1)).map((line) => JSON.parse(line) as Line);
  expect(lines).toHaveLength(calls);
  for (const name of new Set(lines.map(({ client }) => client)))
    expect(lines.filter(({ client }) => client === name)).toHaveLength(1500);
  expect(texts.length).toBeGreaterThan(5);
});

test('a killed daemon breaks at most one line, and the next daemon writes after it', async () => {
  const shared = tempDir();
  const audit = { file: join(shared, 'log'), maxBytes: 131_072, keep: 1000 };
  let whole = 0;
  for (let round = 1; round <= 3; round++) {
    const daemon = await bridge({ audit });
    const client = await daemon.client(as('server:fixture', `round-${round}`));
    const answered = load([client], 30_000);
    await until(daemon, ({ lines }) => lines > 500 * round);
    daemon.kill('SIGKILL');
    await Promise.all([daemon.exited, answered]);
    const lines = textsOf(shared, 'log').flatMap((text) => text.split('\n'));
    const broken = lines.filter((line) => line !== '' && !isJson(line));
    expect(broken.length).toBeLessThanOrEqual(round);
    expect(lines.length - broken.length).toBeGreaterThan(whole + 500 * round);
    whole = lines.length - broken.length;
  }
});

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/** From now on no file of the process may grow beyond so many bytes, as if the disk were full. */
function limitFiles(pid: number, bytes: number | 'unlimited'): void {
  execFileSync('prlimit', ['--pid', `${pid}`, `--fsize=${bytes}:unlimited`]);
}

test('while the disk is full calls go on, and are recorded when there is room', async () => {
  const daemon = await bridge({});
  const client = await daemon.client(as('server:fixture', 'me'));
  await client.callTool(0, 'echo', { text: 'x' });
  await untilLines(fileOf(daemon), 1);
  limitFiles(daemon.pid, statSync(fileOf(daemon)).size + 100);
  for (let id = 1; id <= 20; id++) expect((await client.callTool(id, 'echo', { text: 'x' })).result).toBeDefined();
  await until(daemon, ({ failure }) => failure?.includes('EFBIG') === true);
  const { stdout } = await runCommand(['status', '--mcp-bridge-socket', daemon.path]);
  expect(stdout).toContain('! calls cannot be recorded: Cannot write ');
  expect(textIn(fileOf(daemon)).split('\n')).toHaveLength(2); // and the second one is not whole
  limitFiles(daemon.pid, 'unlimited');
  expect(await until(daemon, ({ lines }) => lines === 21)).toMatchObject({ failure: null, lost: 0 });
  expect(await untilLines(fileOf(daemon), 21)).toHaveLength(21);
});

test('with audit.onFailure "refuse" a full disk has calls refused until there is room', async () => {
  const daemon = await bridge({ audit: { onFailure: 'refuse' } });
  const client = await daemon.client(as('server:fixture', 'me'));
  expect((await client.callTool(0, 'echo', { text: 'x' })).result).toBeDefined();
  await untilLines(fileOf(daemon), 1);
  limitFiles(daemon.pid, statSync(fileOf(daemon)).size);
  await client.callTool(1, 'echo', { text: 'x' });
  expect(await until(daemon, ({ failure }) => failure !== null)).toMatchObject({ refuses: true });
  const { error } = await client.callTool(2, 'echo', { text: 'x' });
  expect(error).toMatchObject({ code: -32603, data: { code: 'AUDIT_FAILED' } });
  const { calls } = (await daemon.status()).instances[0] ?? {};
  limitFiles(daemon.pid, 'unlimited');
  await until(daemon, ({ failure }) => failure === null);
  expect((await client.callTool(3, 'echo', { text: 'x' })).result).toBeDefined();
  expect((await daemon.status()).instances[0]?.calls).toBe((calls ?? 0) + 1);
  const lines = await untilLines(fileOf(daemon), 4);
  expect(lines.map(({ outcome, code = '' }) => [outcome, code])).toEqual([
    ['ok', ''],
    ['ok', ''],
    ['refused', 'AUDIT_FAILED'],
    ['ok', ''],
  ]);
});

test('with "refuse" not even the first call is made while something else stands in the place of the file', async () => {
  const dir = tempDir();
  const target = join(dir, 'target');
  const state = join(dir, '.local/state/mcp-bridge');
  mkdirSync(state, { recursive: true });
  symlinkSync(target, join(state, 'audit.jsonl'));
  const daemon = await bridge({ audit: { onFailure: 'refuse' } }, dir);
  const client = await daemon.client(as('server:fixture', 'me'));
  expect((await client.callTool(1, 'echo', { text: 'x' })).error?.data).toMatchObject({ code: 'AUDIT_FAILED' });
  expect((await reportOf(daemon)).failure).toContain("is not this user's alone");
  expect(existsSync(target)).toBe(false);
  rmSync(fileOf(daemon));
  await until(daemon, ({ failure }) => failure === null);
  expect((await client.callTool(2, 'echo', { text: 'x' })).result).toBeDefined();
});
