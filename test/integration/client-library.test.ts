// `mcp-bridge/client` as a program uses it: built, with the clients of both lines of the SDK, and real daemons that die.

import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { Client as ClientV2 } from '@modelcontextprotocol/client';
import { Client as ClientV1 } from '@modelcontextprotocol/sdk/client/index.js';
import { ToolListChangedNotificationSchema } from '@modelcontextprotocol/sdk/types.js';
import { expect, test } from 'vitest';
import { BridgeTransport, connectToBridge } from '../../src/client/index.ts';
import { BrittleSocket } from '../support/brittle-socket.ts';
import { runCommand } from '../support/command.ts';
import { fixtureServer, PROGRAM, TestDaemon, tempDir } from '../support/test-daemon.ts';
import { keepUncaughtErrors } from '../support/uncaught-errors.ts';

const INFO = { name: 'library', version: '1' };
const CONFIG = { mcpServers: { fixture: fixtureServer() } };

interface AnyClient {
  listTools(): Promise<{ tools: { name: string }[] }>;
  callTool(call: { name: string; arguments?: Record<string, unknown> }): Promise<unknown>;
  getServerVersion(): { name: string } | undefined;
  close(): Promise<void>;
}

const CLIENTS: [string, (transport: BridgeTransport) => Promise<AnyClient>][] = [
  [
    '@modelcontextprotocol/sdk',
    async (transport) => {
      const client = new ClientV1(INFO);
      await client.connect(transport);
      return client as unknown as AnyClient;
    },
  ],
  ...(['legacy', 'auto'] as const).map((mode): (typeof CLIENTS)[number] => [
    `@modelcontextprotocol/client, ${mode}`,
    async (transport) => {
      const client = new ClientV2(INFO, { versionNegotiation: { mode } });
      await client.connect(transport);
      return client as unknown as AnyClient;
    },
  ]),
];

const call = (client: AnyClient, text: string) => client.callTool({ name: 'echo', arguments: { text } });
const said = (text: string) => expect.objectContaining({ content: [{ type: 'text', text }] });

test.each(CLIENTS)('the client of %s works over it, and goes on with the next daemon', async (name, connect) => {
  const daemon = await TestDaemon.start(CONFIG);
  const transport = new BridgeTransport({ socketPath: daemon.path, autostart: false, clientId: 'me' });
  const events: string[] = [];
  transport.on('connected', () => events.push('connected'));
  transport.on('lost', () => events.push('lost'));
  transport.on('closed', ({ error }) => events.push(`closed ${error?.code}`));
  const resumed = new Promise<string>((resolve) => transport.on('resumed', ({ session }) => resolve(session)));
  const client = await connect(transport);
  expect(client.getServerVersion()).toMatchObject({ name: 'fixture' });
  expect((await client.listTools()).tools.map(({ name }) => name)).toContain('echo');
  expect(await call(client, 'first')).toEqual(said('first'));
  expect(transport.clientId).toBe('me');

  daemon.kill('SIGKILL');
  await daemon.exited;
  const listing = client.listTools();
  const next = await TestDaemon.start(CONFIG, { dir: daemon.dir });
  expect(await resumed).toBe('new');
  expect((await listing).tools.length).toBeGreaterThan(3);
  expect(await call(client, 'second')).toEqual(said('second'));
  await client.close();
  // Without a handshake there is no session to lose.
  expect(events).toEqual(['connected', ...(name.endsWith('auto') ? [] : ['lost']), 'closed undefined']);
  await next.stop();
});

test('a program that is busy while the daemon is restarted loses no call', async () => {
  const daemon = await TestDaemon.start(CONFIG);
  const transport = new BridgeTransport({ socketPath: daemon.path, autostart: false });
  const client = new ClientV1(INFO) as unknown as AnyClient & ClientV1;
  await client.connect(transport);
  const resumed = new Promise<string>((resolve) => transport.on('resumed', ({ session }) => resolve(session)));
  const env = { ...process.env, HOME: daemon.dir, XDG_STATE_HOME: daemon.dir };
  // Nothing is read meanwhile, so that the call is written into a socket of which the other end has gone.
  const restart = spawnSync(process.execPath, [PROGRAM, 'restart', '--mcp-bridge-socket', daemon.path], { env });
  expect(restart.stderr.toString()).toBe('');
  expect(await Promise.all([call(client, 'one'), call(client, 'two')])).toEqual([said('one'), said('two')]);
  expect(await resumed).toBe('new');
  await client.close();
  await runCommand(['stop', '--mcp-bridge-socket', daemon.path], { env });
  await daemon.stop();
});

