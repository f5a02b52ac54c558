// The era of a server, found out with real processes: in place, by the first positive answer, and kept for the next start.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, copyFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { WebSocketServer } from 'ws';
import { ROOT, TestDaemon, type TestStatus, tempDir } from '../support/test-daemon.ts';

const TWO_ERAS = join(ROOT, 'test/fixtures/servers/two-eras.mjs');
const RAW_ERA = join(ROOT, 'test/fixtures/servers/raw-era.mjs');

/** A server by hand that writes down what it gets. */
class RawEra {
  readonly dir = tempDir();
  readonly #trace = join(this.dir, 'trace');
  readonly definition: object;

  constructor(kind: string, more: { env?: object; args?: readonly string[]; program?: string } = {}) {
    const { env, args = [], program = RAW_ERA } = more;
    this.definition = {
      command: process.execPath,
      args: [program, kind, ...args],
      env: { RAW_ERA_TRACE: this.#trace, ...env },
      startTimeoutMs: 20_000,
    };
  }

  /** The first words that it was told, in their order, at all its starts. */
  get firstWords(): string[] {
    if (!existsSync(this.#trace)) return [];
    const methods = readFileSync(this.#trace, 'utf8')
      .split('\n')
      .map((line) => line.split(' ')[1]);
    return methods.filter((method) => method === 'server/discover' || method === 'initialize');
  }
}

/** A daemon for one server `s`. Two of them in one directory know the same of it. */
const daemonFor = (definition: object, dir?: string): Promise<TestDaemon> =>
  TestDaemon.start({ mcpServers: { s: definition } }, dir === undefined ? {} : { dir });

async function instanceOf(daemon: TestDaemon): Promise<TestStatus['instances'][number] | undefined> {
  return (await daemon.status()).instances[0];
}

/** Has the server started, and resolves with what the daemon says of it. */
async function started(daemon: TestDaemon): Promise<TestStatus['instances'][number] | undefined> {
  await daemon.client();
  return instanceOf(daemon);
}

/** The error of a client that wants a server which does not start. */
async function startError(daemon: TestDaemon) {
  const client = await daemon.connect();
  const { error } = await client.initialize();
  client.destroy();
  return error;
}

describe('a server that answers the probe', () => {
  test('by a DiscoverResult is of the era of 2026, and never gets `initialize` (B1, B4)', async () => {
    const server = new RawEra('2026');
    const daemon = await daemonFor(server.definition);
    expect(await started(daemon)).toMatchObject({ state: 'ready', protocolVersion: '2026-07-28' });
    expect(server.firstWords).toEqual(['server/discover']);
    await daemon.stop();
  });

  test.each(['both', 'only-2026'])('with the SDK of that era is of it too, by %s (B4)', async (eras) => {
    const daemon = await daemonFor({ command: process.execPath, args: [TWO_ERAS, eras] });
    expect(await started(daemon)).toMatchObject({ state: 'ready', protocolVersion: '2026-07-28' });
    await daemon.stop();
  });

  test.each(['2025', 'empty'])(
    'in any other way gets `initialize` on the same process, as %s (B1, B5)',
    async (kind) => {
      const server = new RawEra(kind);
      const daemon = await daemonFor(server.definition);
      expect(await started(daemon)).toMatchObject({ protocolVersion: '2025-11-25', restarts: 0 });
      expect((await daemon.status()).counters.serverStarts).toBe(1);
      expect(server.firstWords).toEqual(['server/discover', 'initialize']);
      await daemon.stop();
    },
  );
});

describe('a server that does not answer the probe', () => {
  test('but ends, as some do, is started once more with `initialize` alone, and never probed again (B2)', async () => {
    const server = new RawEra('exit');
    const dir = tempDir();
    const first = await daemonFor(server.definition, dir);
    expect(await started(first)).toMatchObject({ protocolVersion: '2025-11-25', restarts: 0, lastError: null });
    expect(server.firstWords).toEqual(['server/discover', 'initialize']);
    first.kill('SIGTERM');
    await first.exited;
    const second = await daemonFor({ ...server.definition, idleMs: 1 }, dir);
    const client = await second.client();
    expect((await client.callTool(1, 'echo', { text: 'a' })).result).toMatchObject({ content: [{ text: 'a' }] });
    expect(server.firstWords).toEqual(['server/discover', 'initialize', 'initialize']);
    await second.stop();
  });

  test('gets `initialize` too, which decides if it answers that (B3)', async () => {
    const server = new RawEra('silent');
    const daemon = await daemonFor(server.definition);
    expect(await started(daemon)).toMatchObject({ protocolVersion: '2025-11-25' });
    expect(server.firstWords).toEqual(['server/discover', 'initialize']);
    await daemon.stop();
  });

  test('before it has refused `initialize` with -32022 is of the era of 2026 (B3)', async () => {
    const server = new RawEra('initialize-first', { env: { RAW_ERA_LATE_MS: '200' } });
    const daemon = await daemonFor(server.definition);
    expect(await started(daemon)).toMatchObject({ protocolVersion: '2026-07-28', restarts: 0 });
    expect(server.firstWords).toEqual(['server/discover', 'initialize']);
    await daemon.stop();
  });

  test('in time, but then, and says nothing to `initialize`, is of the era of 2026 (B3)', async () => {
    const server = new RawEra('ignoring', { env: { RAW_ERA_LATE_MS: '3500' } });
    const daemon = await daemonFor(server.definition);
    expect(await started(daemon)).toMatchObject({ protocolVersion: '2026-07-28' });
    expect(server.firstWords).toEqual(['server/discover', 'initialize', 'server/discover']);
    await daemon.stop();
  });

  test('because it starts slowly, and speaks both eras, is used in the one that it took, and given time then (B3, B4)', async () => {
    const dir = tempDir();
    const server = { command: process.execPath, args: [TWO_ERAS, 'both'], env: { TWO_ERAS_START_MS: '3500' } };
    const first = await daemonFor(server, dir);
    expect(await started(first)).toMatchObject({ protocolVersion: '2025-11-25' });
    const client = await first.client();
    expect((await client.callTool(1, 'echo', { text: 'a' })).result).toMatchObject({ content: [{ text: 'a' }] });
    first.kill('SIGTERM');
    await first.exited;
    const second = await daemonFor(server, dir);
    const control = await second.client();
    control.send({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'echo', arguments: { text: 'a' } } });
    await second.until(({ instances: [s] }) => s?.state === 'ready');
    expect(await instanceOf(second)).toMatchObject({ protocolVersion: '2026-07-28' });
    await second.stop();
  });
});

describe('a finding', () => {
  test('that a server has a handshake holds for its next start (B6)', async () => {
    const server = new RawEra('2025');
    const daemon = await daemonFor(server.definition);
    const client = await daemon.client();
    await client.callTool(1, 'exit', {});
    await client.callTool(2, 'echo', { text: 'a' });
    expect(server.firstWords).toEqual(['server/discover', 'initialize', 'initialize']);
    await daemon.stop();
  });

  test('does not hold for another program in its place (B6)', async () => {
    const program = join(tempDir(), 'server.mjs');
    copyFileSync(RAW_ERA, program);
    const server = new RawEra('2025', { program });
    const daemon = await daemonFor(server.definition);
    const client = await daemon.client();
    writeFileSync(program, readFileSync(RAW_ERA, 'utf8').replace("kind = '2025'", "kind = 'other'"));
    chmodSync(program, 0o700);
    await client.callTool(1, 'exit', {});
    await client.callTool(2, 'echo', { text: 'a' });
    expect(server.firstWords).toEqual(['server/discover', 'initialize', 'server/discover', 'initialize']);
    await daemon.stop();
  });

  test('is no promise: a server that changes its era is followed, either way (B6)', async () => {
    const counter = join(tempDir(), 'starts');
    const server = new RawEra('changing', { args: [counter] });
    const daemon = await daemonFor(server.definition);
    const versions: unknown[] = [(await started(daemon))?.protocolVersion];
    for (let again = 1; again <= 3; again++) {
      process.kill((await instanceOf(daemon))?.pid ?? 0, 'SIGKILL');
      await daemon.until(({ instances: [s] }) => s?.state !== 'ready');
      const client = await daemon.client();
      client.send({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'seen' } });
      await daemon.until(({ instances: [s] }) => s?.state === 'ready');
      versions.push((await instanceOf(daemon))?.protocolVersion);
      client.destroy();
    }
    expect(versions).toEqual(['2026-07-28', '2025-11-25', '2026-07-28', '2025-11-25']);
    await daemon.stop();
  });
});

describe('a server that cannot be agreed with', () => {
  test.each(['foreign', 'foreign-list', 'foreign-initialize'])(
    'is refused, and both lists are named: %s (B9)',
    async (kind) => {
      const daemon = await daemonFor(new RawEra(kind).definition);
      const error = await startError(daemon);
      expect(error?.message).toMatch(/^Server s speaks versions? "2031-01-01"/);
      expect(error?.data).toMatchObject({
        code: 'SERVER_START_FAILED',
        hint: 'The bridge speaks 2026-07-28, 2025-11-25, 2025-06-18, 2025-03-26, 2024-11-05.',
        serverVersions: expect.arrayContaining(['2031-01-01']),
        bridgeVersions: ['2026-07-28', '2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05'],
      });
      await daemon.stop();
    },
  );

  test.each(['refusing', 'foreign'])('never counts as broken, however often it is asked: %s (B7)', async (kind) => {
    const daemon = await daemonFor(new RawEra(kind).definition);
    for (let i = 0; i < 7; i++) expect((await startError(daemon))?.data).toMatchObject({ code: 'SERVER_START_FAILED' });
    expect(await instanceOf(daemon)).toMatchObject({ state: 'failed' });
    await daemon.stop();
  });
});

describe('a server that is no process of the bridge', () => {
  const DIAL_IN = { dialIn: { ide: { description: 'An editor' } }, client: { view: 'server:ide' } };
  const REGISTRATION = { 'mcp-bridge/role': 'server', 'mcp-bridge/serverName': 'ide' };

  test('is probed after it has dialled in (B10)', async () => {
    const daemon = await TestDaemon.start(DIAL_IN);
    const child = spawn(process.execPath, [TWO_ERAS, 'only-2026', daemon.path], {
      env: { ...process.env, TWO_ERAS_NAME: 'ide' },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    await once(child.stdout, 'data');
    expect(await started(daemon)).toMatchObject({ state: 'ready', protocolVersion: '2026-07-28' });
    child.kill();
    await daemon.stop();
  });

  test('and hangs up at the probe is asked in the older way when it has come back (B2, B10)', async () => {
    const daemon = await TestDaemon.start(DIAL_IN);
    const first = await daemon.connect();
    await first.initialize(REGISTRATION);
    const client = await daemon.connect();
    const refused = client.initialize();
    expect(await first.next()).toMatchObject({ method: 'server/discover' });
    first.destroy();
    expect((await refused).error?.data).toMatchObject({ server: 'ide' });
    const second = await daemon.connect();
    await second.initialize(REGISTRATION);
    const again = await daemon.connect();
    const welcome = again.initialize();
    const { id, method } = await second.next();
    expect(method).toBe('initialize');
    const serverInfo = { name: 'ide', version: '1' };
    second.send({ jsonrpc: '2.0', id, result: { protocolVersion: '2025-06-18', capabilities: {}, serverInfo } });
    expect((await welcome).result).toMatchObject({ serverInfo });
    for (const one of [client, second, again]) one.destroy();
    await daemon.stop();
  });

  test('is probed over a WebSocket as it is over stdio (B10)', async () => {
    const http = new WebSocketServer({ port: 0, host: '127.0.0.1', handleProtocols: () => 'mcp' });
    await once(http, 'listening');
    const methods: unknown[] = [];
    http.on('connection', (socket) => {
      socket.on('message', (data) => {
        const { id, method } = JSON.parse(String(data)) as { id?: unknown; method: string };
        methods.push(method);
        const terms = { resultType: 'complete', ttlMs: 0, cacheScope: 'private' };
        const result = { ...terms, supportedVersions: ['2026-07-28'], capabilities: {} };
        if (method === 'server/discover') socket.send(JSON.stringify({ jsonrpc: '2.0', id, result }));
      });
    });
    const daemon = await daemonFor({ url: `ws://127.0.0.1:${(http.address() as AddressInfo).port}/` });
    expect(await started(daemon)).toMatchObject({ state: 'ready', protocolVersion: '2026-07-28' });
    expect(methods).toEqual(['server/discover']);
    await daemon.stop();
    http.close();
  });
});

test('a server of 2026 that sends requests of its own still becomes ready', async () => {
  const daemon = await daemonFor(new RawEra('asks').definition);
  expect(await started(daemon)).toMatchObject({ state: 'ready', protocolVersion: '2026-07-28' });
  await daemon.stop();
});
