// Calls between a home and owners on a bus in the process: what each side promises, while the bus does what it wants.

import { describe, expect, test } from 'vitest';
import { FrameReceiver } from '../../../src/federation/frame-receiver.ts';
import { errorResponse, WINDOW_BYTES } from '../../../src/federation/frames.ts';
import { controlSubject } from '../../../src/federation/subject.ts';
import type { Limits } from '../../../src/model/limits.ts';
import { ReadPacer } from '../../../src/wire/read-pacer.ts';
import { type Asked, FederationWorld, isControl, META } from '../../support/federation-world.ts';

const echo = (asked: Asked): void => asked.answer({ text: (asked.params.arguments as { text?: string }).text ?? '' });

test('a call comes to its owner with who asks, and its answer comes back', () => {
  const world = new FederationWorld();
  const seen: Asked[] = [];
  world.owner('builder', (asked) => {
    seen.push(asked);
    echo(asked);
  });
  const connection = world.home('laptop').open('builder');
  connection.call(1, { text: 'hello' });
  expect(connection.answersTo(1)).toEqual([{ jsonrpc: '2.0', id: 1, result: { text: 'hello' } }]);
  expect(seen[0]?.principal).toMatchObject({ kind: 'bus', tenant: 'acme', user: 'ann', host: 'laptop' });
});

test('progress comes before the answer, in its order', () => {
  const world = new FederationWorld();
  world.owner('builder', (asked) => {
    asked.progress(1);
    asked.progress(2);
    asked.answer({ text: 'done' });
  });
  const connection = world.home('laptop').open('builder');
  connection.call(1, {});
  expect(connection.came.map(({ params, result }) => params?.progress ?? result?.text)).toEqual([1, 2, 'done']);
});

test('of many short calls none is acknowledged, and a long one is', () => {
  const world = new FederationWorld();
  const open: Asked[] = [];
  world.owner('builder', (asked) => open.push(asked));
  const connection = world.home('laptop').open('builder');
  connection.call(1, {});
  for (let id = 2; id <= 12; id++) {
    connection.call(id, {});
    world.advance(15, 5);
    open.pop()?.answer({ text: `${id}` });
    world.settle();
  }
  const acked = world.bus.published.filter(({ headers }) => headers['Mcp-Frame'] === 'ack');
  const [first] = world.bus.published;
  expect(acked.map(({ subject }) => subject)).toEqual([first?.reply]);
});

test('an answer that waits for its reader outlives hundreds of short ones of the same client', () => {
  const world = new FederationWorld();
  const text = 'x'.repeat(3 * WINDOW_BYTES);
  world.owner('builder', (asked) => asked.answer({ text: asked.id === '1' ? text : 'short' }));
  const connection = world.home('laptop').open('builder');
  let isStanding = true;
  world.bus.fateOf = ({ headers }) => ({ isLost: isStanding && headers['Mcp-Credit'] !== undefined });
  connection.call(1, {});
  for (let id = 2; id <= 600; id++) connection.call(id, {});
  isStanding = false;
  world.advance(5000);
  expect(connection.answersTo(1).map(({ result }) => result?.text === text)).toEqual([true]);
  expect(connection.answersTo(600)).toHaveLength(1);
});

test('frames that wait keep no more memory than they have bytes', () => {
  let body: Uint8Array = Buffer.alloc(0);
  const receiver = new FrameReceiver({
    mostBytes: 100,
    message: (_, whole) => {
      body = whole;
    },
    grant: () => undefined,
  });
  const chunk = Buffer.alloc(64 * 1024, 'a');
  receiver.take('end', { 'Mcp-Seq': '3' }, chunk.subarray(0, 10));
  receiver.take('part', { 'Mcp-Seq': '1' }, chunk.subarray(10, 20));
  chunk.fill('b'); // whoever kept the chunk would see it
  receiver.take('part', { 'Mcp-Seq': '2' }, Buffer.alloc(10, 'a'));
  expect(body.toString()).toBe('a'.repeat(30));
});

test('a call of a host that says goodbye is answered, and what is not asked any more ends', () => {
  const world = new FederationWorld();
  const open: Asked[] = [];
  const owner = world.owner('builder', (asked) => open.push(asked));
  const home = world.home('laptop');
  const connection = home.open('builder');
  const idle = home.open('builder');
  idle.call(1, {});
  open.pop()?.answer({ text: 'early' });
  world.settle();
  connection.call(2, {});
  owner.owner.hostLeft('laptop', 'run-laptop');
  world.settle();
  expect(owner.owner.load.streams).toBe(1);
  open.pop()?.answer({ text: 'late' });
  world.settle();
  expect(connection.answersTo(2)).toEqual([{ jsonrpc: '2.0', id: 2, result: { text: 'late' } }]);
});

test('calls of a run that has said goodbye end after a while, and what its next run asks goes on', () => {
  const world = new FederationWorld();
  const open: Asked[] = [];
  const owner = world.owner('builder', (asked) => open.push(asked));
  const home = world.home('laptop');
  home.open('builder').call(1, {});
  owner.owner.hostLeft('laptop', 'run-laptop');
  world.runs.set('laptop', 'another run');
  const after = home.open('builder');
  after.call(2, {});
  world.advance(world.limits.resumeGraceMs - 1000, 1000);
  expect(owner.owner.load).toEqual({ streams: 2, calls: 2 }); // the run before may wait for its answer
  world.advance(2000, 1000);
  expect(owner.owner.load).toEqual({ streams: 1, calls: 1 });
  open[1]?.answer({ text: 'late' });
  world.settle();
  expect(after.answersTo(2)).toEqual([{ jsonrpc: '2.0', id: 2, result: { text: 'late' } }]);
});

test('a run that has asked before anybody has heard that it replaces another one goes on', () => {
  const world = new FederationWorld();
  const open: Asked[] = [];
  const owner = world.owner('builder', (asked) => open.push(asked));
  world.home('laptop').open('builder').call(1, {}); // its daemon is killed, and started again
  const after = world.home('laptop').open('builder');
  after.call(2, {});
  world.runs.set('laptop', 'another run');
  owner.owner.hostLeft('laptop', 'run-laptop');
  world.settle();
  expect(owner.owner.load).toEqual({ streams: 2, calls: 2 });
  after.call(3, {});
  world.advance(world.limits.resumeGraceMs + 1000, 1000);
  expect(owner.owner.load).toEqual({ streams: 1, calls: 2 });
  for (const asked of open) asked.answer({ text: 'late' });
  world.settle();
  expect([2, 3].map((id) => after.answersTo(id).length)).toEqual([1, 1]);
});

test('calls of a host whose entry was away for a moment go on', () => {
  const world = new FederationWorld();
  const owner = world.owner('builder', () => undefined);
  world.home('laptop').open('builder').call(1, {});
  owner.owner.hostLeft('laptop', 'run-laptop');
  world.advance(2 * world.limits.resumeGraceMs, 1000);
  expect(owner.owner.load).toEqual({ streams: 1, calls: 1 });
});

test('hundreds of calls wait for a core that reads nothing for a moment, and none is refused', () => {
  const world = new FederationWorld();
  const owner = world.owner('one', ({ answer }) => answer({}));
  const connection = world.home('laptop').open('one');
  connection.call(1, {});
  const [link] = owner.links;
  link?.pause();
  for (let id = 2; id <= 300; id++) connection.call(id, {});
  world.settle();
  expect(connection.came).toHaveLength(1);
  link?.resume();
  world.settle();
  expect(connection.came.filter(({ result }) => result !== undefined)).toHaveLength(300);
});

