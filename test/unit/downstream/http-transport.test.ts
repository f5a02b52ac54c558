// Streamable HTTP against real servers; only the clock is not.

import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import { HttpTransport } from '../../../src/downstream/http-transport.ts';
import { RemoteFetch } from '../../../src/downstream/remote-fetch.ts';
import type { Exchange, RemoteMessage } from '../../../src/downstream/remote-link.ts';
import { ReadPacer } from '../../../src/wire/read-pacer.ts';
import { FakeClock } from '../../support/fake-clock.ts';

const open: Server[] = [];
afterEach(() => {
  for (const server of open.splice(0)) {
    server.close();
    server.closeAllConnections();
  }
});

const STREAM = { 'content-type': 'text/event-stream' };

/** A transport to a server with these answers, and what comes over it. */
async function connected(answers: {
  get?: (response: ServerResponse, request: IncomingMessage) => void;
  post?: (response: ServerResponse, request: IncomingMessage) => void;
}) {
  const asked: string[] = [];
  const arrived: string[] = [];
  const failures: unknown[] = [];
  const gaveUp: unknown[] = [];
  const server = createServer((request, response) => {
    request.resume();
    asked.push(`${request.method} ${request.headers['last-event-id'] ?? ''}`.trim());
    if (request.method === 'POST') (answers.post ?? ((one) => one.writeHead(202).end()))(response, request);
    else (answers.get ?? ((one) => one.writeHead(405).end()))(response, request);
  });
  open.push(server);
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const url = new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`);
  const clock = new FakeClock();
  const transport = new HttpTransport({
    ...{ url, headers: {}, clock, pacer: new ReadPacer(), maxFrameBytes: 1000 },
    fetch: new RemoteFetch({ keeper: () => undefined, origin: url.origin }).fetch,
    received: ({ b, start, end }) => {
      arrived.push(b.toString('utf8', start, end));
      return undefined;
    },
    mayRead: () => undefined,
    failed: (failure) => failures.push(failure),
    gaveUp: (failure) => gaveUp.push(failure),
    leftOut: (tool) => failures.push(tool),
  });
  return { transport, clock, asked, arrived, failures, gaveUp };
}

const message = (method: string, requestId?: string): RemoteMessage => ({
  body: new Uint8Array(Buffer.from(JSON.stringify({ jsonrpc: '2.0', method }))),
  method,
  requestId,
});

function exchange(isAwaited: () => boolean = () => true): Exchange {
  const abort = new AbortController();
  return { signal: abort.signal, abort: () => abort.abort(), taken: () => undefined, isAwaited };
}

/** Waits until this holds, however long the machine takes. */
async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await new Promise((resolve) => setTimeout(resolve, 2));
}

test('a server that ends its stream at once is left alone for longer each time, whatever it asks for', async () => {
  const { transport, clock, asked } = await connected({
    get: (response) => void response.writeHead(200, STREAM).end('retry: 0\n\n'),
  });
  await transport.send(message('notifications/initialized'), exchange());
  const gets = (): number => asked.filter((request) => request.startsWith('GET')).length;
  const pauses: number[] = [];
  for (let n = 1; n <= 9; n++) {
    await until(() => gets() === n && clock.pending === 1);
    let pause = 0;
    for (; clock.pending === 1; pause += 500) clock.advance(500);
    pauses.push(pause);
  }
  expect(pauses).toEqual([1, 2, 4, 8, 16, 32, 60, 60, 60].map((seconds) => seconds * 1000));
  transport.close();
});

test('a server may ask for longer pauses', async () => {
  const { transport, clock, asked } = await connected({
    get: (response) => void response.writeHead(200, STREAM).end('retry: 5000\n\n'),
  });
  await transport.send(message('notifications/initialized'), exchange());
  await until(() => asked.length === 2 && clock.pending === 1);
  clock.advance(4_999);
  expect(clock.pending).toBe(1);
  clock.advance(1);
  await until(() => asked.length === 3);
  transport.close();
});

test('a stream that fails again and again is given up', async () => {
  let isThere = true;
  const { transport, clock, failures, gaveUp } = await connected({
    get: (response) => void (isThere ? response.writeHead(200, STREAM) : response.writeHead(503)).end(),
  });
  await transport.send(message('notifications/initialized'), exchange());
  await until(() => clock.pending === 1);
  isThere = false;
  for (let n = 1; n <= 5; n++) {
    clock.advance(60_000);
    await until(() => failures.length === n && (clock.pending === 1 || n === 5));
  }
  expect(gaveUp).toMatchObject([{ status: 503 }]);
  expect(clock.pending).toBe(0);
});

test('a stream is taken up behind its last event, and not at all where its events have no id', async () => {
  const { transport, clock, asked, arrived } = await connected({
    get: (response) => void response.writeHead(200, STREAM).end('id: 8\ndata: "rest"\n\n'),
    post: (response) => void response.writeHead(200, STREAM).end('id: 7\ndata: "first"\n\n'),
  });
  let isAwaited = true;
  const sent = transport.send(
    message('tools/call', '1'),
    exchange(() => isAwaited),
  );
  await until(() => clock.pending === 1);
  isAwaited = false;
  clock.advance(250);
  expect((await sent)?.isUncertain).toBe(true);
  expect([asked, arrived]).toEqual([
    ['POST', 'GET 7'],
    ['"first"', '"rest"'],
  ]);

  const other = await connected({ post: (response) => void response.writeHead(200, STREAM).end('data: "first"\n\n') });
  expect((await other.transport.send(message('tools/call', '1'), exchange()))?.message).toContain('ended the stream');
});

test('a stream that goes on behind the answer has a second before its connection is closed', async () => {
  let closed = false;
  const { transport, clock } = await connected({
    post: (response) => {
      response.writeHead(200, STREAM).write('data: "answer"\n\n');
      response.on('close', () => {
        closed = true;
      });
    },
  });
  const sent = transport
    .send(
      message('tools/call', '1'),
      exchange(() => false),
    )
    .catch((error: unknown) => error);
  await until(() => clock.pending === 1);
  expect(closed).toBe(false);
  clock.advance(1000);
  await until(() => closed);
  expect(await sent).toMatchObject({ name: 'AbortError' });
});

test.each<[string, (response: ServerResponse) => void]>([
  ['JSON', (response) => response.writeHead(200, { 'content-type': 'application/json' }).end(' '.repeat(1001))],
  ['an event', (response) => response.writeHead(200, STREAM).end(`data: ${'x'.repeat(1001)}\n`)],
  ['a line of nothing', (response) => response.writeHead(200, STREAM).end('x'.repeat(1101))],
])('%s of more than limits.maxMessageBytes is refused', async (_, answer) => {
  const { transport, arrived } = await connected({ post: answer });
  await expect(transport.send(message('tools/call', '1'), exchange())).rejects.toMatchObject({
    message: 'sent a message of more than 1000 bytes (limits.maxMessageBytes)',
    isTooLong: true,
  });
  expect(arrived).toEqual([]);
});

test('after an event that is too long the stream of notices begins again with later events', async () => {
  const streams = ['id: 5\ndata: "a"\n\n', `data: ${'x'.repeat(2000)}`, 'data: "b"\n\n'];
  const { transport, clock, asked, arrived, failures } = await connected({
    get: (response) => void response.writeHead(200, STREAM).end(streams.shift()),
  });
  await transport.send(message('notifications/initialized'), exchange());
  for (let n = 0; n < 2; n++) {
    await until(() => clock.pending === 1);
    clock.advance(2000);
  }
  await until(() => arrived.length === 2);
  expect([asked, arrived]).toEqual([
    ['POST', 'GET', 'GET 5', 'GET'],
    ['"a"', '"b"'],
  ]);
  expect(failures).toMatchObject([{ isTooLong: true }]);
  transport.close();
});

test('a server may be silent for longer than Node waits, before its answer and within it', async () => {
  void Headers; // makes Node load its `fetch`
  const key = Symbol.for('undici.globalDispatcher.1');
  const usual: object = Reflect.get(globalThis, key);
  const Agent: new (options: object) => { close(): Promise<void> } = Reflect.get(usual, 'constructor');
  const hasty = new Agent({ headersTimeout: 200, bodyTimeout: 200 });
  const held: ServerResponse[] = [];
  const { transport, arrived, failures } = await connected({ post: (response) => void held.push(response) });
  const waiter = createServer((_, response) => response.on('error', () => undefined));
  open.push(waiter);
  await once(waiter.listen(0, '127.0.0.1'), 'listening');
  /** Resolves when Node has given up a request that was begun now. */
  const nodeGivesUp = (): Promise<unknown> =>
    fetch(`http://127.0.0.1:${(waiter.address() as AddressInfo).port}`).catch(({ cause }: { cause: unknown }) => cause);
  Reflect.set(globalThis, key, hasty);
  try {
    const sent = transport.send(message('x', '1'), exchange());
    sent.catch(() => undefined); // told below
    await until(() => held.length === 1);
    expect(await nodeGivesUp()).toMatchObject({ code: 'UND_ERR_HEADERS_TIMEOUT' });
    held[0]?.writeHead(200, STREAM).write('data: {"id":1,');
    await nodeGivesUp();
    expect(await nodeGivesUp()).toMatchObject({ code: 'UND_ERR_HEADERS_TIMEOUT' });
    held[0]?.end('"result":{}}\n\n');
    await sent;
    expect(arrived).toEqual(['{"id":1,"result":{}}']);
    expect(failures).toEqual([]);
  } finally {
    Reflect.set(globalThis, key, usual);
    await hasty.close();
  }
});

