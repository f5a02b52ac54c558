// Servers over a WebSocket: real sockets, and a server that knows only JSON and frames.

import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import { type WebSocket, WebSocket as WebSocketClient, WebSocketServer } from 'ws';
import { WebSocketLink } from '../../src/downstream/web-socket-connection.ts';
import { deferred } from '../../src/util/deferred.ts';
import { FlushTurn } from '../../src/wire/outbox.ts';
import { ReadPacer } from '../../src/wire/read-pacer.ts';
import { CountedPacer } from '../support/counted-pacer.ts';
import { textOf } from '../support/raw-client.ts';
import { endFixtures, webSocketServer } from '../support/remote-fixture.ts';
import { TestDaemon } from '../support/test-daemon.ts';
import { expectCredentialsSent } from '../support/url-credentials.ts';

afterEach(endFixtures);

test('one server for all its clients, and every byte of its answers', async () => {
  const daemon = await TestDaemon.start({ mcpServers: { remote: { url: await webSocketServer() } } });
  const [one, other] = [await daemon.client(), await daemon.client()];
  const words = 'ü漢🙂\n'.repeat(50_000);
  for (const client of [one, other]) expect(textOf(await client.callTool('a', 'echo', { text: words }))).toBe(words);
  one.send({ jsonrpc: '2.0', id: 'b', method: 'tools/call', params: { name: 'odd' } });
  expect(await one.nextLine()).toBe(
    '{"jsonrpc":"2.0","id":"b","result":{"z":1.00e2,"a" : "\\u0041","big":12345678901234567890,"content":[]}}',
  );
  expect((await daemon.status()).instances).toMatchObject([{ server: 'remote', state: 'ready', pid: null }]);
  await daemon.stop();
});

test('a message over several lines is one line for clients', async () => {
  const daemon = await TestDaemon.start({ mcpServers: { remote: { url: await webSocketServer() } } });
  const client = await daemon.client();
  expect(textOf(await client.callTool(1, 'pretty'))).toBe('a\nb');
  await daemon.stop();
});

test('headers go with the upgrade, and are never shown', async () => {
  const url = await webSocketServer('s3cret-token');
  const server = (token: string) => ({
    mcpServers: { remote: { url, headers: { Authorization: `Bearer ${token}` } } },
  });
  const daemon = await TestDaemon.start(server('s3cret-token'));
  const client = await daemon.client();
  expect(JSON.parse(textOf(await client.callTool(1, 'headers')))).toMatchObject({
    authorization: 'Bearer s3cret-token',
    'sec-websocket-protocol': 'mcp',
  });
  await daemon.stop();

  const wrong = await TestDaemon.start(server('wrong-s3cret'));
  const refused = await (await wrong.connect()).initialize();
  expect(refused.error).toMatchObject({
    message: 'Server remote says that the bridge is not authorized (HTTP 401)',
    data: { code: 'SERVER_START_FAILED' },
  });
  expect(JSON.stringify([refused, await wrong.status(), wrong.log])).not.toContain('wrong-s3cret');
  await wrong.stop();
});

test('an answer that is not UTF-8 is an error of its call alone', async () => {
  const daemon = await TestDaemon.start({ mcpServers: { remote: { url: await webSocketServer() } } });
  const client = await daemon.client();
  expect((await client.callTool(1, 'not-utf8')).error).toMatchObject({ data: { code: 'SERVER_ANSWER_REFUSED' } });
  expect(textOf(await client.callTool(2, 'echo', { text: 'a' }))).toBe('a');
  expect((await daemon.status()).instances).toMatchObject([{ restarts: 0 }]);
  await daemon.stop();
});

test('a closed socket ends the calls in flight, and the next call connects again', async () => {
  const daemon = await TestDaemon.start({ mcpServers: { remote: { url: await webSocketServer() } } });
  const client = await daemon.client();
  const lost = await client.callTool(1, 'drop');
  expect(lost.error).toMatchObject({
    message: 'Server remote closed the connection during the call; its outcome is unknown',
    data: { code: 'SERVER_CRASHED', server: 'remote' },
  });
  expect(textOf(await client.callTool(2, 'echo', { text: 'b' }))).toBe('b');
  expect((await daemon.status()).instances).toMatchObject([{ restarts: 1 }]);
  await daemon.stop();
});

