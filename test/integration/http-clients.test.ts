// The clients of both lines of the SDK over HTTP, on the daemon's socket, at servers of both eras; and what a client hears that listens.

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Client as ClientV2, StreamableHTTPClientTransport as TransportV2 } from '@modelcontextprotocol/client';
import { Client as ClientV1 } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as TransportV1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import { asking2026, HttpClient } from '../support/http-client.ts';
import { cleanUp, fixtureServer, ROOT, TestDaemon, tempDir } from '../support/test-daemon.ts';

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

describe.each(Object.keys(SERVERS))(
  'a call of a tool of a server of the era %s that has marked parameters',
  (server) => {
    /** Calls with headers, and resolves to the status and the code. */
    async function answerTo(args: object, headers: Readonly<Record<string, string>>, path = `/mcp/server/${server}`) {
      const name = path === '/mcp/all' ? `${server}__test_mirrored_parameters` : 'test_mirrored_parameters';
      const asking = asking2026('tools/call', { name, arguments: args }, 'x');
      const reply = await http.ask({ ...asking, path, headers: { ...asking.headers, ...headers } });
      const { id, error } = await reply.json();
      return [reply.status, id, error?.code];
    }
    const fine = [200, 'x', undefined];
    const mismatch = [400, 'x', -32020];

    test('says in headers what they are, in every view (I8)', async () => {
      for (const path of [`/mcp/server/${server}`, '/mcp/all']) {
        expect(await answerTo({ place: 'Rom' }, {}, path)).toEqual(mismatch);
        expect(await answerTo({ place: 'Rom' }, { 'mcp-param-place': 'Roma' }, path)).toEqual(mismatch);
        expect(await answerTo({ place: 'Rom' }, { 'mcp-param-place': 'rom' }, path)).toEqual(mismatch);
        expect(await answerTo({ place: 'Rom' }, { 'mcp-param-place': ' Rom ' }, path)).toEqual(fine);
        expect(await answerTo({ place: 'Rom' }, { 'MCP-PARAM-PLACE': 'Rom' }, path)).toEqual(fine);
      }
    });

    test('may write them in Base64, and in no other way (I8)', async () => {
      const base64 = Buffer.from('Zürich').toString('base64');
      expect(await answerTo({ place: 'Zürich' }, { 'mcp-param-place': `=?base64?${base64}?=` })).toEqual(fine);
      expect(await answerTo({ place: 'Zürich' }, { 'mcp-param-place': base64 })).toEqual(mismatch);
      expect(await answerTo({ place: base64 }, { 'mcp-param-place': base64 })).toEqual(fine);
      expect(await answerTo({ place: `=?base64?${base64}` }, { 'mcp-param-place': `=?base64?${base64}` })).toEqual(
        fine,
      );
      for (const broken of ['SGVsbG8', 'SGVs!!!bG8=', '/w=='])
        expect(await answerTo({ place: 'Hello' }, { 'mcp-param-place': `=?base64?${broken}?=` })).toEqual(mismatch);
    });

    test('compares numbers as numbers, and expects no header for null or missing values (I8)', async () => {
      expect(await answerTo({ inside: { floor: 7 } }, { 'mcp-param-floor': '7.0' })).toEqual(fine);
      expect(await answerTo({ inside: { floor: 7 } }, { 'mcp-param-floor': '0x7' })).toEqual(mismatch);
      expect(await answerTo({ place: null, inside: {} }, {})).toEqual(fine);
      expect(await answerTo({}, { 'mcp-param-place': 'x', 'mcp-param-unknown': 'y' })).toEqual(fine);
    });
  },
);

describe('a call of a tool whose marks have changed', () => {
  const toolOf = (properties: object): object => ({ name: 'marked', inputSchema: { type: 'object', properties } });
  const MARKED = toolOf({ place: { type: 'string', 'x-mcp-header': 'Place' } });

  test('is judged by the newest list (I8)', async () => {
    const dir = tempDir();
    const file = join(dir, 'tools.json');
    writeFileSync(file, JSON.stringify(MARKED));
    const daemon = await TestDaemon.start({ mcpServers: { fixture: fixtureServer({ FIXTURE_TOOLS: file }) } });
    onTestFinished(() => daemon.stop());
    const client = new HttpClient({ socketPath: daemon.path });
    onTestFinished(() => client.close());
    const call = asking2026('tools/call', { name: 'marked', arguments: { place: 'Rom' } });
    const statusOf = async (): Promise<number> => (await client.ask({ ...call, path: '/mcp/server/fixture' })).status;
    expect(await statusOf()).toBe(400);
    writeFileSync(file, JSON.stringify(toolOf({})));
    const notice = { name: 'notify', arguments: { method: 'notifications/tools/list_changed' } };
    await (await client.ask({ ...asking2026('tools/call', notice), path: '/mcp/server/fixture' })).text();
    await vi.waitFor(async () => expect(await statusOf()).toBe(200), 10_000);
  });
});

describe('a client that listens', () => {
  const listen = (id: number) => ({
    ...asking2026('subscriptions/listen', { notifications: { toolsListChanged: true } }, id),
    path: '/mcp/all',
  });

  test('first gets the part that is honoured, under the id of its request, and a result when the daemon stops (I13)', async () => {
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