test('redirects are followed while they stay with the server, and with the message', async () => {
  const { transport, asked } = await connected({
    post: (response, { url }) => {
      if (url === '/mcp') response.writeHead(307, { location: '/there' }).end();
      else if (url === '/there') response.writeHead(202).end();
    },
  });
  await transport.send(message('notifications/x'), exchange());
  expect(asked).toEqual(['POST', 'POST']);
  const elsewhere = await connected({
    post: (response) => void response.writeHead(307, { location: 'http://localhost:1/' }).end(),
  });
  await expect(elsewhere.transport.send(message('x'), exchange())).rejects.toMatchObject({ status: 307 });
  const turned = await connected({ post: (response) => void response.writeHead(302, { location: '/there' }).end() });
  await expect(turned.transport.send(message('x'), exchange())).rejects.toMatchObject({ status: 302 });
});

test('a broken stream of a server of 2026 is not resumed: the outcome of its call is unknown (D15)', async () => {
  const { transport, asked, arrived } = await connected({
    post: (response) => {
      response.writeHead(200, STREAM).write('id: 1\ndata: {"jsonrpc":"2.0","method":"notifications/message"}\n\n');
      setImmediate(() => response.destroy());
    },
  });
  transport.negotiated('2026-07-28');
  const failure = await transport.send(message('prompts/get', '1'), exchange());
  expect([asked, arrived.length, failure?.isUncertain]).toEqual([['POST'], 1, true]);
});

