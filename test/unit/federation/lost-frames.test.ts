// What is lost between two hosts at a bad moment: each call has its answer nevertheless, and within a time that is promised.

import { describe, expect, test } from 'vitest';
import { errorResponse, WINDOW_BYTES } from '../../../src/federation/frames.ts';
import { type Asked, FederationWorld, isControl, META } from '../../support/federation-world.ts';

function oneOwner({ hasBulk = false } = {}) {
  const world = new FederationWorld();
  world.hasBulk = hasBulk;
  const open: Asked[] = [];
  const owner = world.owner('builder', (asked) => open.push(asked));
  const home = world.home('laptop');
  return { world, open, owner, home, connection: home.open('builder') };
}

describe('an answer', () => {
  test.each([
    ['all that was sent', 3 * WINDOW_BYTES],
    ['all of a short one', 300_000],
  ])('comes within 15 s although %s is lost, while the owner says that the call goes on', (_, bytes) => {
    const { world, open, connection } = oneOwner();
    connection.call(1, {});
    world.advance(1000);
    const text = 'x'.repeat(bytes);
    world.bus.fateOf = ({ headers }) => ({ isLost: headers['Mcp-Seq'] !== undefined });
    open[0]?.answer({ text });
    world.settle();
    world.bus.fateOf = () => ({});
    world.advance(15_000);
    expect(connection.answersTo(1).map(({ result }) => result?.text === text)).toEqual([true]);
  });

  test.each([
    ['laptop', 300_000],
    ['laptop', 3 * WINDOW_BYTES],
    ['builder', 3 * WINDOW_BYTES],
  ])('comes on the first connection where the second one of %s is dead, of %d bytes', (whose, bytes) => {
    const { world, open, owner, home, connection } = oneOwner({ hasBulk: true });
    connection.call(1, {});
    world.advance(1000);
    const text = 'x'.repeat(bytes);
    (whose === 'laptop' ? home : owner).node.isBulkDead = true;
    open[0]?.answer({ text });
    world.advance(20_000);
    expect(connection.answersTo(1).map(({ result }) => result?.text === text)).toEqual([true]);
    expect(open).toHaveLength(1);
  });

  test('of which a piece is only slow goes on over the second connection', () => {
    const { world, open, connection } = oneOwner({ hasBulk: true });
    connection.call(1, {});
    world.bus.fateOf = ({ headers }) => (headers['Mcp-Frame'] === 'part' ? { delayMs: 3000 } : {});
    open[0]?.answer({ text: 'x'.repeat(3 * WINDOW_BYTES) });
    world.advance(60_000);
    expect(connection.answersTo(1)).toHaveLength(1);
    const parts = world.bus.published.filter(({ headers }) => headers['Mcp-Frame'] === 'part');
    expect(parts.filter(({ subject }) => !subject.endsWith('.bulk'))).toEqual([]);
  });
});

describe('the first request of a connection that is lost', () => {
  test('is carried out once when it comes again', () => {
    const { world, open, home, connection } = oneOwner();
    world.bus.fateOf = () => ({ isLost: true });
    connection.call(1, {});
    home.node.connect(false);
    world.bus.fateOf = () => ({});
    home.node.connect(true);
    world.settle();
    for (const asked of open) asked.answer({ text: 'done' });
    world.settle();
    expect(connection.answersTo(1).map(({ result }) => result?.text)).toEqual(['done']);
    expect(open).toHaveLength(1);
  });

  test('is not carried out by the next daemon there, which knows nothing of it', () => {
    const { world, open, owner, connection } = oneOwner();
    world.bus.fateOf = ({ headers }) => ({ isLost: headers['Mcp-Owner'] !== undefined });
    connection.call(1, {});
    owner.node.connect(false);
    world.bus.fateOf = () => ({});
    world.owner('builder', (asked) => open.push(asked), 'run-2');
    world.advance(5000);
    expect(open).toHaveLength(1);
  });

  test('is not carried out once more where its connection was ended', async () => {
    const { world, open, owner, connection } = oneOwner();
    world.bus.fateOf = ({ headers }) => ({ isLost: headers['Mcp-Owner'] !== undefined });
    connection.call(1, {});
    owner.owner.hostGone('laptop');
    world.bus.fateOf = () => ({});
    world.advance(5000);
    await connection.connection.ended;
    expect(open).toHaveLength(1);
    expect(connection.endedBy).toContain('does not know the call any more');
  });

  test('is not carried out once more where so many have ended that its own end is forgotten', () => {
    const { world, open, owner, connection } = oneOwner();
    world.bus.fateOf = ({ headers }) => ({ isLost: headers['Mcp-Owner'] !== undefined });
    connection.call(1, {});
    owner.owner.hostGone('laptop');
    for (let ended = 0; ended <= 4096; ended += 200) {
      const desk = world.home(`desk-${ended}`);
      for (let i = 0; i < 200; i++) desk.open('builder').list(1);
      owner.owner.hostGone(`desk-${ended}`);
      desk.home.close();
    }
    world.bus.fateOf = () => ({});
    world.advance(5000);
    expect(open.filter(({ method }) => method === 'tools/call')).toHaveLength(1);
  });
});

