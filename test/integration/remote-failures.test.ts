// What a client is told when a server at a URL cannot be used: one sentence, and nothing of what the server has said.

import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type RequestListener, type Server, type ServerResponse } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import type { Message } from '../support/raw-client.ts';
import { ROOT, TestDaemon } from '../support/test-daemon.ts';

const open: Server[] = [];
afterEach(() => {
  for (const server of open.splice(0)) {
    server.close();
    server.closeAllConnections();
  }
});

async function listening(server: Server): Promise<number> {
  open.push(server);
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return (server.address() as AddressInfo).port;
}

/** A port that nobody listens on. */
async function deadPort(): Promise<number> {
  const server = createServer();
  const port = await listening(server);
  server.close();
  await once(server, 'close');
  return port;
}

/** What the first client of a server is told, and all else that anyone can see of it. */
async function refusalOf(server: object): Promise<{ error: Message['error']; seen: string }> {
  const daemon = await TestDaemon.start({ mcpServers: { s: server } });
  const answer = await (await daemon.connect()).initialize();
  const seen = JSON.stringify([answer, await daemon.status(), daemon.log]);
  await daemon.stop();
  return { error: answer.error, seen };
}

const answering =
  (status: number, body = 's3cret', headers: Record<string, string> = {}): RequestListener =>
  (_, response) =>
    response.writeHead(status, headers).end(body);

const JSON_TYPE = { 'content-type': 'application/json' };
const HTML_TYPE = { 'content-type': 'text/html; charset=utf-8' };

describe.each(['http', 'sse', 'auto'])('a server over %s', (type) => {
  test.each<[number, string]>([
    [403, 'denies access (HTTP 403)'],
    [404, 'is not at its url (HTTP 404)'],
    [500, 'failed (HTTP 500)'],
    [503, 'failed (HTTP 503)'],
  ])('that answers with %i', async (status, sentence) => {
    const port = await listening(createServer(answering(status)));
    const { error, seen } = await refusalOf({ type, url: `http://127.0.0.1:${port}/mcp?key=s3cret` });
    const whoever = status === 403 ? ', and whether whoever has signed in may do this there.' : '';
    const hint = `Check its url, at http://127.0.0.1:${port}${whoever}`;
    expect(error).toEqual({
      code: -32603,
      message: `Server s ${sentence}`,
      data: { code: 'SERVER_START_FAILED', server: 's', hint },
    });
    expect(seen).not.toContain('s3cret');
  });

  test('that is a web site', async () => {
    const port = await listening(createServer(answering(200, '<p>s3cret', HTML_TYPE)));
    const { error, seen } = await refusalOf({ type, url: `http://127.0.0.1:${port}/` });
    expect(error?.message).toBe('Server s does not speak MCP at its url: it answered with text/html instead of JSON');
    expect(seen).not.toContain('s3cret');
  });

  test('that is not there', async () => {
    const { error } = await refusalOf({ type, url: `http://127.0.0.1:${await deadPort()}/mcp` });
    expect(error?.message).toBe('Server s could not be reached: connection refused (ECONNREFUSED)');
  });

  test('with an untrusted certificate', async () => {
    const read = (name: string): Buffer => readFileSync(join(ROOT, 'test/fixtures/tls', name));
    const server = createSecureServer({ key: read('key.pem'), cert: read('certificate.pem') }, answering(200));
    const { error } = await refusalOf({ type, url: `https://127.0.0.1:${await listening(server)}/mcp` });
    expect(error?.message).toBe(
      'Server s could not be reached: its certificate is not trusted (DEPTH_ZERO_SELF_SIGNED_CERT)',
    );
  });

  test('that hangs up', async () => {
    const port = await listening(createServer((request) => request.socket.destroy()));
    const { error } = await refusalOf({ type, url: `http://127.0.0.1:${port}/mcp` });
    expect(error?.message).toMatch(/^Server s closed the connection without an answer \([A-Z_]+\)$/);
  });
});

test.each<[string, RequestListener, string]>([
  ['JSON that is none', answering(200, '{"s3cret', JSON_TYPE), 'answered with something that is not JSON'],
  ['JSON that is no message', answering(200, '["s3cret"]', JSON_TYPE), 'answered with something that is not JSON-RPC'],
  [
    'plain text',
    answering(200, 's3cret', { 'content-type': 'text/plain' }),
    'does not speak MCP at its url: it answered with text/plain instead of JSON',
  ],
  [
    'a way to another host',
    answering(302, '', { location: 'http://example.invalid/s3cret' }),
    'redirects to another server, which the bridge does not follow (HTTP 302)',
  ],
])('a server over http that answers with %s', async (_, listener, sentence) => {
  const url = `http://127.0.0.1:${await listening(createServer(listener))}/mcp`;
  const { error, seen } = await refusalOf({ type: 'http', url });
  expect(error?.message).toBe(`Server s ${sentence}`);
  expect(seen).not.toContain('s3cret');
});

test('an unknown host', async () => {
  const { error } = await refusalOf({ url: 'http://nobody.invalid/mcp' });
  expect(error?.message).toMatch(/^Server s could not be reached: .*its host name.* \((ENOTFOUND|EAI_AGAIN)\)$/);
});