test('a server of 2026 is sent no answers and no cancellations: the end of a stream cancels its call', async () => {
  const { transport, asked } = await connected({});
  await transport.send(message('notifications/cancelled'), exchange());
  transport.negotiated('2026-07-28');
  for (const method of ['', 'notifications/cancelled']) await transport.send(message(method), exchange());
  expect(asked).toEqual(['POST']);
});

// --- the bridge's own list, before the first call to a server of 2026 ---

const TOOLS = `{"jsonrpc":"2.0","id":"mcp-bridge-tools","result":{"tools":[{"name":"t","inputSchema":{"properties":{
  "p":{"type":"string","x-mcp-header":"P"}}}}]}}`.replaceAll('\n', '');
const NOTE = '{"jsonrpc":"2.0","method":"notifications/message"}';
const CALLED = '{"jsonrpc":"2.0","id":1,"result":{}}';

function callOf(): RemoteMessage {
  const call = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 't', arguments: { p: 'a' } } };
  return { body: new Uint8Array(Buffer.from(JSON.stringify(call))), method: 'tools/call', requestId: '1' };
}

/** A transport to a server of 2026 that answers lists like this, and notes the parameter of each call. */
async function listedBy(list: (response: ServerResponse) => void) {
  const params: unknown[] = [];
  const lists: ServerResponse[] = [];
  const server = await connected({
    post: (response, { headers }) => {
      if (headers['mcp-method'] === 'tools/list') {
        lists.push(response);
        return list(response);
      }
      params.push(headers['mcp-param-p']);
      response.writeHead(200, { 'content-type': 'application/json' }).end(CALLED);
    },
  });
  server.transport.negotiated('2026-07-28');
  return { ...server, params, lists };
}

test('a call goes on at the answer to the list, though the stream goes on, and that stream is closed', async () => {
  const { transport, params, lists } = await listedBy((response) => {
    response.writeHead(200, STREAM).write(`data: ${TOOLS}\n\ndata: ${NOTE}\n\n`);
  });
  await transport.send(callOf(), exchange());
  expect(params).toEqual(['a']);
  await until(() => lists[0]?.closed === true);
});

test('a message behind the answer to the list is not taken for it', async () => {
  const { transport, params } = await listedBy((response) => {
    response.writeHead(200, STREAM).end(`data: ${NOTE}\n\ndata: ${TOOLS}\n\ndata: ${NOTE}\n\n`);
  });
  await transport.send(callOf(), exchange());
  expect(params).toEqual(['a']);
});

test('a call that is cancelled does not wait for the list, and the others do', async () => {
  const { transport, params, lists } = await listedBy(
    (response) => void response.writeHead(200, STREAM).flushHeaders(),
  );
  const cancelled = exchange();
  const ended = transport.send(callOf(), cancelled);
  const other = transport.send(callOf(), exchange());
  await until(() => lists.length === 1);
  cancelled.abort();
  await expect(ended).rejects.toMatchObject({ name: 'AbortError' });
  expect(params).toEqual([]);
  lists[0]?.write(`data: ${TOOLS}\n\n`);
  await other;
  expect(params).toEqual(['a']);
});

test('calls go without headers for parameters if the list takes too long, and it is not asked for again at once', async () => {
  const { transport, clock, params, lists, failures } = await listedBy(() => undefined);
  const first = transport.send(callOf(), exchange());
  await until(() => lists.length === 1);
  clock.advance(10_000);
  await first;
  await transport.send(callOf(), exchange());
  expect(params).toEqual([undefined, undefined]);
  expect(failures).toMatchObject([{ message: 'did not list its tools in time' }]);
  expect([lists.length, clock.pending]).toEqual([1, 0]);
  clock.advance(10_000);
  const later = transport.send(callOf(), exchange());
  await until(() => lists.length === 2);
  clock.advance(10_000);
  await later;
});