test('a call that comes only after the answers of many later ones were forgotten is carried out once', () => {
  const { world, open, connection } = oneOwner();
  let isFirst = true;
  world.bus.fateOf = ({ reply }) => {
    const isLost = reply !== undefined && isFirst;
    isFirst &&= !isLost;
    return { isLost };
  };
  for (let id = 1; id <= 400; id++) {
    connection.call(id, {});
    open.at(-1)?.answer({ text: `${id}` });
    world.settle();
  }
  expect(connection.answersTo(1)).toEqual([]);
  world.advance(3000);
  expect(open).toHaveLength(400);
  open.at(-1)?.answer({ text: 'late' });
  world.settle();
  expect(connection.answersTo(1).map(({ result }) => result?.text)).toEqual(['late']);
});

test('a long request whose parts come slowly is not forgotten on its way', () => {
  const { world, open, connection } = oneOwner();
  // Each part takes half of the time for which an owner keeps what nobody asks for.
  world.bus.fateOf = ({ subject, headers }) =>
    isControl(subject) && headers['Mcp-Seq'] !== undefined ? { delayMs: 4000 * Number(headers['Mcp-Seq']) } : {};
  connection.call(1, { text: 'x'.repeat(3 * WINDOW_BYTES) });
  world.advance(120_000);
  expect(open).toHaveLength(1);
  open[0]?.answer({ text: 'whole' });
  world.settle();
  expect(connection.answersTo(1).map(({ result }) => result?.text)).toEqual(['whole']);
});

test('the parts of a long request go on the second connection, and on the first one where that is dead', () => {
  const { world, open, home, connection } = oneOwner({ hasBulk: true });
  const text = 'x'.repeat(3 * WINDOW_BYTES);
  connection.call(1, { text });
  home.node.isBulkDead = true;
  connection.call(2, { text });
  world.settle();
  expect(open.map(({ id }) => id)).toEqual(['1']);
  world.advance(10_000);
  expect(open.map(({ id }) => id)).toEqual(['1', '2']);
  expect(open[1]?.params.arguments).toEqual({ text });
});

test('a long request goes on where the word of its place is lost', () => {
  const { world, open, home, connection } = oneOwner();
  let isLosing = true;
  world.bus.fateOf = ({ headers }) => ({ isLost: isLosing && headers['Mcp-Owner'] !== undefined });
  connection.call(1, { text: 'x'.repeat(3 * WINDOW_BYTES) });
  home.node.connect(false);
  isLosing = false;
  world.advance(1000);
  home.node.connect(true);
  world.advance(10_000);
  expect(open).toHaveLength(1);
});

test.each([
  ['is under way', 10_000],
  ['is answered by then', 0],
])('a long request of which the caller has missed that it is whole, and that %s, is answered', (_, takesMs) => {
  const { world, open, connection } = oneOwner();
  let isLosing = false;
  world.bus.fateOf = ({ subject, headers }) => {
    isLosing ||= isControl(subject) && headers['Mcp-Frame'] === 'end';
    return { isLost: isLosing && headers['Mcp-Owner'] !== undefined };
  };
  connection.call(1, { text: 'x'.repeat(WINDOW_BYTES) });
  expect(open).toHaveLength(1);
  world.advance(takesMs);
  open[0]?.answer({ text: 'whole' });
  world.settle();
  world.bus.fateOf = () => ({});
  world.advance(14_000);
  expect(connection.answersTo(1).map(({ result }) => result?.text)).toEqual(['whole']);
});

