// Servers at a URL: real HTTP, real SSE, made with the official SDK.

import { afterEach, describe, expect, test } from 'vitest';
import { type Message, type RawClient, textOf } from '../support/raw-client.ts';
import { endFixtures, httpServer } from '../support/remote-fixture.ts';
import { fixtureServer, TestDaemon } from '../support/test-daemon.ts';
import { expectCredentialsSent } from '../support/url-credentials.ts';

afterEach(endFixtures);

describe.each([
  ['http', 'http'],
  ['sse', 'sse'],
  ['http', 'auto'],
  ['sse', 'auto'],
] as const)('a server over %s, configured as %s', (kind, type) => {
  test('is one server for all its clients: lists, calls, progress, the same ids', async () => {
    const daemon = await TestDaemon.start({ mcpServers: { remote: { type, url: await httpServer(kind) } } });
    const [one, other] = [await daemon.client(), await daemon.client()];
    const hello = await (await daemon.connect()).initialize();
    expect(hello.result).toMatchObject({ serverInfo: { name: `fixture-${kind}` }, instructions: 'At a URL.' });
    const { result } = await one.request(1, 'tools/list');
    expect(JSON.stringify(result?.tools)).toContain('"echo"');
    for (const client of [one, other]) {
      const params = { name: 'slow', arguments: { ms: 60, steps: 2 }, _meta: { progressToken: 'p' } };
      client.send({ jsonrpc: '2.0', id: 2, method: 'tools/call', params });
    }
    // The server may say of itself meanwhile that its lists are others.
    const next = async (client: RawClient): Promise<Message> => {
      const message = await client.next();
      return message.method?.endsWith('list_changed') === true ? next(client) : message;
    };
    for (const client of [one, other]) {
      expect((await next(client)).params).toMatchObject({ progressToken: 'p', progress: 1 });
      expect((await next(client)).params).toMatchObject({ progressToken: 'p', progress: 2 });
      expect(textOf(await next(client))).toBe('done');
    }
    const words = 'ü漢🙂\n'.repeat(50_000);
    expect(textOf(await one.callTool(3, 'echo', { text: words }))).toBe(words);
    expect((await daemon.status()).instances).toMatchObject([
      { server: 'remote', state: 'ready', pid: null, sessions: 3 },
    ]);
    await daemon.stop();
  });
});

const variable = (name: string): string => `\${${name}}`;

test('headers hold variables of the environment, which are never shown', async () => {
  const url = await httpServer('http', 's3cret-token');
  const config = {
    mcpServers: {
      remote: {
        type: 'http',
        url,
        headers: { Authorization: `Bearer ${variable('TOKEN')}`, 'X-Kind': variable('KIND:-none') },
      },
    },
  };
  const daemon = await TestDaemon.start(config, { env: { TOKEN: 's3cret-token' } });
  const client = await daemon.client();
  expect(JSON.parse(textOf(await client.callTool(1, 'headers')))).toMatchObject({ 'x-kind': 'none' });
  await daemon.stop();

  const wrong = await TestDaemon.start(config, { env: { TOKEN: 'wrong-s3cret' } });
  const refused = await (await wrong.connect()).initialize();
  expect(refused.error).toMatchObject({ code: -32603, data: { code: 'SERVER_START_FAILED' } });
  expect(JSON.stringify([refused, await wrong.status(), wrong.log])).not.toContain('wrong-s3cret');
  await wrong.stop();

  const without = await TestDaemon.start(config, { env: { TOKEN: undefined } });
  const missing = await (await without.connect()).initialize();
  expect(missing.error?.message).toBe(
    'The header Authorization of server remote needs the variable TOKEN, which is not set',
  );
  await without.stop();
});

test('a server is told when its session is no longer needed', async () => {
  const url = await httpServer('http');
  const sessions = async (): Promise<string> => (await fetch(new URL('/sessions', url))).text();
  const daemon = await TestDaemon.start({ mcpServers: { remote: { url } } });
  await daemon.client();
  expect(await sessions()).toBe('1');
  await daemon.stop();
  expect(await sessions()).toBe('0');
});

const WAIT = { name: 'wait', arguments: {}, _meta: { progressToken: 'p' } };

test('a stream that breaks in the middle of a call is taken up again where it broke', async () => {
  const daemon = await TestDaemon.start({ mcpServers: { remote: { url: await httpServer('resumable') } } });
  const client = await daemon.client();
  client.send({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: WAIT });
  expect((await client.next()).params).toMatchObject({ progressToken: 'p', progress: 1 });
  expect(textOf(await client.callTool(2, 'cut'))).toBe('cut');
  expect(textOf(await client.next())).toBe('taken up');
  expect((await daemon.status()).instances).toMatchObject([{ restarts: 0, state: 'ready' }]);
  await daemon.stop();
});

test('a stream that cannot be taken up again is an error of its call alone', async () => {
  const daemon = await TestDaemon.start({ mcpServers: { remote: { url: await httpServer('http') } } });
  const client = await daemon.client();
  client.send({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: WAIT });
  expect((await client.next()).params).toMatchObject({ progressToken: 'p', progress: 1 });
  client.send({ jsonrpc: '2.0', id: 2, method: 'tools/call', params: { name: 'cut' } });
  const answers = [await client.next(), await client.next()]; // in any order
  expect(answers.find(({ id }) => id === 2)?.result).toBeDefined();
  expect(answers.find(({ id }) => id === 1)?.error).toMatchObject({
    message: 'Server remote ended the stream before its answer; the outcome of the call is unknown',
    data: { code: 'SERVER_CRASHED', server: 'remote' },
  });
  expect(textOf(await client.callTool(3, 'echo', { text: 'a' }))).toBe('a');
  expect((await daemon.status()).instances).toMatchObject([{ restarts: 0, state: 'ready' }]);
  await daemon.stop();
});

test.each(['http', 'sse'] as const)(
  'a server over %s that dies in a call ends it, and the next says why',
  async (kind) => {
    const daemon = await TestDaemon.start({ mcpServers: { remote: { url: await httpServer(kind) } } });
    const client = await daemon.client();
    expect((await client.callTool(1, 'exit')).error).toMatchObject({
      message: expect.stringMatching(/^Server remote closed the connection .*outcome.* is unknown$/),
      data: { code: 'SERVER_CRASHED', server: 'remote' },
    });
    const { error } = await client.callTool(2, 'echo', { text: 'a' });
    expect(error?.message).toBe('Server remote could not be reached: connection refused (ECONNREFUSED)');
    await daemon.stop();
  },
);

test('a server that is not there fails only for the client that asks', async () => {
  const daemon = await TestDaemon.start({
    mcpServers: { gone: { url: 'http://127.0.0.1:9/mcp' }, here: fixtureServer() },
  });
  const client = await daemon.connect();
  const { error } = await client.initialize({ 'mcp-bridge/view': 'server:gone' });
  expect(error).toMatchObject({ code: -32603, data: { code: 'SERVER_START_FAILED', server: 'gone' } });
  expect((await client.initialize({ 'mcp-bridge/view': 'server:here' })).result).toBeDefined();
  await daemon.stop();
});

test.each(['http', 'sse'] as const)(
  'a user and a password in the URL of %s go as a header, unless there is one already',
  async (kind) => expectCredentialsSent(await httpServer(kind)),
);
