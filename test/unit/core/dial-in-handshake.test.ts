// A connection that turns out to be a server's: it is answered once, and is no client any more.

import { expect, test } from 'vitest';
import type { DialInDesk } from '../../../src/core/handshake.ts';
import { BridgeError } from '../../../src/util/bridge-error.ts';
import type { Link } from '../../../src/wire/link.ts';
import { CoreInMemory } from '../../support/core-in-memory.ts';

const SERVER = { 'mcp-bridge/role': 'server', 'mcp-bridge/serverName': 'ide' };

class Desk implements DialInDesk {
  readonly taken: { name: string; program: { program: string; version: string } }[] = [];
  readonly frames: string[] = [];
  admit(name: string): string {
    if (name === 'taken') throw new BridgeError('SERVER_EXISTS', 'It is taken', { hint: 'Another' });
    return 'waiting';
  }
  take(name: string, link: Link, program: { program: string; version: string }): void {
    this.taken.push({ name, program });
    link.start({
      frame: (b, start, end) => this.frames.push(b.toString('utf8', start, end)),
      overflowed: () => undefined,
      badFrame: () => undefined,
      ended: () => undefined,
      closed: () => void this.frames.push('closed'),
      drained: () => undefined,
    });
  }
}

test('it is handed over, with all that it says from then on', async () => {
  const desk = new Desk();
  const core = new CoreInMemory({ dialIns: desk });
  const server = core.connect();
  server.initialize('hello', { clientInfo: { name: 'editor', version: '3' }, _meta: SERVER });
  await core.settle();
  expect(server.answersTo('hello')[0]?.result).toMatchObject({
    serverInfo: { name: 'mcp-bridge-server' },
    _meta: { 'mcp-bridge/serverName': 'ide', 'mcp-bridge/serverState': 'waiting' },
  });
  server.say('{"jsonrpc":"2.0","id":1,"result":{}}');
  server.link.destroy();
  await core.settle();
  expect(desk.taken).toEqual([{ name: 'ide', program: { program: 'editor', version: '3' } }]);
  expect(desk.frames).toEqual(['{"jsonrpc":"2.0","id":1,"result":{}}', 'closed']);
  expect(core.manager.clients()).toEqual([]);
  expect(core.counters).toMatchObject({ serversDialledIn: 1, clientsCutOff: 0 });
});

test('it counts as no client, is not pinged, and holds nothing up at the end', async () => {
  const core = new CoreInMemory({ dialIns: new Desk(), limits: { maxClients: 1 } });
  const server = core.connect();
  server.initialize('hello', { _meta: SERVER });
  await core.settle();
  const client = await core.ready();
  expect(core.sessionOf(client)?.state).toBe('ready');
  const lines = server.link.lines.length;
  await core.pass(120_000);
  expect(server.link.lines).toHaveLength(lines);
  client.link.destroy();
  await core.settle();
  await core.manager.close();
  expect(server.link.isClosed).toBe(false);
});

test('requests behind its initialize get an error, and a refusal leaves it as it was', async () => {
  const desk = new Desk();
  const core = new CoreInMemory({ dialIns: desk });
  const refused = core.connect();
  refused.initialize(1, { _meta: { ...SERVER, 'mcp-bridge/serverName': 'taken' } });
  await core.settle();
  expect(refused.answersTo(1)[0]?.error).toMatchObject({ message: 'It is taken', data: { code: 'SERVER_EXISTS' } });
  refused.initialize(2, { _meta: SERVER });
  await core.settle();
  expect(desk.taken).toHaveLength(1);
});

test('it is heard also where it had first wanted to be a client that can resume', async () => {
  const desk = new Desk();
  const core = new CoreInMemory({ dialIns: desk });
  const server = core.connect();
  server.initialize(1, { _meta: { 'mcp-bridge/view': 'none', 'mcp-bridge/resume': true } });
  await core.settle();
  expect(server.answersTo(1)[0]?.error).toMatchObject({ data: { code: 'VIEW_UNKNOWN' } });
  server.initialize(2, { _meta: SERVER });
  server.say('{"jsonrpc":"2.0","method":"early"}');
  await core.settle();
  expect(server.answersTo(2)[0]?.result).toMatchObject({ _meta: { 'mcp-bridge/serverName': 'ide' } });
  server.say('{"jsonrpc":"2.0","id":1,"result":{}}');
  await core.settle();
  server.link.destroy();
  await core.settle();
  expect(desk.frames.slice(-2)).toEqual(['{"jsonrpc":"2.0","id":1,"result":{}}', 'closed']);
  expect(core.counters.internalErrors).toBe(0);
});

test.each(['', 'two words', '-x', 'x'.repeat(65), 7, null])('it cannot be called %j', async (name) => {
  const core = new CoreInMemory({ dialIns: new Desk() });
  const server = core.connect();
  server.initialize(1, {
    clientInfo: { name: 'not taken instead' },
    _meta: { ...SERVER, 'mcp-bridge/serverName': name },
  });
  await core.settle();
  expect(server.answersTo(1)[0]?.error).toMatchObject({ code: -32602 });
});

test('without a name it uses the program’s name', async () => {
  const desk = new Desk();
  const core = new CoreInMemory({ dialIns: desk });
  const server = core.connect();
  server.initialize(1, { clientInfo: { name: 'editor', version: '1' }, _meta: { 'mcp-bridge/role': 'server' } });
  await core.settle();
  expect(desk.taken).toMatchObject([{ name: 'editor' }]);
});