test('large requests and large answers go in parts', () => {
  const world = new FederationWorld();
  world.owner('builder', echo);
  const connection = world.home('laptop').open('builder');
  const text = 'x'.repeat(5 << 20);
  connection.call(1, { text });
  expect(connection.answersTo(1).map(({ result }) => result?.text === text)).toEqual([true]);
  expect(Math.max(...world.bus.published.map(({ data }) => data.length))).toBeLessThanOrEqual(256 * 1024);
});

test('a long answer goes on within two seconds when the credit for it is lost', () => {
  const text = 'x'.repeat(WINDOW_BYTES + 100);
  const world = new FederationWorld();
  world.owner('builder', (asked) => asked.answer({ text }));
  const connection = world.home('laptop').open('builder');
  let isLosing = true;
  world.bus.fateOf = ({ subject, headers }) => ({
    isLost: isLosing && isControl(subject) && headers['Mcp-Got'] !== undefined,
  });
  connection.call(1, {});
  expect(connection.answersTo(1)).toEqual([]);
  isLosing = false;
  world.advance(2000);
  expect(connection.answersTo(1).map(({ result }) => result?.text === text)).toEqual([true]);
  const parts = world.bus.published.filter(({ headers }) => headers['Mcp-Frame'] === 'part');
  expect(parts).toHaveLength(4); // none was sent twice
});

test('another user, who knows the subject of the answers, cancels nothing', () => {
  const world = new FederationWorld();
  const open: Asked[] = [];
  world.owner('builder', (asked) => open.push(asked));
  const connection = world.home('laptop').open('builder');
  connection.call(1, {});
  world.advance(1000);
  const reply = world.bus.published.find((message) => message.reply !== undefined)?.reply ?? '';
  const say = (user: string): void => {
    const subject = controlSubject({ tenant: 'acme', user, host: 'builder' }, reply);
    world.bus.node().publish({ subject, headers: {}, data: Buffer.alloc(0) });
    world.settle();
  };
  say('bob');
  expect(open[0]?.isCancelled).toBe(false);
  say('ann');
  expect(open[0]?.isCancelled).toBe(true);
});

test('a cancelled call ends at its owner, and nothing comes back', () => {
  const world = new FederationWorld();
  const open: Asked[] = [];
  world.owner('builder', (asked) => open.push(asked));
  const home = world.home('laptop');
  const connection = home.open('builder');
  connection.call(1, {});
  connection.cancel(1);
  world.advance(1000); // the owner says that it has begun, and hears it then
  expect(open[0]?.isCancelled).toBe(true);
  expect(connection.came).toEqual([]);
  world.advance(20_000);
  expect(home.home.openCalls).toBe(0);
});

test('a host that nobody has heard of fails at once', () => {
  const world = new FederationWorld();
  const connection = world.home('laptop').open('nowhere');
  connection.call(1, {});
  expect(connection.answersTo(1)[0]?.error).toMatchObject({ data: { code: 'SERVER_UNREACHABLE' } });
});

test('a host that is there and takes no calls for the server is not said to be away', () => {
  const world = new FederationWorld();
  world.runs.set('builder', 'run-builder');
  const connection = world.home('laptop').open('builder');
  connection.call(1, {});
  expect(connection.answersTo(1)[0]?.error?.message).toContain(
    'Server tools@builder cannot be reached: host builder takes no calls for it',
  );
});

test('without a bus a call fails at once', () => {
  const world = new FederationWorld();
  world.owner('builder', echo);
  const home = world.home('laptop');
  const connection = home.open('builder');
  home.node.connect(false);
  connection.call(1, {});
  expect(connection.answersTo(1)[0]?.error?.message).toContain('NATS is away');
});

test('an answer that comes while the home is away is delivered once when it is back', () => {
  const world = new FederationWorld();
  const open: Asked[] = [];
  world.owner('builder', (asked) => open.push(asked));
  const home = world.home('laptop');
  const connection = home.open('builder');
  connection.call(1, {});
  world.advance(1000);
  home.node.connect(false);
  open[0]?.answer({ text: 'late' });
  world.advance(10_000);
  expect(connection.came).toEqual([]);
  home.node.connect(true);
  world.settle();
  world.advance(20_000);
  expect(connection.answersTo(1)).toEqual([{ jsonrpc: '2.0', id: 1, result: { text: 'late' } }]);
  expect(open).toHaveLength(1);
});

test('an owner that is started again knows nothing of a call: nobody knows its outcome', async () => {
  const world = new FederationWorld();
  const begun: Asked[] = [];
  const first = world.owner('builder', (asked) => begun.push(asked), 'run-1');
  const connection = world.home('laptop').open('builder');
  connection.call(1, {});
  world.advance(1000);
  first.node.connect(false);
  world.owner('builder', (asked) => begun.push(asked), 'run-2');
  world.advance(20_000);
  await connection.connection.ended;
  expect(connection.endedBy).toMatch(/does not know the call|restarted/);
  expect(begun).toHaveLength(1);
});

test('an owner that says nothing any more ends the connection within 20 s', async () => {
  const world = new FederationWorld();
  world.owner('builder', () => undefined);
  const connection = world.home('laptop').open('builder');
  connection.call(1, {});
  world.advance(1000);
  world.bus.fateOf = ({ headers }) => ({ isLost: headers['Mcp-Owner'] !== undefined });
  world.advance(20_000);
  await connection.connection.ended;
  expect(connection.endedBy).toContain('has said nothing for 15 s');
});

test('a call that takes long is kept alive', () => {
  const world = new FederationWorld();
  const open: Asked[] = [];
  world.owner('builder', (asked) => open.push(asked));
  const connection = world.home('laptop').open('builder');
  connection.call(1, {});
  world.advance(120_000);
  open[0]?.answer({ text: 'after two minutes' });
  world.settle();
  expect(connection.answersTo(1)[0]?.result?.text).toBe('after two minutes');
  expect(open).toHaveLength(1);
});

test('a reader that stands still has at most a window of each call, and holds up no other', () => {
  const world = new FederationWorld();
  world.owner('builder', echo);
  const home = world.home('laptop');
  const slow = home.open('builder');
  const quick = home.open('builder');
  slow.connection.pause();
  slow.call(1, { text: 'x'.repeat(6 << 20) });
  const sent = world.bus.published.filter(({ headers }) => headers['Mcp-Owner'] !== undefined);
  expect(sent.reduce((sum, { data }) => sum + data.length, 0)).toBeLessThanOrEqual(WINDOW_BYTES);
  quick.call(1, { text: 'quick' });
  expect(quick.answersTo(1)[0]?.result?.text).toBe('quick');
  world.advance(120_000); // the owner keeps the rest for a caller that shows that it is there
  slow.connection.resume();
  world.settle();
  expect(slow.answersTo(1)[0]?.result?.text).toHaveLength(6 << 20);
});

test('any owner may take a call of a server by its name alone', () => {
  const world = new FederationWorld();
  const took: string[] = [];
  for (const host of ['one', 'two'])
    world.owner(host, (asked) => {
      took.push(host);
      asked.answer({ text: host });
    });
  const connection = world.home('laptop').open(undefined);
  for (let id = 1; id <= 20; id++) connection.call(id, {});
  expect(connection.came).toHaveLength(20);
  expect(new Set(took)).toEqual(new Set(['one', 'two']));
});

