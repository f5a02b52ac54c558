import { once } from 'node:events';
import { connect } from 'node:net';
// Servers that have died, or hang, while the bridge thinks that they are there: nothing is said of them from memory.

import { afterEach, describe, expect, test } from 'vitest';
import { type CommandResult, runCommand } from '../support/command.ts';
import { textOf } from '../support/raw-client.ts';
import { endFixtures, httpServer, ReferenceServer } from '../support/remote-fixture.ts';
import { endSessionServers, SessionServer } from '../support/session-server.ts';
import { fixtureServer, TestDaemon } from '../support/test-daemon.ts';

afterEach(endFixtures);
afterEach(endSessionServers);

const run = (daemon: TestDaemon, ...args: string[]): Promise<CommandResult> =>
  runCommand([...args, '--mcp-bridge-socket', daemon.path]);

/** What `doctor --start` says of the server `s`. */
async function lookedAt(daemon: TestDaemon): Promise<{ level: string; message: string } | undefined> {
  const { stdout } = await run(daemon, 'doctor', '--start', '--json');
  const { findings } = JSON.parse(stdout) as { findings: { check: string; level: string; message: string }[] };
  return findings.find(({ check }) => check === 'server s');
}

const REFUSED = 'Server s could not be reached: connection refused (ECONNREFUSED)';

describe('a server at a URL that has been killed', () => {
  async function killed() {
    const server = await ReferenceServer.start();
    const daemon = await TestDaemon.start(
      { mcpServers: { s: { type: 'http', url: server.url } } },
      { logLevel: 'debug' },
    );
    const client = await daemon.client();
    await daemon.untilLogged('list read');
    expect((await daemon.status()).instances).toMatchObject([{ state: 'ready' }]);
    await server.kill();
    return { server, daemon, client };
  }

  test('is known to be gone after a call, and is there for the next when it has come back', async () => {
    const { server, daemon, client } = await killed();
    expect((await client.callTool(1, 'echo', { message: 'a' })).error).toMatchObject({
      message: REFUSED,
      data: { code: 'SERVER_UNREACHABLE', server: 's', hint: expect.stringMatching(/^Check its url/) },
    });
    const { instances } = await daemon.until(({ instances: [s] }) => s?.state !== 'ready');
    expect(instances).toMatchObject([{ state: 'failed', lastError: REFUSED }]);
    await server.start();
    expect(textOf(await client.callTool(2, 'echo', { message: 'b' }))).toContain('b');
    await daemon.stop();
  });

  test('counts as one that has died, until it is left alone', async () => {
    const { daemon, client } = await killed();
    for (let id = 1; (await daemon.status()).instances[0]?.state !== 'broken'; id++)
      expect((await client.callTool(id, 'echo', { message: 'a' })).error?.message).toBe(REFUSED);
    expect((await client.callTool('x', 'echo', { message: 'a' })).error?.data?.code).toBe('SERVER_BROKEN');
    await daemon.stop();
  });

  test('is asked by refresh, which fails', async () => {
    const { server, daemon } = await killed();
    const refused = { code: 1, stdout: '', stderr: expect.stringContaining(REFUSED) };
    expect(await run(daemon, 'refresh', 's')).toMatchObject(refused);
    expect(await run(daemon, 'refresh', 's')).toMatchObject(refused);
    expect((await daemon.status()).instances).toMatchObject([{ state: 'failed' }]);
    await server.start();
    expect(await run(daemon, 'refresh', 's')).toMatchObject({ code: 0, stdout: expect.stringMatching(/^s +\d+ /m) });
    await daemon.stop();
  });

  test('is asked by doctor --start', async () => {
    const { server, daemon } = await killed();
    expect(await lookedAt(daemon)).toMatchObject({ level: 'wrong', message: REFUSED });
    await server.start();
    expect(await lookedAt(daemon)).toMatchObject({ level: 'ok', message: expect.stringMatching(/has \d+ tools$/) });
    await daemon.stop();
  });

  test('and started again is asked by refresh in a new session', async () => {
    const { server, daemon } = await killed();
    await server.start();
    expect(await run(daemon, 'refresh', 's')).toMatchObject({ code: 0, stderr: '' });
    expect((await daemon.status()).instances).toMatchObject([{ state: 'ready', restarts: 1 }]);
    await daemon.stop();
  });
});

/** Resolves when nothing listens there any more. */
async function untilNobodyListens(url: string): Promise<void> {
  const { hostname, port } = new URL(url);
  for (;;) {
    const socket = connect(Number(port), hostname);
    const isOpen = await Promise.race([
      once(socket, 'connect').then(() => true),
      once(socket, 'close').then(() => false),
    ]).catch(() => false);
    socket.destroy();
    if (!isOpen) return;
  }
}

test.each(['http', 'sse'] as const)('a call to a dead server over %s ends the connection', async (kind) => {
  const url = await httpServer(kind);
  const daemon = await TestDaemon.start({ mcpServers: { s: { url } } });
  const client = await daemon.client();
  await client.callTool(1, 'exit');
  await untilNobodyListens(url);
  expect((await client.callTool(2, 'echo', { text: 'a' })).error?.message).toBe(REFUSED);
  await daemon.until(({ instances }) => instances[0]?.state === 'failed');
  await daemon.stop();
});

describe('a server that no longer lists its tools', () => {
  test.each<[string, object, string]>([
    ['fails', { status: 502 }, 'Server s failed (HTTP 502)'],
    ['refuses', { status: 200, body: 'error' }, 'Server s could not list its tools: not now'],
  ])('because it %s is not said to have some', async (_, refusal, message) => {
    const server = await SessionServer.start();
    const daemon = await TestDaemon.start(
      { mcpServers: { s: { type: 'http', url: server.url } } },
      { logLevel: 'debug' },
    );
    await daemon.client();
    await daemon.untilLogged('list read');
    server.refuses = ({ method, id }) => {
      const error = { jsonrpc: '2.0', id, error: { code: -32603, message: 'not now' } };
      return method === 'tools/list'
        ? { status: 500, ...refusal, ...('body' in refusal && { body: error }) }
        : undefined;
    };
    expect(await run(daemon, 'refresh', 's')).toMatchObject({
      ...{ code: 1, stdout: '' },
      stderr: expect.stringContaining(message),
    });
    expect(await lookedAt(daemon)).toMatchObject({ level: 'wrong', message });
    expect((await daemon.status()).instances).toMatchObject([{ state: 'ready' }]);
    await daemon.stop();
  });
});

test('a process that hangs is not said to have tools, however often it is asked', async () => {
  const config = { mcpServers: { s: fixtureServer() }, limits: { callTimeoutMs: 1500 } };
  const daemon = await TestDaemon.start(config, { logLevel: 'debug' });
  await daemon.client();
  await daemon.untilLogged('list read');
  const pid = (await daemon.status()).instances[0]?.pid as number;
  process.kill(pid, 'SIGSTOP');
  for (let time = 1; time <= 3; time++)
    expect(await run(daemon, 'refresh', 's')).toMatchObject({ code: 1, stdout: '' });
  expect(await lookedAt(daemon)).toMatchObject({ level: 'wrong' });
  process.kill(pid, 'SIGCONT');
  expect(await run(daemon, 'refresh', 's')).toMatchObject({ code: 0, stderr: '' });
  await daemon.stop();
});
