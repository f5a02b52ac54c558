// Who a client of the library is to others, and what it takes from them: as it has said once, whatever happens to its
// connection and its daemon.

import { join } from 'node:path';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { expect, test } from 'vitest';
import * as z from 'zod';
import { BridgeTransport, connectToBridge, messageTo, senderOf } from '../../src/client/index.ts';
import { BrittleSocket } from '../support/brittle-socket.ts';
import { runCommand } from '../support/command.ts';
import { fixtureServer, TestDaemon, tempDir } from '../support/test-daemon.ts';

const CONFIG = { mcpServers: { fixture: fixtureServer() } };
const INFO = { name: 'library', version: '1' };
const Review = z.object({ method: z.literal('review/start'), params: z.looseObject({ branch: z.string() }) });
const Verdict = z.looseObject({ verdict: z.string(), askedBy: z.string() });
const Clients = z.object({
  clients: z.array(z.looseObject({ id: z.string(), name: z.string(), accepts: z.unknown() })),
});

function reviewer(): Client {
  const client = new Client(INFO);
  client.setRequestHandler(Review, ({ params }) => ({ verdict: `read ${params.branch}`, askedBy: senderOf(params) }));
  return client;
}

const clientsOf = async (client: Client) => (await client.request({ method: 'bridge/clients' }, Clients)).clients;
const acceptedBy = async (client: Client): Promise<Record<string, unknown>> =>
  Object.fromEntries((await clientsOf(client)).map(({ name, accepts }) => [name, accepts]));
const resumedOnce = (transport: BridgeTransport): Promise<string> =>
  new Promise((resolve) => transport.once('resumed', ({ session }) => resolve(session)));

test('clients see what another client says that it accepts', async () => {
  const daemon = await TestDaemon.start(CONFIG);
  const options = { socketPath: daemon.path, autostart: false };
  const clients = await Promise.all([
    connectToBridge({ ...options, name: 'some', accepts: ['review/*', 'ping/me'] }),
    connectToBridge({ ...options, name: 'all', accepts: true }),
    connectToBridge({ ...options, name: 'none', accepts: false }),
    connectToBridge({ ...options, name: 'silent' }),
  ]);
  const [first] = clients;
  expect(await acceptedBy(first as Client)).toEqual({
    ...{ some: ['review/*', 'ping/me'], all: true, none: false, silent: [] },
  });
  const own = await connectToBridge({ ...options, client: new Client({ ...INFO, name: 'own' }), accepts: ['a/b'] });
  expect(await acceptedBy(own)).toMatchObject({ own: ['a/b'] });
  await Promise.all([...clients, own].map((client) => client.close()));
  await daemon.stop();
});

test('a client without an id keeps the id that it got, and what it accepts, after a drop and a restart', async () => {
  const daemon = await TestDaemon.start(CONFIG);
  const way = await BrittleSocket.open(join(daemon.dir, 'brittle.sock'), daemon.path);
  const transport = new BridgeTransport({ socketPath: way.path, autostart: false, accepts: ['review/*'] });
  const client = reviewer();
  await client.connect(transport);
  const { clientId } = transport;
  expect(clientId).toMatch(/^client-[0-9a-f]{8}$/);

  /** Another client, which knows nothing but the id, asks it. */
  const isReached = async (path: string): Promise<void> => {
    const other = await connectToBridge({ socketPath: path, autostart: false, clientId: 'other' });
    expect(await clientsOf(other)).toContainEqual(expect.objectContaining({ id: clientId, accepts: ['review/*'] }));
    const answer = await other.request(messageTo(clientId, 'review/start', { branch: 'main' }), Verdict);
    expect(answer).toEqual({ verdict: 'read main', askedBy: 'other' });
    await other.close();
  };

  await isReached(daemon.path);
  let resumed = resumedOnce(transport);
  way.cut();
  expect(await resumed).toBe('kept');
  await isReached(daemon.path);

  let last = daemon;
  for (const signal of ['SIGKILL', 'SIGTERM'] as const) {
    resumed = resumedOnce(transport);
    last.kill(signal);
    await last.exited;
    last = await TestDaemon.start(CONFIG, { dir: daemon.dir });
    expect(await resumed).toBe('new');
    expect(transport.clientId).toBe(clientId);
    await isReached(last.path);
  }
  await client.close();
  way.close();
  await last.stop();
});

test('clients that want the same id each get their own back after a restart, in any order', async () => {
  const daemon = await TestDaemon.start(CONFIG);
  const options = { socketPath: daemon.path, autostart: false, clientId: 'agent', accepts: ['review/*'] };
  const transports: BridgeTransport[] = [];
  for (let n = 0; n < 8; n++) {
    const transport = new BridgeTransport(options);
    await reviewer().connect(transport);
    transports.push(transport);
  }
  const ids = transports.map(({ clientId }) => clientId);
  expect(ids).toEqual(['agent', ...[2, 3, 4, 5, 6, 7, 8].map((n) => `agent-${n}`)]);
  const resumed = Promise.all(transports.map(resumedOnce));
  daemon.kill('SIGKILL');
  await daemon.exited;
  const next = await TestDaemon.start(CONFIG, { dir: daemon.dir });
  expect(new Set(await resumed)).toEqual(new Set(['new']));
  expect(transports.map(({ clientId }) => clientId)).toEqual(ids);
  await Promise.all(transports.map((transport) => transport.close()));
  await next.stop();
});

test('an invalid id is refused, and the message names where it was chosen', async () => {
  const socketPath = join(tempDir(), 'b.sock');
  const rule = 'must be 1 to 128 printable ASCII characters, without spaces';
  const run = async (args: string[], env: object = {}) => {
    const all = ['connect', '--no-autostart', '--mcp-bridge-socket', socketPath, ...args];
    const input = `${JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params: {} })}\n`;
    const { code, stdout, stderr } = await runCommand(all, { env, input });
    return [code, stderr, (JSON.parse(stdout) as { error: object }).error];
  };
  const refused = (source: string) => {
    const hint = 'Without one the daemon makes one up.';
    const error = { code: -32603, message: `${source} ${rule}`, data: { code: 'USAGE', hint } };
    return [1, `mcp-bridge: ${source} ${rule}. ${hint}\n`, error];
  };
  expect(await run(['--mcp-client-id', 'a flag'])).toEqual(refused('--mcp-client-id'));
  expect(await run([], { MCP_CLIENT_ID: 'a variable' })).toEqual(refused('MCP_CLIENT_ID'));
});

test('an invalid id in the config is a fault of the config, and excludes no client', async () => {
  const daemon = await TestDaemon.start({ ...CONFIG, client: { id: 'in the file' } }, { isFaulty: true });
  const configFile = join(daemon.dir, 'config.json');
  const fault = 'client.id must be 1 to 128 printable ASCII characters, without spaces';
  const check = await runCommand(['config', 'check', configFile]);
  expect(check.code).toBe(1);
  expect(check.stdout).toContain(fault);
  const doctor = await runCommand(['doctor', '--config', configFile, '--mcp-bridge-socket', daemon.path]);
  expect(doctor.stdout).toContain(fault);
  const transport = new BridgeTransport({ socketPath: daemon.path, configFile, autostart: false });
  await transport.start();
  await transport.close();
  const connect = ['connect', '--mcp-bridge-socket', daemon.path, '--config', configFile];
  const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'x', version: '1' } };
  const input = `${JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params })}\n`;
  const { code, stdout } = await runCommand(connect, { input });
  expect(code).toBe(0);
  expect(JSON.parse(stdout)).toMatchObject({ id: 1, result: {} });
  await daemon.stop();
});