/** Two owners of one server, a home with a connection to any of them, and the calls that came to each. */
function twoOwners() {
  const world = new FederationWorld();
  const came = { one: [] as Asked[], two: [] as Asked[] };
  const one = world.owner('one', (asked) => came.one.push(asked));
  const two = world.owner('two', (asked) => came.two.push(asked));
  const home = world.home('laptop');
  const connection = home.open(undefined);
  const all = (): Asked[] => [...came.one, ...came.two].filter(({ method }) => method === 'tools/call');
  return { world, came, one, two, home, connection, all };
}

describe('a server by its name alone', () => {
  test('a safe call whose owner dies is made once more by another one', () => {
    const { world, came, one, two, connection, all } = twoOwners();
    connection.safe.add('1');
    connection.call(1, {});
    world.advance(1000);
    (came.one.length > 0 ? one : two).node.connect(false);
    world.advance(20_000);
    expect(all()).toHaveLength(2);
    all()
      .find((asked) => (came.one.length > 0 ? came.two : came.one).includes(asked))
      ?.answer({ text: 'the other one' });
    for (const asked of all()) asked.answer({ text: 'answered' });
    world.settle();
    expect(connection.answersTo(1)).toHaveLength(1);
    expect(connection.answersTo(1)[0]?.result).toBeDefined();
  });

  test('a safe call that is lost twice ends', () => {
    const { world, one, two, connection } = twoOwners();
    connection.safe.add('1');
    connection.call(1, {});
    world.advance(1000);
    world.bus.fateOf = ({ headers }) => ({
      isLost: headers['Mcp-Owner'] !== undefined && headers['Mcp-Frame'] !== 'ack',
    });
    world.advance(2000);
    for (const { node } of [one, two]) world.clock.after(9000, () => node.connect(false));
    world.advance(60_000);
    expect(connection.answersTo(1)[0]?.error?.data?.code).toMatch(/OUTCOME_UNKNOWN|SERVER_UNREACHABLE/);
  });

  test('a call that has begun, and may do harm twice, is made by no other owner', () => {
    const { world, came, one, two, connection, all } = twoOwners();
    connection.call(1, {});
    world.advance(1000);
    (came.one.length > 0 ? one : two).node.connect(false);
    world.advance(40_000);
    expect(all()).toHaveLength(1);
    expect(connection.answersTo(1)[0]?.error?.data?.code).toBe('OUTCOME_UNKNOWN');
    expect(connection.endedBy).toBeUndefined();
  });

  test('calls that come to an owner that stands still go to another one, and it begins none of them later', () => {
    const { world, came, one, connection, all } = twoOwners();
    one.node.isFrozen = true;
    for (let id = 1; id <= 10; id++) connection.call(id, { key: id });
    world.advance(12_000);
    expect(came.one).toEqual([]);
    for (const asked of came.two) asked.answer({ text: 'done' });
    world.settle();
    expect(connection.came.filter(({ result }) => result?.text === 'done')).toHaveLength(10);
    one.node.isFrozen = false;
    world.advance(60_000);
    expect(all()).toHaveLength(10);
    expect(new Set(all().map(({ params }) => (params.arguments as { key: number }).key)).size).toBe(10);
    expect(one.owner.load.calls).toBe(0);
  });

  test('a call that nobody takes ends with the reason, and was certainly not made', () => {
    const { world, one, two, connection, all } = twoOwners();
    for (const { node } of [one, two]) node.isFrozen = true;
    connection.call(1, {});
    world.advance(30_000);
    expect(connection.answersTo(1)[0]?.error).toMatchObject({ data: { code: 'SERVER_UNREACHABLE' } });
    for (const { node } of [one, two]) node.isFrozen = false;
    world.advance(30_000);
    expect(all()).toEqual([]);
  });

  test('a call that is cancelled before it was begun is never begun', () => {
    const { world, one, two, home, connection, all } = twoOwners();
    for (const { node } of [one, two]) node.isFrozen = true;
    connection.call(1, {});
    connection.cancel(1);
    for (const { node } of [one, two]) node.isFrozen = false;
    world.advance(30_000);
    expect(all()).toEqual([]);
    expect(home.home.openCalls).toBe(0);
  });

  test('an owner with too much to do turns a call away, and another one takes it', () => {
    const { world, came, one, connection } = twoOwners();
    one.owner.takeNoMore();
    const busy = world.bus.node();
    let asked = 0;
    busy.subscribe(
      'mcp.v1.req.acme.*.tools.>',
      ({ reply = '' }) => {
        asked++;
        const headers = { 'Mcp-Frame': 'err', 'Mcp-Owner': 'one run-one' };
        busy.publish({ subject: reply, headers, data: errorResponse('1', '{"code":-32603,"message":"Too much"}') });
      },
      { queue: 'tools' },
    );
    connection.call(1, {});
    connection.call(2, {});
    expect([asked, came.two.length, connection.came]).toEqual([1, 2, []]);
  });

  test('the retry of a call goes to the owner that has asked, with its own request state', () => {
    const { world, came, connection, all } = twoOwners();
    for (let id = 1; id <= 6; id++) {
      connection.call(id, { id });
      const [asked] = all().slice(-1);
      const host = asked !== undefined && came.one.includes(asked) ? 'one' : 'two';
      all()[all().length - 1]?.answer({ resultType: 'input_required', inputRequests: {}, requestState: `of ${host}` });
      world.settle();
      const requestState = connection.stateOf(id);
      expect(requestState).not.toBe(`of ${host}`);
      const before = came[host].length;
      const params = { name: 'work', arguments: { id }, requestState, inputResponses: {}, _meta: META };
      connection.write({ jsonrpc: '2.0', id: 100 + id, method: 'tools/call', params });
      expect(came[host]).toHaveLength(before + 1);
      expect(came[host].at(-1)?.params.requestState).toBe(`of ${host}`);
      if (id === 3) connection.list(200); // it takes a turn at the owners, so that the calls after it come to the other one
    }
  });

  test('a retry whose owner is gone goes to no other one', () => {
    const { world, came, one, two, connection, all } = twoOwners();
    connection.call(1, {});
    const isOne = came.one.length > 0;
    all()[0]?.answer({ resultType: 'input_required', inputRequests: {}, requestState: 's' });
    world.settle();
    const requestState = connection.stateOf(1);
    (isOne ? one : two).node.connect(false);
    const params = { name: 'work', arguments: {}, requestState, inputResponses: {}, _meta: META };
    connection.write({ jsonrpc: '2.0', id: 2, method: 'tools/call', params });
    world.advance(30_000);
    expect(all()).toHaveLength(1);
    expect(connection.answersTo(2)[0]?.error?.message).toContain(isOne ? 'host one' : 'host two');
  });

  test.each(['nobody', '../x', '', 'x'.repeat(80), 'one two', 'é'])(
    'a request state that names the host %j is no way to anybody else',
    (host) => {
      const { connection, all } = twoOwners();
      const requestState = `mcp-bridge@${host}~s`;
      const params = { name: 'work', arguments: {}, requestState, inputResponses: {}, _meta: META };
      connection.write({ jsonrpc: '2.0', id: 1, method: 'tools/call', params });
      if (host === 'nobody')
        expect(connection.answersTo(1)[0]?.error?.message).toContain('host nobody is not there, or may not be used');
      else expect(all()[0]?.params.requestState).toBe(requestState);
    },
  );

  test('a host that may not be used is asked nothing, by no way', () => {
    const { world, came, one, connection } = twoOwners();
    world.unused.add('two');
    for (let id = 1; id <= 6; id++) connection.call(id, {});
    connection.list(7);
    const params = { name: 'work', arguments: {}, requestState: 'mcp-bridge@two~s', inputResponses: {}, _meta: META };
    connection.write({ jsonrpc: '2.0', id: 8, method: 'tools/call', params });
    expect(connection.answersTo(8)[0]?.error?.message).toContain('host two is not there, or may not be used');
    expect([came.one.length, came.two.length]).toEqual([7, 0]);
    one.node.isFrozen = true;
    connection.call(9, {});
    world.advance(30_000);
    expect(came.two).toEqual([]);
    expect(connection.answersTo(9)[0]?.error?.data?.code).toBe('SERVER_UNREACHABLE');
  });

  test('requests about a task go to the owner that works on it', () => {
    const { world, came, connection, all } = twoOwners();
    for (let id = 1; id <= 6; id++) {
      connection.call(id, {});
      const [asked] = all().slice(-1);
      const host = asked !== undefined && came.one.includes(asked) ? 'one' : 'two';
      asked?.answer({ resultType: 'task', taskId: `task ${id}`, status: 'working', ttlMs: 1000 });
      world.settle();
      const before = came[host].length;
      connection.write({
        jsonrpc: '2.0',
        id: 100 + id,
        method: 'tasks/get',
        params: { taskId: `task ${id}`, _meta: META },
      });
      expect(came[host].slice(before).map(({ method }) => method)).toEqual(['tasks/get']);
    }
  });

  test('whoever listens hears that its owner is gone, and is not moved to another one unawares', () => {
    const { world, came, one, two, connection } = twoOwners();
    const params = { notifications: { toolsListChanged: true }, _meta: META };
    connection.write({ jsonrpc: '2.0', id: 1, method: 'subscriptions/listen', params });
    world.advance(1000);
    (came.one.length > 0 ? one : two).node.connect(false);
    world.advance(30_000);
    expect(came.one.length + came.two.length).toBe(1);
    expect(connection.answersTo(1)[0]?.error).toBeDefined();
  });
});

