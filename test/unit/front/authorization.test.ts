// Tokens of an authorization server, with a server that is asked for real and tokens that are signed for real.

import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { exportJWK, generateKeyPair, SignJWT } from 'jose';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { Authorization } from '../../../src/front/http/authorization.ts';

const RESOURCE = 'https://bridge.example/mcp';
const NOW_MS = Date.parse('2026-11-19T12:00:00Z');

let server: Server;
let issuer: string;
let keys: Awaited<ReturnType<typeof generateKeyPair>>;
let others: Awaited<ReturnType<typeof generateKeyPair>>;
let asked: string[] = [];
let documents: Record<string, unknown> = {};

beforeAll(async () => {
  [keys, others] = [await generateKeyPair('ES256'), await generateKeyPair('ES256')];
  server = createServer(({ url = '' }, response) => {
    asked.push(url);
    const found = documents[url];
    if (found === undefined) return void response.writeHead(404).end('{}');
    response.setHeader('content-type', 'application/json').end(JSON.stringify(found));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(() => new Promise((resolve) => server.close(resolve)));

beforeEach(async () => {
  asked = [];
  documents = {
    '/.well-known/oauth-authorization-server': { issuer, jwks_uri: `${issuer}/keys` },
    '/keys': { keys: [{ ...(await exportJWK(keys.publicKey)), kid: '1', alg: 'ES256' }] },
  };
});

function authorization(scopes: readonly string[] = [], clock = { ms: NOW_MS }) {
  return new Authorization({ issuer, resource: RESOURCE, scopes, jwksUri: undefined }, () => clock.ms);
}

type Claims = Readonly<Record<string, unknown>>;

const GOOD = { sub: 'ann', aud: RESOURCE, exp: NOW_MS / 1000 + 600 };

/** A member that is undefined is left out. */
function signed(claims: Claims, key = keys.privateKey, header: object = {}): Promise<string> {
  return new SignJWT({ iss: issuer, ...claims }).setProtectedHeader({ alg: 'ES256', kid: '1', ...header }).sign(key);
}

test('a token that is for the bridge names who has it, and its keys are asked for once', async () => {
  const it = authorization();
  const token = await signed(GOOD);
  expect(it.believed(token)).toBeUndefined();
  const verdict = await it.verdictOn(token);
  expect(verdict).toMatchObject({ is: 'good', grant: { name: 'oauth:ann' } });
  expect(it.believed(token)).toBe(verdict);
  await it.verdictOn(await signed({ ...GOOD, sub: 'bob' }));
  expect(asked).toEqual(['/.well-known/oauth-authorization-server', '/keys']);
});

test.each<[string, () => Promise<string>]>([
  ['for another resource', () => signed({ ...GOOD, aud: 'https://other.example/mcp' })],
  ['for nobody', () => signed({ ...GOOD, aud: undefined })],
  ['of another issuer', () => signed({ ...GOOD, iss: 'https://other.example' })],
  ['that is over', () => signed({ ...GOOD, exp: NOW_MS / 1000 - 60 })],
  ['that never ends', () => signed({ ...GOOD, exp: undefined })],
  ['that is not good yet', () => signed({ ...GOOD, nbf: NOW_MS / 1000 + 60 })],
  ['of nobody', () => signed({ ...GOOD, sub: undefined })],
  ['signed with another key', () => signed(GOOD, others.privateKey)],
  [
    'signed by nobody',
    async () => {
      const [, payload] = (await signed(GOOD)).split('.');
      return `${Buffer.from('{"alg":"none"}').toString('base64url')}.${payload}.`;
    },
  ],
  [
    'signed with the public key as a secret',
    async () => {
      const secret = new TextEncoder().encode(JSON.stringify(await exportJWK(keys.publicKey)));
      return new SignJWT({ iss: issuer, ...GOOD }).setProtectedHeader({ alg: 'HS256', kid: '1' }).sign(secret);
    },
  ],
  [
    'that was changed',
    async () => (await signed(GOOD)).replace(/\.(.)/, (_, first) => `.${first === 'e' ? 'f' : 'e'}`),
  ],
  ['that is none', () => Promise.resolve('a.b.c')],
  ['without an end', () => Promise.resolve('x'.repeat(100_000))],
])('a token %s is invalid', async (_, make) => {
  expect(await authorization().verdictOn(await make())).toEqual({ is: 'invalid' });
});

test('a token needs all scopes, in whichever claim they stand', async () => {
  const it = authorization(['mcp', 'tools']);
  expect(await it.verdictOn(await signed({ ...GOOD, scope: 'mcp' }))).toEqual({ is: 'insufficient' });
  for (const claims of [{ scope: 'tools other mcp' }, { scp: ['mcp', 'tools'] }])
    expect(await it.verdictOn(await signed({ ...GOOD, ...claims }))).toMatchObject({ is: 'good' });
});

test('a token that was good is not, once its time is over', async () => {
  const clock = { ms: NOW_MS };
  const it = authorization([], clock);
  const token = await signed({ ...GOOD, exp: NOW_MS / 1000 + 30 });
  expect(await it.verdictOn(token)).toMatchObject({ is: 'good' });
  clock.ms += 40_000;
  expect(await it.verdictOn(token)).toEqual({ is: 'invalid' });
});

test('two people are two, and so are two programs of one person', async () => {
  const it = authorization();
  const ids = [];
  for (const claims of [GOOD, { ...GOOD, sub: 'bob' }, { ...GOOD, client_id: 'x' }, { ...GOOD, client_id: 'y' }]) {
    const verdict = await it.verdictOn(await signed(claims));
    ids.push(verdict.is === 'good' ? verdict.grant.id : undefined);
  }
  expect(new Set(ids).size).toBe(4);
});

describe('a server', () => {
  test('that cannot be asked is nobody’s fault, is left alone for a moment, and may come back', async () => {
    const clock = { ms: NOW_MS };
    const it = authorization([], clock);
    const kept = documents;
    documents = {};
    const token = await signed(GOOD);
    expect(await it.verdictOn(token)).toMatchObject({ is: 'unavailable' });
    const before = asked.length;
    expect(await it.verdictOn(token)).toMatchObject({ is: 'unavailable' });
    expect(asked).toHaveLength(before);
    documents = kept;
    clock.ms += 3000;
    expect(await it.verdictOn(token)).toMatchObject({ is: 'good' });
  });

  test('is known by OpenID’s metadata too', async () => {
    documents['/.well-known/openid-configuration'] = documents['/.well-known/oauth-authorization-server'];
    delete documents['/.well-known/oauth-authorization-server'];
    expect(await authorization().verdictOn(await signed(GOOD))).toMatchObject({ is: 'good' });
  });

  test.each([
    ['are of another issuer', { issuer: 'https://other.example' }],
    ['name keys that anybody could send', { jwks_uri: 'http://keys.example/keys' }],
    ['name none', { jwks_uri: undefined }],
  ])('whose metadata %s is not believed', async (_, change) => {
    const metadata = { issuer, jwks_uri: `${issuer}/keys`, ...change };
    documents['/.well-known/oauth-authorization-server'] = metadata;
    expect(await authorization().verdictOn(await signed(GOOD))).toMatchObject({ is: 'unavailable' });
    expect(asked).not.toContain('/keys');
  });
});

test('a client is told which server to ask, and for what', () => {
  const it = authorization(['mcp']);
  expect(it.metadata).toEqual({
    ...{ resource: RESOURCE, authorization_servers: [issuer], bearer_methods_supported: ['header'] },
    scopes_supported: ['mcp'],
  });
  const metadata = 'resource_metadata="https://bridge.example/.well-known/oauth-protected-resource/mcp", scope="mcp"';
  expect(it.challenge()).toBe(`Bearer ${metadata}`);
  expect(it.challenge('insufficient_scope')).toBe(`Bearer error="insufficient_scope", ${metadata}`);
  const paths = ['/.well-known/oauth-protected-resource', '/.well-known/oauth-protected-resource/mcp', '/mcp'];
  expect(paths.map((path) => it.isMetadataPath(path))).toEqual([true, true, false]);
});