describe('a home without a sign of life', () => {
  test('has its answer if it is back in time, and its call goes on meanwhile', () => {
    const { world, open, owner, home, connection } = oneOwner();
    connection.call(1, {});
    world.advance(1000);
    home.node.connect(false);
    world.silent.add('laptop');
    owner.owner.hostSilent('laptop');
    world.advance(25_000);
    expect(open[0]?.isCancelled).toBe(false);
    world.silent.delete('laptop');
    home.node.connect(true);
    open[0]?.answer({ text: 'late' });
    world.advance(10_000);
    expect(connection.answersTo(1).map(({ result }) => result?.text)).toEqual(['late']);
  });

  test('is given up after the time for which a client may be away', () => {
    const { world, owner, home, connection } = oneOwner();
    connection.call(1, {});
    home.node.connect(false);
    world.silent.add('laptop');
    owner.owner.hostSilent('laptop');
    world.advance(31_000);
    expect(owner.owner.load).toEqual({ streams: 0, calls: 0 });
  });
});

describe('owners that have ended the stream of a home, which was away for long,', () => {
  function ended() {
    const world = new FederationWorld();
    const open: Asked[] = [];
    const owners = ['one', 'two'].map((host) => world.owner(host, (asked) => open.push(asked)));
    const home = world.home('laptop');
    const connection = home.open(undefined);
    const answerAll = (): void => {
      for (const asked of open.splice(0)) asked.answer({ text: 'done' });
      world.settle();
    };
    for (let id = 1; id <= 4; id++) connection.call(id, {});
    answerAll();
    return { world, open, owners, home, connection, answerAll };
  }

  const done = (connection: ReturnType<typeof ended>['connection'], id: number) =>
    connection.answersTo(id).map(({ result, error }) => result?.text ?? error?.message);

  test('serve it again, each call once, by the name of the server alone', () => {
    const { owners, connection, open, answerAll } = ended();
    for (const { owner } of owners) owner.hostGone('laptop');
    connection.safe.add('6');
    for (let id = 5; id <= 12; id++) connection.call(id, {});
    connection.list(13);
    expect(open).toHaveLength(9);
    answerAll();
    for (let id = 5; id <= 13; id++) expect(done(connection, id)).toEqual(['done']);
    expect(connection.endedBy).toBeUndefined();
  });

  test('do not end what another one has begun for it', () => {
    const { world, owners, connection, open, answerAll } = ended();
    connection.call(5, {});
    const [first] = open.splice(0);
    const gone = owners.findIndex(({ owner }) => owner.load.calls === 0);
    owners[gone]?.owner.hostGone('laptop');
    for (let id = 6; id <= 9; id++) connection.call(id, {});
    answerAll();
    for (let id = 6; id <= 9; id++) expect(done(connection, id)).toEqual(['done']);
    world.advance(20_000, 1000);
    first?.answer({ text: 'late' });
    world.settle();
    expect(done(connection, 5)).toEqual(['late']);
  });

  test('say so of a call that goes back to one of them, and it is made once', () => {
    const { world, owners, connection, open } = ended();
    connection.call(5, {});
    open.splice(0)[0]?.answer({ resultType: 'input_required', inputRequests: {}, requestState: 's' });
    world.settle();
    const requestState = connection.stateOf(5);
    for (const { owner } of owners) owner.hostGone('laptop');
    const params = { name: 'work', arguments: {}, requestState, inputResponses: {}, _meta: META };
    connection.write({ jsonrpc: '2.0', id: 6, method: 'tools/call', params });
    expect(open.map((asked) => asked.params.requestState)).toEqual(['s']);
    open[0]?.answer({ text: 'done' });
    world.settle();
    expect(done(connection, 6)).toEqual(['done']);
  });

  test('are not asked without end where one says so of every stream', () => {
    const world = new FederationWorld();
    world.runs.set('evil', 'run-evil');
    const evil = world.bus.node();
    let asked = 0;
    for (const name of ['tools', 'tools-at-evil'])
      evil.subscribe(`mcp.v1.req.acme.*.${name}.>`, ({ reply = '' }) => {
        asked++;
        const headers = { 'Mcp-Frame': 'err', 'Mcp-Owner': 'evil run-evil' };
        evil.publish({ subject: reply, headers, data: errorResponse('1', '{"code":-32010,"message":"What?"}') });
      });
    const connection = world.home('laptop').open(undefined);
    connection.call(1, {});
    world.advance(60_000, 1000);
    expect(done(connection, 1)).toEqual(['Server tools cannot be reached: host evil forgets what it is asked']);
    expect(asked).toBe(2);
  });
});
