// How a client's connection ends: when the client has ended its side, and when a daemon does not take it any more.

import { afterEach, describe, expect, test, vi } from 'vitest';
import { ALL, call, ready, World } from '../../support/connection-world.ts';

afterEach(() => {
  vi.useRealTimers();
});

describe('a client that ends its side', () => {
  test('is left when everything is answered, and says so', async () => {
    const world = await ready();
    world.say(call(1));
    await world.exchange();
    world.connection.end();
    await world.settle();
    expect(world.closed).toBeUndefined();
    world.daemon.answer();
    await world.exchange();
    expect(world.closed).toEqual({ error: undefined });
    expect(world.answersTo(1)).toHaveLength(1);
    expect(world.daemon.sessions).toEqual([]);
  });

  test('answers no more questions', async () => {
    const world = await ready();
    world.daemon.ask(1);
    await world.exchange();
    world.say(call(5));
    world.connection.end();
    await world.exchange();
    world.daemon.ask(2);
    await world.exchange();
    world.daemon.answer();
    await world.exchange();
    expect(world.closed).toEqual({ error: undefined });
  });

  test('passes on a daemon’s errors about invalid messages, even before it is introduced', async () => {
    const world = new World();
    world.write('garbage');
    world.connection.end();
    await world.exchange();
    expect(world.answersTo(null)).toMatchObject([{ error: { code: -32700 } }]);
    expect(world.closed).toEqual({ error: undefined });
  });

  test('waits for no request that the daemon has refused without its id', async () => {
    const world = await ready();
    // Its ends are those of a request: that it is none only a scan of all of it tells.
    world.write('{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{]}');
    world.say(call(6));
    await world.exchange();
    world.daemon.answer();
    await world.exchange();
    expect(world.closed).toBeUndefined();
    world.connection.end();
    await world.exchange();
    expect(world.closed).toEqual({ error: undefined });
    expect([world.answersTo(5), world.answersTo(6)].map(({ length }) => length)).toEqual([0, 1]);
  });

  test('gets reconnected for its open requests, and then ends', async () => {
    const world = await ready();
    world.say(call('a'));
    world.say(call('b', 'safe'));
    world.connection.end();
    await world.exchange();
    world.daemon.kill();
    await world.settle();
    world.daemon.isRunning = true;
    await world.untilBack();
    await world.exchange();
    expect(world.closed).toBeUndefined();
    world.daemon.answer();
    await world.exchange();
    expect(world.answersTo('a')).toMatchObject([{ error: { data: { code: 'OUTCOME_UNKNOWN' } } }]);
    expect(world.answersTo('b')).toMatchObject([{ result: { said: 'b' } }]);
    expect(world.closed).toEqual({ error: undefined });
  });

  test('ends too if the next daemon has nothing left to answer', async () => {
    const world = new World();
    world.daemon.canResume = false;
    await world.introduce();
    world.say(call(1));
    world.connection.end();
    await world.exchange();
    world.daemon.kill();
    await world.settle();
    world.daemon.isRunning = true;
    await world.untilBack();
    await world.exchange();
    expect(world.answersTo(1)).toMatchObject([{ error: { data: { code: 'OUTCOME_UNKNOWN' } } }]);
    expect(world.closed).toEqual({ error: undefined });
  });

  test('ends when the daemon drops it instead of saying goodbye, and when it says nothing at all', async () => {
    const dropped = await ready();
    dropped.connection.end();
    dropped.daemon.drop();
    await dropped.settle();
    expect(dropped.closed).toEqual({ error: undefined });
    expect(dropped.attemptsMs).toEqual([]);
    const silent = await ready();
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    silent.connection.end();
    await silent.settle();
    vi.advanceTimersByTime(29_999);
    await silent.settle();
    expect(silent.closed).toBeUndefined();
    vi.advanceTimersByTime(1);
    await silent.settle();
    expect(silent.closed).toEqual({ error: undefined });
  });
});

