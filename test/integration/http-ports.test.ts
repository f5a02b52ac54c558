// HTTP on an address of its own: who is let in over TCP, and what ends with a token. Each test names the line of the requirements
// that it shows.

import { execFile } from 'node:child_process';
import { request } from 'node:https';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, onTestFinished, test } from 'vitest';
import { type Asking, asking2026, HttpClient } from '../support/http-client.ts';
import { parsePrometheus } from '../support/prometheus-parser.ts';
import { fixtureServer, PROGRAM, ROOT, TestDaemon, tempDir } from '../support/test-daemon.ts';

const LISTENING = /"listening for HTTP".*?"port":(\d+)/;

interface Served {
  readonly daemon: TestDaemon;
  readonly port: number;
  /** A client that goes by this token, or by none. */
  client(token?: string): HttpClient;
  /** Runs `mcp-bridge token` with these arguments; resolves to what it prints. */
  token(...args: string[]): Promise<string>;
}

async function served(http: object = {}): Promise<Served> {
  const config = {
    mcpServers: { fixture: fixtureServer(), other: fixtureServer() },
    client: { view: 'server:fixture' },
    http: { listen: '127.0.0.1:0', ...http },
  };
  const daemon = await TestDaemon.start(config);
  onTestFinished(() => daemon.stop());
  await daemon.untilLogged('listening for HTTP');
  const port = Number(LISTENING.exec(daemon.log)?.[1]);
  const env = { ...process.env, HOME: daemon.dir, XDG_CONFIG_HOME: daemon.dir, XDG_CACHE_HOME: daemon.dir };
  return {
    daemon,
    port,
    client: (token) => {
      const headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
      const client = new HttpClient({ host: '127.0.0.1', port }, { host: `127.0.0.1:${port}`, ...headers });
      onTestFinished(() => client.close());
      return client;
    },
    token: async (...args) => {
      const { stdout } = await promisify(execFile)(process.execPath, [PROGRAM, 'token', ...args], {
        env,
        cwd: daemon.dir,
      });
      return stdout.trim();
    },
  };
}

const LIST = asking2026('tools/list');

