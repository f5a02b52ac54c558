// A stdio server behind one connection to the bridge after the other: what belongs to one never reaches another.

import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { ServedProcess } from '../../../src/client/served-process.ts';
import { RegisteredLink } from '../../../src/client/server-registration.ts';
import { marked, unmarked } from '../../../src/client/turn-requests.ts';
import { type Message, RawClient } from '../../support/raw-client.ts';

let dir = '';
let listener: Server;
/** The bridge's ends of the connections, in turn. */
const ends: Socket[] = [];

beforeEach(async () => {
  dir = mkdtempSync(join(tmpdir(), 'mcpa-'));
  listener = createServer((socket) => void ends.push(socket)).listen(join(dir, 's'));
  await once(listener, 'listening');
});
afterEach(() => {
  for (const end of ends.splice(0)) end.destroy();
  listener.close();
  rmSync(dir, { recursive: true });
});

const HELLO = { name: 'ide', program: 'p', version: '1', renaming: 'Choose another name.' };

/** A connection that the bridge has taken, and its end of it. */
async function connected(): Promise<{ link: RegisteredLink; bridge: RawClient }> {
  const opening = RegisteredLink.open(join(dir, 's'), HELLO);
  const [socket] = (await once(listener, 'connection')) as [Socket];
  const bridge = new RawClient(socket, socket);
  const { id, params } = await bridge.next();
  expect(params?._meta).toEqual({ 'mcp-bridge/role': 'server', 'mcp-bridge/serverName': 'ide' });
  bridge.send({ jsonrpc: '2.0', id, result: { _meta: { 'mcp-bridge/serverState': 'offered' } } });
  return { link: await opening, bridge };
}

function aServer() {
  const [stdin, stdout] = [new PassThrough(), new PassThrough()];
  return { attached: new ServedProcess(stdin, stdout), server: new RawClient(stdin, stdout) };
}

const request = (id: unknown, method: string, params: object = {}): object => ({ jsonrpc: '2.0', id, method, params });
const answer = ({ id }: Message, result: object): object => ({ jsonrpc: '2.0', id, result });

