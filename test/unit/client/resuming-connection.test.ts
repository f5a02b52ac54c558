// A client's connection against a daemon of which each byte is moved by hand, on a clock that is turned by hand.

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { ALL, call, ready, World } from '../../support/connection-world.ts';

describe('a connection that drops', () => {
  test('continues where it was: waiting messages come once, in order', async () => {
    const world = await ready();
    world.say(call(1));
    world.say(call(2));
    await world.exchange();
    world.daemon.answer();
    world.daemon.give(20); // torn in the middle of a frame
    await world.settle();
    world.daemon.drop();
    await world.settle();
    world.daemon.answer();
    await world.untilBack();
    expect(world.events.at(-1)).toEqual({ kind: 'resumed', session: 'kept' });
    expect([world.answersTo(1), world.answersTo(2)].map((answers) => answers.length)).toEqual([1, 1]);
    expect([...world.daemon.runs.values()]).toEqual([1, 1]);
    expect(world.told('notifications/tools/list_changed')).toEqual([]);
  });

  test('a message that the daemon does not take is refused here, and nothing else is lost', async () => {
    const world = await ready();
    world.say(call(1));
    world.say({ ...call(2), padding: 'x'.repeat(1000) });
    expect(world.answersTo(2)).toEqual([
      expect.objectContaining({
        error: expect.objectContaining({
          code: -32600,
          message: expect.stringMatching(/has 1\d\d\d bytes, and the bridge takes at most 1000;/),
          data: expect.objectContaining({ code: 'MESSAGE_TOO_LARGE' }),
        }),
      }),
    ]);
    await world.exchange();
    world.daemon.answer();
    await world.exchange();
    expect(world.answersTo(1)).toHaveLength(1);
    expect([...world.daemon.runs]).toEqual([['1', 1]]);
    expect(world.events).toEqual([]);
  });

  test('a notification or an answer that the daemon does not take is refused too, and its server hears of it', async () => {
    const world = await ready();
    world.daemon.ask(7);
    await world.exchange();
    world.say({ method: 'notifications/x', padding: 'x'.repeat(1000) });
    expect(world.answersTo(null)).toEqual([
      expect.objectContaining({ error: expect.objectContaining({ code: -32600 }) }),
    ]);
    const before = world.daemon.sessions[0]?.received ?? 0;
    world.say({ id: 7, result: { padding: 'x'.repeat(1000) } });
    await world.exchange();
    expect(world.daemon.answers).toMatchObject([{ id: 7, error: { data: { code: 'MESSAGE_TOO_LARGE' } } }]);
    expect(world.daemon.sessions[0]?.received).toBeLessThan(before + 1000);
    expect(world.events).toEqual([]);
  });

  test('a waiting message that is too long for the new daemon gets its only error from here', async () => {
    const world = await ready();
    const padding = 'x'.repeat(600);
    world.say({ ...call('begun'), padding });
    world.say({ id: 'listed', method: 'tools/list', padding });
    await world.settle();
    world.daemon.take(ALL);
    world.daemon.kill();
    await world.settle();
    world.say({ ...call('waits'), padding });
    world.say({ method: 'notifications/x', padding });
    world.say(call('short'));
    world.daemon.maxMessageBytes = 500;
    world.daemon.isRunning = true;
    await world.untilBack();
    await world.exchange();
    world.daemon.answer();
    await world.exchange();
    const codes = ['begun', 'listed', 'waits', null].map((id) =>
      world.answersTo(id).map(({ error }) => error?.data?.code),
    );
    const tooLarge = ['MESSAGE_TOO_LARGE'];
    expect(codes).toEqual([['OUTCOME_UNKNOWN'], tooLarge, tooLarge, tooLarge]);
    expect(world.answersTo('short')).toMatchObject([{ result: { said: 'short' } }]);
    expect([...world.daemon.runs]).toEqual([
      ['begun', 1],
      ['short', 1],
    ]);
  });

  test('the client learns nothing of tokens', async () => {
    const world = await ready();
    expect(JSON.stringify(world.heard)).not.toContain('token');
    expect(world.answersTo('hello')[0]?.result?._meta).toEqual({ 'mcp-bridge/clientId': 'client-1' });
  });

  test('messages sent meanwhile wait, up to a limit', async () => {
    const world = await ready();
    world.daemon.kill();
    await world.settle();
    world.say(call(1));
    world.daemon.isRunning = true;
    await world.untilBack();
    await world.exchange();
    world.daemon.answer();
    await world.exchange();
    expect(world.answersTo(1)).toMatchObject([{ result: { said: '1' } }]);
  });
});

