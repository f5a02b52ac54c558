// Clients that outlive daemons: through `connect`, and many at once through the library. Daemons are real and die hard.

import { type ChildProcess, spawn } from 'node:child_process';
import { appendFileSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { BridgeTransport } from '../../src/client/index.ts';
import { runCommand } from '../support/command.ts';
import { RawClient, textOf } from '../support/raw-client.ts';
import { fixtureServer, PROGRAM, TestDaemon, tempDir, untilGone } from '../support/test-daemon.ts';

const CONFIG = { mcpServers: { fixture: fixtureServer() } };

interface Shim {
  readonly child: ChildProcess;
  readonly client: RawClient;
  readonly exited: Promise<number>;
  said: string;
}

function startShim(args: string[], env: object = {}, cwd?: string): Shim {
  const child = spawn(process.execPath, [PROGRAM, 'connect', ...args], {
    env: { ...process.env, ...env },
    ...(cwd === undefined ? {} : { cwd }),
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  const shim = {
    child,
    client: new RawClient(child.stdout, child.stdin),
    exited: new Promise<number>((resolve) => child.once('close', (code) => resolve(code ?? -1))),
    said: '',
  };
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    shim.said += text;
  });
  return shim;
}

test('connect: behind kill -9 and a new daemon the client goes on as if nothing had been', async () => {
  const daemon = await TestDaemon.start(CONFIG);
  const { client, exited } = startShim(['--no-autostart', '--mcp-bridge-socket', daemon.path]);
  await client.initialize();
  expect(textOf(await client.callTool(1, 'echo', { text: 'one' }))).toBe('one');
  client.send({ jsonrpc: '2.0', id: 2, method: 'tools/call', params: { name: 'hold' } });
  await client.request(3, 'ping');
  daemon.kill('SIGKILL');
  await daemon.exited;
  const next = await TestDaemon.start(CONFIG, { dir: daemon.dir });
  expect((await client.answerTo(2)).error).toMatchObject({ code: -32603, data: { code: 'OUTCOME_UNKNOWN' } });
  expect(textOf(await client.callTool(4, 'echo', { text: 'two' }))).toBe('two');
  expect(client.lines.filter((line) => line.includes('list_changed'))).toHaveLength(1);
  client.end();
  expect(await exited).toBe(0);
  await next.stop();
});

test('connect: a call that the old daemon had sent to no server is done by the next one', async () => {
  const config = { ...CONFIG, limits: { maxInFlightPerServer: 1, drainTimeoutMs: 200 } };
  const daemon = await TestDaemon.start(config);
  const { client, exited } = startShim(['--no-autostart', '--mcp-bridge-socket', daemon.path]);
  await client.initialize();
  const plain = await daemon.client();
  client.send({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'hold' } });
  await client.request(2, 'ping');
  const late = { name: 'echo', arguments: { text: 'late' } };
  client.send({ jsonrpc: '2.0', id: 3, method: 'tools/call', params: late });
  plain.send({ jsonrpc: '2.0', id: 4, method: 'tools/call', params: late });
  await Promise.all([client.request(5, 'ping'), plain.request(5, 'ping')]);
  daemon.kill('SIGTERM');
  expect((await plain.answerTo(4)).error).toMatchObject({ data: { code: 'SHUTTING_DOWN', wasSent: false } });
  await daemon.exited;
  const next = await TestDaemon.start(config, { dir: daemon.dir });
  expect((await client.answerTo(1)).error).toMatchObject({ data: { code: 'OUTCOME_UNKNOWN' } });
  expect(textOf(await client.answerTo(3))).toBe('late');
  client.end();
  expect(await exited).toBe(0);
  await next.stop();
});

test('connect: a request sent while no daemon listens is sent to the next daemon as a new one', async () => {
  const daemon = await TestDaemon.start(CONFIG);
  const { child, client, exited } = startShim(['--no-autostart', '--mcp-bridge-socket', daemon.path]);
  await client.initialize();
  expect(textOf(await client.callTool(1, 'echo', { text: 'one' }))).toBe('one');
  child.kill('SIGSTOP');
  daemon.kill('SIGKILL');
  await daemon.exited;
  const next = await TestDaemon.start(CONFIG, { dir: daemon.dir });
  for (const id of [2, 3]) {
    const params = { name: 'echo', arguments: { text: `late ${id}` } };
    client.send({ jsonrpc: '2.0', id, method: 'tools/call', params });
  }
  child.kill('SIGCONT');
  expect([textOf(await client.answerTo(2)), textOf(await client.answerTo(3))]).toEqual(['late 2', 'late 3']);
  client.end();
  expect(await exited).toBe(0);
  await next.stop();
});

