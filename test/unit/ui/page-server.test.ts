// The dashboard's port, over real connections: who is let in, with what, and when it closes.

import { spawn } from 'node:child_process';
import { Agent, type IncomingHttpHeaders, request } from 'node:http';
import { connect, type Socket } from 'node:net';
import { describe, expect, onTestFinished, test } from 'vitest';
import { checkMethod } from '../../../src/ui/page-methods.ts';
import { PageServer, type PageServerOptions } from '../../../src/ui/page-server.ts';
import { CODE_MS } from '../../../src/ui/page-sessions.ts';
import { BridgeError } from '../../../src/util/bridge-error.ts';
import { deferred } from '../../../src/util/deferred.ts';
import { FakeClock } from '../../support/fake-clock.ts';

const ASSETS = new Map([['/', { type: 'text/html; charset=utf-8', body: Buffer.from('<!doctype html>the page') }]]);

interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

class Page {
  readonly clock = new FakeClock();
  readonly server: PageServer;
  port = 0;
  cookie = '';
  key = '';

  constructor(options: Partial<PageServerOptions> = {}) {
    this.server = new PageServer({
      assets: ASSETS,
      clock: this.clock,
      uid: process.getuid?.(),
      ask: async (method, params) => ({ method, params }),
      opening: () => ({ hello: { canWrite: false, version: '1' } }),
      ...options,
    });
    onTestFinished(() => this.server.close());
  }

  static async open(options: Partial<PageServerOptions> = {}): Promise<Page> {
    const page = new Page(options);
    page.port = await page.server.listen();
    return page;
  }

