// The era of a server at a URL: found out by a POST, whose status alone is never a verdict for the era of 2026.

import { afterEach, describe, expect, test } from 'vitest';
import { textOf } from '../support/raw-client.ts';
import { endFixtures, httpServer, startFixture } from '../support/remote-fixture.ts';
import { type Asked, endSessionServers, type Refusal, SessionServer } from '../support/session-server.ts';
import { TestDaemon, type TestStatus } from '../support/test-daemon.ts';

afterEach(endFixtures);
afterEach(endSessionServers);

const DISCOVERED = {
  resultType: 'complete',
  supportedVersions: ['2026-07-28'],
  capabilities: { tools: {} },
  ttlMs: 0,
  cacheScope: 'private',
};
const error = (asked: Asked, code: number, ...supported: string[]): object => ({
  jsonrpc: '2.0',
  id: asked.id,
  error: { code, message: 'No', data: { supported } },
});

/** A server of the era of 2026, and of no other. */
const only2026: Refusal = (asked) => {
  if (asked.method === 'initialize') return { status: 400, body: error(asked, -32022, '2026-07-28') };
  if (asked.method !== 'server/discover') return undefined;
  return { status: 200, body: { jsonrpc: '2.0', id: asked.id, result: DISCOVERED } };
};
/** One that answers the probe with a status, and knows nothing of the era of 2026. */
const answering =
  (status: number, body?: object | string): Refusal =>
  ({ method }) =>
    method === 'server/discover' ? { status, ...(body !== undefined && { body }) } : undefined;

const daemonFor = (url: string, more: object = {}): Promise<TestDaemon> =>
  TestDaemon.start({ mcpServers: { s: { type: 'http', url, ...more } } });

async function started(daemon: TestDaemon): Promise<TestStatus['instances'][number] | undefined> {
  await daemon.client();
  return (await daemon.status()).instances[0];
}

/** Has the bridge open a second connection, once it has forgotten the first. */
async function startedAgain(daemon: TestDaemon, server: SessionServer): Promise<string[]> {
  const before = server.asked.length;
  const client = await daemon.client();
  const wasRefusing = server.refuses;
  let isGone = false;
  server.refuses = (asked) => {
    if (!isGone && asked.method === 'tools/call') {
      isGone = true;
      return { status: 404 };
    }
    return wasRefusing(asked);
  };
  await client.callTool(1, 'echo', {});
  client.destroy();
  server.refuses = wasRefusing;
  return server.asked.slice(before).flatMap(({ method }) => (HANDSHAKE.has(method) ? [method] : []));
}
const HANDSHAKE: ReadonlySet<string> = new Set(['server/discover', 'initialize']);

const firstWords = (server: SessionServer): string[] =>
  server.asked.flatMap(({ method }) => (HANDSHAKE.has(method) ? [method] : []));