describe('a daemon that is gone', () => {
  test('the next one is told everything again, and the client hears of none of it', async () => {
    const world = await ready();
    world.say({ id: 1, method: 'resources/subscribe', params: { uri: 'file:///ä' } });
    world.say({ id: 2, method: 'logging/setLevel', params: { level: 'debug' } });
    world.say({ id: 3, method: 'resources/subscribe', params: { uri: 'file:///b' } });
    await world.exchange();
    world.say({ id: 4, method: 'resources/unsubscribe', params: { uri: 'file:///b' } });
    await world.exchange();
    const before = world.heard.length;
    world.daemon.kill();
    await world.settle();
    world.daemon.isRunning = true;
    await world.untilBack();
    await world.exchange();
    expect(world.daemon.sessions).toMatchObject([
      { isInitialized: true, subscribed: ['file:///ä'], logLevel: 'debug' },
    ]);
    expect(world.heard.slice(before).map(({ method, params }) => [method, params?.uri])).toEqual([
      ['notifications/tools/list_changed', undefined],
      ['notifications/resources/updated', 'file:///ä'],
    ]);
  });

  test('a call that it had is announced, and done again only if it is safe', async () => {
    const world = await ready();
    world.say(call('a'));
    world.say(call('b', 'safe'));
    await world.exchange();
    world.daemon.kill();
    await world.settle();
    world.daemon.isRunning = true;
    await world.untilBack();
    await world.exchange();
    world.daemon.answer();
    await world.exchange();
    expect(world.answersTo('a')).toMatchObject([{ error: { data: { code: 'OUTCOME_UNKNOWN' } } }]);
    expect(world.answersTo('b')).toMatchObject([{ result: { said: 'b' } }]);
    expect(world.daemon.runs).toEqual(new Map([['a', 1]]));
  });

  test('one that stops in order names what it has not read, and that is sent again', async () => {
    const world = await ready();
    world.say(call(1));
    await world.exchange();
    world.say(call(2)); // on its way, and not taken
    world.say({ method: 'notifications/x' });
    await world.settle();
    world.daemon.leave('restart');
    await world.settle();
    world.daemon.isRunning = true;
    await world.untilBack();
    await world.exchange();
    world.daemon.answer();
    await world.exchange();
    expect(world.answersTo(1)).toMatchObject([{ result: { said: '1' } }]);
    expect(world.answersTo(2)).toMatchObject([{ result: { said: '2' } }]);
    expect([...world.daemon.runs.values()]).toEqual([1, 1]);
  });

  test('one that stops in order names the calls it sent to nobody, and they are made as new ones', async () => {
    const world = await ready();
    for (const id of [1, 'two', 3]) world.say(call(id));
    await world.exchange();
    world.say(call(4));
    await world.settle();
    world.daemon.leave('restart', 1);
    await world.settle();
    world.daemon.isRunning = true;
    await world.untilBack();
    for (let n = 0; n < 4; n++) {
      world.daemon.answer();
      await world.exchange();
    }
    for (const id of [1, 'two', 3, 4]) expect(world.answersTo(id)).toMatchObject([{ result: { said: `${id}` } }]);
    expect([...world.daemon.runs]).toEqual([
      ['1', 1],
      ['two', 1],
      ['3', 1],
      ['4', 1],
    ]);
    expect(world.daemon.sessions[0]?.announced.size).toBe(0);
  });

  test('one that cannot resume is not asked to repeat anything', async () => {
    const world = new World();
    world.daemon.canResume = false;
    await world.introduce();
    world.say(call(1));
    world.say({ id: 2, method: 'tools/list' });
    await world.settle();
    world.daemon.take(ALL);
    world.daemon.kill();
    await world.settle();
    world.daemon.isRunning = true;
    await world.untilBack();
    await world.exchange();
    expect(world.answersTo(1)).toMatchObject([{ error: { data: { code: 'OUTCOME_UNKNOWN' } } }]);
    expect(world.answersTo(2)).toMatchObject([{ result: { listed: true } }]);
    expect(world.daemon.sessions[0]?.announced).toEqual(new Set());
  });

  test('the next one is asked for the id that others know the client by', async () => {
    const world = await ready();
    const another = async (): Promise<string> => {
      world.daemon.kill();
      await world.settle();
      world.daemon.isRunning = true;
      await world.untilBack();
      return world.connection.clientId;
    };
    expect(world.connection.clientId).toBe('client-1');
    expect(await another()).toBe('client-1');
    world.daemon.takenIds.add('client-1');
    expect(await another()).toBe('client-1-2');
    // It is that which others know it by now.
    world.daemon.takenIds.clear();
    expect(await another()).toBe('client-1-2');
    world.daemon.drop();
    await world.settle();
    await world.untilBack();
    expect(world.events.at(-1)).toEqual({ kind: 'resumed', session: 'kept' });
    expect(world.connection.clientId).toBe('client-1-2');
  });

  test('an id that has become too long for a daemon to take is not asked for', async () => {
    const chosen = 'x'.repeat(127);
    const world = new World({ meta: { 'mcp-bridge/clientId': chosen } });
    world.daemon.takenIds.add(chosen);
    await world.introduce();
    expect(world.connection.clientId).toBe(`${chosen}-2`);
    world.daemon.takenIds.clear();
    world.daemon.kill();
    await world.settle();
    world.daemon.isRunning = true;
    await world.untilBack();
    expect(world.connection.clientId).toBe(chosen);
  });

  test('its questions are taken back, and one of the next daemon with the same id is another', async () => {
    const world = await ready();
    world.daemon.ask(7);
    await world.exchange();
    world.daemon.kill();
    await world.settle();
    world.daemon.isRunning = true;
    await world.untilBack();
    await world.exchange();
    expect(world.told('notifications/cancelled')).toMatchObject([{ params: { requestId: 7 } }]);
    world.daemon.ask(7);
    await world.exchange();
    const [, second] = world.told('elicitation/create');
    expect(second?.id).not.toBe(7);
    const before = world.daemon.sessions[0]?.received ?? 0;
    world.say({ id: 7, result: { of: 'the old one' } });
    await world.exchange();
    expect(world.daemon.sessions[0]?.received).toBe(before);
    world.say({ id: second?.id, result: {} });
    await world.exchange();
    expect(world.daemon.sessions[0]?.received).toBe(before + '{"jsonrpc":"2.0","id":7,"result":{}}\n'.length);
  });

  test('after a stop another one is started only for a client that asks something', async () => {
    const world = await ready({ maxAttempts: 3 });
    world.daemon.leave('stop');
    for (let round = 0; round < 10; round++) {
      await world.settle();
      world.clock.advance(1000);
    }
    expect(world.starts).toEqual([false, false, false]);
    expect(world.closed).toBeUndefined();
    world.daemon.isRunning = true;
    world.say(call(1));
    await world.untilBack();
    expect(world.starts.at(-1)).toBe(true);
    await world.exchange();
    world.daemon.answer();
    await world.exchange();
    expect(world.answersTo(1)).toHaveLength(1);
  });

  test('a request after a stop is tried at once, whatever the pause, as often as the pace allows', async () => {
    for (const pauses of [0, 1, 5]) {
      const world = await ready();
      world.daemon.leave('stop');
      await world.settle();
      for (let pause = 0; pause < pauses; pause++) {
        world.clock.advance(5000);
        await world.settle();
      }
      expect(world.starts).toEqual(Array(pauses + 1).fill(false));
      const beganMs = world.clock.now();
      world.daemon.isRunning = true;
      world.say(call(1));
      await world.exchange();
      world.daemon.answer();
      await world.exchange();
      expect(world.starts.slice(pauses + 1)).toEqual([true]);
      expect(world.attemptsMs.at(-1)).toBe(beganMs);
      expect(world.answersTo(1)).toHaveLength(1);
      expect(world.events.slice(-2)).toEqual([
        { kind: 'reconnecting', attempt: 1, delayMs: 0 },
        { kind: 'resumed', session: 'new' },
      ]);
      world.connection.close();
    }
  });

  test('after an immediate failure for one request, the next one is tried at the usual pace', async () => {
    const world = await ready({ maxAttempts: 3 });
    world.daemon.leave('stop');
    await world.settle();
    for (let id = 1; id <= 20; id++) {
      world.say(call(id));
      await world.settle();
    }
    expect(world.starts).toEqual([false, true]);
    for (let round = 0; round < 10; round++) {
      world.clock.advance(1000);
      await world.settle();
    }
    expect(world.starts).toEqual([false, true, true, true]); // as many as are to be made for a client that asks
    expect(world.closed?.error).toMatchObject({ code: 'DAEMON_UNREACHABLE' });
    for (let id = 1; id <= 20; id++) expect(world.answersTo(id)).toHaveLength(1);
  });

  test('a request after a stop waits if there were ten attempts in ten seconds', async () => {
    const world = await ready({ random: () => 0.001 });
    world.daemon.leave('stop');
    for (let round = 0; round < 100; round++) {
      await world.settle();
      world.clock.advance(10);
    }
    expect(world.starts).toEqual(Array(10).fill(false));
    world.daemon.isRunning = true;
    world.say(call(1));
    await world.settle();
    expect(world.starts).toHaveLength(10);
    world.clock.advance(10_000 - world.clock.now() - 1);
    await world.settle();
    expect(world.starts).toHaveLength(10);
    world.clock.advance(1);
    await world.exchange();
    expect(world.starts.slice(10)).toEqual([true]);
    expect(world.events.at(-1)).toEqual({ kind: 'resumed', session: 'new' });
    world.connection.close();
  });

  test.each(['restart', undefined])('a request after %s waits for its turn', async (reason) => {
    const world = await ready();
    if (reason === undefined) world.daemon.kill();
    else world.daemon.leave(reason);
    await world.settle();
    const attempts = world.starts.length;
    world.say(call(1));
    await world.settle();
    expect(world.starts).toHaveLength(attempts);
    world.connection.close();
  });
});