test('connectToBridge gives a client of the SDK, or connects one that is there', async () => {
  const daemon = await TestDaemon.start(CONFIG);
  const options = { socketPath: daemon.path, autostart: false };
  const client = await connectToBridge({ ...options, name: 'one-line' });
  expect(client).toBeInstanceOf(ClientV1);
  expect(await client.callTool({ name: 'echo', arguments: { text: 'x' } })).toMatchObject({ content: [{ text: 'x' }] });
  const own = new ClientV2(INFO);
  expect(await connectToBridge({ ...options, client: own })).toBe(own);
  expect(await own.callTool({ name: 'echo', arguments: { text: 'y' } })).toMatchObject({ content: [{ text: 'y' }] });
  await Promise.all([client.close(), own.close()]);
  await daemon.stop();
});

test('listeners that throw change nothing: it comes back, the others are called, and their errors are uncaught ones', async () => {
  const uncaught = keepUncaughtErrors();
  const daemon = await TestDaemon.start(CONFIG);
  const transport = new BridgeTransport({ socketPath: daemon.path, autostart: false });
  const told: string[] = [];
  for (const name of ['connected', 'lost', 'reconnecting', 'resumed', 'closed'] as const) {
    transport.on(name, () => {
      throw new Error(`${name} failed`);
    });
    transport.on(name, () => told.push(`${name} failed`));
  }
  let once = 0;
  transport.once('lost', () => once++);
  const resumed = new Promise((resolve) => transport.on('resumed', resolve));
  const client = new ClientV1(INFO) as unknown as AnyClient & ClientV1;
  await client.connect(transport);
  daemon.kill('SIGKILL');
  await daemon.exited;
  const next = await TestDaemon.start(CONFIG, { dir: daemon.dir });
  await resumed;
  expect(await call(client, 'on')).toEqual(said('on'));
  await client.close();
  expect([told[0], told[1], told.at(-2), told.at(-1)]).toEqual(
    ['connected', 'lost', 'resumed', 'closed'].map((name) => `${name} failed`),
  );
  expect(told.slice(2, -2).every((text) => text === 'reconnecting failed')).toBe(true);
  await new Promise(setImmediate);
  expect(uncaught).toEqual(told);
  expect([once, transport.listenerCount('lost')]).toEqual([1, 2]);
  await next.stop();
});

test('failed messages go to onerror, or become uncaught errors if that fails or is missing; the next message arrives', async () => {
  const uncaught = keepUncaughtErrors();
  const daemon = await TestDaemon.start(CONFIG);
  const transport = new BridgeTransport({ socketPath: daemon.path, autostart: false });
  const told: string[] = [];
  let heard: (id: unknown) => void = () => undefined;
  transport.onmessage = (message) => {
    const { id } = message as { id?: unknown };
    heard(id);
    throw new Error(`message ${id} failed`);
  };
  const ask = async (id: number, method: string, params?: object): Promise<void> => {
    const answered = new Promise((resolve) => {
      heard = resolve;
    });
    await transport.send({ jsonrpc: '2.0', ...{ id, method, params } });
    expect(await answered).toBe(id);
  };
  await transport.start();
  transport.onerror = ({ message }) => told.push(message);
  await ask(1, 'initialize', { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: INFO });
  transport.onerror = () => {
    throw new Error('onerror failed');
  };
  await ask(2, 'ping');
  transport.onerror = undefined;
  await ask(3, 'ping');
  transport.onclose = () => {
    throw new Error('onclose failed');
  };
  await transport.close();
  await new Promise(setImmediate);
  expect(told).toEqual(['message 1 failed']);
  expect(uncaught).toEqual(['onerror failed', 'message 3 failed', 'onclose failed']);
  await daemon.stop();
});

test('a client is told that lists may differ behind a restart', async () => {
  const daemon = await TestDaemon.start(CONFIG);
  const transport = new BridgeTransport({ socketPath: daemon.path, autostart: false });
  const client = new ClientV1(INFO);
  const told = new Promise<void>((resolve) =>
    client.setNotificationHandler(ToolListChangedNotificationSchema, () => resolve()),
  );
  await client.connect(transport);
  daemon.kill('SIGKILL');
  await daemon.exited;
  const next = await TestDaemon.start(CONFIG, { dir: daemon.dir });
  await told;
  await client.close();
  await next.stop();
});

test('a request after a stop begins an attempt at once, and does not wait for the next one', async () => {
  const daemon = await TestDaemon.start(CONFIG);
  const hour = 3_600_000;
  const reconnect = { initialDelayMs: hour, maxDelayMs: hour };
  const transport = new BridgeTransport({ socketPath: daemon.path, autostart: false, reconnect });
  const attempts: number[] = [];
  const waitsLong = new Promise<void>((resolve) =>
    transport.on('reconnecting', ({ attempt }) => {
      attempts.push(attempt);
      if (attempt === 2) resolve();
    }),
  );
  const client = new ClientV1(INFO) as unknown as AnyClient & ClientV1;
  await client.connect(transport);
  daemon.kill('SIGTERM');
  await daemon.exited;
  await waitsLong;
  const next = await TestDaemon.start(CONFIG, { dir: daemon.dir });
  expect(await call(client, 'woken')).toEqual(said('woken'));
  expect(attempts).toEqual([1, 2, 1]);
  await client.close();
  await next.stop();
});