describe('a server that is attached', () => {
  test('is asked under other ids, and answers under the bridge’s own', async () => {
    const { attached, server } = aServer();
    const { link, bridge } = await connected();
    const served = attached.serve(link);
    bridge.send(request(7, 'tools/call', { name: 'x', _meta: { progressToken: 7, other: 1 } }));
    const asked = await server.next();
    expect(asked.params).toMatchObject({ name: 'x', _meta: { progressToken: asked.id, other: 1 } });
    server.send({
      jsonrpc: '2.0',
      method: 'notifications/progress',
      params: { progressToken: asked.id, progress: 1 },
    });
    server.send(answer(asked, { n: 1 }));
    expect(await bridge.next()).toMatchObject({ params: { progressToken: 7, progress: 1 } });
    expect(await bridge.next()).toEqual({ jsonrpc: '2.0', id: 7, result: { n: 1 } });
    bridge.send({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 7 } });
    expect((await server.next()).params).toEqual({ requestId: asked.id });
    bridge.destroy();
    await served;
  });

  test('is initialized once, and hears nothing of the next bridge’s handshake', async () => {
    const { attached, server } = aServer();
    const first = await connected();
    const served = attached.serve(first.link);
    first.bridge.send(request(0, 'initialize', { n: 1 }));
    server.send(answer(await server.next(), { serverInfo: { name: 's' }, big: 1 }));
    expect((await first.bridge.next()).result).toMatchObject({ serverInfo: { name: 's' } });
    first.bridge.send({ jsonrpc: '2.0', method: 'notifications/initialized' });
    expect((await server.next()).method).toBe('notifications/initialized');
    first.bridge.destroy();
    await served;

    const next = await connected();
    void attached.serve(next.link);
    next.bridge.send(request(0, 'initialize', { n: 2 }));
    expect((await next.bridge.next()).result).toEqual({ serverInfo: { name: 's' }, big: 1 });
    next.bridge.send({ jsonrpc: '2.0', method: 'notifications/initialized' });
    next.bridge.send(request(1, 'tools/list'));
    expect((await server.next()).method).toBe('tools/list');
  });

  test('learns that nobody waits when the bridge goes, and its later messages go nowhere', async () => {
    const { attached, server } = aServer();
    const first = await connected();
    const served = attached.serve(first.link);
    first.bridge.send(request(1, 'tools/call', { name: 'slow', _meta: { progressToken: 1 } }));
    const slow = await server.next();
    server.send(request('mine', 'sampling/createMessage'));
    expect((await first.bridge.next()).id).toBe('mine');
    first.bridge.destroy();
    await served;
    const told = [await server.next(), await server.next()];
    expect(told).toContainEqual({
      jsonrpc: '2.0',
      method: 'notifications/cancelled',
      params: { requestId: slow.id },
    });
    expect(told).toContainEqual(expect.objectContaining({ id: 'mine', error: expect.anything() as object }));

    const next = await connected();
    void attached.serve(next.link);
    next.bridge.send(request(1, 'tools/call', { name: 'quick' })); // the next daemon counts from 1, too
    const quick = await server.next();
    server.send({ jsonrpc: '2.0', method: 'notifications/progress', params: { progressToken: slow.id, progress: 9 } });
    server.send(answer(slow, { late: true }));
    server.send(answer(quick, { late: false }));
    expect(await next.bridge.next()).toEqual({ jsonrpc: '2.0', id: 1, result: { late: false } });
  });

  test('gets none of the messages between the bridge and its registration', async () => {
    const { attached, server } = aServer();
    const { link, bridge } = await connected();
    const states: string[] = [];
    link.stateChanged = (state) => states.push(state);
    const served = attached.serve(link);
    const notice = (method: string, params: object): object => ({ jsonrpc: '2.0', method, params });
    bridge.send(notice('bridge/serverState', { state: 'rejected' }));
    bridge.send(notice('bridge/serverState', { state: 'of a later bridge' }));
    bridge.send(notice('bridge/leaving', { reason: 'restart' }));
    bridge.send(notice('notifications/other', {}));
    expect(await server.next()).toMatchObject({ method: 'notifications/other' });
    expect([states, link.state, link.farewell]).toEqual([['rejected'], 'rejected', 'restart']);
    bridge.destroy();
    await served;
  });

  test('gets an error at once if it asks while there is no bridge', async () => {
    const { server } = aServer();
    server.send(request(5, 'roots/list'));
    expect(await server.next()).toMatchObject({ id: 5, error: { code: -32603 } });
  });
});

test('a bridge that refuses says why', async () => {
  const opening = RegisteredLink.open(join(dir, 's'), HELLO);
  const [socket] = (await once(listener, 'connection')) as [Socket];
  const error = { code: -32603, message: 'taken', data: { code: 'SERVER_EXISTS', hint: 'another' } };
  socket.write(`${JSON.stringify({ jsonrpc: '2.0', id: null, error })}\n`);
  const hint = 'Choose another name. Those that there are: mcp-bridge servers';
  await expect(opening).rejects.toMatchObject({ code: 'SERVER_EXISTS', message: 'taken', hint });
});

test('a bridge that hangs up before it has answered is no bridge', async () => {
  const opening = RegisteredLink.open(join(dir, 's'), HELLO);
  const [socket] = (await once(listener, 'connection')) as [Socket];
  socket.destroy();
  await expect(opening).rejects.toMatchObject({ code: 'DAEMON_UNRESPONSIVE' });
});

test('an id comes back as it was spelled, in its own turn and in no other', () => {
  const ids = fc.oneof(fc.nat(), fc.integer(), fc.string(), fc.double({ noNaN: true, noDefaultInfinity: true }));
  fc.assert(
    fc.property(ids, fc.integer({ min: 1, max: 100_000 }), fc.integer({ min: 1, max: 100_000 }), (id, turn, other) => {
      const text = JSON.stringify(id);
      const mark = marked(turn, text);
      expect(unmarked(turn, mark)).toBe(text);
      if (other !== turn) expect(unmarked(other, mark)).toBeUndefined();
      if (Number.isSafeInteger(id) && Number(id) >= 0 && Number(id) < 2 ** 32 && !Object.is(id, -0))
        expect(mark).toMatch(/^\d+$/);
    }),
  );
});