describe('when no daemon can be reached', () => {
  test('it is tried so often, and then each request gets an error', async () => {
    const world = await ready({ maxAttempts: 5 });
    world.say(call(1));
    world.say({ id: 2, method: 'tools/list' });
    await world.settle();
    world.daemon.kill();
    for (let round = 0; round < 10; round++) {
      await world.settle();
      world.clock.advance(1000);
    }
    expect(world.attemptsMs).toHaveLength(5);
    expect(world.closed?.error).toMatchObject({
      code: 'DAEMON_UNREACHABLE',
      message: expect.stringMatching(/\/the\/socket .* by 5 attempts in .* s: nobody is there/),
    });
    expect(world.answersTo(1)).toMatchObject([{ error: { data: { code: 'OUTCOME_UNKNOWN' } } }]);
    expect(world.answersTo(2)).toMatchObject([{ error: { data: { code: 'DAEMON_UNREACHABLE' } } }]);
  });

  test.each([0, 0.01, 0.5, 0.999])('never more than twelve attempts in ten seconds, dice %d', async (dice) => {
    const world = await ready({ random: () => dice });
    world.daemon.kill();
    for (let round = 0; round < 400; round++) {
      await world.settle();
      world.clock.advance(50);
    }
    expect(world.attemptsMs[0]).toBe(0);
    for (const from of world.attemptsMs)
      expect(world.attemptsMs.filter((ms) => ms >= from && ms < from + 10_000).length).toBeLessThanOrEqual(12);
    expect(world.attemptsMs.length).toBeGreaterThan(3);
    world.connection.close();
  });

  test('a daemon that ends on each client does not make them hammer', async () => {
    const world = await ready();
    for (let round = 0; round < 100; round++) {
      await world.exchange(2);
      world.daemon.drop();
      await world.settle();
      world.clock.advance(50);
    }
    expect(world.attemptsMs.length).toBeLessThanOrEqual(12);
    world.connection.close();
  });

  test('daemons that go in order, one after the other, are come back to at once: nothing is counted', async () => {
    const world = await ready();
    for (let round = 1; round <= 30; round++) {
      world.daemon.leave('restart');
      world.daemon.isRunning = true;
      await world.exchange(2);
      expect(world.events.at(-1)).toEqual({ kind: 'resumed', session: 'new' });
      expect(world.attemptsMs).toHaveLength(round);
    }
    expect(world.clock.now()).toBe(0);
    world.say(call('a'));
    await world.exchange();
    world.daemon.answer();
    await world.exchange();
    expect(world.answersTo('a')).toMatchObject([{ result: { said: 'a' } }]);
    world.connection.close();
  });

  test('a crash after an orderly stop is followed by attempts at the usual pace', async () => {
    const world = await ready();
    world.daemon.leave('restart');
    world.daemon.isRunning = true;
    await world.exchange(2);
    for (let round = 0; round < 15; round++) {
      world.daemon.drop();
      await world.exchange(2);
    }
    // Ten in ten seconds, that behind the restart among them.
    expect(world.attemptsMs).toHaveLength(10);
    world.clock.advance(9_999);
    await world.exchange(2);
    expect(world.attemptsMs).toHaveLength(10);
    world.clock.advance(1);
    await world.exchange(2);
    expect(world.attemptsMs).toHaveLength(11);
    world.connection.close();
  });

  test('if it is not to come back, the error names the fate of the connection, and not a missing daemon', async () => {
    const world = await ready({ isEnabled: false });
    world.say(call(1));
    world.say({ id: 2, method: 'tools/list' });
    await world.settle();
    world.daemon.drop();
    await world.settle();
    expect(world.attemptsMs).toEqual([]);
    const message =
      'The connection to the bridge at /the/socket was lost (the connection was closed), and reconnect.enabled is false';
    expect(world.closed?.error).toMatchObject({ code: 'CONNECTION_LOST', message });
    expect(world.answersTo(1)).toMatchObject([
      { error: { message: `${message}; whether this was done is not known`, data: { code: 'OUTCOME_UNKNOWN' } } },
    ]);
    expect(world.answersTo(2)).toMatchObject([{ error: { message, data: { code: 'CONNECTION_LOST' } } }]);
  });

  test('one that is not to come back says that the daemon went in order', async () => {
    const world = await ready({ isEnabled: false });
    world.daemon.leave('stop');
    await world.settle();
    expect(world.closed?.error?.message).toContain('was lost (stop), and');
  });
});