test('if no daemon comes back, each call ends with an error that says what was tried', async () => {
  const daemon = await TestDaemon.start(CONFIG);
  const reconnect = { maxAttempts: 3, initialDelayMs: 10 };
  const transport = new BridgeTransport({ socketPath: daemon.path, autostart: false, reconnect });
  const client = new ClientV1(INFO);
  const errors: Error[] = [];
  client.onerror = (error) => errors.push(error);
  await client.connect(transport);
  await client.callTool({ name: 'echo', arguments: { text: 'ready' } });
  const held = client.callTool({ name: 'hold' });
  await client.ping();
  daemon.kill('SIGKILL');
  await expect(held).rejects.toThrow(
    /could not be reached again, by 3 attempts in \d+\.\d s: .*; whether this was done is not known/,
  );
  expect(errors).toMatchObject([{ code: 'DAEMON_UNREACHABLE', message: expect.stringContaining(daemon.path) }]);
  await daemon.stop();
});

test('the first connection waits for a daemon that somebody else starts, as often as it would come back', async () => {
  const dir = tempDir();
  const socketPath = join(dir, 'b.sock');
  const few = new BridgeTransport({ socketPath, autostart: false, reconnect: { maxAttempts: 3, initialDelayMs: 1 } });
  await expect(few.start()).rejects.toMatchObject({ code: 'DAEMON_NOT_RUNNING' });
  const none = new BridgeTransport({ socketPath, autostart: false, reconnect: { enabled: false } });
  await expect(none.start()).rejects.toMatchObject({ code: 'DAEMON_NOT_RUNNING' });
  const left = new BridgeTransport({ socketPath, autostart: false });
  const leaving = left.start();
  await left.close();
  await expect(leaving).rejects.toMatchObject({ message: 'This transport was closed while it connected' });

  const client = new ClientV1(INFO);
  const reconnect = { maxAttempts: 1000, maxDelayMs: 100 };
  const connected = client.connect(new BridgeTransport({ socketPath, autostart: false, reconnect }));
  const daemon = await TestDaemon.start(CONFIG, { dir });
  await connected;
  await client.close();
  await daemon.stop();
});

test('one that is not to come back says that the connection was lost, whatever became of the daemon', async () => {
  const daemon = await TestDaemon.start(CONFIG);
  const way = await BrittleSocket.open(join(daemon.dir, 'brittle.sock'), daemon.path);
  const ends = await Promise.all(
    [way.path, daemon.path].map(async (socketPath) => {
      const client = new ClientV1(INFO);
      await client.connect(new BridgeTransport({ socketPath, autostart: false, reconnect: { enabled: false } }));
      return new Promise<Error>((resolve) => {
        client.onerror = resolve;
        if (socketPath === way.path) way.cut();
        else daemon.kill('SIGTERM');
      });
    }),
  );
  expect(ends).toMatchObject([
    { code: 'CONNECTION_LOST', message: expect.stringContaining(`${way.path} was lost (`) },
    { code: 'CONNECTION_LOST', message: expect.stringContaining(`${daemon.path} was lost (stop)`) },
  ]);
  way.close();
  await daemon.stop();
});

test('a transport closed while it connects has no connection afterwards', async () => {
  const daemon = await TestDaemon.start({ mcpServers: {} });
  const transport = new BridgeTransport({ socketPath: daemon.path, autostart: false });
  const starting = transport.start();
  await transport.close();
  await expect(starting).rejects.toMatchObject({ message: 'This transport was closed while it connected' });
  await expect(transport.send({ jsonrpc: '2.0' })).rejects.toMatchObject({ code: 'DAEMON_NOT_RUNNING' });
  await daemon.stop();
});

test('sending on a closed transport fails with that reason', async () => {
  const daemon = await TestDaemon.start({ mcpServers: {} });
  const transport = new BridgeTransport({ socketPath: daemon.path, autostart: false });
  await transport.start();
  await transport.close();
  await expect(transport.send({ jsonrpc: '2.0' })).rejects.toMatchObject({ code: 'CONNECTION_LOST' });
  await daemon.stop();
});

test('a signal closes it', async () => {
  const daemon = await TestDaemon.start(CONFIG);
  const leave = new AbortController();
  const transport = new BridgeTransport({ socketPath: daemon.path, autostart: false, signal: leave.signal });
  const client = new ClientV1(INFO);
  await client.connect(transport);
  const closed = new Promise<void>((resolve) => {
    client.onclose = resolve;
  });
  leave.abort();
  await closed;
  await expect(new BridgeTransport({ socketPath: daemon.path, signal: leave.signal }).start()).rejects.toThrow(/abort/);
  await daemon.stop();
});