describe('over TCP', () => {
  test('nothing is served unless the config says where (I1)', async () => {
    const daemon = await TestDaemon.start({ mcpServers: { fixture: fixtureServer() } });
    onTestFinished(() => daemon.stop());
    expect(daemon.log).not.toContain('listening for HTTP');
  });

  test('other machines are let in only by a config that is safe (I1)', async () => {
    for (const http of [{ listen: '0.0.0.0:0' }, { listen: '0.0.0.0:0', allowRemote: true, tokens: false }]) {
      const daemon = await TestDaemon.start({ mcpServers: { fixture: fixtureServer() }, http }, { isFaulty: true });
      onTestFinished(() => daemon.stop());
      expect(daemon.log).not.toContain('listening for HTTP');
    }
  });

  test('a client shows a token, before its body is read, and gets no other hint (I4)', async () => {
    const { client, token } = await served();
    const good = await token('create', 'laptop');
    for (const [who, challenge] of [
      [client(), 'Bearer'],
      [client('mcpb_nobody'), 'Bearer error="invalid_token"'],
      [client(`${good}x`), 'Bearer error="invalid_token"'],
    ] as const)
      for (const asking of [LIST, { method: 'GET' }, { method: 'DELETE' }, { method: 'GET', path: '/metrics' }]) {
        const reply = await who.ask(asking);
        expect([reply.status, reply.headers['www-authenticate']]).toEqual([401, challenge]);
      }
    expect((await client(good).ask(LIST)).status).toBe(200);
    expect((await client().ask({ method: 'GET', path: '/health' })).status).toBe(200);
  });

  test('metrics are shown only to a token that may use all servers', async () => {
    const { client, token } = await served();
    const metrics = { method: 'GET', path: '/metrics' };
    const all = client(await token('create', 'prometheus'));
    await (await all.ask(asking2026('tools/call', { name: 'echo', arguments: { text: 'hi' } }))).text();
    const reply = await all.ask(metrics);
    expect([reply.status, reply.headers['content-type']]).toEqual([200, 'text/plain; version=0.0.4; charset=utf-8']);
    const figures = parsePrometheus(await reply.text());
    expect(figures.get('mcp_bridge_up')?.samples).toMatchObject([{ value: 1 }]);
    expect(figures.get('mcp_bridge_server_instances')?.samples).toMatchObject([
      { labels: { server: 'fixture' }, value: 1 },
      { labels: { server: 'other' }, value: 0 },
    ]);
    expect((await all.ask({ ...metrics, method: 'POST' })).status).toBe(405);
    for (const terms of [
      ['--servers', '*'],
      ['--view', 'all'],
    ]) {
      const some = client(await token('create', `some${terms[0]}`, ...terms));
      expect((await some.ask(metrics)).status).toBe(403);
    }
    expect((await client().ask(metrics)).status).toBe(401);
  });

  test('a token never reaches a server (I4)', async () => {
    const { client, token } = await served();
    const good = await token('create', 'laptop');
    const session = await client(good).begin();
    const reply = await session.call('env');
    const seen = await (await session.call('raw')).text();
    expect(`${await reply.text()}${seen}`).not.toContain(good);
  });

  test('a client sees only what its token grants, whatever it asks for', async () => {
    const { client, token } = await served();
    const narrow = client(await token('create', 'ci', '--servers', 'oth*', '--view', 'all'));
    const { result } = await (await narrow.ask(LIST)).json();
    const names = (result as { tools: readonly { name: string }[] }).tools.map(({ name }) => name);
    expect(names).toContain('other__echo');
    expect(names).not.toContain('fixture__echo');
    expect((await narrow.ask({ ...LIST, path: '/mcp/server/fixture' })).status).toBe(403);
    expect((await narrow.ask({ ...LIST, path: '/mcp/all' })).status).toBe(200);
  });

  test('a session belongs to its token only (I14)', async () => {
    const { client, token } = await served();
    const session = await client(await token('create', 'one')).begin();
    const headers = { 'mcp-session-id': session.id };
    const stolen = client(await token('create', 'two'));
    const body = { jsonrpc: '2.0', id: 1, method: 'ping' };
    expect((await stolen.ask({ body, headers })).status).toBe(404);
    expect((await stolen.ask({ method: 'GET', headers })).status).toBe(404);
    expect((await stolen.ask({ method: 'DELETE', headers })).status).toBe(404);
    expect((await session.request('ping')).status).toBe(200);
  });

  test('everything begun with a token ends when it is revoked (I4)', async () => {
    const { client, token } = await served();
    const good = client(await token('create', 'guest'));
    const session = await good.begin();
    const standing = await session.listen();
    const held = await good.ask(
      asking2026('tools/call', { name: 'hold', arguments: { steps: 1 }, _meta: { progressToken: 1 } }),
    );
    await held.message();
    await token('revoke', 'guest');
    expect((await session.request('ping')).status).toBe(401);
    await expect(
      Promise.all([standing.messages().catch(() => 'cut off'), held.messages().catch(() => 'cut off')]),
    ).resolves.toHaveLength(2);
  });

  test('without tokens, pages of other origins are still refused (I2)', async () => {
    const { client, port } = await served({ tokens: false });
    expect((await client().ask(LIST)).status).toBe(200);
    const headers = { ...LIST.headers, origin: 'https://evil.example' };
    expect((await client().ask({ ...LIST, headers })).status).toBe(403);
    expect((await client().ask({ ...LIST, headers: { ...LIST.headers, host: `evil.example:${port}` } })).status).toBe(
      403,
    );
  });

  test('pages of an allowed origin may ask, and read the headers they need (I3)', async () => {
    const { client } = await served({
      tokens: false,
      allowedOrigins: ['https://app.example'],
      allowedHosts: ['bridge.test'],
    });
    const origin = 'https://app.example';
    const preflight = await client().ask({
      method: 'OPTIONS',
      headers: { origin, 'access-control-request-method': 'POST' },
    });
    expect([preflight.status, preflight.headers['access-control-allow-origin']]).toEqual([204, origin]);
    expect(String(preflight.headers['access-control-allow-headers']).split(', ')).toEqual(
      expect.arrayContaining([
        'Mcp-Method',
        'Mcp-Name',
        'MCP-Protocol-Version',
        'Authorization',
        'Mcp-Session-Id',
        'Last-Event-ID',
      ]),
    );
    const reply = await client().ask({ ...LIST, headers: { ...LIST.headers, origin, host: 'bridge.test' } });
    expect([reply.status, reply.headers['access-control-allow-origin']]).toEqual([200, origin]);
    expect(reply.headers['access-control-expose-headers']).toContain('Mcp-Session-Id');
    expect((await client().ask({ method: 'OPTIONS', headers: { origin: 'https://evil.example' } })).status).toBe(403);
  });

  test('with a certificate, TLS is spoken and nothing else', async () => {
    const file = (name: string): string => join(ROOT, 'test/fixtures/tls', name);
    const { port, client } = await served({ tls: { cert: file('certificate.pem'), key: file('key.pem') } });
    const status = await new Promise((resolve, reject) => {
      const asked = request({ host: '127.0.0.1', port, path: '/health', rejectUnauthorized: false });
      asked.on('error', reject).on('response', (response) => {
        response.resume();
        resolve(response.statusCode);
      });
      asked.end();
    });
    expect(status).toBe(200);
    await expect(client().ask(LIST)).rejects.toThrow();
  });
});

