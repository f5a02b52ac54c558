// A server over Streamable HTTP that does not know the session any more: a new one is begun, and who has asked does not
// notice.

import { afterEach, describe, expect, test } from 'vitest';
import { type Message, textOf } from '../support/raw-client.ts';
import { endFixtures, httpServer, ReferenceServer } from '../support/remote-fixture.ts';
import { endSessionServers, SessionServer } from '../support/session-server.ts';
import { TestDaemon } from '../support/test-daemon.ts';

afterEach(endFixtures);
afterEach(endSessionServers);

/** A daemon with this server, and a client of it, once nothing is asked that no client has asked. */
async function serving(url: string, more: object = {}) {
  const daemon = await TestDaemon.start({ mcpServers: { web: { type: 'http', url } }, ...more }, { logLevel: 'debug' });
  const client = await daemon.client();
  await daemon.untilLogged('list read');
  return { daemon, client };
}

const error = (id?: unknown) => ({ jsonrpc: '2.0', error: { code: -32000, message: 'No valid session ID' }, id });

describe('a server that is killed and started again', () => {
  test('is used in a new session by the very next call', async () => {
    const server = await ReferenceServer.start();
    const { daemon, client } = await serving(server.url);
    expect(textOf(await client.callTool(1, 'echo', { message: 'a' }))).toContain('a');
    await server.kill();
    await server.start();
    expect(textOf(await client.callTool(2, 'echo', { message: 'b' }))).toContain('b');
    expect((await daemon.status()).instances).toMatchObject([{ state: 'ready', restarts: 1 }]);
    await daemon.stop();
  });

  test('gets only one new session when several clients ask at once', async () => {
    const server = await ReferenceServer.start();
    const { daemon, client } = await serving(server.url);
    await server.kill();
    await server.start();
    const others = await Promise.all(Array.from({ length: 8 }, () => daemon.client()));
    const answers = await Promise.all(others.map((other, i) => other.callTool(1, 'echo', { message: `m${i}` })));
    expect(answers.map((answer, i) => textOf(answer).includes(`m${i}`))).toEqual(answers.map(() => true));
    client.destroy();
    await daemon.stop();
  });
});

test('a call in a session that the server has ended is made once more in a new one', async () => {
  const { daemon, client } = await serving(await httpServer('http'));
  await client.callTool(1, 'forget');
  expect(textOf(await client.callTool(2, 'echo', { text: 'a' }))).toBe('a');
  expect((await daemon.status()).instances).toMatchObject([{ state: 'ready', restarts: 1 }]);
  await daemon.stop();
});

test.each([
  ['all', 'web__echo', { text: 'a' }],
  ['discover', 'execute_tool', { server: 'web', tool: 'echo', arguments: { text: 'a' } }],
])('so is one in the view %s', async (view, name, args) => {
  const { daemon, client } = await serving(await httpServer('http'));
  const other = await daemon.client({ 'mcp-bridge/view': view });
  await other.request('list', 'tools/list');
  await client.callTool(1, 'forget');
  expect(JSON.stringify((await other.callTool(2, name, args)).result?.content)).toContain('a');
  expect((await daemon.status()).instances).toMatchObject([{ state: 'ready', restarts: 1 }]);
  await daemon.stop();
});

describe.each<[string, number, object | string]>([
  ['404', 404, ''],
  ['404 with an error', 404, error(null)],
  ['400 without an id', 400, error()],
  ['400 with the id null', 400, error(null)],
  ['400 and a text', 400, 'Bad Request: no s3cret session'],
  ['400 and nothing', 400, ''],
])('a session that is refused with %s', (_, status, body) => {
  test('is followed by another one, in which each call is made once', async () => {
    const server = await SessionServer.start();
    const { daemon, client } = await serving(server.url);
    server.refuses = ({ session }) => (session === 1 ? { status, body } : undefined);
    client.send({
      jsonrpc: '2.0',
      id: 'p',
      method: 'tools/call',
      params: { name: 'one', _meta: { progressToken: 't' } },
    });
    for (const name of ['two', 'three'])
      client.send({ jsonrpc: '2.0', id: name, method: 'tools/call', params: { name } });
    const answers = [await client.next(), await client.next(), await client.next()];
    expect(answers.map((answer) => [answer.id, textOf(answer)]).sort()).toEqual([
      ['p', 'one'],
      ['three', 'three'],
      ['two', 'two'],
    ]);
    expect(server.sessions).toBe(2);
    for (const name of ['one', 'two', 'three'])
      expect(server.callsOf(name).filter(({ session }) => session === 2)).toHaveLength(1);
    expect(daemon.log).not.toContain('s3cret');
    await daemon.stop();
  });

  test('in every session ends in an error for its client, after one retry', async () => {
    const server = await SessionServer.start();
    const { daemon, client } = await serving(server.url);
    server.refuses = ({ method, params }) =>
      method === 'ping' || params?.name === 'one' ? { status, body } : undefined;
    expect((await client.callTool(1, 'one')).error).toMatchObject({
      message: status === 404 ? 'Server web has ended the session' : 'Server web refused the request (HTTP 400)',
      data: { code: 'SERVER_UNREACHABLE', server: 'web' },
    });
    expect(server.callsOf('one').map(({ session }) => session)).toEqual([1, 2]);
    expect(textOf(await client.callTool(2, 'two'))).toBe('two');
    await daemon.stop();
  });
});

