// The first question on a connection to another host: its owner's refusal ends it at once, with the owner's words, and a home that needs many
// connections paces itself.

import { expect, test } from 'vitest';
import { FederationWorld, META } from '../../support/federation-world.ts';

const PROBE = 'mcp-bridge-discover';
const discover = { jsonrpc: '2.0', id: PROBE, method: 'server/discover', params: { _meta: META } };
const RESULT = { supportedVersions: ['2026-07-28'], capabilities: {} };

type Connection = ReturnType<ReturnType<FederationWorld['home']>['open']>;

const answeredIn = (connections: readonly Connection[]): number =>
  connections.filter(({ came }) => came.some(({ id }) => (id as unknown) === PROBE)).length;

test('an owner that has no room for a client refuses it at once, in its own words', async () => {
  const world = new FederationWorld();
  const { owner } = world.owner('builder', () => undefined);
  owner.offer([{ name: 'tools', isForAny: false }]);
  const home = world.home('laptop');
  for (let i = 0; i < 128; i++) home.open('builder').call(1, {});
  const late = home.open('builder');
  late.write(discover);
  await Promise.resolve();
  expect(late.endedBy).toMatch(
    /^cannot be used: host builder says: There is no room for one more client of host laptop/,
  );
  expect(late.connection.failure).toMatchObject({
    code: 'SERVER_UNREACHABLE',
    message: expect.stringMatching(/^Server tools@builder cannot be used: host builder says: There is no room/),
    hint: 'See: mcp-bridge hosts',
  });
  expect(late.came).toEqual([]);
});

test('a server that does not start on its host fails at once with what its host says of it', async () => {
  const world = new FederationWorld();
  const { node } = world.owner('builder', () => undefined);
  const connection = world.home('laptop').open('builder');
  connection.write(discover);
  const { reply = '' } = world.bus.published.find(({ reply: inbox }) => inbox !== undefined) ?? {};
  const data = { code: 'SERVER_START_FAILED', hint: 'Check its command: tools' };
  const error = { code: -32603, message: 'Server tools exited with code 1\u001b[2J', data };
  const headers = { 'Mcp-Frame': 'end', 'Mcp-Seq': '1', 'Mcp-Owner': 'builder run-builder' };
  node.publish({ subject: reply, headers, data: Buffer.from(JSON.stringify({ jsonrpc: '2.0', id: PROBE, error })) });
  world.settle();
  await Promise.resolve();
  expect(connection.connection.failure).toMatchObject({
    code: 'SERVER_START_FAILED',
    message: 'Server tools@builder cannot be used: host builder says: Server tools exited with code 1\\u{1b}[2J',
    hint: 'On host builder: Check its command: tools',
  });
});

test('an owner that is busy for a moment is asked again, for a while', async () => {
  const world = new FederationWorld();
  const { node } = world.owner('builder', (asked) => asked.answer(RESULT));
  let refusals = 0;
  let isBusy = true;
  const error = { code: -32603, message: 'Busy', data: { retryAfterMs: 1 } };
  const refusal = Buffer.from(JSON.stringify({ jsonrpc: '2.0', id: PROBE, error }));
  world.bus.fateOf = ({ reply }) => {
    if (!isBusy || reply === undefined) return {};
    refusals++;
    node.publish({
      subject: reply,
      headers: { 'Mcp-Frame': 'err', 'Mcp-Owner': 'builder run-builder' },
      data: refusal,
    });
    return { isLost: true };
  };
  const home = world.home('laptop');
  const connection = home.open('builder');
  connection.write(discover);
  world.advance(2000);
  expect([refusals > 2, refusals <= 9, connection.endedBy]).toEqual([true, true, undefined]); // at least 250 ms apart
  isBusy = false;
  world.advance(1000);
  expect(answeredIn([connection])).toBe(1);
  isBusy = true;
  const other = home.open('builder');
  other.write(discover);
  world.advance(17_000);
  await Promise.resolve();
  expect(other.endedBy).toBe('cannot be used: host builder says: Busy');
  const closed = home.open('builder');
  closed.write(discover);
  closed.connection.destroy();
  const before = refusals;
  world.advance(2000);
  expect(refusals).toBe(before);
});

test('a home that needs a thousand connections to one host begins them one after the other, and none is refused', () => {
  const world = new FederationWorld();
  let began = 0;
  world.owner('builder', (asked) => {
    began++;
    asked.answer(RESULT);
  });
  world.owner('desk', (asked) => asked.answer(RESULT));
  const home = world.home('laptop');
  const connections = Array.from({ length: 1000 }, () => home.open('builder'));
  for (const connection of connections) connection.write(discover);
  expect([began > 64, began < 128]).toEqual([true, true]);
  const other = home.open('desk');
  other.write(discover);
  expect(answeredIn([other])).toBe(1); // another host has a pace of its own
  world.advance(9000);
  expect([world.refused, answeredIn(connections)]).toEqual([[], 1000]);
});

test('homes that ask a thousand questions without a pace of their own are told when to ask again', () => {
  const world = new FederationWorld();
  world.owner('builder', (asked) => asked.answer(RESULT));
  // Four daemons of one host's name do not know of each other.
  const homes = Array.from({ length: 4 }, () => world.home('laptop'));
  const connections = homes.flatMap((home) => Array.from({ length: 90 }, () => home.open('builder')));
  for (const connection of connections) connection.write(discover);
  expect([answeredIn(connections), world.refused.length]).toEqual([256, 104]);
  expect(world.refused[0]).toBe('Host laptop begins too many connections at once');
  world.advance(3000);
  expect(answeredIn(connections)).toBe(360);
});
