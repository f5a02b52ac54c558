// Tokens of an authorization server, over TCP, with a server that signs them for real.

import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { exportJWK, generateKeyPair, SignJWT } from 'jose';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { asking2026, HttpClient } from '../support/http-client.ts';
import { fixtureServer, TestDaemon } from '../support/test-daemon.ts';

const RESOURCE = 'https://bridge.example/mcp';
const METADATA = 'resource_metadata="https://bridge.example/.well-known/oauth-protected-resource/mcp", scope="mcp"';
const LIST = asking2026('tools/list');

let server: Server;
let issuer: string;
let daemon: TestDaemon;
let port: number;
let keys: Awaited<ReturnType<typeof generateKeyPair>>;
const clients: HttpClient[] = [];

beforeAll(async () => {
  keys = await generateKeyPair('RS256');
  const jwk = { ...(await exportJWK(keys.publicKey)), kid: '1', alg: 'RS256' };
  server = createServer(({ url }, response) => {
    const found = url === '/keys' ? { keys: [jwk] } : { issuer, jwks_uri: `${issuer}/keys` };
    response.setHeader('content-type', 'application/json').end(JSON.stringify(found));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  daemon = await TestDaemon.start({
    mcpServers: { fixture: fixtureServer(), other: fixtureServer() },
    client: { view: 'all' },
    clients: [{ match: { token: 'oauth:guest' }, servers: ['other'] }],
    http: { listen: '127.0.0.1:0', authorization: { issuer, resource: RESOURCE, scopes: ['mcp'] } },
  });
  await daemon.untilLogged('listening for HTTP');
  port = Number(/"listening for HTTP".*?"port":(\d+)/.exec(daemon.log)?.[1]);
});
afterAll(async () => {
  for (const client of clients) client.close();
  await daemon.stop();
  await new Promise((resolve) => server.close(resolve));
});

function token(claims: Readonly<Record<string, unknown>>): Promise<string> {
  const exp = Math.floor(Date.now() / 1000) + 600;
  return new SignJWT({ iss: issuer, aud: RESOURCE, exp, scope: 'mcp', sub: 'ann', ...claims })
    .setProtectedHeader({ alg: 'RS256', kid: '1' })
    .sign(keys.privateKey);
}

function client(bearer?: string): HttpClient {
  const headers = bearer === undefined ? {} : { authorization: `Bearer ${bearer}` };
  const one = new HttpClient({ host: '127.0.0.1', port }, { host: `127.0.0.1:${port}`, ...headers });
  clients.push(one);
  return one;
}

async function toolsOf(one: HttpClient): Promise<string[]> {
  const { result } = await (await one.ask(LIST)).json();
  return (result as { tools: readonly { name: string }[] }).tools.map(({ name }) => name);
}

test('a client is told where to get a token, and is let in with one (I4)', async () => {
  const refused = await client().ask(LIST);
  expect([refused.status, refused.headers['www-authenticate']]).toEqual([401, `Bearer ${METADATA}`]);
  const path = '/.well-known/oauth-protected-resource/mcp';
  const metadata = await client().ask({ method: 'GET', path });
  expect(JSON.parse(await metadata.text())).toMatchObject({ resource: RESOURCE, authorization_servers: [issuer] });
  const ann = client(await token({}));
  expect(await toolsOf(ann)).toContain('fixture__echo');
  expect((await ann.ask(LIST)).status).toBe(200);
});

test('a token for another resource is refused, and one without the needed scope gets an error that says so (I4)', async () => {
  const other = await client(await token({ aud: 'https://other.example' })).ask(LIST);
  expect([other.status, other.headers['www-authenticate']]).toEqual([401, `Bearer error="invalid_token", ${METADATA}`]);
  const lacking = await client(await token({ scope: 'else' })).ask(LIST);
  expect([lacking.status, lacking.headers['www-authenticate']]).toEqual([
    403,
    `Bearer error="insufficient_scope", ${METADATA}`,
  ]);
});

test('the config has rules for the person that a token names', async () => {
  const tools = await toolsOf(client(await token({ sub: 'guest' })));
  expect(tools).toContain('other__echo');
  expect(tools).not.toContain('fixture__echo');
});

test('a session continues with the next token of the same person, and with no other (I14)', async () => {
  const session = await client(await token({})).begin();
  const headers = { 'mcp-session-id': session.id };
  const body = { jsonrpc: '2.0', id: 1, method: 'ping' };
  expect((await client(await token({ jti: 'next' })).ask({ body, headers })).status).toBe(200);
  expect((await client(await token({ sub: 'bob' })).ask({ body, headers })).status).toBe(404);
});