describe('a server that one host serves at a time', () => {
  function leased() {
    const world = new FederationWorld();
    const open: Asked[] = [];
    const one = world.owner('one', (asked) => open.push(asked));
    one.fence = 3;
    const home = world.home('laptop');
    return { world, open, one, home, connection: home.open(undefined, { host: 'one', fence: 3 }) };
  }

  test('a call goes to the host with the lease, and its frames have the number', () => {
    const { world, open, connection } = leased();
    connection.call(1, {});
    open[0]?.answer({ text: 'mine' });
    world.settle();
    expect(connection.answersTo(1)[0]?.result?.text).toBe('mine');
    const answers = world.bus.published.filter(({ headers }) => headers['Mcp-Seq'] !== undefined);
    expect(answers.map(({ headers }) => headers['Mcp-Fence'])).toEqual(['3']);
  });

  test.each([undefined, 2, 4])(
    'an owner whose lease is %j begins nothing, and the call is made elsewhere',
    async (fence) => {
      const { open, one, connection } = leased();
      one.fence = fence;
      connection.call(1, {});
      await connection.connection.ended;
      expect([open, connection.returned, connection.came]).toEqual([[], [1], []]);
    },
  );

  test.each(['the owner', 'the lease'])(
    '%s says that another host serves it: what waits may be called again',
    async (who) => {
      const { one, home, connection } = leased();
      if (who === 'the owner') {
        one.fence = 4;
        connection.call(1, {});
      } else home.home.leaseChanged('tools', { host: 'two', fence: 4 });
      await connection.connection.ended;
      const { code, message } = connection.connection.failure ?? {};
      expect(code).toBe('SERVER_UNREACHABLE');
      expect(message).toMatch(/^Server tools is (?:not )?served by .*; nothing was carried out: call it again$/);
    },
  );

  test.each([1, 2])(
    'the word that another host serves it counts for attempt %i only if it is the first',
    async (attempt) => {
      const { world, connection } = leased();
      world.bus.fateOf = ({ headers }) => (headers['Mcp-Call'] === undefined ? {} : { isLost: true });
      connection.call(1, {});
      const requests = () => world.bus.published.filter(({ headers }) => headers['Mcp-Call'] !== undefined);
      for (let i = 0; i < 30 && requests().length < attempt; i++) world.advance(100);
      expect(requests()).toHaveLength(attempt);
      const error = { code: -32011, message: 'Host builder does not serve tools now' };
      world.bus.node().publish({
        subject: requests()[0]?.reply ?? '',
        headers: { 'Mcp-Frame': 'err', 'Mcp-Owner': 'one run-one' },
        data: Buffer.from(JSON.stringify({ jsonrpc: '2.0', id: 1, error })),
      });
      world.settle();
      await connection.connection.ended;
      expect(connection.returned).toEqual(attempt === 1 ? [1] : []);
      // The core says of what is not handed back that its outcome is unknown.
      expect(connection.connection.failure?.code).toBe(attempt === 1 ? 'SERVER_UNREACHABLE' : undefined);
    },
  );

  test('a request in parts is not begun if the lease is over when it is whole, and is made elsewhere', () => {
    const { world, open, one, connection } = leased();
    world.bus.fateOf = ({ subject }) => ({ delayMs: isControl(subject) ? 500 : 0 });
    connection.call(1, { text: 'x'.repeat(600_000) });
    one.fence = undefined;
    world.advance(3000);
    expect([open, connection.returned, connection.came]).toEqual([[], [1], []]);
  });

  test('a frame with another number is no answer', () => {
    const { world, open, connection } = leased();
    connection.call(1, {});
    const reply = world.bus.published.find(({ reply: to }) => to !== undefined)?.reply ?? '';
    const forger = world.bus.node();
    for (const fence of ['2', '4', undefined, 'x'])
      forger.publish({
        subject: reply,
        headers: {
          ...{ 'Mcp-Frame': 'end', 'Mcp-Seq': '1', 'Mcp-Owner': 'one run-one' },
          ...(fence !== undefined && { 'Mcp-Fence': fence }),
        },
        data: Buffer.from('{"jsonrpc":"2.0","id":1,"result":{"text":"forged"}}'),
      });
    world.settle();
    expect(connection.came).toEqual([]);
    expect(world.refused).toHaveLength(4);
    open[0]?.answer({ text: 'true' });
    world.settle();
    expect(connection.answersTo(1).map(({ result }) => result?.text)).toEqual(['true']);
  });

  test('a late answer of a host that has lost the lease comes to nobody', async () => {
    const { world, open, home, connection } = leased();
    connection.call(1, {});
    home.home.leaseChanged('tools', { host: 'two', fence: 4 });
    await connection.connection.ended;
    expect(connection.endedBy).toContain('is served by host two now');
    open[0]?.answer({ text: 'late' });
    world.advance(5000);
    expect(connection.came).toEqual([]);
  });

  test('a connection that was opened before there was a lease goes on under the first one of its host', () => {
    const { world, open, home } = leased();
    const connection = home.open(undefined, { host: 'one', fence: undefined });
    connection.call(1, {});
    home.home.leaseChanged('tools', { host: 'one', fence: 3 });
    connection.call(2, {});
    for (const asked of open) asked.answer({ text: 'ok' });
    world.settle();
    expect(connection.came).toHaveLength(2);
    const fences = world.bus.published
      .filter(({ reply }) => reply !== undefined)
      .map(({ headers }) => headers['Mcp-Fence']);
    expect(fences).toEqual([undefined, '3']);
  });
});

