// Headers that say what is in the body of a request, towards a server of 2026 at a URL, for clients of the era before.

import { afterEach, expect, test } from 'vitest';
import { textOf } from '../support/raw-client.ts';
import { endSessionServers, type Refusal, SessionServer } from '../support/session-server.ts';
import { TestDaemon } from '../support/test-daemon.ts';

afterEach(endSessionServers);

const COMPLETE = { resultType: 'complete', ttlMs: 0, cacheScope: 'private' };
const DISCOVERED = { ...COMPLETE, supportedVersions: ['2026-07-28'], capabilities: { tools: {} } };

const toolOf = (name: string, properties: object): object => ({ name, inputSchema: { type: 'object', properties } });
const MARKED = toolOf('marked', { place: { type: 'string', 'x-mcp-header': 'Place' }, other: { type: 'string' } });
const BAD = toolOf('bad', { place: { type: 'object', 'x-mcp-header': 'Place' } });

/** A server of 2026 with these pages of tools. What `more` answers goes before. */
function serving(pages: object[][], more: Refusal = () => undefined): Refusal {
  return (asked) => {
    const given = more(asked);
    if (given !== undefined) return given;
    const answer = (result: object) => ({ status: 200, body: { jsonrpc: '2.0', id: asked.id, result } });
    if (asked.method === 'server/discover') return answer(DISCOVERED);
    if (asked.method !== 'tools/list') return undefined;
    const page = Number(asked.params?.cursor ?? 0);
    const next = page + 1 < pages.length ? { nextCursor: `${page + 1}` } : {};
    return answer({ ...COMPLETE, tools: pages[page], ...next });
  };
}

const daemonFor = (url: string): Promise<TestDaemon> => TestDaemon.start({ mcpServers: { s: { type: 'http', url } } });

const mismatch: Refusal = ({ id, method, headers }) =>
  method === 'tools/call' && headers['mcp-param-place'] === undefined
    ? { status: 400, body: { jsonrpc: '2.0', id, error: { code: -32020, message: 'HeaderMismatch' } } }
    : undefined;

test('each request repeats its method and subject in headers, and a call its marked parameters', async () => {
  const server = await SessionServer.start();
  server.refuses = serving([[toolOf('plain', {})], [MARKED]]);
  const daemon = await daemonFor(server.url);
  const client = await daemon.client();
  // Nobody has listed the tools for this client yet, and their list has two pages.
  const call = { place: 'Zürich', other: 'x' };
  expect(textOf(await client.callTool(1, 'marked', call))).toBe('marked');
  expect(server.callsOf('marked')[0]?.headers).toMatchObject({
    ...{ 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/call', 'mcp-name': 'marked' },
    'mcp-param-place': `=?base64?${Buffer.from('Zürich').toString('base64')}?=`,
  });
  expect(server.callsOf('marked')[0]?.headers).not.toHaveProperty('mcp-param-other');
  for (const { method, headers } of server.asked) expect(headers['mcp-method']).toBe(method);
  await daemon.stop();
});

test('a tool with invalid marks is left out of lists, logged once, and the others work', async () => {
  const server = await SessionServer.start();
  server.refuses = serving([[BAD, MARKED]]);
  const daemon = await daemonFor(server.url);
  const client = await daemon.client();
  for (const id of [1, 2]) {
    const { result } = await client.request(id, 'tools/list');
    expect(result).toMatchObject({ tools: [{ name: 'marked' }] });
  }
  expect(textOf(await client.callTool(3, 'marked', { place: 'a' }))).toBe('marked');
  expect(daemon.log.split('a tool is left out').length - 1).toBe(1);
  expect(daemon.log).toMatch(/a tool is left out: it could not be called over HTTP.*bad/);
  await daemon.stop();
});

test('a call that misses headers which the server has come to want is made once more, with the marks of now', async () => {
  const server = await SessionServer.start();
  server.refuses = serving([[toolOf('marked', {})]]);
  const daemon = await daemonFor(server.url);
  const client = await daemon.client();
  await client.callTool(1, 'marked', { place: 'a' });
  server.refuses = serving([[MARKED]], mismatch);
  expect(textOf(await client.callTool(2, 'marked', { place: 'b' }))).toBe('marked');
  const places = server.callsOf('marked').map(({ headers }) => headers['mcp-param-place']);
  expect(places).toEqual([undefined, undefined, 'b']);
  await daemon.stop();
});

test('a server that always misses headers is asked twice, and its refusal is passed on', async () => {
  const server = await SessionServer.start();
  const refuse: Refusal = ({ id, method }) =>
    method === 'tools/call'
      ? { status: 400, body: { jsonrpc: '2.0', id, error: { code: -32020, message: 'HeaderMismatch' } } }
      : undefined;
  server.refuses = serving([[MARKED]], refuse);
  const daemon = await daemonFor(server.url);
  const client = await daemon.client();
  expect((await client.callTool(1, 'marked', { place: 'a' })).error).toMatchObject({ message: 'HeaderMismatch' });
  expect(server.callsOf('marked')).toHaveLength(2);
  await daemon.stop();
});

test('a server that names no tools is called without such headers', async () => {
  const server = await SessionServer.start();
  server.refuses = serving([[MARKED]], ({ method }) => (method === 'tools/list' ? { status: 500 } : undefined));
  const daemon = await daemonFor(server.url);
  expect(textOf(await (await daemon.client()).callTool(1, 'marked', { place: 'a' }))).toBe('marked');
  await daemon.stop();
});

test('a server that begins by refusing the version that it names is asked once more', async () => {
  const server = await SessionServer.start();
  let refusals = 0;
  const refuseOnce: Refusal = ({ id }) =>
    refusals++ > 0
      ? undefined
      : { status: 400, body: { jsonrpc: '2.0', id, error: { code: -32022, message: 'No', data: NAMED } } };
  server.refuses = serving([[MARKED]], refuseOnce);
  const daemon = await daemonFor(server.url);
  await daemon.client();
  expect((await daemon.status()).instances).toMatchObject([{ state: 'ready', protocolVersion: '2026-07-28' }]);
  expect(server.asked.slice(0, 2).map(({ method }) => method)).toEqual(['server/discover', 'server/discover']);
  await daemon.stop();
});

const NAMED = { supported: ['2026-07-28'], requested: '2026-07-28' };
