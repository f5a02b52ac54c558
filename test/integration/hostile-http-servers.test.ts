// Servers over HTTP that say too much, too often, or nothing at all. They cost whoever asked them, and nobody else.

import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { createServer, type RequestListener, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { gzipSync } from 'node:zlib';
import { afterAll, afterEach, describe, expect, test } from 'vitest';
import type { RawClient } from '../support/raw-client.ts';
import { cleanUp, TestDaemon } from '../support/test-daemon.ts';

afterAll(() => expect(cleanUp()).toEqual([]));

const open: Server[] = [];
afterEach(() => {
  for (const server of open.splice(0)) {
    server.close();
    server.closeAllConnections();
  }
});

const JSON_TYPE = { 'content-type': 'application/json' };
const STREAM = { 'content-type': 'text/event-stream' };
const HELLO = { protocolVersion: '2025-06-18', capabilities: {}, serverInfo: { name: 'x', version: '1' } };

type Answer = (response: ServerResponse, id: number) => void;

/** A server that answers a call of a tool as the tool's name says. A deaf one never accepts what is no request. */
async function server(
  tools: Readonly<Record<string, Answer>>,
  isDeaf = false,
): Promise<{ url: string; asked: () => number; open: () => number }> {
  let [asked, unanswered] = [0, 0];
  const listener: RequestListener = (request, response) => {
    if (request.method !== 'POST') return void response.writeHead(405).end();
    void request.toArray().then((chunks) => {
      const { id, method, params } = JSON.parse(Buffer.concat(chunks).toString()) as {
        id?: number;
        method: string;
        params?: { name?: string };
      };
      if (id === undefined) return isDeaf ? undefined : void response.writeHead(202).end();
      const answer = tools[params?.name ?? ''];
      if (method === 'tools/call' && answer !== undefined) {
        asked++;
        unanswered++;
        response.on('close', () => unanswered--);
        return answer(response, id);
      }
      const result = method === 'initialize' ? HELLO : {};
      response.writeHead(200, JSON_TYPE).end(JSON.stringify({ jsonrpc: '2.0', id, result }));
    });
  };
  const http = createServer(listener);
  open.push(http);
  await once(http.listen(0, '127.0.0.1'), 'listening');
  return {
    url: `http://127.0.0.1:${(http.address() as AddressInfo).port}/mcp`,
    asked: () => asked,
    open: () => unanswered,
  };
}

const residentMib = (pid: number): number =>
  Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024;

/** Writes the same bytes again and again, as fast as they are taken, until nobody takes them. */
function flood(response: ServerResponse, bytes: Buffer): void {
  const write = (): void => {
    while (!response.destroyed && response.write(bytes));
    if (!response.destroyed) response.once('drain', write);
  };
  write();
}

describe('a body that is too long', () => {
  const MEGABYTE = Buffer.alloc(1 << 20, ' ');
  const COMMENT = Buffer.alloc(1 << 20, ':');
  const zeros = gzipSync(Buffer.alloc(300 << 20, ' '), { level: 1 });
  const bomb = (type: object, start: string): Answer => {
    return (response) => {
      response.writeHead(200, { ...type, 'content-encoding': 'gzip' });
      response.end(Buffer.concat([gzipSync(start), zeros])); // one member behind the other
    };
  };
  test.each<[string, Answer]>([
    ['JSON that is 300 MiB once it is decompressed', bomb(JSON_TYPE, '')],
    ['an event of 300 MiB', bomb(STREAM, 'data: ')],
    ['JSON that never ends', (response) => flood(response.writeHead(200, JSON_TYPE), MEGABYTE)],
    [
      'an event that never ends',
      (response) => flood(response.writeHead(200, STREAM), Buffer.from('data: x\n'.repeat(9999))),
    ],
    ['a line without an end, which is no field', (response) => flood(response.writeHead(200, STREAM), MEGABYTE)],
    ['a comment without an end', (response) => flood(response.writeHead(200, STREAM), COMMENT)],
  ])('ends the call that got it: %s', async (_, answer) => {
    const { url } = await server({ much: answer });
    const daemon = await TestDaemon.start({ mcpServers: { s: { type: 'http', url } } });
    const client = await daemon.client();
    const before = residentMib(daemon.pid);
    const { error } = await client.callTool(1, 'much');
    expect(error).toMatchObject({
      message: 'Server s sent a message of more than 8388608 bytes (limits.maxMessageBytes)',
      data: { code: 'SERVER_ANSWER_REFUSED', server: 's' },
    });
    expect((await client.callTool(2, 'other')).result).toEqual({});
    expect(residentMib(daemon.pid) - before).toBeLessThan(64);
    expect((await daemon.status()).instances).toMatchObject([{ restarts: 0, state: 'ready' }]);
    client.destroy();
    await daemon.stop();
  });
});

test.each<[string, (answers: string) => Answer]>([
  ['JSON', (body) => (response) => response.writeHead(200, JSON_TYPE).end(body)],
  ['an event', (body) => (response) => response.writeHead(200, STREAM).end(`data: ${body}\n\n`)],
])('an array of more than 1000 messages in %s is refused, and the call is told', async (_, answering) => {
  const many: Answer = (response, id) => {
    const notices = Array(1000).fill({ jsonrpc: '2.0', method: 'notifications/x' });
    answering(JSON.stringify([...notices, { jsonrpc: '2.0', id, result: {} }]))(response, id);
  };
  const few: Answer = (response, id) =>
    answering(JSON.stringify([{ jsonrpc: '2.0', id, result: { few: true } }]))(response, id);
  const { url } = await server({ many, few });
  const daemon = await TestDaemon.start({ mcpServers: { s: { type: 'http', url } } });
  const client = await daemon.client();
  const { error } = await client.callTool(1, 'many');
  expect(error).toMatchObject({
    message: 'Server s answered with more than 1000 messages in one array',
    data: { code: 'SERVER_ANSWER_REFUSED' },
  });
  expect((await client.callTool(2, 'few')).result).toEqual({ few: true });
  client.destroy();
  await daemon.stop();
});

describe('a call that is never answered', () => {
  const SILENT: Record<string, Answer> = {
    silent: () => undefined,
    headers: (response) => response.writeHead(200, STREAM).flushHeaders(),
  };
  const ways: [string, (client: RawClient, id: number) => void, object][] = [
    [
      'is cancelled',
      (client, id) => client.send({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: id } }),
      {},
    ],
    ['loses its client', (client) => client.destroy(), {}],
    ['has no time left', () => undefined, { limits: { callTimeoutMs: 1000 } }],
  ];
  test.each(ways)('gives its connection back when it %s', async (_, end, config) => {
    const { url, asked, open: unanswered } = await server(SILENT);
    const daemon = await TestDaemon.start({ mcpServers: { s: { type: 'http', url } }, ...config });
    const clients = await Promise.all([1, 2].map(() => daemon.client()));
    const before = readdirSync(`/proc/${daemon.pid}/fd`).length;
    for (const client of clients)
      for (let id = 1; id <= 10; id++)
        client.send({ jsonrpc: '2.0', id, method: 'tools/call', params: { name: id % 2 ? 'silent' : 'headers' } });
    await until(() => asked() === 20); // a call whose time is up counts too
    for (const client of clients) for (let id = 1; id <= 10; id++) end(client, id);
    await until(() => unanswered() === 0);
    await until(() => readdirSync(`/proc/${daemon.pid}/fd`).length <= before);
    for (const client of clients) client.destroy();
    await daemon.stop();
  });

  test('leaves descriptors for clients and other servers, and clients get an error when none are left', async () => {
    const { url } = await server(SILENT);
    const { url: other } = await server({
      fine: (response, id) =>
        void response.writeHead(200, JSON_TYPE).end(JSON.stringify({ jsonrpc: '2.0', id, result: {} })),
    });
    const daemon = await TestDaemon.start(
      { mcpServers: { s: { type: 'http', url }, other: { type: 'http', url: other } } },
      { descriptors: 128 },
    );
    const asking = await daemon.client({ 'mcp-bridge/view': 'server:s' });
    for (let id = 1; id <= 250; id++)
      asking.send({ jsonrpc: '2.0', id, method: 'tools/call', params: { name: 'silent' } });
    const client = await daemon.client({ 'mcp-bridge/view': 'server:other' });
    expect((await client.callTool(1, 'fine')).result).toEqual({});
    // Every one of them hears something: that it is served, or that there is no room.
    const all = await Promise.all(Array.from({ length: 60 }, () => daemon.connect()));
    for (const one of all) one.send({ jsonrpc: '2.0', id: 1, method: 'initialize', params: INITIALIZE });
    const answers = await Promise.all(all.map((one) => one.next()));
    expect(answers.filter(({ result, error }) => result === undefined && error === undefined)).toEqual([]);
    expect(answers.filter(({ result }) => result !== undefined).length).toBeGreaterThan(10);
    for (const one of [asking, client, ...all]) one.destroy();
    await daemon.stop();
  });
});

