// HTTP on the daemon's own socket, as a client sees it on the wire. Each test names the line of the requirements that it shows.

import { connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import type { Message } from '../support/core-in-memory.ts';
import { asking2026, HttpClient, type Reply } from '../support/http-client.ts';
import { cleanUp, fixtureServer, TestDaemon } from '../support/test-daemon.ts';

const EARLIER = { protocolVersion: '2025-03-26' };
const ECHO = { jsonrpc: '2.0', id: 7, method: 'tools/call', params: { name: 'echo', arguments: { text: 'hi' } } };

let daemon: TestDaemon;
let http: HttpClient;
beforeAll(async () => {
  daemon = await TestDaemon.start({
    mcpServers: { fixture: fixtureServer(), other: fixtureServer() },
    client: { view: 'server:fixture' },
  });
  http = new HttpClient({ socketPath: daemon.path });
});
afterAll(async () => {
  http.close();
  await daemon.stop();
  cleanUp();
});

async function textOf(reply: Reply): Promise<unknown> {
  const { result } = await reply.json();
  return (result?.content as readonly { readonly text: string }[] | undefined)?.[0]?.text;
}

function namesIn(result: Message['result']): string[] {
  return ((result?.tools ?? []) as readonly { readonly name: string }[]).map(({ name }) => name);
}

/** Sends bytes, and resolves to everything that came back until the bridge has hung up. */
function exchangeBytes(bytes: string): Promise<string> {
  return new Promise((resolve, reject) => {
    let came = '';
    const socket = connect(daemon.path, () => socket.write(bytes));
    socket.setEncoding('utf8').on('data', (chunk: string) => {
      came += chunk;
    });
    socket.on('error', reject).on('close', () => resolve(came));
  });
}

/** A request as it goes over the wire. */
function bytesOf({ headers, body }: ReturnType<typeof asking2026>): string {
  const text = JSON.stringify(body);
  const all = { host: 'localhost', accept: '*/*', 'content-type': 'application/json', ...headers };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${String(value)}\r\n`);
  return `POST /mcp HTTP/1.1\r\n${lines.join('')}content-length: ${text.length}\r\n\r\n${text}`;
}

describe('on the daemon’s socket', () => {
  test('HTTP and lines are told apart by their first bytes, whichever way these are cut (I19)', async () => {
    const lines = await daemon.client();
    onTestFinished(() => lines.destroy());
    const socket = connect(daemon.path);
    onTestFinished(() => void socket.destroy());
    socket.setEncoding('utf8');
    const came = new Promise<string>((resolve) => socket.once('data', resolve));
    for (const byte of 'GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n') {
      socket.write(byte);
      await new Promise(setImmediate);
    }
    expect(await came).toMatch(/^HTTP\/1\.1 200 /);
    expect(await lines.request(5, 'ping')).toMatchObject({ result: {} });
  });

  test('a word that begins no request is a line', async () => {
    const client = await daemon.connect();
    onTestFinished(() => client.destroy());
    await client.write(Buffer.from('POSTPONED\n'));
    expect(await client.next()).toMatchObject({ error: { code: -32700 } });
  });

  test('a version of HTTP that is not served gets an error, and no line', async () => {
    expect(await exchangeBytes('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n')).toMatch(/^HTTP\/1\.1 [45]/);
  });
});

describe('a request', () => {
  test.each(['evil.example', 'evil.example:80', 'localhost.evil.example', '127.0.0.1.evil.example'])(
    'for the host %j is refused on every path, before its body comes (I2)',
    async (host) => {
      for (const path of ['/mcp', '/mcp/all', '/mcp/server/fixture', '/health', '/metrics', '/nothing'])
        for (const method of ['GET', 'POST', 'DELETE', 'OPTIONS'])
          expect((await http.ask({ method, path, headers: { host } })).status).toBe(403);
    },
  );

  test.each(['https://evil.example', 'null', 'http://localhost:1'])(
    'of a page of %s is refused (I2)',
    async (origin) => {
      for (const method of ['GET', 'POST', 'DELETE', 'OPTIONS'])
        expect((await http.ask({ method, headers: { origin } })).status).toBe(403);
    },
  );

  test('of a page of the bridge itself is not, and gets no headers for other pages (I2, I3)', async () => {
    const { status, headers } = await http.ask({
      ...asking2026('tools/list'),
      headers: { ...asking2026('tools/list').headers, origin: 'http://localhost' },
    });
    expect(status).toBe(200);
    expect(Object.keys(headers).filter((name) => name.startsWith('access-control'))).toEqual([]);
  });

  test('with invalid JSON, other media types, too much data, or an array gets an error that names the fault (I5)', async () => {
    const { headers } = asking2026('tools/list');
    const statusOf = async (more: object, body: string | Buffer = '{}'): Promise<unknown> => {
      const reply = await http.ask({ headers: { ...headers, ...more }, body });
      const { error } = await reply.json();
      return [reply.status, error?.code];
    };
    expect(await statusOf({ 'content-type': 'text/plain' })).toEqual([415, -32600]);
    expect(await statusOf({ 'content-encoding': 'gzip' })).toEqual([415, -32600]);
    expect(await statusOf({ accept: 'application/json' })).toEqual([406, -32600]);
    expect(await statusOf({ accept: 'text/event-stream' })).toEqual([406, -32600]);
    expect(await statusOf({}, '{"jsonrpc"')).toEqual([400, -32700]);
    expect(await statusOf({}, Buffer.from('{"\xff":1}', 'latin1'))).toEqual([400, -32700]);
    expect(await statusOf({}, JSON.stringify([ECHO]))).toEqual([400, -32600]);
    expect(await statusOf({}, `"${'x'.repeat(9 * 1024 * 1024)}"`)).toEqual([413, -32600]);
  });

  test('to a path, or of a method, that there is not gets 404 or 405', async () => {
    expect((await http.ask({ path: '/' })).status).toBe(404);
    expect((await http.ask({ path: '/mcp/other' })).status).toBe(404);
    expect((await http.ask({ method: 'PUT' })).status).toBe(405);
  });

  test('for the transport of 2024-11-05 finds nothing (I21)', async () => {
    expect((await http.ask({ method: 'GET', path: '/sse', headers: { accept: 'text/event-stream' } })).status).toBe(
      404,
    );
  });

  test('spread over several lines reaches the server as one', async () => {
    const session = await http.begin();
    const body = JSON.stringify({ ...ECHO, params: { name: 'raw', arguments: { a: 1 } } }, null, '\r\n');
    const text = await textOf(await session.say(body));
    expect(text).not.toMatch(/[\r\n]/);
    expect(JSON.parse(String(text))).toMatchObject({ params: { name: 'raw', arguments: { a: 1 } } });
  });
});

describe('the path', () => {
  test('says which view is seen, in both eras', async () => {
    const namesAt = async (path: string): Promise<unknown> => {
      const { result } = await (await http.ask({ ...asking2026('tools/list'), path })).json();
      const session = await http.begin({}, path);
      const inSession = await (await session.request('tools/list')).json();
      const names = namesIn(result);
      expect(namesIn(inSession.result)).toEqual(names);
      return names;
    };
    expect(await namesAt('/mcp')).toContain('echo');
    expect(await namesAt('/mcp/server/other')).toContain('echo');
    expect(await namesAt('/mcp/all')).toEqual(expect.arrayContaining(['fixture__echo', 'other__echo']));
    expect(await namesAt('/mcp/discover')).toContain('search_tools');
    // Code mode is off here: the path is there, and the view is not.
    expect((await http.ask({ ...asking2026('tools/list'), path: '/mcp/codes' })).status).toBe(404);
    const { error } = await (await http.ask({ ...asking2026('tools/list'), path: '/mcp/code' })).json();
    expect(error).toMatchObject({ message: expect.stringContaining('programs of models are switched off') });
  });

  test('decides, whatever a message asks for', async () => {
    const asking = asking2026('tools/list', { _meta: { 'mcp-bridge/view': 'all' } });
    const { result } = await (await http.ask({ ...asking, path: '/mcp/server/fixture' })).json();
    expect(namesIn(result)).toContain('echo');
  });

  test('of an unknown server gets an error', async () => {
    const reply = await http.ask({ ...asking2026('tools/list'), path: '/mcp/server/nobody' });
    expect([reply.status, (await reply.json()).error?.code]).toEqual([404, -32601]);
  });
});

describe('a request without a handshake', () => {
  test('is one if its body or its header says so, and gets no session (I6)', async () => {
    const session = await http.begin();
    const asking = asking2026('tools/list');
    const reply = await http.ask({
      ...asking,
      headers: { ...asking.headers, 'mcp-session-id': session.id, 'last-event-id': '1-1' },
    });
    expect([reply.status, reply.headers['mcp-session-id']]).toEqual([200, undefined]);
    const empty = await http.ask({ ...asking, body: { jsonrpc: '2.0', id: 1, method: 'tools/list' } });
    expect([empty.status, (await empty.json()).error?.code]).toEqual([400, -32602]);
    for (const method of ['GET', 'DELETE'])
      expect((await http.ask({ method, headers: { 'mcp-protocol-version': '2026-07-28' } })).status).toBe(405);
  });

  test('must have headers that agree with its body (I7)', async () => {
    const { headers = {}, body } = asking2026('tools/call', { name: 'echo', arguments: { text: 'hi' } }, 'seven');
    const codeFor = async (changed: object): Promise<unknown> => {
      const both = Object.entries({ ...headers, ...changed }).filter(([, value]) => value !== undefined);
      const reply = await http.ask({
        headers: Object.fromEntries(both) as Record<string, string>,
        ...(body && { body }),
      });
      const { id, error } = await reply.json();
      return [reply.status, id, error?.code];
    };
    const mismatch = [400, 'seven', -32020];
    expect(await codeFor({ 'mcp-protocol-version': undefined })).toEqual(mismatch);
    expect(await codeFor({ 'mcp-method': undefined })).toEqual(mismatch);
    expect(await codeFor({ 'mcp-name': undefined })).toEqual(mismatch);
    expect(await codeFor({ 'mcp-method': 'tools/list' })).toEqual(mismatch);
    expect(await codeFor({ 'mcp-method': 'Tools/Call' })).toEqual(mismatch);
    expect(await codeFor({ 'mcp-name': 'Echo' })).toEqual(mismatch);
    expect(await codeFor({ 'mcp-name': '=?base64?ZWNo?=' })).toEqual(mismatch);
    const fine = [200, 'seven', undefined];
    expect(await codeFor({})).toEqual(fine);
    expect(await codeFor({ 'mcp-name': '  echo ' })).toEqual(fine);
    expect(await codeFor({ 'mcp-name': '=?base64?ZWNobw==?=' })).toEqual(fine);
  });

  test('gets a status that names the fault, and its id (I9)', async () => {
    const answerTo = async (asking: ReturnType<typeof asking2026>): Promise<unknown> => {
      const reply = await http.ask(asking);
      const { id, error } = await reply.json();
      return [reply.status, id, error?.code];
    };
    expect(await answerTo(asking2026('logging/setLevel', { level: 'debug' }, 'x'))).toEqual([404, 'x', -32601]);
    expect(
      await answerTo(asking2026('tools/list', { _meta: { 'io.modelcontextprotocol/clientCapabilities': 1 } }, 2)),
    ).toEqual([400, 2, -32602]);
    const later = asking2026('tools/list', { _meta: { 'io.modelcontextprotocol/protocolVersion': '2099-01-01' } }, 3);
    expect(await answerTo({ ...later, headers: { ...later.headers, 'mcp-protocol-version': '2099-01-01' } })).toEqual([
      400, 3, -32022,
    ]);
    expect(await answerTo(asking2026('tools/call', { name: 'echo', arguments: 5, requestState: 1 }, 4))).toEqual([
      200, 4, -32602,
    ]);
  });

  test('that is a notification is accepted without a body; an answer is refused (I10)', async () => {
    const { headers = {} } = asking2026('x');
    const notice = await http.ask({
      headers,
      body: { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 1 } },
    });
    expect([notice.status, await notice.text()]).toEqual([202, '']);
    expect((await http.ask({ headers, body: { jsonrpc: '2.0', id: 1, result: {} } })).status).toBe(400);
  });

  test('is answered in JSON, or in a stream without ids if something comes before the answer (I11)', async () => {
    const plain = await http.ask(asking2026('tools/call', { name: 'echo', arguments: { text: 'hi' } }));
    expect([plain.headers['content-type'], await textOf(plain)]).toEqual(['application/json', 'hi']);
    const stream = await http.ask(
      asking2026('tools/call', {
        name: 'noted',
        arguments: { text: 'a\r\nb', notes: 2 },
        _meta: { progressToken: 'p' },
      }),
    );
    expect(stream.headers).toMatchObject({
      'content-type': 'text/event-stream',
      'cache-control': 'no-store',
      'x-accel-buffering': 'no',
    });
    const first = await stream.event();
    expect([first?.id, first?.message?.params?.progressToken]).toEqual([undefined, 'p']);
    expect(await stream.messages()).toMatchObject([{ method: 'notifications/progress' }, { id: 1, result: {} }]);
  });

  test('is cancelled when its client hangs up, whether a stream has begun or not (I12)', async () => {
    for (const steps of [0, 1]) {
      const before = await cancelledAt();
      const asking = asking2026(
        'tools/call',
        { name: 'hold', arguments: { steps }, _meta: { progressToken: 1 } },
        `h${steps}`,
      );
      if (steps > 0) {
        const reply = await http.ask(asking);
        await reply.message();
        reply.hangUp();
      } else await hangUpOn(asking);
      while ((await cancelledAt()) === before) await new Promise((resolve) => setTimeout(resolve, 5));
    }
  });

  test('is cancelled when its client hangs up, also behind others on its connection (I12)', async () => {
    const socket = connect(daemon.path);
    const bytes = (id: number): string => bytesOf(asking2026('tools/call', { name: 'hold', arguments: {} }, id));
    const before = await cancelledAt();
    socket.write([1, 2, 3].map(bytes).join(''));
    const held = ({ instances }: Parameters<Parameters<typeof daemon.until>[0]>[0]): number =>
      instances.reduce((sum, { inFlight }) => sum + inFlight, 0);
    await daemon.until((status) => held(status) >= 3);
    socket.destroy();
    await daemon.until((status) => held(status) === 0);
    expect(await cancelledAt()).toBeGreaterThan(before);
  });

  test('shares its id with requests of others (I9)', async () => {
    const held = http.ask(asking2026('tools/call', { name: 'slow', arguments: { ms: 300 } }, 1));
    const others = await Promise.all(
      Array.from({ length: 10 }, (_, i) =>
        http.ask(asking2026('tools/call', { name: 'echo', arguments: { text: `${i}` } }, 1)),
      ),
    );
    expect(await Promise.all(others.map(textOf))).toEqual(Array.from({ length: 10 }, (_, i) => `${i}`));
    expect(await textOf(await held)).toBe('done');
  });

  async function cancelledAt(): Promise<number> {
    const seen = await textOf(await http.ask(asking2026('tools/call', { name: 'seen' })));
    return (JSON.parse(String(seen)) as { cancelled: unknown[] }).cancelled.length;
  }

  /** Sends a request, and hangs up once the server has it. */
  async function hangUpOn(asking: ReturnType<typeof asking2026>): Promise<void> {
    const socket = connect(daemon.path);
    socket.write(bytesOf(asking));
    await daemon.until(({ instances }) => instances.some(({ server, calls }) => server === 'fixture' && calls > 0));
    socket.destroy();
  }
});

describe('a session', () => {
  test('has an id, without which there is nothing, and ends when its client says so (I14)', async () => {
    const session = await http.begin();
    expect(session.id).toMatch(/^[\x21-\x7e]{22,}$/);
    expect(await textOf(await session.say(ECHO))).toBe('hi');
    expect((await http.ask({ body: ECHO })).status).toBe(400);
    expect((await http.ask({ body: ECHO, headers: { 'mcp-session-id': 'unknown' } })).status).toBe(404);
    expect((await session.end()).status).toBe(200);
    expect((await session.say(ECHO)).status).toBe(404);
    expect((await session.listen()).status).toBe(404);
  });

  test('is not begun by an initialize that fails (I14)', async () => {
    const reply = await http.ask({ body: { jsonrpc: '2.0', id: 1, method: 'initialize', params: 5 } });
    expect([reply.status, reply.headers['mcp-session-id'], (await reply.json()).error?.code]).toEqual([
      200,
      undefined,
      -32602,
    ]);
  });

  test('is no way to the roles of other connections', async () => {
    for (const role of ['control', 'server']) {
      const params = {
        protocolVersion: '2025-11-25',
        capabilities: {},
        clientInfo: { name: 'x', version: '1' },
        _meta: { 'mcp-bridge/role': role },
      };
      const { error } = await (
        await http.ask({ body: { jsonrpc: '2.0', id: 1, method: 'initialize', params } })
      ).json();
      expect(error?.code).toBe(-32602);
    }
  });

  test('takes any version that is known, or none, and answers errors with 200 (I15)', async () => {
    const session = await http.begin();
    const headers = { 'mcp-session-id': session.id };
    expect((await http.ask({ body: ECHO, headers })).status).toBe(200);
    expect((await http.ask({ body: ECHO, headers: { ...headers, 'mcp-protocol-version': '2025-06-18' } })).status).toBe(
      200,
    );
    expect((await http.ask({ body: ECHO, headers: { ...headers, 'mcp-protocol-version': '2019-01-01' } })).status).toBe(
      400,
    );
    const unknown = await session.request('no/such/method');
    expect([unknown.status, (await unknown.json()).error?.code]).toEqual([200, -32601]);
  });

  test('gets messages of a call on the call’s own stream, and all others on the stream of a GET (I16)', async () => {
    const session = await http.begin({ capabilities: { elicitation: {} } });
    const standing = await session.listen();
    expect(standing.headers['content-type']).toBe('text/event-stream');
    const call = await session.call('ask', {
      params: { message: 'Name?', requestedSchema: { type: 'object', properties: {} } },
    });
    const question = await call.message();
    expect(question).toMatchObject({ method: 'elicitation/create' });
    const answer = await session.say({ jsonrpc: '2.0', id: question?.id, result: { action: 'decline' } });
    expect([answer.status, await answer.text()]).toEqual([202, '']);
    expect(await call.messages()).toMatchObject([{ id: 1, result: {} }]);
    await (await session.call('notify', { method: 'notifications/tools/list_changed' })).text();
    expect(await standing.message()).toMatchObject({ method: 'notifications/tools/list_changed' });
    standing.hangUp();
  });

  test('is asked on the stream of a call if it listens to nothing else (I16)', async () => {
    const session = await http.begin({ capabilities: { roots: {} } });
    const call = await session.call('ask', { method: 'roots/list' });
    const question = await call.message();
    expect(question).toMatchObject({ method: 'roots/list' });
    await session.say({ jsonrpc: '2.0', id: question?.id, result: { roots: [] } });
    expect((await call.messages()).at(-1)).toMatchObject({ id: 1, result: {} });
  });

  test('gets its answer, even if another request follows at once (I16)', async () => {
    const session = await http.begin();
    const call = await session.call('notify', { method: 'notifications/tools/list_changed', isBehind: true });
    expect(call.headers['content-type']).toBe('application/json');
    expect(await textOf(call)).toBe('ok');
  });

  test('goes on where a stream has broken off, and with that stream alone (I12, I17)', async () => {
    const session = await http.begin();
    const call = await session.call('hold', { steps: 3 }, { _meta: { progressToken: 't' } });
    const first = await call.event();
    expect(first?.message?.params).toMatchObject({ progress: 1 });
    call.hangUp();
    await (await session.call('notify', { method: 'notifications/tools/list_changed' })).text();
    await (await session.call('release')).text();
    const again = await session.listen({ 'last-event-id': String(first?.id) });
    expect(await again.messages()).toMatchObject([
      { params: { progress: 2 } },
      { params: { progress: 3 } },
      { id: 1, result: {} },
    ]);
    for (const id of ['99-5', 'x', '1-1', `${String(first?.id)}0`])
      expect((await session.listen({ 'last-event-id': id })).status).toBe(400);
  });

  test('gets a first event without data and with an id, on the stream of a GET and of a long call (I17)', async () => {
    const session = await http.begin();
    const standing = await session.listen();
    const [primed, call] = [await standing.event(), await session.call('hold')];
    expect(primed).toMatchObject({ data: '', id: expect.stringMatching(/./) as string });
    const first = await call.event();
    expect(first).toMatchObject({ data: '', id: expect.stringMatching(/./) as string });
    call.hangUp();
    await (await session.call('release')).text();
    const again = await session.listen({ 'last-event-id': String(first?.id) });
    expect(await again.message()).toMatchObject({ id: 1, result: {} });
    standing.hangUp();
  });

  test('of 2025-03-26 may send arrays; no other may (I18)', async () => {
    const session = await http.begin(EARLIER);
    const reply = await session.say([ECHO, { ...ECHO, id: 8 }, { jsonrpc: '2.0', method: 'notifications/x' }]);
    expect((await reply.messages()).map(({ id }) => id).sort()).toEqual([7, 8]);
    expect((await session.say([{ jsonrpc: '2.0', method: 'notifications/x' }])).status).toBe(202);
    expect((await session.say([])).status).toBe(400);
    const many = Array.from({ length: 1001 }, (_, id) => ({ jsonrpc: '2.0', id, method: 'ping' }));
    expect((await session.say(many)).status).toBe(400);
    expect((await (await http.begin()).say([ECHO])).status).toBe(400);
  });

  test('refuses an id that is still open, and ends the stream of a call that was cancelled', async () => {
    const session = await http.begin();
    const held = session.request('tools/call', { name: 'hold', arguments: {} }, 'held');
    await daemon.until(({ instances }) => instances.some(({ calls }) => calls > 0));
    expect((await session.request('tools/list', {}, 'held')).status).toBe(400);
    await session.say({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 'held' } });
    expect(await (await held).messages()).toEqual([]);
  });
});

test('the daemon says that it is there', async () => {
  const reply = await http.ask({ method: 'GET', path: '/health' });
  expect([reply.status, await reply.text()]).toEqual([200, '{"status":"ok"}\n']);
});