  get origin(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  newCode(): string {
    return this.server.newUrl().split('#code=')[1] ?? '';
  }

  /** As the page's own script asks. */
  own(path: string, body?: object, headers: object = {}): Promise<Answer> {
    const own = {
      origin: this.origin,
      'sec-fetch-site': 'same-origin',
      cookie: this.cookie,
      'x-mcp-bridge-key': this.key,
    };
    return this.send(body === undefined ? 'GET' : 'POST', path, { ...own, ...headers }, body);
  }

  send(method: string, path: string, headers: object = {}, body?: object): Promise<Answer> {
    return new Promise((resolve, reject) => {
      const type = body === undefined ? {} : { 'content-type': 'application/json' };
      const sent = request({
        host: '127.0.0.1',
        port: this.port,
        method,
        path,
        headers: { ...type, ...headers },
        agent: false,
      });
      sent.on('error', reject);
      sent.on('response', (response) => {
        let text = '';
        response.setEncoding('utf8').on('data', (chunk: string) => {
          text += chunk;
        });
        response.on('end', () => resolve({ status: response.statusCode ?? 0, headers: response.headers, body: text }));
      });
      sent.end(body === undefined ? undefined : JSON.stringify(body));
    });
  }

  async enter(code = this.newCode()): Promise<Answer> {
    const answer = await this.own('/api/enter', { code });
    if (answer.status === 200) {
      this.cookie = (answer.headers['set-cookie']?.[0] ?? '').split(';')[0] ?? '';
      this.key = (JSON.parse(answer.body) as { key: string }).key;
    }
    return answer;
  }

  /** Opens the live stream; resolves to what ends it, once it has said something. */
  live(): Promise<{ first: string; end: () => void }> {
    return new Promise((resolve, reject) => {
      const headers = { 'sec-fetch-site': 'same-origin', cookie: this.cookie, 'x-mcp-bridge-key': this.key };
      const sent = request({ host: '127.0.0.1', port: this.port, path: '/api/live', headers, agent: false });
      sent.on('error', reject);
      sent.on('response', (response) => {
        response.on('error', () => undefined);
        response.once('data', (chunk: Buffer) => resolve({ first: chunk.toString(), end: () => sent.destroy() }));
        setImmediate(() => this.clock.advance(0));
      });
      sent.end();
    });
  }
}

test('the page may do exactly what its policy says, and its code is in no address that is sent', async () => {
  const page = await Page.open();
  const { status, headers, body } = await page.send('GET', '/');
  expect([status, body]).toEqual([200, '<!doctype html>the page']);
  expect(headers['content-security-policy']).toBe(
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; frame-ancestors 'none'",
  );
  expect(headers).toMatchObject({
    'x-content-type-options': 'nosniff',
    'referrer-policy': 'no-referrer',
    'cross-origin-resource-policy': 'same-origin',
    'cache-control': 'no-store',
  });
  expect(headers).not.toHaveProperty('access-control-allow-origin');
  expect(page.server.newUrl()).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/#code=[\w-]{43}$/);
});

test.each([
  'evil.example',
  'evil.example:PORT',
  '127.0.0.1',
  '127.0.0.1:1',
  'localhost.evil.example:PORT',
  '[::ffff:127.0.0.1]:PORT',
])('a request under the name %s gets a plain page and nothing else', async (name) => {
  const page = await Page.open();
  await page.enter();
  const host = name.replace('PORT', `${page.port}`);
  for (const path of ['/', '/api/ask', '/api/live']) {
    const { status, body, headers } = await page.own(path, undefined, { host });
    expect(status).toBe(403);
    expect(headers['content-type']).toBe('text/html; charset=utf-8');
    expect(body).toContain('<pre>mcp-bridge ui</pre>');
  }
});

test.each(['127.0.0.1', 'localhost', '[::1]'])('%s with the port is a name of the page', async (name) => {
  const page = await Page.open();
  expect((await page.send('GET', '/', { host: `${name}:${page.port}` })).status).toBe(200);
});

test.each([
  ['a page of another site', { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' }],
  ['a page on another port', { origin: 'http://127.0.0.1:1', 'sec-fetch-site': 'same-site' }],
  ['a page without an origin', { origin: 'null', 'sec-fetch-site': 'cross-site' }],
  ['an image or a link, which send no origin', { origin: undefined, 'sec-fetch-site': 'same-site' }],
  ['an address that somebody typed', { origin: undefined, 'sec-fetch-site': 'none' }],
  ['a program that says nothing', { origin: undefined, 'sec-fetch-site': undefined }],
])('%s gets no data, even with the cookie and the key', async (_, said) => {
  const page = await Page.open();
  await page.enter();
  const headers = Object.fromEntries(
    Object.entries({ cookie: page.cookie, 'x-mcp-bridge-key': page.key, ...said }).filter(
      ([, value]) => value !== undefined,
    ),
  );
  expect((await page.send('POST', '/api/ask', headers, { method: 'bridge/status' })).status).toBe(403);
  expect((await page.send('GET', '/api/live', headers)).status).toBe(403);
  expect((await page.send('POST', '/api/enter', headers, { code: page.newCode() })).status).toBe(403);
});

test('a code opens one page, once', async () => {
  const page = await Page.open();
  const code = page.newCode();
  const first = await page.enter(code);
  expect(first.status).toBe(200);
  expect(first.headers['set-cookie']).toEqual([
    expect.stringMatching(/^mcp-bridge-ui-\d+=[\w-]{43}; HttpOnly; SameSite=Strict; Path=\/$/),
  ]);
  const second = await page.own('/api/enter', { code });
  expect([second.status, second.headers['set-cookie']]).toEqual([401, undefined]);
  expect(second.body).toContain('<pre>mcp-bridge ui</pre>');
});

test('a code is good for a minute', async () => {
  const page = await Page.open({ graceMs: 10 * CODE_MS });
  await page.enter();
  const { end } = await page.live(); // or the port would close with the first code
  const [early, late] = [page.newCode(), page.newCode()];
  page.clock.advance(CODE_MS - 1);
  expect((await page.own('/api/enter', { code: early })).status).toBe(200);
  page.clock.advance(1);
  expect((await page.own('/api/enter', { code: late })).status).toBe(401);
  end();
});

test.each([[{}], [{ code: '' }], [{ code: 'a'.repeat(43) }], [{ code: ['x'] }], [{ code: null }]])(
  '%j is no code',
  async (body) => {
    const page = await Page.open();
    page.newCode();
    expect((await page.own('/api/enter', body)).status).toBe(401);
  },
);

test('neither the cookie nor the key is enough alone: every port of this machine is sent the cookie', async () => {
  const page = await Page.open();
  await page.enter();
  const { cookie, key } = page;
  const ask = (headers: object) => page.own('/api/ask', { method: 'bridge/status' }, headers);
  expect((await ask({})).status).toBe(200);
  expect((await ask({ 'x-mcp-bridge-key': '' })).status).toBe(401);
  expect((await ask({ cookie: '' })).status).toBe(401);
  expect((await ask({ cookie: cookie.replace(/.$/, '.') })).status).toBe(401);
  const name = cookie.split('=')[0] ?? '';
  page.cookie = '';
  await page.enter();
  expect((await ask({ cookie, 'x-mcp-bridge-key': page.key })).status).toBe(401); // those of two pages do not go together
  expect((await ask({ cookie: `other=1; ${cookie}`, 'x-mcp-bridge-key': key })).status).toBe(200);
  expect((await ask({ cookie: `${name}x=${cookie.split('=')[1]}` })).status).toBe(401);
});

test.skipIf(process.getuid?.() !== 0)(
  'another user of this machine is refused, whatever code he has seen',
  async () => {
    const page = await Page.open();
    const code = page.newCode();
    const body = JSON.stringify({ code });
    const program = `fetch('${page.origin}/api/enter', { method: 'POST', body: '${body}', headers: {
    'content-type': 'application/json', origin: '${page.origin}', 'sec-fetch-site': 'same-origin' } })
    .then(async (r) => console.log(r.status, await r.text()))`;
    const child = spawn(process.execPath, ['-e', program], { uid: 65_534, gid: 65_534, cwd: '/' });
    const said = (await child.stdout.toArray()).join('');
    expect(said).toMatch(/^403 .*Another user/s);
    expect((await page.enter(code)).status).toBe(200);
  },
);

test('what a page asks is answered, and refused in words', async () => {
  const page = await Page.open({
    ask: async (method, params) => {
      checkMethod(method, false);
      return { method, params };
    },
  });
  await page.enter();
  const ask = async (body: object): Promise<unknown> => JSON.parse((await page.own('/api/ask', body)).body);
  expect(await ask({ method: 'bridge/status', params: { cwd: '/x' } })).toEqual({
    result: { method: 'bridge/status', params: { cwd: '/x' } },
  });
  expect(await ask({ method: 'bridge/cancel', params: {} })).toEqual({
    error: {
      code: 'REQUEST_REFUSED',
      message: 'This dashboard can only look',
      hint: 'To change something with it: mcp-bridge ui --write',
    },
  });
  for (const method of ['bridge/stop', 'initialize', 'toString', '', 7])
    expect(await ask({ method })).toMatchObject({ error: { message: 'The dashboard has no such method' } });
});

test('with --write it changes what it may, and still does not end the daemon', () => {
  expect(() => checkMethod('bridge/cancel', true)).not.toThrow();
  expect(() => checkMethod('bridge/stop', true)).toThrow(BridgeError);
  expect(() => checkMethod('bridge/reload', true)).toThrow(BridgeError);
});

test('a fault of the dashboard costs one answer, and its words stay inside', async () => {
  const page = await Page.open({
    ask: async () => {
      throw new Error('secret of /etc/shadow');
    },
  });
  await page.enter();
  const { status, body } = await page.own('/api/ask', { method: 'bridge/status' });
  expect(status).toBe(500);
  expect(body).not.toContain('secret');
});

test('bodies are bounded, and must be JSON', async () => {
  const page = await Page.open();
  await page.enter();
  expect((await page.own('/api/ask', { method: 'x'.repeat(1_100_000) })).status).toBe(413);
  expect((await page.own('/api/ask', {}, { 'content-type': 'text/plain' })).status).toBe(415);
  expect((await page.own('/api/nothing', {})).status).toBe(404);
  expect((await page.own('/api/ask')).status).toBe(405);
  expect((await page.send('DELETE', '/')).status).toBe(405);
});

describe('the first message to a page', () => {
  const opened = async (known: Promise<void>) => {
    let parts = {};
    const page = await Page.open({ known: () => known, opening: () => ({ parts }) });
    await page.enter();
    const live = page.live();
    while (page.server.pages === 0) await new Promise((resolve) => setImmediate(resolve));
    return { page, live, become: (next: object) => (parts = next) };
  };

  test('comes as soon as it is known how the daemon is', async () => {
    const known = deferred<void>();
    const { page, live, become } = await opened(known.promise);
    page.clock.advance(199);
    become({ status: 'up' });
    known.resolve();
    await known.promise;
    page.clock.advance(0);
    const { first, end } = await live;
    expect(first).toBe('data: {"parts":{"status":"up"}}\n\n');
    end();
  });

  test('waits no longer than a moment for a daemon that does not answer', async () => {
    const { page, live, become } = await opened(new Promise(() => undefined));
    become({ status: 'not known' });
    page.clock.advance(199);
    become({ status: 'late' });
    page.clock.advance(1);
    page.clock.advance(0);
    const { first, end } = await live;
    expect(first).toBe('data: {"parts":{"status":"late"}}\n\n');
    end();
  });
});

test('the daemon is looked at as soon as a page has come in', async () => {
  let opened = 0;
  const page = await Page.open({ opened: () => opened++ });
  await page.enter('a code that nobody gave out');
  expect(opened).toBe(0);
  await page.enter();
  expect(opened).toBe(1);
});

test('it closes a while after the last page has gone, and not while one is loaded again', async () => {
  const page = await Page.open({ graceMs: 5000 });
  await page.enter();
  const first = await page.live();
  expect(first.first).toBe('data: {"hello":{"canWrite":false,"version":"1"}}\n\n');
  const gone = async (): Promise<void> => {
    while (page.server.pages > 0) await new Promise((resolve) => setImmediate(resolve));
  };
  first.end();
  await gone();
  page.clock.advance(4999);
  const second = await page.live();
  page.clock.advance(60_000);
  expect(page.server.pages).toBe(1);
  second.end();
  await gone();
  page.clock.advance(5000);
  expect(await page.server.ended).toBe('last-page');
});

test('it closes if no page has come within the time of the code', async () => {
  const page = await Page.open();
  page.clock.advance(CODE_MS);
  expect(await page.server.ended).toBe('no-page');
});

describe('others that hold connections', () => {
  /** Opens connections, each of which has said this. Resolves once the port has taken them all. */
  async function held(page: Page, count: number, said: string): Promise<Socket[]> {
    const sockets = Array.from({ length: count }, () => {
      const socket = connect(page.port, '127.0.0.1', () => socket.write(said));
      return socket.on('error', () => undefined).resume();
    });
    onTestFinished(() => {
      for (const socket of sockets) socket.destroy();
    });
    await Promise.all(sockets.map((socket) => new Promise((resolve) => socket.once('connect', resolve))));
    return sockets;
  }

  test.each([
    ['nothing', ''],
    ['half a request', 'GET / HTTP/1.1\r\nHost: '],
    ['half a body', 'POST /api/enter HTTP/1.1\r\nHost: HOST\r\nContent-Length: 99\r\n\r\n{'],
  ])('and send %s do not keep a page from opening, and take nothing from one that is open', async (_, said) => {
    const page = await Page.open();
    await page.enter();
    const { end } = await page.live();
    const sockets = await held(page, 400, said.replace('HOST', `127.0.0.1:${page.port}`));
    expect((await page.send('GET', '/')).status).toBe(200);
    expect((await page.enter()).status).toBe(200);
    expect((await page.own('/api/ask', { method: 'bridge/status' })).status).toBe(200);
    expect(page.server.pages).toBe(1);
    // The oldest ones have given way.
    const closed = sockets
      .slice(0, 100)
      .map((socket) => socket.destroyed || new Promise((over) => socket.once('close', over)));
    await Promise.all(closed);
    end();
  });
});

test('a page goes on over the connections that it has, while others fill the rest', async () => {
  const page = await Page.open();
  await page.enter();
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  onTestFinished(() => agent.destroy());
  const over = (): Promise<number | undefined> =>
    new Promise((resolve, reject) => {
      const headers = {
        origin: page.origin,
        cookie: page.cookie,
        'x-mcp-bridge-key': page.key,
        'content-type': 'application/json',
      };
      const sent = request({ host: '127.0.0.1', port: page.port, method: 'POST', path: '/api/ask', headers, agent });
      sent
        .on('error', reject)
        .on('response', (response) => response.resume().on('end', () => resolve(sent.socket?.localPort)));
      sent.end('{"method":"bridge/status"}');
    });
  const port = await over();
  for (let i = 0; i < 300; i++) await page.send('GET', '/'); // others come and go
  const idle = Array.from({ length: 300 }, () => connect(page.port, '127.0.0.1').on('error', () => undefined));
  onTestFinished(() => {
    for (const socket of idle) socket.destroy();
  });
  await Promise.all(idle.map((socket) => new Promise((resolve) => socket.once('connect', resolve))));
  expect(await over()).toBe(port);
});

test('an old page is told that it is over', async () => {
  const page = await Page.open();
  await page.enter();
  const next = await Page.open();
  next.cookie = page.cookie;
  next.key = page.key;
  const { status, body } = await next.own('/api/ask', { method: 'bridge/status' });
  expect(status).toBe(401);
  expect(body).toContain('<pre>mcp-bridge ui</pre>');
});