describe('requests under one id', () => {
  const twice = (world: World): void => {
    world.say(call(9, 'safe'));
    world.say(call(9));
  };

  test('are open until each of them is answered: the refusal of the second is not the answer to the first', async () => {
    const world = await ready();
    twice(world);
    world.connection.end();
    await world.exchange();
    expect(world.answersTo(9)).toMatchObject([{ error: { code: -32600 } }]);
    expect(world.closed).toBeUndefined();
    world.daemon.kill();
    await world.settle();
    world.daemon.isRunning = true;
    await world.untilBack();
    await world.exchange();
    world.daemon.answer();
    await world.exchange();
    expect(world.answersTo(9).slice(1)).toMatchObject([{ result: { said: '9' } }]);
    expect(world.closed).toEqual({ error: undefined });
  });

  test('get one answer each when their daemon dies, and none is done again that may have been done', async () => {
    const world = await ready();
    world.say(call(9));
    world.say(call(9));
    await world.settle();
    world.daemon.take(ALL);
    world.daemon.kill();
    await world.settle();
    world.daemon.isRunning = true;
    await world.untilBack();
    await world.exchange();
    const codes = world.answersTo(9).map(({ error }) => error?.data?.code);
    expect(codes).toEqual(['OUTCOME_UNKNOWN', 'OUTCOME_UNKNOWN']);
    expect([...world.daemon.runs.values()]).toEqual([1]);
  });

  test.each(['kill', 'leave'] as const)('that no daemon has looked at are asked of the next: %s', async (end) => {
    const world = await ready();
    if (end === 'kill') world.daemon.kill();
    await world.settle();
    twice(world);
    await world.settle();
    if (end === 'leave') world.daemon.leave('restart');
    await world.settle();
    world.daemon.isRunning = true;
    await world.untilBack();
    await world.exchange();
    world.daemon.answer();
    await world.exchange();
    expect(world.answersTo(9)).toMatchObject([{ error: { code: -32600 } }, { result: { said: '9' } }]);
  });
});

describe('a client that the next daemon refuses', () => {
  const refusal = {
    code: -32601,
    message: 'There is no server "e"',
    data: { code: 'SERVER_NOT_FOUND', hint: 'None.' },
  };

  const refused = async (): Promise<World> => {
    const world = await ready({ maxAttempts: 20 });
    world.say(call('begun'));
    await world.exchange();
    world.daemon.refusal = refusal;
    world.daemon.kill();
    await world.settle();
    world.daemon.isRunning = true;
    return world;
  };

  const pass = async (world: World, rounds: number): Promise<void> => {
    for (let round = 0; round < rounds; round++) {
      await world.exchange(2);
      world.clock.advance(1000);
      await world.settle();
    }
  };

  test('gets the refusal as the answer to open requests, after as many attempts as a new daemon may need', async () => {
    const world = await refused();
    world.say({ id: 'waits', method: 'tools/list' });
    await pass(world, 30);
    expect(world.attemptsMs).toHaveLength(6); // with the first, which met nobody
    const message = 'The daemon refused the client: There is no server "e"';
    expect(world.closed?.error).toMatchObject({ code: 'SERVER_NOT_FOUND', message, hint: 'None.' });
    expect(world.answersTo('waits')).toMatchObject([
      { error: { message, data: { code: 'SERVER_NOT_FOUND', hint: 'None.' } } },
    ]);
    expect(world.answersTo('begun')).toMatchObject([{ error: { data: { code: 'OUTCOME_UNKNOWN' } } }]);
  });

  test('goes on as soon as it is no longer refused', async () => {
    const world = await refused();
    await pass(world, 2);
    world.daemon.refusal = undefined;
    await world.untilBack();
    expect(world.closed).toBeUndefined();
  });

  test('keeps trying while it has no open requests, or if the refusal may be temporary', async () => {
    for (const asks of [true, false]) {
      const world = await ready({ maxAttempts: 20 });
      const passing = { code: -32603, message: 'The bridge is shutting down', data: { code: 'SHUTTING_DOWN' } };
      world.daemon.refusal = asks ? passing : refusal;
      world.daemon.kill();
      await world.settle();
      world.daemon.isRunning = true;
      if (asks) world.say(call(1));
      await pass(world, 100);
      expect(world.attemptsMs).toHaveLength(20);
      expect(world.closed?.error).toMatchObject({ code: 'DAEMON_UNREACHABLE' });
    }
  });
});