test('a port that HTTP may not use', async () => {
  const { error } = await refusalOf({ url: 'http://127.0.0.1:9/mcp' });
  expect(error?.message).toBe('Server s could not be reached: its port is one of those that HTTP may not use');
});

test('a place that does not speak TLS', async () => {
  const port = await listening(createServer(answering(200)));
  const { error } = await refusalOf({ url: `https://127.0.0.1:${port}/mcp` });
  expect(error?.message).toMatch(/^Server s could not be reached: it does not speak TLS there \([A-Z_]+\)$/);
});

describe('a server over ws', () => {
  test.each<[number, string]>([
    [401, 'says that the bridge is not authorized (HTTP 401)'],
    [403, 'denies access (HTTP 403)'],
    [404, 'is not at its url (HTTP 404)'],
    [503, 'failed (HTTP 503)'],
    [200, 'is no WebSocket (HTTP 200)'],
  ])('that answers with %i', async (status, sentence) => {
    const port = await listening(createServer(answering(status)));
    const { error, seen } = await refusalOf({ url: `ws://127.0.0.1:${port}/?key=s3cret` });
    expect(error?.message).toBe(`Server s ${sentence}`);
    const isOfHeaders = status === 401 || status === 403;
    const hint = isOfHeaders ? 'Check its headers, or their helper.' : `Check its url, at ws://127.0.0.1:${port}`;
    expect(error?.data).toMatchObject({ hint });
    expect(seen).not.toContain('s3cret');
  });

  test('that is not there', async () => {
    const { error } = await refusalOf({ url: `ws://127.0.0.1:${await deadPort()}/` });
    expect(error?.message).toBe('Server s could not be reached: connection refused (ECONNREFUSED)');
  });

  test('that does not speak TLS', async () => {
    const port = await listening(createServer(answering(200)));
    const { error } = await refusalOf({ url: `wss://127.0.0.1:${port}/` });
    expect(error?.message).toMatch(/^Server s could not be reached: it does not speak TLS there \([A-Z_]+\)$/);
  });

  test('that speaks something else', async () => {
    const { WebSocketServer } = await import('ws');
    const server = createServer();
    new WebSocketServer({ server, handleProtocols: () => false });
    const { error } = await refusalOf({ url: `ws://127.0.0.1:${await listening(server)}/` });
    expect(error?.message).toBe('Server s does not speak the subprotocol mcp');
  });
});

/** A server as small as can be, which answers calls with this status. */
function smallServer(status: () => number): RequestListener {
  const hello = { protocolVersion: '2025-06-18', capabilities: {}, serverInfo: { name: 'x', version: '1' } };
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<unknown> => {
    if (request.method !== 'POST') return response.writeHead(405).end();
    const body = Buffer.concat(await request.toArray()).toString();
    const { id, method } = JSON.parse(body) as { id?: number; method: string };
    if (id === undefined) return response.writeHead(202).end();
    if (status() !== 200) return response.writeHead(status()).end('s3cret');
    const result = method === 'initialize' ? hello : {};
    return response.writeHead(200, JSON_TYPE).end(JSON.stringify({ jsonrpc: '2.0', id, result }));
  };
  return (request, response) => void answer(request, response);
}

test('a call that fails on its way gets the reason, and the next one may work', async () => {
  let status = 200;
  const port = await listening(createServer(smallServer(() => status)));
  const daemon = await TestDaemon.start({ mcpServers: { s: { url: `http://127.0.0.1:${port}/mcp` } } });
  const client = await daemon.client();
  status = 502;
  const answer = await client.request(1, 'tools/list');
  expect(answer.error).toMatchObject({
    code: -32603,
    message: 'Server s failed (HTTP 502)',
    data: { code: 'SERVER_UNREACHABLE', server: 's' },
  });
  status = 200;
  expect((await client.request(2, 'tools/list')).result).toEqual({});
  expect((await daemon.status()).instances).toMatchObject([{ restarts: 0 }]);
  expect(JSON.stringify([answer, daemon.log])).not.toContain('s3cret');
  await daemon.stop();
});

test('a call with rejected credentials ends the connection, and the next one runs the helper again', async () => {
  let status = 200;
  const url = `http://127.0.0.1:${await listening(createServer(smallServer(() => status)))}/mcp`;
  const headersHelper = `echo run >> runs; echo '{"authorization":"Bearer s3cret"}'`;
  const daemon = await TestDaemon.start({ mcpServers: { s: { url, headersHelper } } });
  const client = await daemon.client();
  status = 401;
  const answer = await client.request(1, 'tools/list');
  expect(answer.error).toMatchObject({
    message: 'Server s says that the bridge is not authorized (HTTP 401)',
    data: { code: 'SERVER_UNREACHABLE', hint: 'Check its headers, or their helper.' },
  });
  await daemon.until(({ instances }) => instances[0]?.state === 'failed');
  status = 200;
  expect((await client.request(2, 'tools/list')).result).toEqual({});
  expect(readFileSync(join(daemon.dir, 'runs'), 'utf8')).toBe('run\nrun\n');
  expect(JSON.stringify([answer, await daemon.status(), daemon.log])).not.toContain('s3cret');
  await daemon.stop();
});
