// The session that every command and every registered server has with the bridge, against a peer that says anything.

import { once } from 'node:events';
import { createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { openBridgeSocket } from '../../../src/client/bridge-socket.ts';
import { RpcSession, type RpcSessionOptions } from '../../../src/client/rpc-session.ts';
import { RawClient } from '../../support/raw-client.ts';
import { temporaryDir } from '../../support/temporary-dir.ts';

const INTRODUCTION = { clientInfo: { name: 'p', version: '1' }, _meta: { 'mcp-bridge/role': 'control' } };

async function session(options: Partial<RpcSessionOptions> = {}) {
  const path = join(temporaryDir(), 's');
  const listener = createServer().listen(path);
  await once(listener, 'listening');
  const connection = once(listener, 'connection');
  const socket = await openBridgeSocket(path);
  const [end] = (await connection) as [Socket];
  onTestFinished(() => {
    socket.destroy();
    end.destroy();
    listener.close();
  });
  return {
    rpc: new RpcSession(socket, { maxFrameBytes: 1000, ...options }),
    socket,
    peer: new RawClient(end, end),
    end,
  };
}

test('says its version, its name and its capabilities', async () => {
  const { rpc, peer } = await session();
  const initialized = rpc.initialize({ ...INTRODUCTION, capabilities: { elicitation: {} } });
  const { id, method, params } = await peer.next();
  expect({ method, params }).toEqual({
    method: 'initialize',
    params: { protocolVersion: '2025-11-25', capabilities: { elicitation: {} }, ...INTRODUCTION },
  });
  peer.send({ jsonrpc: '2.0', id, result: { is: 'here' } });
  expect((await initialized).result).toEqual({ is: 'here' });
});

test('gives each answer to its own request, in whatever order they come', async () => {
  const { rpc, peer } = await session();
  const answers = ['a', 'b', 'c'].map((method) => rpc.request(method, '{}'));
  const requests = [await peer.next(), await peer.next(), await peer.next()];
  for (const { id, method } of requests.reverse()) peer.send({ jsonrpc: '2.0', id, result: { method } });
  expect((await Promise.all(answers)).map(({ result }) => result)).toEqual(
    ['a', 'b', 'c'].map((method) => ({ method })),
  );
});

test('hands on the frames behind the answer, unread and in their order, also those of the same chunk', async () => {
  const { rpc, peer, end } = await session({ isPassedOn: true });
  const initialized = rpc.initialize(INTRODUCTION);
  const { id } = await peer.next();
  end.write(`{"jsonrpc":"2.0","id":${String(id)},"result":{}}\n{ "id" :1,"result":"not mine"}\nno JSON\n`);
  await initialized;
  const heard: string[] = [];
  const closed = new Promise<void>((resolve) =>
    rpc.passTo(({ b, start, end: to }) => heard.push(b.toString('utf8', start, to)), resolve),
  );
  end.end('{"id":2}\n');
  await closed;
  expect(heard).toEqual(['{ "id" :1,"result":"not mine"}', 'no JSON', '{"id":2}']);
});

test('answers a ping, answers requests that its user handles, and refuses all others', async () => {
  const { peer } = await session({
    onRequest: (method) => {
      if (method === 'fails') return Promise.reject(new Error('it broke'));
      return method === 'known' ? Promise.resolve({ ok: true }) : undefined;
    },
  });
  for (const method of ['ping', 'known', 'fails', 'unknown']) peer.send({ jsonrpc: '2.0', id: method, method });
  const answers = [await peer.next(), await peer.next(), await peer.next(), await peer.next()];
  const sorted = answers.sort((a, b) => String(a.id).localeCompare(String(b.id)));
  expect(sorted).toMatchObject([
    { id: 'fails', error: { code: -32603, message: 'it broke' } },
    { id: 'known', result: { ok: true } },
    { id: 'ping', result: {} },
    { id: 'unknown', error: { code: -32601 } },
  ]);
});

test.each([
  ['closed', 'the connection ends', (end: Socket) => end.destroy()],
  ['foreign', 'the other side speaks another protocol', (end: Socket) => end.write('220 hello\n')],
  ['closed', 'an answer is over the limit', (end: Socket) => end.write(`"${'x'.repeat(2000)}"\n`)],
  [
    'refused',
    'the bridge could not read a message',
    (end: Socket) => end.write('{"id":null,"error":{"code":-32700}}\n'),
  ],
])('fails all open requests as %s when %s', async (kind, _, happens) => {
  const { rpc, peer, end } = await session();
  const open = [rpc.request('a', '{}'), rpc.request('b', '{}')];
  const failed = Promise.all(
    open.map((request) => expect(request).rejects.toMatchObject({ name: 'RpcFailure', kind })),
  );
  await peer.next();
  happens(end);
  await failed;
});

test('fails a request at once when the connection has ended', async () => {
  const { rpc, socket } = await session();
  socket.destroy();
  await expect(rpc.request('a', '{}')).rejects.toMatchObject({ kind: 'closed' });
});

test('reads an error with all that the bridge says in it', async () => {
  const { rpc, peer } = await session();
  const refused = expect(rpc.request('a', '{}')).rejects.toMatchObject({
    kind: 'refused',
    message: 'No',
    refusal: { number: -32000, code: 'SHUTTING_DOWN', message: 'No', hint: 'Wait' },
  });
  const { id } = await peer.next();
  const error = { code: -32000, message: 'No', data: { code: 'SHUTTING_DOWN', hint: 'Wait' } };
  peer.send({ jsonrpc: '2.0', id, error });
  await refused;
});

test('gives up a request that takes too long, and drops its late answer', async () => {
  const { rpc, peer } = await session();
  await expect(rpc.request('slow', '{}', { timeoutMs: 1 })).rejects.toMatchObject({ kind: 'timeout' });
  const quick = rpc.request('quick', '{}');
  peer.send({ jsonrpc: '2.0', id: (await peer.next()).id, result: { late: true } });
  peer.send({ jsonrpc: '2.0', id: (await peer.next()).id, result: { late: false } });
  expect((await quick).result).toEqual({ late: false });
});
