// An owner that has begun a call, by its own word, and says later that it has not: it is not believed, so a tool that may do harm twice runs nowhere else.

import { describe, expect, test } from 'vitest';
import { type Asked, FederationWorld } from '../../support/federation-world.ts';

const REFUSALS = [-32010, -32011, -32012, -32020, -32600, -32603];

interface Forged {
  readonly frame: string;
  readonly seq?: string;
  readonly fence?: string;
  readonly body?: object;
}

/** An owner that answers by hand, beside an honest one that nobody may take the call to. */
function dishonestOwner() {
  const world = new FederationWorld();
  const honest: Asked[] = [];
  const two = world.owner('two', (asked) => honest.push(asked));
  two.owner.takeNoMore();
  world.runs.set('one', 'run-one');
  const evil = world.bus.node();
  const heard: string[] = [];
  const requests: string[] = [];
  const isOfOne = (name: string): void => {
    evil.subscribe(`mcp.v1.req.acme.*.${name}.>`, ({ reply = '', headers }) => {
      if (headers['Mcp-Again'] === undefined && reply !== '') requests.push(reply);
    });
  };
  for (const name of ['tools', 'tools-at-one']) isOfOne(name);
  evil.subscribe('mcp.v1.host.acme.*.one.>', ({ headers }) => {
    if (headers['Mcp-Begin'] !== undefined) heard.push(headers['Mcp-Begin']);
  });
  const say = ({ frame, seq, fence, body }: Forged, run = 'run-one'): void => {
    const headers = {
      ...{ 'Mcp-Frame': frame, 'Mcp-Owner': `one ${run}` },
      ...(seq !== undefined && { 'Mcp-Seq': seq }),
      ...(fence !== undefined && { 'Mcp-Fence': fence }),
    };
    const data = body === undefined ? new Uint8Array(0) : Buffer.from(JSON.stringify({ jsonrpc: '2.0', ...body }));
    evil.publish({ subject: requests.at(-1) ?? '', headers, data });
    world.settle();
  };
  const refuse = (code: number, more: Omit<Forged, 'frame'> = {}): void =>
    say({ frame: 'err', body: { id: 1, error: { code, message: 'It was not begun' } }, ...more });
  return { world, honest, two, heard, requests, say, refuse, home: world.home('laptop') };
}

const UNKNOWN = { data: { code: 'OUTCOME_UNKNOWN' } };