describe('a batch', () => {
  const params = { protocolVersion: '2025-03-26', capabilities: {} };
  const batch = (...messages: object[]): string => {
    const texts = messages.map((message) => JSON.stringify({ jsonrpc: '2.0', ...message }));
    return `[${texts.join(' , ')}]`;
  };
  /** The lines that were sent and that no daemon has taken yet, once `say` has said something. */
  const linesOf = async (world: World, say: () => void): Promise<string[]> => {
    await world.exchange();
    say();
    await world.settle();
    const [connection] = world.daemon.connections;
    return connection?.incoming.toString().split('\n').slice(0, -1) ?? [];
  };

  test('is taken apart, also behind an initialize that is not answered: each request gets its one answer', async () => {
    const world = new World();
    world.say({ id: 'hello', method: 'initialize', params });
    world.write(batch(call('a'), call('b', 'safe')));
    await world.exchange(2);
    world.write(batch(call('c', 'safe')));
    world.daemon.take(ALL);
    world.daemon.kill();
    await world.settle();
    world.daemon.isRunning = true;
    await world.untilBack();
    for (let round = 0; round < 3; round++) {
      world.daemon.answer();
      await world.exchange();
    }
    expect(['a', 'b', 'c'].map((id) => world.answersTo(id).length)).toEqual([1, 1, 1]);
    expect(world.answersTo('a')).toMatchObject([{ error: { data: { code: 'OUTCOME_UNKNOWN' } } }]);
    expect([...world.daemon.runs]).toEqual([['a', 1]]);
  });

  test('is sent again message by message, in its original bytes; items that are no messages together', async () => {
    const world = new World();
    world.say({ id: 'hello', method: 'initialize', params });
    const [one, other] = ['{"jsonrpc":"2.0","method":"x","params":{"n":1e400,"2":1,"1":1.0}}', '{"a":1,"a":2}'];
    const lines = await linesOf(world, () => world.write(`[0,${one}, [1.0] ,${other}\t,"x"]`));
    expect(lines).toEqual([one, other, '[0,[1.0],"x"]']);
  });

  test('that the daemon refuses as one is left to it: one that is empty, too long, or of another revision', async () => {
    const long = `[{}${',{}'.repeat(300)},${Array(1000).fill(0).join()}]`;
    const world = new World();
    world.daemon.maxMessageBytes = 10_000;
    world.say({ id: 'hello', method: 'initialize', params });
    const refused = ['[]', '[7]', long];
    expect(await linesOf(world, () => void refused.map((line) => world.write(line)))).toEqual(refused);
    const current = await ready();
    const one = batch(call(1));
    expect(await linesOf(current, () => current.write(one))).toEqual([one]);
  });

  test('of items that are no messages, if the daemon does not accept it, is refused here', async () => {
    const world = new World();
    world.say({ id: 'hello', method: 'initialize', params });
    await world.exchange();
    world.write(`["${'x'.repeat(1000)}",${batch(call(1)).slice(1)}`);
    await world.exchange();
    world.daemon.answer();
    await world.exchange();
    expect(world.answersTo(null)).toMatchObject([{ error: { data: { code: 'MESSAGE_TOO_LARGE' } } }]);
    expect(world.answersTo(1)).toHaveLength(1);
  });
});