describe('hostile peers', () => {
  test.each([
    ['none', undefined],
    ['without a run', 'builder'],
    ['longer than a name', `${'a'.repeat(5000)} run`],
    ['of two subjects', 'a.b.> run'],
    ['with too long a run', `one ${'r'.repeat(65)}`],
    ['that is not there', 'elsewhere run'],
  ])('an answer whose owner is %s binds no call', (_, owner) => {
    const { world, one, two, connection, all } = twoOwners();
    for (const { node } of [one, two]) node.isFrozen = true;
    connection.call(1, {});
    const reply = world.bus.published.findLast((message) => message.reply !== undefined)?.reply ?? '';
    const headers = { 'Mcp-Frame': 'ka', ...(owner !== undefined && { 'Mcp-Owner': owner }) };
    world.bus.node().publish({ subject: reply, headers, data: Buffer.alloc(0) });
    world.settle();
    expect(world.refused).toHaveLength(1);
    for (const { node } of [one, two]) node.isFrozen = false;
    world.advance(5000);
    for (const asked of all()) asked.answer({ text: 'true' });
    world.settle();
    expect(connection.answersTo(1)[0]?.result?.text).toBe('true');
    expect(Math.max(...world.bus.published.map(({ subject }) => subject.length))).toBeLessThan(200);
  });

  test('an owner that acks and says no more loses its call, however often the bus comes back', () => {
    const { world, home, connection } = twoOwners();
    connection.call(1, {});
    world.bus.fateOf = ({ headers }) => ({ isLost: headers['Mcp-Owner'] !== undefined });
    for (let i = 0; i < 40; i++) {
      home.node.connect(false);
      world.advance(500);
      home.node.connect(true);
      world.advance(1500);
    }
    expect(connection.answersTo(1)[0]?.error?.data?.code).toBe('OUTCOME_UNKNOWN');
    expect(home.home.openCalls).toBe(0);
  });

  test.each(['0', 'garbage', '', '1e3'])('a request with the lease %j is begun by no owner without one', (fence) => {
    const { world, all } = twoOwners();
    const body = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'work', arguments: {}, _meta: META } };
    const node = world.bus.node();
    const came: string[] = [];
    node.subscribe('_INBOX.raw', ({ headers }) => came.push(headers['Mcp-Frame'] ?? ''));
    node.publish({
      subject: 'mcp.v1.req.acme.ann.tools-at-one.tools.call.work',
      reply: '_INBOX.raw',
      headers: {
        ...{ 'Mcp-Wire': '1', 'Mcp-Method': 'tools/call', 'Mcp-Name': 'work', 'Mcp-Host': 'raw' },
        ...{ 'MCP-Protocol-Version': '2026-07-28', 'Mcp-Fence': fence },
      },
      data: Buffer.from(JSON.stringify(body)),
    });
    world.settle();
    expect([came, all()]).toEqual([['err'], []]);
  });

  test('a caller that asks for the same all the time gets it once in a while', () => {
    const world = new FederationWorld();
    const open: Asked[] = [];
    world.owner('builder', (asked) => open.push(asked));
    const connection = world.home('laptop').open('builder');
    connection.connection.pause();
    connection.call(1, {});
    open[0]?.answer({ text: 'x'.repeat(3 << 20) });
    world.settle();
    const reply = world.bus.published.findLast((message) => message.reply !== undefined)?.reply ?? '';
    const before = world.bus.published.length;
    const raw = world.bus.node();
    for (let i = 0; i < 400; i++)
      raw.publish({
        subject: controlSubject({ tenant: 'acme', user: 'ann', host: 'builder' }, reply),
        headers: { 'Mcp-Got': '0', 'Mcp-Credit': '1048576', 'Mcp-Again': '1' },
        data: Buffer.alloc(0),
      });
    world.settle();
    const sent = world.bus.published.slice(before).reduce((sum, { data }) => sum + data.length, 0);
    expect(sent).toBeLessThanOrEqual(WINDOW_BYTES);
  });

  test('a name that is too long for a header is refused, and nothing is sent', () => {
    const { world, connection } = twoOwners();
    connection.call(1, {}, 'n'.repeat(20_000));
    expect(connection.answersTo(1)[0]?.error?.message).toContain('takes no name or URI of more than 16384 bytes');
    expect(world.bus.published).toEqual([]);
  });

  test('one call that is lost does not end the others of its connection', () => {
    const world = new FederationWorld();
    const open: Asked[] = [];
    world.owner('builder', (asked) => open.push(asked));
    const connection = world.home('laptop').open('builder');
    connection.call(1, {});
    const lost = world.bus.published.find(({ reply }) => reply !== undefined)?.reply;
    world.bus.fateOf = ({ subject }) => ({ isLost: subject === lost });
    connection.call(2, {});
    world.advance(20_000);
    expect(connection.answersTo(1)[0]?.error?.data?.code).toBe('OUTCOME_UNKNOWN');
    expect(connection.endedBy).toBeUndefined();
    open[1]?.answer({ text: 'mine' });
    world.settle();
    expect(connection.answersTo(2)[0]?.result?.text).toBe('mine');
  });

  test('a connection that has ended with a lost call asks for none of the others', async () => {
    const world = new FederationWorld();
    world.owner('builder', () => undefined);
    world.bus.fateOf = ({ headers }) => ({ isLost: headers['Mcp-Owner'] !== undefined });
    const connection = world.home('laptop').open('builder');
    connection.call(1, {});
    world.advance(13_000);
    connection.call(2, {}); // its turn to ask again comes with the end of the first one
    world.advance(10_000);
    await connection.connection.ended;
    const goodbye = world.bus.published.findIndex(
      ({ headers, reply }) => headers['Mcp-Call'] !== undefined && reply === undefined,
    );
    expect(goodbye).toBeGreaterThan(0);
    expect(world.bus.published.slice(goodbye + 1).filter(({ reply }) => reply !== undefined)).toEqual([]);
  });

  test('a connection that ends while its requests go out sends none of the rest', () => {
    const world = new FederationWorld();
    world.owner('builder', () => undefined);
    const { connection } = world.home('laptop').open('builder');
    const write = (message: object): void => {
      connection.outbox.utf8(JSON.stringify({ jsonrpc: '2.0', ...message, params: { name: 'work', _meta: META } }));
      connection.outbox.endFrame();
    };
    write({ id: 'mcp-bridge-discover', method: 'not a token' });
    write({ id: 1, method: 'tools/call' });
    world.settle();
    expect(connection.failure?.message).toContain('has no method');
    expect(world.bus.published).toEqual([]);
  });

  test('a home that was held up reads the answers that have come meanwhile before it takes a call for lost', () => {
    const world = new FederationWorld();
    const open: Asked[] = [];
    world.owner('builder', (asked) => open.push(asked));
    const connection = world.home('laptop').open('builder');
    connection.call(1, {});
    open[0]?.answer({ text: 'in time' });
    world.clock.hold(60_000); // the answer waits at the home's door
    world.settle();
    expect(connection.answersTo(1).map(({ result }) => result?.text)).toEqual(['in time']);
  });

  test('callers that invent hosts take no room from those that are on the list', () => {
    const world = new FederationWorld();
    const owner = world.owner('builder', echo);
    for (let i = 0; i < 300; i++) world.home(`invented-${i}`, 'mallory').open('builder').call(1, { text: 'x' });
    expect(owner.owner.load.streams).toBe(256);
    const connection = world.home('laptop').open('builder');
    connection.call(1, { text: 'hello' });
    expect(connection.answersTo(1)[0]?.result?.text).toBe('hello');
  });

  test('held requests of invented hosts have a bound in all', () => {
    const world = new FederationWorld();
    const owner = world.owner('builder', echo);
    const raw = world.bus.node();
    for (let i = 0; i < 400; i++)
      raw.publish({
        subject: 'mcp.v1.req.acme.mallory.tools-at-builder.tools.call.work',
        reply: `_INBOX.raw.${i}`,
        headers: {
          ...{ 'Mcp-Wire': '1', 'Mcp-Method': 'tools/call', 'Mcp-Name': 'work', 'Mcp-Host': `invented-${i % 6}` },
          ...{ 'Mcp-Accept-Part': '1', 'Mcp-Hold': '1', 'Mcp-Call': `s ${i + 1} 1` },
        },
        data: Buffer.alloc(250_000, 'x'),
      });
    world.settle();
    expect(owner.owner.heldBytes).toBeGreaterThan(60 << 20);
    expect(owner.owner.heldBytes).toBeLessThanOrEqual(64 << 20);
  });

  test('where all streams are used, one on which nothing is under way gives way, and its home loses no call', async () => {
    const world = new FederationWorld();
    const owner = world.owner('builder', echo);
    const first = world.home('host-0', 'bob').open('builder');
    first.call(1, { text: 'x' });
    for (let i = 1; i < 2048; i++) {
      world
        .home(`host-${i % 8}`, i % 2 === 0 ? 'bob' : 'eve')
        .open('builder')
        .call(1, { text: 'x' });
      if (i % 500 === 0) world.advance(1000);
    }
    expect(owner.owner.load.streams).toBe(2048);
    const late = world.home('laptop').open('builder');
    late.call(1, { text: 'hello' });
    expect(late.answersTo(1)[0]?.result?.text).toBe('hello');
    expect(owner.owner.load.streams).toBe(2048);
    first.call(2, { text: 'again' });
    await first.connection.ended;
    expect([first.returned, first.answersTo(2)]).toEqual([[2], []]);
  });
});