describe('a server that refuses one request with 400', () => {
  test.each<[string, (id: unknown) => object | string]>([
    ['in its own words', () => 'no'],
    ['by an error without its id', () => error(null)],
    ['by an answer to it', (id) => error(id)],
    ['by answers to it and others', (id) => [error(99), error(id)]],
    ['at length', () => 'x'.repeat(1 << 20)],
  ])('%s keeps its session, and is not asked again', async (_, body) => {
    const server = await SessionServer.start();
    const { daemon, client } = await serving(server.url);
    server.refuses = ({ id, params }) => (params?.name === 'bad' ? { status: 400, body: body(id) } : undefined);
    client.send({ jsonrpc: '2.0', id: 'held', method: 'tools/call', params: { name: 'hold' } });
    await server.untilAsked(() => server.callsOf('hold').length === 1);
    for (const id of [1, 2, 3])
      expect((await client.callTool(id, 'bad')).error).toMatchObject({
        message: 'Server web refused the request (HTTP 400)',
        data: { code: 'SERVER_UNREACHABLE', hint: expect.stringMatching(/^Check its url/) },
      });
    expect(textOf(await client.callTool(4, 'good'))).toBe('good');
    expect([server.sessions, server.callsOf('bad').length, server.callsOf('hold').length]).toEqual([1, 3, 1]);
    expect((await daemon.status()).instances).toMatchObject([{ state: 'ready', restarts: 0 }]);
    server.dropHeld();
    await daemon.stop();
  });

  test('and says nothing more keeps its session', async () => {
    const server = await SessionServer.start();
    const { daemon, client } = await serving(server.url);
    server.refuses = ({ method, params }) => {
      if (method === 'ping') return { status: 503 };
      return params?.name === 'bad' ? { status: 400 } : undefined;
    };
    expect((await client.callTool(1, 'bad')).error?.message).toBe('Server web refused the request (HTTP 400)');
    expect(server.sessions).toBe(1);
    await daemon.stop();
  });
});

test.each([500, 502, 403, 410])('a call that is answered with %i is not made again', async (status) => {
  const server = await SessionServer.start();
  const { daemon, client } = await serving(server.url);
  server.refuses = ({ params }) => (params?.name === 'bad' ? { status } : undefined);
  expect((await client.callTool(1, 'bad')).error?.data?.code).toBe('SERVER_UNREACHABLE');
  expect([server.sessions, server.callsOf('bad').length]).toEqual([1, 1]);
  await daemon.stop();
});

test('a call that is under way when its session ends is not made again, but may still be answered', async () => {
  const server = await SessionServer.start();
  const { daemon, client } = await serving(server.url);
  const other = await daemon.client();
  client.send({ jsonrpc: '2.0', id: 'held', method: 'tools/call', params: { name: 'hold' } });
  await server.untilAsked(() => server.callsOf('hold').length === 1);
  server.refuses = ({ session }) => (session === 1 ? { status: 404 } : undefined);
  expect(textOf(await other.callTool(1, 'one'))).toBe('one');
  expect((await client.answerTo('held')).error).toMatchObject({
    message: 'Server web has ended the session during the call; its outcome is unknown',
    data: { code: 'SERVER_CRASHED' },
  });
  expect([server.sessions, server.callsOf('hold').length]).toEqual([2, 1]);
  await daemon.stop();
});

test('a server that ends each session at once is left alone after five of them', async () => {
  const server = await SessionServer.start();
  const { daemon, client } = await serving(server.url);
  server.refuses = ({ method }) => (method === 'initialize' ? undefined : { status: 404 });
  const answers: Message[] = [];
  for (const id of [1, 2, 3, 4]) answers.push(await client.callTool(id, 'one'));
  expect(answers.every((answer) => answer.error !== undefined)).toBe(true);
  expect(server.sessions).toBeLessThanOrEqual(6);
  expect((await daemon.status()).instances).toMatchObject([{ state: 'broken' }]);
  await daemon.stop();
});