type Step =
  | { do: 'say'; what: 'unsafe' | 'safe' | 'list' | 'cancel' | 'note' }
  | { do: 'take' | 'give'; bytes: number }
  | { do: 'answer' | 'drop' | 'kill' | 'start' | 'ask' }
  | { do: 'leave'; mostAnswered: number }
  | { do: 'advance'; ms: number };

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constant('say' as const),
      what: fc.constantFrom('unsafe', 'safe', 'list', 'cancel', 'note'),
    }),
  },
  {
    weight: 6,
    arbitrary: fc.record({ do: fc.constantFrom('take', 'give'), bytes: fc.oneof(fc.nat(400), fc.constant(1e9)) }),
  },
  {
    weight: 4,
    arbitrary: fc.record({ do: fc.constantFrom('answer', 'ask', 'start', 'start', 'drop', 'kill') }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constant('leave' as const), mostAnswered: fc.constantFrom(0, 1, 1e9) }),
  },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('advance' as const), ms: fc.nat(3000) }) },
);

/** Daemons that resume sessions, or do not, that name the open requests, or do not; and how the client's lines come. */
const daemons = fc
  .record({ canResume: fc.boolean(), confirms: fc.boolean(), inChunks: fc.boolean() })
  .map(({ canResume, confirms, inChunks }) => ({ canResume, confirms: confirms && canResume, inChunks }));