describe('a server of the era of 2026 at a URL', () => {
  test.each([
    ['both', 'http'],
    ['both', 'auto'],
    ['only-2026', 'http'],
    ['only-2026', 'auto'],
  ])('is found by its DiscoverResult: %s, %s (B8)', async (eras, kind) => {
    const port = await startFixture('two-eras.mjs', eras, 'http');
    const url = `http://127.0.0.1:${port}/mcp`;
    const daemon = await TestDaemon.start({ mcpServers: { s: kind === 'auto' ? { url } : { type: kind, url } } });
    expect(await started(daemon)).toMatchObject({ state: 'ready', protocolVersion: '2026-07-28' });
    await daemon.stop();
  });

  test('is asked with the headers of that era, and in no session (B8)', async () => {
    const server = await SessionServer.start();
    server.refuses = only2026;
    const daemon = await daemonFor(server.url, { headers: { 'x-own': 'a' } });
    expect(await started(daemon)).toMatchObject({ state: 'ready', protocolVersion: '2026-07-28' });
    const [probe, ...others] = server.asked;
    expect(probe?.headers).toMatchObject({
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': 'server/discover',
      accept: 'application/json, text/event-stream',
      'x-own': 'a',
    });
    for (const { method, headers } of others)
      expect(headers).toMatchObject({ 'mcp-protocol-version': '2026-07-28', 'mcp-method': method });
    expect(server.asked.filter(({ headers }) => headers['mcp-session-id'] !== undefined)).toEqual([]);
    expect(firstWords(server)).toEqual(['server/discover']);
    await daemon.stop();
  });

  test('that was of the era before is found by its refusal of `initialize` (B6, B8)', async () => {
    for (const type of ['http', 'auto']) {
      const server = await SessionServer.start();
      const daemon = await daemonFor(server.url, type === 'auto' ? { type: undefined } : {});
      server.refuses = answering(405);
      expect(await started(daemon)).toMatchObject({ protocolVersion: '2025-06-18' });
      server.refuses = only2026;
      expect(await startedAgain(daemon, server)).toEqual(['initialize', 'server/discover']);
      expect((await daemon.status()).instances).toMatchObject([{ state: 'ready', protocolVersion: '2026-07-28' }]);
      await daemon.stop();
    }
  });

  test('with which nothing is in common is refused, and both lists are named (B8, B9)', async () => {
    const server = await SessionServer.start();
    server.refuses = (asked) => ({ status: 400, body: error(asked, -32022, '2031-01-01') });
    const daemon = await daemonFor(server.url);
    const { error: refusal } = await (await daemon.connect()).initialize();
    expect(refusal).toMatchObject({
      message: expect.stringMatching(/^Server s speaks version "2031-01-01" of MCP/),
      data: { serverVersions: ['2031-01-01'], bridgeVersions: expect.arrayContaining(['2026-07-28', '2025-11-25']) },
    });
    await daemon.stop();
  });
});

describe('a server of the era of 2026 that refuses a call', () => {
  async function refusedCall(refusal: Refusal) {
    const server = await SessionServer.start();
    server.refuses = (asked) => (asked.method === 'tools/call' ? refusal(asked) : only2026(asked));
    const daemon = await daemonFor(server.url);
    const client = await daemon.client();
    const { error: refused } = await client.callTool(1, 'echo', {});
    const { instances } = await daemon.status();
    await daemon.stop();
    return { refused, instances };
  }

  test('says why in the body of an answer with 404 or 400, and goes on', async () => {
    for (const status of [400, 404]) {
      const { refused, instances } = await refusedCall((asked) => ({ status, body: error(asked, -32601) }));
      expect(refused).toMatchObject({ code: -32601, message: 'No' });
      expect(instances).toMatchObject([{ state: 'ready' }]);
    }
  });

  test('with an error that belongs to no request has refused the call with its status', async () => {
    const body = { jsonrpc: '2.0', id: null, error: { code: -32700, message: 'Parse error' } };
    const { refused, instances } = await refusedCall(() => ({ status: 400, body }));
    expect(refused?.message).toBe('Server s refused the request (HTTP 400)');
    expect(instances).toMatchObject([{ state: 'ready' }]);
  });
});

test('a server at a URL that answers the probe late, and never `initialize`, is of the era of 2026 (B3, B8)', async () => {
  const server = await SessionServer.start();
  const answered: Asked[] = [];
  server.refuses = (asked) => {
    if (asked.method === 'initialize') return 'silence';
    if (asked.method !== 'server/discover' || answered.push(asked) > 1) return only2026(asked);
    return new Promise((resolve) => setTimeout(() => resolve(only2026(asked)), 700));
  };
  const daemon = await daemonFor(server.url, { startTimeoutMs: 2000 });
  expect(await started(daemon)).toMatchObject({ state: 'ready', protocolVersion: '2026-07-28' });
  expect(firstWords(server)).toEqual(['server/discover', 'initialize', 'server/discover']);
  server.dropHeld();
  const client = await daemon.client();
  expect(textOf(await client.callTool(1, 'echo', {}))).toBe('echo');
  expect((await daemon.status()).instances).toMatchObject([{ state: 'ready', restarts: 0 }]);
  await daemon.stop();
});