test('a message beyond the limit ends the connection, and says so', async () => {
  const daemon = await TestDaemon.start({
    mcpServers: { remote: { url: await webSocketServer() } },
    limits: { maxMessageBytes: 10_000 },
  });
  const client = await daemon.client();
  const lost = await client.callTool(1, 'long', { bytes: 20_000 });
  expect(lost.error?.message).toContain('sent a message beyond limits.maxMessageBytes');
  expect(textOf(await client.callTool(2, 'long', { bytes: 9_000 }))).toHaveLength(9_000);
  expect((await daemon.status()).counters).toMatchObject({ oversizedFrames: 1 });
  await daemon.stop();
});

test('while a server does not read, requests wait; then all are answered', async () => {
  const daemon = await TestDaemon.start({ mcpServers: { remote: { url: await webSocketServer() } } });
  const client = await daemon.client();
  await client.callTool('first', 'deaf', { ms: 100 });
  const words = 'x'.repeat(1_000_000);
  for (let id = 0; id < 20; id++)
    client.send({ jsonrpc: '2.0', id, method: 'tools/call', params: { name: 'echo', arguments: { text: words } } });
  for (let id = 0; id < 20; id++) expect(textOf(await client.answerTo(id))).toBe(words);
  await daemon.stop();
});

test('a link hands on a part of its input each turn, in order and to the end', async () => {
  const server = new WebSocketServer({ port: 0, host: '127.0.0.1', handleProtocols: () => 'mcp' });
  await once(server, 'listening');
  const pacer = new CountedPacer();
  const link = new WebSocketLink({ turn: new FlushTurn(), pacer });
  const got: string[] = [];
  const closed = deferred<void>();
  const ignored = () => undefined;
  link.start({
    frame: (b, start, end) => got.push(b.toString('utf8', start, end)),
    ...{ overflowed: ignored, badFrame: ignored, ended: ignored, drained: ignored },
    closed: () => closed.resolve(),
  });
  const socket = new WebSocketClient(`ws://127.0.0.1:${(server.address() as AddressInfo).port}`, 'mcp');
  const [[peer]] = (await Promise.all([once(server, 'connection'), once(socket, 'open')])) as [[WebSocket], unknown];
  link.attach(socket);
  const messages = Array.from({ length: 500 }, (_, n) => `${n}`);
  for (const message of messages) peer.send(message);
  while (got.length < messages.length) await new Promise(setImmediate);
  expect(pacer.turns).toBeGreaterThan(9);
  for (const message of messages) peer.send(message);
  peer.close();
  await closed.promise;
  expect(got).toEqual([...messages, ...messages]);
  server.close();
});

test('a link reports unread bytes, and when they were read', async () => {
  const server = new WebSocketServer({ port: 0, host: '127.0.0.1', handleProtocols: () => 'mcp' });
  await once(server, 'listening');
  const link = new WebSocketLink({ turn: new FlushTurn(), pacer: new ReadPacer() });
  const drained = deferred<void>();
  const closed = deferred<void>();
  const ignored = () => undefined;
  link.start({
    frame: ignored,
    overflowed: ignored,
    badFrame: ignored,
    ended: ignored,
    drained: () => drained.resolve(),
    closed: () => closed.resolve(),
  });
  const large = Buffer.alloc(1 << 24, 'x');
  link.outbox.bytes(large, 0, large.length);
  link.outbox.endFrame();
  link.outbox.flush();
  expect(link.outbox.blockedBytes).toBe(large.length); // before there is a socket

  const socket = new WebSocketClient(`ws://127.0.0.1:${(server.address() as AddressInfo).port}`, 'mcp');
  const [[peer]] = (await Promise.all([once(server, 'connection'), once(socket, 'open')])) as [[WebSocket], unknown];
  peer.pause();
  link.attach(socket);
  expect(link.outbox.blockedBytes).toBeGreaterThan(1 << 20);
  peer.resume();
  await drained.promise;
  expect(link.outbox.blockedBytes).toBe(0);
  expect(large.every((byte) => byte === 0x78)).toBe(true); // masking has not touched them
  link.end();
  await closed.promise;
  server.close();
});

test('a user and a password in the URL go as a header, unless there is one already', async () =>
  expectCredentialsSent(await webSocketServer()));