describe('an owner that has said that it began', () => {
  test.each(REFUSALS)('and then answers %i, where it has the lease, is not believed', async (code) => {
    const { world, home, requests, say, refuse } = dishonestOwner();
    const connection = home.open(undefined, { host: 'one', fence: 3 });
    connection.call(1, {});
    say({ frame: 'ack', fence: '3' });
    refuse(code);
    await world.passed(() => connection.endedBy !== undefined);
    world.advance(1000);
    // The core says of what is not handed back that its outcome is unknown, and only that.
    expect(connection.endedBy).toBeDefined();
    expect([connection.returned, connection.came, connection.connection.failure]).toEqual([[], [], undefined]);
    expect(requests).toHaveLength(1);
  });

  test.each(REFUSALS)('and then answers %i, as the host that was named, is not believed', async (code) => {
    const { world, home, say, refuse } = dishonestOwner();
    const connection = home.open('one');
    connection.call(1, {});
    say({ frame: 'ack' });
    refuse(code);
    await world.passed(() => connection.endedBy !== undefined);
    expect(connection.endedBy).toBeDefined();
    expect([connection.returned, connection.came, connection.connection.failure]).toEqual([[], [], undefined]);
  });

  test.each(REFUSALS)('and then answers %i, as any of several, is not believed: no other one has the call', (code) => {
    const { world, home, honest, two, say, refuse } = dishonestOwner();
    const connection = home.open(undefined);
    connection.call(1, {});
    say({ frame: 'ka' });
    say({ frame: 'ack' });
    two.owner.offer([{ name: 'tools', isForAny: true }]);
    refuse(code);
    world.advance(40_000);
    expect(honest).toEqual([]);
    expect(connection.answersTo(1).map(({ error }) => error)).toMatchObject([UNKNOWN]);
  });

  test('and was told that it may, and then has too much to do, is not believed', () => {
    const { world, home, honest, two, heard, say, refuse } = dishonestOwner();
    const connection = home.open(undefined);
    connection.call(1, {});
    say({ frame: 'ka' });
    expect(heard).toEqual(['run-one']);
    two.owner.offer([{ name: 'tools', isForAny: true }]);
    refuse(-32603);
    world.advance(40_000);
    expect(honest).toEqual([]);
    expect(connection.answersTo(1).map(({ error }) => error)).toMatchObject([UNKNOWN]);
    expect(world.refused).toEqual(['one: it has begun a call, and then refused it']);
  });

  test.each([
    ['says so before it may', { frame: 'ack' }],
    [
      'gives news of the call before it may begin',
      { frame: 'msg', seq: '1', body: { method: 'notifications/progress', params: { progressToken: 1, progress: 1 } } },
    ],
  ])('%s, and falls silent: no other one has the call', (_, frame) => {
    const { world, home, honest, two, say } = dishonestOwner();
    const connection = home.open(undefined);
    connection.call(1, {});
    say(frame);
    two.owner.offer([{ name: 'tools', isForAny: true }]);
    world.advance(60_000);
    expect(honest).toEqual([]);
    expect(connection.answersTo(1).map(({ error }) => error)).toMatchObject([UNKNOWN]);
  });

  test('is started again, and its next run says that it does not serve it: no other one has the call', () => {
    const { world, home, honest, two, say } = dishonestOwner();
    const connection = home.open(undefined);
    connection.call(1, {});
    say({ frame: 'ack' });
    two.owner.offer([{ name: 'tools', isForAny: true }]);
    say({ frame: 'err', body: { id: 1, error: { code: -32603, message: 'Too much' } } }, 'run-later');
    world.advance(40_000);
    expect(honest).toEqual([]);
    expect(connection.answersTo(1).map(({ error }) => error)).toMatchObject([UNKNOWN]);
  });

  test.each([-32010, -32011, -32020])('and then ends the call with %i as its answer is not believed', async (code) => {
    const { world, home, say, refuse } = dishonestOwner();
    const connection = home.open('one');
    connection.call(1, {});
    say({ frame: 'ack' });
    refuse(code, { seq: '1' });
    await world.passed(() => connection.endedBy !== undefined);
    expect(connection.endedBy).toBeDefined();
    expect([connection.returned, connection.came, connection.connection.failure]).toEqual([[], [], undefined]);
  });

  test('and cannot send its long answer says so, and is believed', () => {
    const { home, say, refuse } = dishonestOwner();
    const connection = home.open('one');
    connection.call(1, {});
    say({ frame: 'ack' });
    refuse(-32012, { seq: '1' });
    expect(connection.answersTo(1).map(({ error }) => error?.code)).toEqual([-32012]);
  });

  test('is heard further where NATS does not let the request be sent once more', () => {
    const { world, home, say } = dishonestOwner();
    const connection = home.open('one');
    connection.call(1, {});
    say({ frame: 'ack' });
    connection.connection.denied('mcp.v1.req.acme.ann.tools-at-one.tools.call.work');
    expect(connection.came).toEqual([]);
    say({ frame: 'end', seq: '1', body: { id: 1, result: { text: 'done' } } });
    world.settle();
    expect(connection.answersTo(1).map(({ result }) => result?.text)).toEqual(['done']);
  });
});

test('a call that was sent twice, the second time in vain, may have been done', async () => {
  const { world, home, requests } = dishonestOwner();
  const connection = home.open('one');
  connection.call(1, {});
  world.advance(3000);
  connection.connection.denied('mcp.v1.req.acme.ann.tools-at-one.tools.call.work');
  await world.passed(() => connection.endedBy !== undefined);
  expect([requests.length, connection.returned, connection.came]).toEqual([1, [], []]);
  expect(connection.connection.failure).toBeUndefined();
});

describe('an owner that has no room for a request that it was sent twice', () => {
  test.each([-32603, -32012])('may begin the second one: its answer counts, and not %i', (code) => {
    const { world, home, requests, say, refuse } = dishonestOwner();
    const connection = home.open('one');
    connection.call(1, {});
    world.advance(3000);
    refuse(code);
    expect(connection.came).toEqual([]);
    say({ frame: 'end', seq: '1', body: { id: 1, result: { content: [] } } });
    expect(connection.answersTo(1)).toMatchObject([{ result: { content: [] } }]);
    expect(requests).toHaveLength(1);
  });

  test('and refuses it again and again: nobody knows the outcome', async () => {
    const { world, home, refuse } = dishonestOwner();
    const connection = home.open('one');
    connection.call(1, {});
    world.advance(3000);
    for (let i = 0; i < 5; i++) refuse(-32603);
    await world.passed(() => connection.endedBy !== undefined);
    expect(connection.endedBy).toBeDefined();
    expect([connection.returned, connection.came]).toEqual([[], []]);
  });

  test('is believed where it was sent once', () => {
    const { home, refuse } = dishonestOwner();
    const connection = home.open('one');
    connection.call(1, {});
    refuse(-32603);
    expect(connection.answersTo(1)).toMatchObject([{ error: { code: -32603 } }]);
  });
});