describe('a server with a handshake at a URL', () => {
  test.each(['http', 'auto', 'sse'] as const)('is found, and works: %s (B8)', async (kind) => {
    const url = await httpServer(kind === 'auto' ? 'sse' : kind);
    const daemon = await TestDaemon.start({ mcpServers: { s: kind === 'auto' ? { url } : { type: kind, url } } });
    expect(await started(daemon)).toMatchObject({ state: 'ready', protocolVersion: '2025-11-25' });
    const client = await daemon.client();
    expect(textOf(await client.callTool(1, 'echo', { text: 'a' }))).toBe('a');
    await daemon.stop();
  });

  test.each([400, 404, 405, 406, 415, 422, 429])('may answer the probe with %d (B8)', async (status) => {
    const server = await SessionServer.start();
    server.refuses = answering(status);
    const daemon = await daemonFor(server.url);
    expect(await started(daemon)).toMatchObject({ state: 'ready', protocolVersion: '2025-06-18' });
    expect(firstWords(server)).toEqual(['server/discover', 'initialize']);
    expect(server.asked[1]?.headers).not.toHaveProperty('mcp-method');
    expect(await startedAgain(daemon, server)).toEqual(['initialize']);
    await daemon.stop();
  });

  test.each([
    ['an error without an id', { jsonrpc: '2.0', id: null, error: { code: -32000, message: 'No session' } }],
    ['no JSON', '<!doctype html>'],
    ['no message', {}],
  ])('may answer the probe with 400 and %s (B8)', async (_, body) => {
    const server = await SessionServer.start();
    server.refuses = answering(400, body);
    const daemon = await daemonFor(server.url);
    expect(await started(daemon)).toMatchObject({ state: 'ready', protocolVersion: '2025-06-18' });
    await daemon.stop();
  });

  test.each([403, 500, 502])('is used, but not taken for one, if it answers the probe with %d (B8)', async (status) => {
    const server = await SessionServer.start();
    server.refuses = answering(status);
    const daemon = await daemonFor(server.url);
    expect(await started(daemon)).toMatchObject({ state: 'ready', protocolVersion: '2025-06-18' });
    expect(await startedAgain(daemon, server)).toEqual(['server/discover', 'initialize']);
    await daemon.stop();
  });

  test('that never answers the probe gets `initialize` too (B8)', async () => {
    const server = await SessionServer.start();
    server.refuses = ({ method }) => (method === 'server/discover' ? 'silence' : undefined);
    const daemon = await daemonFor(server.url);
    expect(await started(daemon)).toMatchObject({ state: 'ready', protocolVersion: '2025-06-18' });
    expect(firstWords(server)).toEqual(['server/discover', 'initialize']);
    const client = await daemon.client();
    expect(textOf(await client.callTool(1, 'echo', {}))).toBe('echo');
    await daemon.stop();
  });
});

describe('a server that does not let the bridge in', () => {
  test('is not asked in the older way, and is probed again once it does (B8)', async () => {
    const server = await SessionServer.start();
    server.refuses = () => ({ status: 401 });
    const daemon = await daemonFor(server.url);
    const { error: refusal } = await (await daemon.connect()).initialize();
    expect(refusal?.data).toMatchObject({ code: 'SERVER_AUTH_REQUIRED' });
    expect(firstWords(server)).toEqual(['server/discover']);
    server.refuses = only2026;
    expect(await started(daemon)).toMatchObject({ state: 'ready', protocolVersion: '2026-07-28' });
    await daemon.stop();
  });

  test('because it is not there has failed, and nothing is kept (B8)', async () => {
    const daemon = await daemonFor('http://127.0.0.1:1/mcp');
    const { error: refusal } = await (await daemon.connect()).initialize();
    expect(refusal?.message).toMatch(/could not be reached/);
    expect((await daemon.status()).instances).toMatchObject([{ protocolVersion: null }]);
    await daemon.stop();
  });
});