test('connect: starts a daemon again when the one that was started is killed', async () => {
  const dir = tempDir();
  const env = { XDG_CONFIG_HOME: dir, XDG_STATE_HOME: dir, HOME: dir, MCP_BRIDGE_SOCKET: join(dir, 'b.sock') };
  writeFileSync(join(dir, 'config.json'), '{}');
  const { client, exited } = startShim(['--view', 'server:example'], env, dir);
  await client.initialize();
  const { stdout } = await runCommand(['status', '--json'], { env });
  process.kill((JSON.parse(stdout) as { pid: number }).pid, 'SIGKILL');
  // Nobody can say of a call that was on its way whether it was done; a ping may be repeated.
  expect((await client.request('again', 'ping')).result).toEqual({});
  expect(textOf(await client.callTool(1, 'add', { a: 1, b: 2 }))).toBe('3');
  client.end();
  expect(await exited).toBe(0);
  await runCommand(['stop'], { env });
});

test.each<['SIGHUP' | 'SIGTERM' | 'SIGKILL']>([['SIGHUP'], ['SIGTERM'], ['SIGKILL']])(
  'connect: after %s the daemon that it starts goes on with the last good config while the file is half-written',
  async (signal) => {
    const dir = tempDir();
    const env = { XDG_CONFIG_HOME: dir, XDG_STATE_HOME: dir, HOME: dir, MCP_BRIDGE_SOCKET: join(dir, 'b.sock') };
    const config = join(dir, 'config.json');
    writeFileSync(config, JSON.stringify(CONFIG));
    const { client, exited } = startShim(['--config', config, '--view', 'server:fixture'], env, dir);
    await client.initialize();
    expect(textOf(await client.callTool(1, 'echo', { text: 'one' }))).toBe('one');
    const before = JSON.parse((await runCommand(['status', '--json'], { env })).stdout) as { pid: number };
    writeFileSync(config, '{ "mcpServers": {');
    process.kill(before.pid, signal);
    await untilGone(before.pid);
    expect(textOf(await client.callTool(2, 'echo', { text: 'two' }))).toBe('two');
    const after = await runCommand(['status'], { env });
    expect(after.stdout).toMatch(/config\.json:1:.* What it said at \S+ is still used\./);
    client.end();
    expect(await exited).toBe(0);
    await runCommand(['stop'], { env });
  },
);

test('connect: with an outdated daemon the wait ends only for clients with open requests', async () => {
  const daemon = await TestDaemon.start(CONFIG);
  const args = ['--no-autostart', '--mcp-bridge-socket', daemon.path, '--view', 'server:fixture'];
  const [asking, idle] = [startShim(args), startShim(args)];
  await Promise.all([asking.client.initialize(), idle.client.initialize()]);
  asking.client.send({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'hold' } });
  await asking.client.request(2, 'ping');
  daemon.kill('SIGKILL');
  await daemon.exited;
  const strange = await TestDaemon.start({ mcpServers: { other: fixtureServer() } }, { dir: daemon.dir });
  asking.client.send({ jsonrpc: '2.0', id: 3, method: 'tools/list' });
  expect((await asking.client.answerTo(1)).error?.data?.code).toBe('OUTCOME_UNKNOWN');
  expect((await asking.client.answerTo(3)).error?.data).toEqual({
    code: 'SERVER_NOT_FOUND',
    hint: expect.stringContaining('Known servers: other') as string,
  });
  expect(await asking.exited).toBe(1);
  expect(asking.said).toContain('The daemon refused the client: There is no server "fixture"');
  expect(idle.child.exitCode).toBeNull();
  strange.kill('SIGKILL');
  await strange.exited;
  const next = await TestDaemon.start(CONFIG, { dir: daemon.dir });
  expect(textOf(await idle.client.callTool(1, 'echo', { text: 'back' }))).toBe('back');
  idle.client.end();
  expect(await idle.exited).toBe(0);
  await next.stop();
});

test('connect: a request after a stop starts a daemon at once, whatever the pause', async () => {
  const dir = tempDir();
  const env = { XDG_CONFIG_HOME: dir, XDG_STATE_HOME: dir, HOME: dir, MCP_BRIDGE_SOCKET: join(dir, 'b.sock') };
  const config = join(dir, 'config.json');
  const hour = 3_600_000;
  writeFileSync(
    config,
    JSON.stringify({ ...CONFIG, mcpBridge: { reconnect: { initialDelayMs: hour, maxDelayMs: hour } } }),
  );
  const { client, exited } = startShim(['--view', 'server:fixture', '--config', config], env, dir);
  await client.initialize();
  expect((await runCommand(['stop'], { env })).code).toBe(0);
  expect(textOf(await client.callTool(1, 'echo', { text: 'woken' }))).toBe('woken');
  client.end();
  expect(await exited).toBe(0);
  await runCommand(['stop'], { env });
});

