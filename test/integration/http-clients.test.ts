// The clients of both lines of the SDK over HTTP, on the daemon's socket, at servers of both eras; and what a client hears that listens.

import { join } from 'node:path';
import { Client as ClientV2, StreamableHTTPClientTransport as TransportV2 } from '@modelcontextprotocol/client';
import { Client as ClientV1 } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as TransportV1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { asking2026, HttpClient } from '../support/http-client.ts';
import { cleanUp, ROOT, TestDaemon } from '../support/test-daemon.ts';

const SERVERS = { old: 'main.mjs', new: 'era-2026.mjs' };

let daemon: TestDaemon;
let http: HttpClient;
beforeAll(async () => {
  const mcpServers = Object.fromEntries(
    Object.entries(SERVERS).map(([name, file]) => [
      name,
      { command: process.execPath, args: [join(ROOT, 'test/conformance/server', file)] },
    ]),
  );
  daemon = await TestDaemon.start({ mcpServers });
  http = new HttpClient({ socketPath: daemon.path });
});
afterAll(async () => {
  http.close();
  await daemon.stop();
  cleanUp();
});

const url = (server: string): URL => new URL(`http://localhost/mcp/server/${server}`);

describe.each(Object.keys(SERVERS))('at a server of the era %s', (server) => {
  test('a client of SDK v1 lists and calls', async () => {
    const client = new ClientV1({ name: 'v1', version: '1' });
    await client.connect(new TransportV1(url(server), { fetch: http.fetch as typeof fetch }) as never);
    onTestFinished(() => client.close());
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name)).toContain('test_simple_text');
    expect((await client.callTool({ name: 'test_simple_text', arguments: {} })).content).toMatchObject([
      { type: 'text' },
    ]);
  });

  test.each([['legacy'], ['auto']] as const)('a client of SDK v2 in mode %s lists and calls', async (mode) => {
    const client = new ClientV2(
      { name: 'v2', version: '1' },
      { versionNegotiation: { mode }, capabilities: { elicitation: {} } },
    );
    client.setRequestHandler('elicitation/create', () => ({ action: 'decline' }));
    await client.connect(new TransportV2(url(server), { fetch: http.fetch as typeof fetch }));
    onTestFinished(() => client.close());
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name)).toContain('test_simple_text');
    expect((await client.callTool({ name: 'test_simple_text', arguments: {} })).content).toMatchObject([
      { type: 'text' },
    ]);
  });
});

describe('a client that listens', () => {
  const listen = (id: number) => ({
    ...asking2026('subscriptions/listen', { notifications: { toolsListChanged: true } }, id),
    path: '/mcp/all',
  });

  test('hears first what is honoured, under the id of its request, and gets a result when the daemon goes (I13)', async () => {
    const other = await TestDaemon.start({
      mcpServers: { one: { command: process.execPath, args: [join(ROOT, 'test/fixtures/servers/fixture.mjs')] } },
    });
    onTestFinished(() => other.stop());
    const client = new HttpClient({ socketPath: other.path });
    onTestFinished(() => client.close());
    const stream = await client.ask(listen(5));
    expect(await stream.message()).toMatchObject({
      method: 'notifications/subscriptions/acknowledged',
      params: { _meta: { 'io.modelcontextprotocol/subscriptionId': 5 } },
    });
    other.kill('SIGTERM');
    expect(await stream.messages()).toMatchObject([
      { id: 5, result: { resultType: 'complete', _meta: { 'io.modelcontextprotocol/subscriptionId': 5 } } },
    ]);
  });

  test('is one of a hundred of one user, each under the same id', async () => {
    const streams = await Promise.all(Array.from({ length: 100 }, () => http.ask(listen(1))));
    for (const stream of streams)
      expect(await stream.message()).toMatchObject({ method: 'notifications/subscriptions/acknowledged' });
    for (const stream of streams) stream.hangUp();
  });
});