test('a host whose streams come and go begins a bounded number of them in a second, and others begin theirs', () => {
  const world = new FederationWorld();
  let begun = 0;
  world.owner('builder', (asked) => {
    begun++;
    echo(asked);
  });
  const home = world.home('laptop');
  const connections = Array.from({ length: 400 }, () => home.open('builder'));
  for (const connection of connections) connection.call(1, { text: 'mine' });
  expect(begun).toBe(256);
  const [answer] = connections[399]?.answersTo(1) ?? [];
  expect(answer?.error).toMatchObject({
    code: -32603,
    message: 'Host laptop begins too many connections at once',
    data: { retryAfterMs: 1000 },
  });
  const desk = world.home('desk').open('builder');
  desk.call(1, { text: 'hello' });
  expect(desk.answersTo(1)[0]?.result?.text).toBe('hello');
  connections[0]?.call(2, { text: 'goes on' });
  expect(connections[0]?.answersTo(2)[0]?.result?.text).toBe('goes on');
  world.advance(2000);
  const later = home.open('builder');
  later.call(1, { text: 'later' });
  expect(later.answersTo(1)[0]?.result?.text).toBe('later');
});

test('a user whose many hosts begin streams begins a bounded number of them in a second, and other users begin theirs', () => {
  const world = new FederationWorld();
  let begun = 0;
  world.owner('builder', (asked) => {
    begun++;
    echo(asked);
  });
  for (let i = 0; i < 800; i++)
    world
      .home(`host-${i % 20}`, 'eve')
      .open('builder')
      .call(1, { text: 'x' });
  expect(begun).toBe(512);
  const one = world.home('host-30', 'eve').open('builder');
  one.call(1, { text: 'x' });
  expect(one.answersTo(1)[0]?.error?.message).toBe('The hosts of user eve begin too many connections at once');
  const desk = world.home('desk', 'bob').open('builder');
  desk.call(1, { text: 'hello' });
  expect(desk.answersTo(1)[0]?.result?.text).toBe('hello');
  world.advance(1000);
  const late = world.home('host-31', 'eve').open('builder');
  late.call(1, { text: 'late' });
  expect(late.answersTo(1)[0]?.result?.text).toBe('late');
});

describe('when requests come faster than they are served', () => {
  /** The owner has no time for any of them in the turn in which they come. */
  function flooded(work: (asked: Asked) => void = echo) {
    const world = new FederationWorld();
    let nowMs = 0;
    let later: (() => void)[] = [];
    world.pacer = new ReadPacer({ now: () => nowMs, defer: (task) => later.push(task) });
    const owner = world.owner('builder', (asked) => {
      nowMs += 0.125;
      work(asked);
    });
    const reader = world.pacer.reader();
    /** Delivers what was sent, in a turn whose time is over. */
    const deliver = (): void =>
      reader.work(() => {
        nowMs += 0.625;
        world.settle();
      });
    const turn = (): void => {
      const tasks = later;
      later = [];
      for (const task of tasks) task();
      world.settle();
    };
    const raw = world.bus.node();
    const send = (host: string, number: number, more: Record<string, string> = {}): void =>
      raw.publish({
        subject: 'mcp.v1.req.acme.ann.tools-at-builder.tools.call.work',
        reply: `_INBOX.${host}.${number}`,
        headers: {
          ...{ 'Mcp-Wire': '1', 'Mcp-Method': 'tools/call', 'Mcp-Name': 'work', 'Mcp-Host': host },
          ...{ 'Mcp-Accept-Part': '1', 'Mcp-Call': `s ${number} 1`, 'MCP-Protocol-Version': '2026-07-28', ...more },
        },
        data: Buffer.from(
          JSON.stringify({
            ...{ jsonrpc: '2.0', id: number, method: 'tools/call' },
            params: { name: 'work', arguments: { text: host }, _meta: META },
          }),
        ),
      });
    const answers = (host: string): string[] =>
      world.bus.published.flatMap(({ subject, data }) =>
        subject.startsWith(`_INBOX.${host}.`) ? Buffer.from(data).toString() : [],
      );
    return { world, owner, deliver, turn, send, answers };
  }

  test('each host has its turn, and what is too much of one is refused before it is begun', () => {
    const asked: string[] = [];
    const { world, owner, deliver, turn, send, answers } = flooded((one) => {
      asked.push(one.principal.host);
      echo(one);
    });
    for (let i = 1; i <= 4000; i++) send('evil', i);
    send('laptop', 1);
    deliver();
    expect([asked, owner.owner.load.streams]).toEqual([[], 0]);
    const refusals = answers('evil');
    expect(refusals).toHaveLength(64);
    expect(refusals[0]).toContain('Too much of host evil waits already');
    turn();
    expect(asked.slice(0, 2)).toEqual(['evil', 'laptop']);
    expect(answers('laptop')).toHaveLength(1);
    world.advance(1000);
    expect(world.refused).toContain('too much of it waits (1269)');
  });

  test('a host that may begin no more streams in this second is refused as it is read, and goes on with those that it has', () => {
    const { owner, deliver, turn, send, answers } = flooded();
    for (let i = 1; i <= 256; i++) send('evil', i, { 'Mcp-Call': `s${i} 1 1` });
    deliver();
    for (let i = 0; i < 40; i++) turn();
    expect([owner.owner.load.streams, answers('evil').length]).toEqual([256, 256]);
    for (let i = 1001; i <= 1100; i++) send('evil', i, { 'Mcp-Call': `t${i} 1 1` });
    send('evil', 2000, { 'Mcp-Call': 's1 2 1' });
    deliver();
    expect(answers('evil')).toHaveLength(256 + 64);
    turn();
    expect(answers('evil')).toHaveLength(256 + 64 + 1);
    expect(answers('evil').at(-1)).toContain('"id":2000');
  });

  test('a request that may have begun is told nothing when there is no room for it', () => {
    const { deliver, send, answers } = flooded();
    for (let i = 1; i <= 2731; i++) send('laptop', i);
    for (let i = 1; i <= 5; i++) send('laptop', i, { 'Mcp-Again': '2 run-builder' });
    deliver();
    expect(answers('laptop')).toEqual([]);
  });

  test('a request for a server that is not offered any more when its turn comes is not begun', () => {
    const { owner, deliver, turn, send, answers } = flooded(() => expect.unreachable('it was begun'));
    send('laptop', 1);
    deliver();
    owner.owner.offer([]);
    turn();
    expect(answers('laptop')).toHaveLength(1);
    expect(answers('laptop')[0]).toContain('-32011');
  });
});