test('connect: if no daemon comes back, each request gets an error, and it exits with 1', async () => {
  const daemon = await TestDaemon.start(CONFIG);
  const config = join(daemon.dir, 'client.json');
  writeFileSync(config, JSON.stringify({ mcpBridge: { reconnect: { maxAttempts: 3, initialDelayMs: 10 } } }));
  const shim = startShim(['--no-autostart', '--mcp-bridge-socket', daemon.path, '--config', config]);
  await shim.client.initialize();
  shim.client.send({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'hold' } });
  await shim.client.request(2, 'ping');
  daemon.kill('SIGKILL');
  expect((await shim.client.answerTo(1)).error).toMatchObject({ data: { code: 'OUTCOME_UNKNOWN' } });
  expect(await shim.exited).toBe(1);
  expect(shim.said).toMatch(/could not be reached again, by 3 attempts in .* See: mcp-bridge doctor/);
  await daemon.stop();
});

test('connect passes on the directory of the project that it is started for', async () => {
  const project = tempDir();
  const config = { mcpServers: { fixture: { ...fixtureServer(), cwd: `\${PWD}` } } };
  const daemon = await TestDaemon.start(config);
  const { client, exited } = startShim(['--mcp-bridge-socket', daemon.path, '--view', 'server:fixture'], {
    CLAUDE_PROJECT_DIR: project,
  });
  await client.initialize();
  expect(textOf(await client.callTool(1, 'cwd'))).toBe(project);
  client.end();
  expect(await exited).toBe(0);
  await daemon.stop();
});

/** A server that notes each call before it answers: what was run can be counted whatever dies. */
const COUNTING = `
const fs = require('node:fs');
let rest = '';
process.stdin.on('end', () => process.exit());
process.stdin.setEncoding('utf8').on('data', (chunk) => {
  const lines = (rest + chunk).split('\\n');
  rest = lines.pop();
  for (const line of lines) {
    const { id, method, params } = JSON.parse(line);
    const say = (result) => process.stdout.write(JSON.stringify({ jsonrpc: '2.0', id, result }) + '\\n');
    if (method === 'initialize')
      say({ protocolVersion: params.protocolVersion, capabilities: { tools: {} }, serverInfo: { name: 'c', version: '1' } });
    else if (method === 'tools/list') say({ tools: [{ name: 'note', inputSchema: { type: 'object' } }] });
    else if (method === 'tools/call') {
      fs.appendFileSync(process.env.NOTES, params.arguments.text + '\\n');
      say({ content: [{ type: 'text', text: params.arguments.text }] });
    }
  }
});`;

test('200 clients come back to a daemon that was killed; nothing is lost, and nothing done twice', async () => {
  const dir = tempDir();
  const notes = join(dir, 'notes');
  appendFileSync(notes, '');
  const config = {
    mcpServers: { counter: { command: process.execPath, args: ['-e', COUNTING], env: { NOTES: notes } } },
  };
  const daemon = await TestDaemon.start(config, { dir });
  const clients = await Promise.all(Array.from({ length: 200 }, (_, i) => LibraryClient.open(daemon.path, i)));
  for (const client of clients) client.callOn();
  daemon.kill('SIGKILL');
  await Promise.all(clients.map((client) => client.lost));
  for (const client of clients) client.callOn();
  const next = await TestDaemon.start(config, { dir });
  await Promise.all(clients.map((client) => client.resumed));
  for (const client of clients) expect(client.attempts).toBeLessThanOrEqual(12);
  for (const client of clients) client.callOn();
  const outcomes = (await Promise.all(clients.map((client) => client.outcomes()))).flat();
  expect(outcomes).toHaveLength(600);
  const noted = readFileSync(notes, 'utf8').trimEnd().split('\n');
  expect(new Set(noted).size).toBe(noted.length);
  const known = outcomes.filter(({ outcome }) => outcome === 'done').map(({ text }) => text);
  expect(noted).toEqual(expect.arrayContaining(known));
  expect(outcomes.filter(({ outcome }) => outcome === 'twice' || outcome === 'failed')).toEqual([]);
  // What was asked behind the end of the first daemon was never in its hands.
  const later = outcomes.filter(({ text }) => !text.endsWith('-1')).map(({ outcome }) => outcome);
  expect(new Set(later)).toEqual(new Set(['done']));
  await Promise.all(clients.map((client) => client.close()));
  await next.stop();
});