test('whatever dies and when: each request gets exactly one answer, and nothing unsafe is run twice', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 60 }), daemons, async (steps, { inChunks, ...daemon }) => {
      const world = new World({ random: () => 0.9 });
      world.inChunks = inChunks;
      Object.assign(world.daemon, daemon);
      await world.introduce();
      let asked = 0;
      const cancelled = new Set<number>();
      const say = (what: (Step & { do: 'say' })['what']): void => {
        if (what === 'note') return world.say({ method: 'notifications/x' });
        if (what === 'cancel') {
          if (asked > 0) cancelled.add(asked);
          return world.say({ method: 'notifications/cancelled', params: { requestId: asked } });
        }
        world.say(what === 'list' ? { id: ++asked, method: 'tools/list' } : call(++asked, what));
      };
      for (const one of steps) {
        if (one.do === 'say') say(one.what);
        else if (one.do === 'take') world.daemon.take(one.bytes);
        else if (one.do === 'give') world.daemon.give(one.bytes);
        else if (one.do === 'advance') world.clock.advance(one.ms);
        else if (one.do === 'start') world.daemon.isRunning = true;
        else if (one.do === 'leave') world.daemon.leave('restart', one.mostAnswered);
        else if (one.do === 'ask') world.daemon.ask(asked);
        else world.daemon[one.do]();
        await world.settle();
      }
      world.daemon.isRunning = true;
      for (let round = 0; round < 20; round++) {
        world.clock.advance(10_000);
        await world.settle();
        await world.exchange(2);
        for (let i = 0; i <= asked; i++) world.daemon.answer();
      }
      await world.exchange(2);
      expect(world.closed).toBeUndefined();
      for (let id = 1; id <= asked; id++) {
        const answers = world.answersTo(id);
        const runs = world.daemon.runs.get(String(id)) ?? 0;
        expect(runs).toBeLessThanOrEqual(1);
        if (cancelled.has(id)) expect(answers.length).toBeLessThanOrEqual(1);
        else expect([id, answers.length]).toEqual([id, 1]);
      }
      world.connection.close();
    }),
    { numRuns: 150 },
  );
});