test.each([
  ['of one host', 'laptop'],
  ['of hosts that are on no list', 'invented'],
])('where all streams %s are used, the one that has been idle longest gives way', async (_, host) => {
  const world = new FederationWorld();
  const owner = world.owner('builder', echo);
  const home = world.home(host);
  const connections = Array.from({ length: 257 }, () => home.open('builder'));
  for (const connection of connections) {
    connection.call(1, { text: 'mine' });
    world.advance(10);
  }
  expect(connections.map((connection) => connection.answersTo(1)[0]?.result?.text)).toEqual(
    connections.map(() => 'mine'),
  );
  expect(owner.owner.load.streams).toBe(256);
  connections[0]?.call(2, { text: 'again' });
  await connections[0]?.connection.ended;
  expect(connections[0]?.returned).toEqual([2]);
  connections[256]?.call(2, { text: 'goes on' });
  expect(connections[256]?.answersTo(2)[0]?.result?.text).toBe('goes on');
});

describe('where each client has an instance of its own', () => {
  function dedicated(limits: Partial<Limits> = {}) {
    const world = new FederationWorld(limits);
    const open: Asked[] = [];
    const { owner } = world.owner('builder', (asked) => open.push(asked));
    owner.offer([{ name: 'tools', isForAny: false }]);
    return { world, open, owner };
  }

  test('clients of one host have at most 128, an idle one gives way, and other hosts have theirs', async () => {
    const { world, open, owner } = dedicated();
    const home = world.home('laptop');
    const [first, ...others] = Array.from({ length: 129 }, () => home.open('builder'));
    for (const connection of [first, ...others]) connection?.call(1, {});
    expect([owner.load.streams, open.length]).toEqual([128, 128]);
    const { error } = others.at(-1)?.answersTo(1)[0] ?? {};
    expect(error).toMatchObject({
      code: -32603,
      message: expect.stringMatching(/^There is no room for one more client/),
    });
    world.home('desk').open('builder').call(1, {});
    expect(owner.load.streams).toBe(129);
    open[0]?.answer({ text: 'first' });
    world.settle();
    expect(first?.answersTo(1)[0]?.result?.text).toBe('first');
    home.open('builder').call(1, {});
    expect([owner.load.streams, open.length]).toEqual([129, 130]);
    first?.call(2, {});
    await first?.connection.ended;
    expect(first?.returned).toEqual([2]);
  });

  test('a client that has only listened for a minute gives way to one that calls, and no sooner', async () => {
    const { world, open, owner } = dedicated();
    const home = world.home('laptop');
    const listen = (connection: ReturnType<typeof home.open>): void =>
      connection.write({ jsonrpc: '2.0', id: 'listen', method: 'subscriptions/listen', params: { _meta: META } });
    const connections = Array.from({ length: 128 }, () => home.open('builder'));
    for (const connection of connections) {
      listen(connection);
      world.advance(100);
    }
    const [first, second, third] = connections;
    third?.call(1, {});
    world.advance(30_000);
    first?.call(1, {});
    open.at(-1)?.answer({ text: 'done' });
    world.settle();
    expect(first?.answersTo(1)[0]?.result?.text).toBe('done');
    const late = home.open('builder');
    late.call(1, {});
    expect(late.answersTo(1)[0]?.error?.message).toMatch(/^There is no room for one more client/);
    world.advance(25_000);
    const asked = open.length;
    home.open('builder').call(1, {});
    expect([owner.load.streams, open.length]).toEqual([128, asked + 1]);
    expect(open.filter(({ isCancelled }) => isCancelled)).toEqual([]);
    // The second one has to go: the first has worked since, and the third still does. Its home knows at once, and may come back.
    await second?.connection.ended;
    expect(connections.flatMap(({ endedBy }, i) => (endedBy === undefined ? [] : [i, endedBy]))).toEqual([
      1,
      'has ended the call',
    ]);
    const back = home.open('builder');
    listen(back);
    expect([owner.load.streams, open.at(-1)?.method]).toEqual([128, 'subscriptions/listen']);
    await connections[3]?.connection.ended;
    first?.call(2, {});
    expect(open.at(-1)?.method).toBe('tools/call');
  });

  test.each([
    ['one user', (i: number) => `host-${i}`, 256],
    ['hosts that are on no list', (i: number) => `invented-${i}`, 32],
  ])('clients of %s have a bound in all', (_, hostOf, most) => {
    const { world, owner } = dedicated();
    for (let i = 0; i < 260; i++) world.home(hostOf(i)).open('builder').call(1, {});
    expect(owner.load.streams).toBe(most);
  });

  test('clients of other hosts leave places to those over HTTP and on the socket', () => {
    const { world, owner } = dedicated({ maxClients: 10 });
    owner.offer([{ name: 'tools', isForAny: true }]);
    for (let i = 0; i < 12; i++) world.home(`host-${i}`).open('builder').call(1, {});
    expect(owner.load.streams).toBe(6);
  });
});