type Outcome = 'open' | 'done' | 'unknown' | 'failed' | 'twice';

/** A client by the library, without the SDK: it keeps what becomes of each call. */
class LibraryClient {
  readonly #transport: BridgeTransport;
  readonly #name: string;
  readonly #outcomes: Outcome[] = [];
  readonly lost: Promise<void>;
  readonly resumed: Promise<void>;
  attempts = 0;
  #wake: () => void = () => undefined;

  private constructor(path: string, name: string) {
    this.#name = name;
    this.#transport = new BridgeTransport({ socketPath: path, autostart: false });
    this.#transport.on('reconnecting', () => void this.attempts++);
    this.lost = new Promise((resolve) => this.#transport.on('lost', () => resolve()));
    this.resumed = new Promise((resolve) => this.#transport.on('resumed', () => resolve()));
    this.#transport.onmessage = (message) => this.#received(message);
  }

  static async open(path: string, index: number): Promise<LibraryClient> {
    const client = new LibraryClient(path, `client${index}`);
    await client.#transport.start();
    const welcomed = new Promise<void>((resolve) => {
      client.#wake = resolve;
    });
    const clientInfo = { name: client.#name, version: '1' };
    client.#send({
      id: 0,
      method: 'initialize',
      params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo },
    });
    await welcomed;
    client.#send({ method: 'notifications/initialized' });
    return client;
  }

  callOn(): void {
    const id = this.#outcomes.push('open');
    this.#send({ id, method: 'tools/call', params: { name: 'note', arguments: { text: `${this.#name}-${id}` } } });
  }

  async outcomes(): Promise<{ text: string; outcome: Outcome }[]> {
    while (this.#outcomes.includes('open'))
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    return this.#outcomes.map((outcome, i) => ({ text: `${this.#name}-${i + 1}`, outcome }));
  }

  close(): Promise<void> {
    return this.#transport.close();
  }

  #send(message: object): void {
    void this.#transport.send({ jsonrpc: '2.0', ...message });
  }

  #received(message: object): void {
    const { id, error } = message as { id?: number; error?: { data?: { code?: string } } };
    if (id === undefined) return;
    const outcome = error === undefined ? 'done' : error.data?.code === 'OUTCOME_UNKNOWN' ? 'unknown' : 'failed';
    if (id > 0) this.#outcomes[id - 1] = this.#outcomes[id - 1] === 'open' ? outcome : 'twice';
    this.#wake();
  }
}

test.each([false, true])(
  'connect: a client without a handshake has its view, and goes on behind kill -9; at once: %s',
  async (atOnce) => {
    const config = { mcpServers: { fixture: fixtureServer(), other: fixtureServer() } };
    const daemon = await TestDaemon.start(config);
    const where = ['--no-autostart', '--mcp-bridge-socket', daemon.path];
    const { child, client, exited } = startShim([...where, '--view', 'server:fixture', '--mcp-client-id', 'fresh']);
    const who = {
      'io.modelcontextprotocol/protocolVersion': '2026-07-28',
      'io.modelcontextprotocol/clientCapabilities': {},
    };
    const ask = (id: number, method: string, params: object = {}) =>
      client.request(id, method, { ...params, _meta: who });
    const echo = (id: number, text: string) => ask(id, 'tools/call', { name: 'echo', arguments: { text } });
    if (!atOnce) expect((await ask(1, 'server/discover')).result).toMatchObject({ supportedVersions: ['2026-07-28'] });
    expect(textOf(await echo(2, 'one'))).toBe('one');
    const clients = await runCommand(['clients', '--json', '--mcp-bridge-socket', daemon.path]);
    expect(JSON.parse(clients.stdout)).toMatchObject([{ clientId: 'fresh', view: 'server:fixture', pid: child.pid }]);
    client.send({ jsonrpc: '2.0', id: 3, method: 'tools/call', params: { name: 'hold', _meta: who } });
    expect(textOf(await echo(4, 'two'))).toBe('two');
    daemon.kill('SIGKILL');
    await daemon.exited;
    const next = await TestDaemon.start(config, { dir: daemon.dir });
    expect((await client.answerTo(3)).error).toMatchObject({ code: -32603, data: { code: 'OUTCOME_UNKNOWN' } });
    expect(textOf(await echo(5, 'three'))).toBe('three');
    expect((await ask(6, 'tools/list')).result).toMatchObject({ resultType: 'complete' });
    expect(client.lines.every((line) => typeof (JSON.parse(line) as { id: unknown }).id === 'number')).toBe(true);
    client.end();
    expect(await exited).toBe(0);
    await next.stop();
  },
);