test('a separate socket needs no token, and is removed with the daemon (I1, I19)', async () => {
  const path = join(tempDir(), 'h.sock');
  const daemon = await TestDaemon.start({ mcpServers: { fixture: fixtureServer() }, http: { listen: `unix:${path}` } });
  await daemon.untilLogged('listening for HTTP');
  const client = new HttpClient({ socketPath: path });
  expect((await client.ask(LIST)).status).toBe(200);
  client.close();
  await daemon.stop();
  const gone = new HttpClient({ socketPath: path });
  await expect(gone.ask(LIST)).rejects.toThrow('ENOENT');
});

describe('a client that keeps the bridge waiting or lies is cut off, and everybody else is served:', () => {
  /** Resolves to what came back once the bridge has hung up. */
  function until(socket: Socket): Promise<string> {
    let came = '';
    socket.setEncoding('latin1').on('data', (chunk: string) => {
      came += chunk;
    });
    return new Promise((resolve) => {
      socket.on('error', () => undefined).on('close', () => resolve(came));
    });
  }

  async function sends(bytes: string): Promise<readonly [string, Served]> {
    const one = await served({ tokens: false });
    const socket = connect(one.port, '127.0.0.1', () => socket.write(bytes, 'latin1'));
    onTestFinished(() => void socket.destroy());
    return [await until(socket), one];
  }

  const HEAD = 'POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nAccept: */*\r\n';

  test.each([
    ['headers without end', `${HEAD}${'X-A: b\r\n'.repeat(20_000)}`, /^HTTP\/1\.1 431 /],
    ['a header that is too long', `${HEAD}X-A: ${'b'.repeat(40_000)}\r\n\r\n`, /^HTTP\/1\.1 431 /],
    ['two lengths', `${HEAD}Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}`, /^HTTP\/1\.1 400 /],
    [
      'a length beside chunks',
      `${HEAD}Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
      /^HTTP\/1\.1 400 /,
    ],
    [
      'garbage behind a request',
      'GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n\0\0\0\r\n\r\n',
      /^HTTP\/1\.1 200 (?:(?!HTTP\/1\.1 200)[\s\S])*$/,
    ],
    ['a folded header', `${HEAD}X-A: b\r\n c\r\nX\x00: d\r\n\r\n`, /^HTTP\/1\.1 400 /],
  ])('%s', async (_, bytes, answer) => {
    const [came, { client }] = await sends(bytes);
    expect(came).toMatch(answer);
    expect((await client().ask(LIST)).status).toBe(200);
  });

  test('one that sends a header a second (I20)', { timeout: 30_000 }, async () => {
    const { port, client, daemon } = await served({ tokens: false });
    const sockets = [connect(port, '127.0.0.1'), connect(daemon.path)];
    const ends = sockets.map(until);
    for (const socket of sockets) socket.write(HEAD);
    const drip = setInterval(() => {
      for (const socket of sockets) if (socket.writable) socket.write('X-A: b\r\n');
    }, 1000);
    onTestFinished(() => clearInterval(drip));
    for (const came of await Promise.all(ends)) expect(came).toMatch(/^HTTP\/1\.1 408 /);
    expect((await client().ask(LIST)).status).toBe(200);
  });

  test('a body without end, in chunks (I20)', async () => {
    const { port, client } = await served({ tokens: false });
    const socket = connect(port, '127.0.0.1');
    const end = until(socket);
    socket.write(`${HEAD}Transfer-Encoding: chunked\r\n\r\n`);
    const chunk = `${(65_536).toString(16)}\r\n${' '.repeat(65_536)}\r\n`;
    const pour = (): void => {
      while (socket.writable && socket.write(chunk));
    };
    socket.on('drain', pour);
    pour();
    expect(await end).toMatch(/^HTTP\/1\.1 413 /);
    expect((await client().ask(LIST)).status).toBe(200);
  });

  test('more clients than there is room for get 503, in both eras', async () => {
    const daemon = await TestDaemon.start({ mcpServers: { fixture: fixtureServer() }, limits: { maxClients: 5 } });
    onTestFinished(() => daemon.stop());
    const client = new HttpClient({ socketPath: daemon.path });
    onTestFinished(() => client.close());
    const sessions = [await client.begin(), await client.begin(), await client.begin()];
    const initialize = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'x', version: '1' } };
    const body = { jsonrpc: '2.0', id: 1, method: 'initialize', params: initialize };
    // Each answer is read, so that all go over one connection: another one would be a client too many by itself.
    const statusOf = async (asking: Asking): Promise<number> => {
      const reply = await client.ask(asking);
      await reply.text();
      return reply.status;
    };
    expect(await statusOf({ body })).toBe(503);
    expect(await statusOf(LIST)).toBe(503);
    await (await sessions[0]?.end())?.text();
    expect(await statusOf(LIST)).toBe(200);
  });

  test('connections without an accepted request give way to others', async () => {
    const daemon = await TestDaemon.start({
      mcpServers: { fixture: fixtureServer() },
      http: { listen: '127.0.0.1:0', tokens: false },
      limits: { maxClients: 8 },
    });
    onTestFinished(() => daemon.stop());
    await daemon.untilLogged('listening for HTTP');
    const port = Number(LISTENING.exec(daemon.log)?.[1]);
    const client = new HttpClient({ host: '127.0.0.1', port });
    onTestFinished(() => client.close());
    await (await client.ask(LIST)).text();
    const silent = Array.from({ length: 4 }, () => connect(port, '127.0.0.1'));
    onTestFinished(() => {
      for (const socket of silent) socket.destroy();
    });
    // Four connections are room for one that was let in, and for three others: the oldest of those has to go.
    await Promise.race(silent.map(until));
    const reply = await client.ask(LIST);
    expect([reply.status, silent.filter(({ destroyed }) => destroyed).length]).toEqual([200, 1]);
    await reply.text();
  });

  test('more requests at once on one connection than it may have cost it the connection', async () => {
    const { port, client, daemon } = await served({ tokens: false });
    const socket = connect(port, '127.0.0.1');
    const end = until(socket);
    const body = JSON.stringify(asking2026('tools/call', { name: 'hold', arguments: {} }).body);
    const lines = `${HEAD}MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\nMcp-Name: hold\r\n`;
    socket.write(`${lines}Content-Length: ${body.length}\r\n\r\n${body}`.repeat(65));
    expect(await end).toBe('');
    await daemon.until(({ instances }) => instances.every(({ inFlight }) => inFlight === 0));
    expect((await client().ask(LIST)).status).toBe(200);
    expect((await daemon.status()).counters.httpRefused).toBe(1);
  });

  test('a header that comes twice is refused where it decides something', async () => {
    const { port, client, token } = await served();
    const good = await token('create', 'laptop');
    const twice = async (line: string): Promise<string> => {
      const socket = connect(port, '127.0.0.1');
      const end = until(socket);
      const lines = `Host: localhost\r\nAuthorization: Bearer ${good}\r\nConnection: close\r\n`;
      socket.write(`GET /metrics HTTP/1.1\r\n${lines}${line}\r\n\r\n`);
      return (await end).slice(0, 12);
    };
    expect(await twice('X-A: b')).toBe('HTTP/1.1 200');
    expect(await twice('Host: evil.example')).toBe('HTTP/1.1 403');
    expect(await twice('Authorization: Bearer other')).toBe('HTTP/1.1 401');
    expect((await client(good).ask(LIST)).status).toBe(200);
  });

  test('leave to send a body is given when the request is known to be good', async () => {
    const { port } = await served({ tokens: false });
    const answerTo = async (head: string): Promise<string> => {
      const socket = connect(port, '127.0.0.1');
      onTestFinished(() => void socket.destroy());
      socket.setEncoding('latin1').write(head);
      return new Promise((resolve) => socket.once('data', (text: string) => resolve(text.slice(0, 12))));
    };
    const waiting = `${HEAD}Expect: 100-continue\r\nContent-Length: 2\r\n\r\n`;
    expect(await answerTo(waiting)).toBe('HTTP/1.1 100');
    expect(await answerTo(waiting.replace('localhost', 'evil.example'))).toBe('HTTP/1.1 403');
  });

  test('requests that are refused are counted', async () => {
    const { client, daemon } = await served();
    for (let i = 0; i < 3; i++) await (await client().ask(LIST)).text();
    expect((await daemon.status()).counters.httpRefused).toBe(3);
  });
});