test.each<[string, boolean]>([
  ['for a connection', false],
  ['behind a notification that the server does not accept', true],
])(
  'calls that are cancelled while they wait %s are not kept',
  async (_, isDeaf) => {
    const { url, open: unanswered } = await server({ silent: () => undefined }, isDeaf);
    const daemon = await TestDaemon.start({ mcpServers: { s: { type: 'http', url } }, limits: { maxRemoteCalls: 8 } });
    const [stuck, client] = await Promise.all([daemon.client(), daemon.client()]);
    if (!isDeaf) {
      for (let id = 1; id <= 2; id++)
        stuck.send({ jsonrpc: '2.0', id, method: 'tools/call', params: { name: 'silent' } });
      await until(() => unanswered() === 2);
    }
    stuck.send({ jsonrpc: '2.0', method: 'notifications/other' });
    const params = { name: 'silent', arguments: { much: 'x'.repeat(1 << 20) } };
    const before = residentMib(daemon.pid);
    for (let id = 1; id <= 200; id++) {
      client.send({ jsonrpc: '2.0', id, method: 'tools/call', params });
      client.send({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: id } });
      await client.request(`${id}`, 'ping');
    }
    expect(residentMib(daemon.pid) - before).toBeLessThan(100);
    for (const one of [stuck, client]) one.destroy();
    await daemon.stop();
  },
  60_000,
);

test('answers that a server asks for and does not take are not kept without end', async () => {
  const ask = 'data: {"jsonrpc":"2.0","id":1,"method":"ping"}\n\n'.repeat(1000);
  const asking: Answer = (response) => {
    response.writeHead(200, STREAM);
    for (let n = 0; n < 300; n++) response.write(ask);
    response.write(
      'data: {"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"end"}}\n\n',
    );
  };
  const { url } = await server({ asking });
  const daemon = await TestDaemon.start({ mcpServers: { s: { type: 'http', url } } });
  const client = await daemon.client();
  const before = residentMib(daemon.pid);
  client.send({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'asking' } });
  while ((await client.next()).method !== 'notifications/message');
  expect(residentMib(daemon.pid) - before).toBeLessThan(100);
  client.destroy();
  await daemon.stop();
}, 60_000);

const INITIALIZE = {
  protocolVersion: '2025-06-18',
  capabilities: {},
  clientInfo: { name: 't', version: '1' },
  _meta: { 'mcp-bridge/view': 'server:other' },
};

async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await new Promise((resolve) => setTimeout(resolve, 5));
}