describe('answers that are too long for frames', () => {
  const LONG = 17 << 20;

  function longAnswers(limits: Partial<Limits> = { maxMessageBytes: 64 << 20 }) {
    const world = new FederationWorld(limits);
    const open: Asked[] = [];
    world.owner('builder', (asked) => open.push(asked));
    const home = world.home('laptop');
    return { world, open, home, connection: home.open('builder') };
  }

  /** Turns the clock on by half minutes, at most so often. */
  async function untilAnswered(
    world: FederationWorld,
    connection: ReturnType<typeof longAnswers>['connection'],
    times: number,
  ): Promise<void> {
    const isAnswered = (): boolean => connection.answersTo(1).length > 0;
    for (let i = 0; i < times && !isAnswered(); i++) {
      await world.passed(isAnswered);
      world.advance(30_000, 1000);
    }
    await world.passed(isAnswered);
  }

  test('are parked, and taken once', async () => {
    const { world, open, connection } = longAnswers();
    connection.call(1, {});
    open[0]?.answer({ text: 'x'.repeat(LONG) });
    await world.passed(() => connection.answersTo(1).length > 0);
    expect(connection.answersTo(1)[0]?.result?.text?.length).toBe(LONG);
    expect(world.parked.size).toBe(0);
    const sent = world.bus.published.reduce((sum, { data }) => sum + data.length, 0);
    expect(sent).toBeLessThan(10_000);
  });

  test('end with the reason where nothing can be parked', async () => {
    const { world, open, connection } = longAnswers();
    world.parkingFault = new Error('there is no JetStream');
    connection.call(1, {});
    open[0]?.answer({ text: 'x'.repeat(LONG) });
    await world.passed(() => connection.answersTo(1).length > 0);
    const { error } = connection.answersTo(1)[0] ?? {};
    expect(error).toMatchObject({ code: -32012 });
    expect(error?.message).toMatch(/goes through JetStream, which has failed: there is no JetStream\. Ask for less/);
  });

  test('are fetched again until they can be', async () => {
    const { world, open, connection } = longAnswers();
    world.takingFault = new Error('NATS is slow');
    connection.call(1, {});
    open[0]?.answer({ text: 'x'.repeat(LONG) });
    await untilAnswered(world, connection, 5);
    expect(connection.came).toEqual([]);
    world.takingFault = undefined;
    await untilAnswered(world, connection, 2);
    expect(connection.answersTo(1)[0]?.result?.text?.length).toBe(LONG);
  });

  test('that can never be fetched end as calls that were carried out, and hold up no other', async () => {
    const { world, open, connection } = longAnswers();
    world.takingFault = new Error('NATS is slow');
    connection.call(1, {});
    open[0]?.answer({ text: 'x'.repeat(LONG) });
    connection.call(2, {});
    await untilAnswered(world, connection, 20);
    const [{ error } = {}, ...others] = connection.answersTo(1);
    expect([error?.data?.code, others]).toEqual(['OUTCOME_UNKNOWN', []]);
    expect(error?.message).toBe(
      'Server tools@builder has carried the call out, but its long answer could not be fetched: NATS is slow; the outcome is unknown',
    );
    open[1]?.answer({ text: 'short' });
    world.settle();
    expect(connection.answersTo(2)[0]?.result?.text).toBe('short');
  });

  test('are not fetched again once nobody waits for them', async () => {
    const { world, open, connection } = longAnswers();
    world.takingFault = new Error('NATS is slow');
    connection.call(1, {});
    open[0]?.answer({ text: 'x'.repeat(LONG) });
    await untilAnswered(world, connection, 2);
    connection.cancel(1);
    world.takingFault = undefined;
    await untilAnswered(world, connection, 20);
    expect([connection.came, world.parked.size]).toEqual([[], 1]);
  });

  test('end with the reason above 64 MiB', async () => {
    const { world, open, connection } = longAnswers({ maxMessageBytes: 128 << 20 });
    connection.call(1, {});
    open[0]?.answer({ text: 'x'.repeat(65 << 20) });
    await world.passed(() => connection.answersTo(1).length > 0);
    const { error } = connection.answersTo(1)[0] ?? {};
    expect(error?.code).toBe(-32012);
    expect(error?.message).toMatch(
      /^The answer of host builder has \d+ bytes, and between hosts an answer has at most 67108864: ask for less at once$/,
    );
  });

  test.each([
    [
      20,
      64,
      8,
      'The answer of host builder has N bytes, and host laptop takes at most 16777216: raise limits.maxMessageBytes in the config of host laptop, or ask for less at once',
    ],
    [
      10,
      64,
      8,
      'Server tools@builder has sent an answer of more than 8388608 bytes, the most that this host (laptop) takes: raise limits.maxMessageBytes in its config, or ask for less at once',
    ],
  ])(
    'of %i MiB name the host that has not raised its bound, %i MiB there and %i here',
    async (mib, there, here, said) => {
      const world = new FederationWorld({ maxMessageBytes: there << 20 });
      world.owner('builder', (asked) => asked.answer({ text: 'x'.repeat(mib << 20) }));
      world.limits = { ...world.limits, maxMessageBytes: here << 20 };
      const connection = world.home('laptop').open('builder');
      connection.call(1, {});
      await world.passed(() => connection.answersTo(1).length > 0);
      expect(connection.answersTo(1)[0]?.error?.message.replace(/has \d+ bytes/, 'has N bytes')).toBe(said);
    },
  );

  test('are refused as requests too, by the host that does not take them', () => {
    const world = new FederationWorld({ maxMessageBytes: 1 << 20 });
    world.owner('builder', echo);
    world.limits = { ...world.limits, maxMessageBytes: 8 << 20 };
    const connection = world.home('laptop').open('builder');
    connection.call(1, { text: 'x'.repeat(2 << 20) });
    expect(connection.answersTo(1)[0]?.error).toMatchObject({
      code: -32012,
      message: expect.stringMatching(
        /^The request has \d+ bytes, and host builder takes at most 1048576: raise limits\.maxMessageBytes in its config$/,
      ),
    });
  });

  test('a call is kept alive while its answer is being parked', async () => {
    const { world, open, connection } = longAnswers();
    let parked: () => void = () => undefined;
    world.parking = new Promise((resolve) => {
      parked = resolve;
    });
    connection.call(1, {});
    open[0]?.answer({ text: 'x'.repeat(LONG) });
    world.advance(60_000);
    expect(connection.endedBy).toBeUndefined();
    parked();
    await world.passed(() => connection.answersTo(1).length > 0);
    expect(connection.answersTo(1)[0]?.result?.text?.length).toBe(LONG);
  });

  test.each([
    ['whose id is none', '../../etc', 'no id'],
    ['of an object that is not there', 'AAAAAAAAAAAAAAAAAAAAAAAA', 'not there'],
  ])('a claim %s ends the call, and is noted', async (_, id, why) => {
    const { world, connection } = longAnswers();
    connection.call(1, {});
    world.forgeEnd('builder', { 'Mcp-Claim': id });
    await world.passed(() => connection.answersTo(1).length > 0);
    expect(connection.answersTo(1)[0]?.error?.message).toContain(why);
    expect(world.refused).toHaveLength(1);
  });

  test('a claim that nobody has asked for ends the call', async () => {
    const { world, connection } = longAnswers({});
    connection.call(1, {});
    world.forgeEnd('builder', { 'Mcp-Claim': 'AAAAAAAAAAAAAAAAAAAAAAAA' });
    await world.passed(() => connection.answersTo(1).length > 0);
    expect(connection.answersTo(1)[0]?.error?.message).toContain('which nobody has asked for');
  });

  test.each([
    ['is longer than this daemon takes', 65 << 20, 'this host takes at most 67108864'],
    ['is of another request', undefined, 'not the answer to its request'],
  ])('a parked answer that %s is refused', async (_, length, why) => {
    const { world, connection } = longAnswers();
    const id = 'AAAAAAAAAAAAAAAAAAAAAAAA';
    const body = length === undefined ? '{"jsonrpc":"2.0","id":77,"result":{}}' : 'x'.repeat(length);
    world.parked.set(id, Buffer.from(body));
    connection.call(1, {});
    world.forgeEnd('builder', { 'Mcp-Claim': id });
    await world.passed(() => connection.answersTo(1).length > 0);
    expect(connection.answersTo(1)[0]?.error?.message).toContain(why);
  });
});
