// What servers say has a budget of each turn: whoever says little comes first, and nothing is lost or changes its order.

import fc from 'fast-check';
import { expect, test } from 'vitest';
import { FrameSplitter } from '../../../src/wire/frame-splitter.ts';
import { type IsOver, ReadPacer } from '../../../src/wire/read-pacer.ts';

/** Turns go on when the test says so, and time when work is done. */
function world() {
  let nowMs = 0;
  let due: (() => void)[] = [];
  const log: string[] = [];
  const pacer = new ReadPacer({
    beforeWork: () => log.push('flush'),
    flooded: () => log.push('flooded'),
    now: () => nowMs,
    defer: (task) => due.push(task),
  });
  const spend = (ms: number): void => {
    nowMs += ms;
  };
  const turn = (): void => {
    const tasks = due;
    due = [];
    for (const task of tasks) task();
  };
  /** A stream of which each piece takes a while. */
  const stream = (name: string, msEach: number) => {
    const state = { paused: false };
    const queue = pacer.queue<string>({
      take: (piece) => {
        log.push(`${name}${piece}`);
        spend(msEach);
        return undefined;
      },
      pause: () => {
        state.paused = true;
      },
      resume: () => {
        state.paused = false;
      },
      failed: (error) => log.push(String(error)),
    });
    return { queue, state };
  };
  return { pacer, spend, turn, stream, log, isIdle: () => due.length === 0 };
}

test('what comes while there is time is worked on at once, and its stream is never paused', () => {
  const { stream, log, turn, isIdle } = world();
  const { queue, state } = stream('a', 0.1);
  for (let n = 0; n < 5; n++) queue.push(`${n}`, 1);
  expect(log).toEqual(['a0', 'a1', 'a2', 'a3', 'a4']);
  expect(state.paused).toBe(false);
  turn();
  expect(isIdle()).toBe(true);
});

test('beyond the budget a stream is paused, and goes on in the next turns', () => {
  const { stream, log, turn } = world();
  const { queue, state } = stream('a', 0.4);
  for (let n = 0; n < 7; n++) queue.push(`${n}`, 1);
  expect(log).toEqual(['a0', 'a1', 'a2']);
  expect(state.paused).toBe(true);
  turn();
  expect(log.slice(3)).toEqual(['flush', 'a3', 'a4', 'a5']);
  expect(state.paused).toBe(true);
  turn();
  expect(log.slice(7)).toEqual(['flush', 'a6']);
  expect(state.paused).toBe(false);
});

test('all streams together have one budget, and take turns', () => {
  const { stream, log, turn } = world();
  const streams = ['a', 'b', 'c'].map((name) => stream(name, 1));
  for (let n = 0; n < 3; n++) for (const { queue } of streams) queue.push(`${n}`, 1);
  for (let n = 0; n < 8; n++) turn();
  const work = log.filter((line) => line !== 'flush');
  expect(work).toHaveLength(9);
  for (const from of [0, 3, 6])
    expect(
      work
        .slice(from, from + 3)
        .map(([name]) => name)
        .sort(),
    ).toEqual(['a', 'b', 'c']);
});

test('one that was quiet comes before those that talk without end, in the turn in which it says something', () => {
  const { stream, log, turn } = world();
  const loud = Array.from({ length: 20 }, (_, n) => stream(`loud${n}:`, 1));
  const quiet = stream('quiet', 0.1);
  for (let n = 0; n < 50; n++) for (const { queue } of loud) queue.push('x', 1);
  for (let n = 0; n < 30; n++) turn();
  log.length = 0;
  quiet.queue.push('!', 1);
  turn();
  expect(log.filter((line) => line !== 'flush')[0]).toBe('quiet!');
});

test('a stream that ends is worked on to its last piece, and one that is dropped not at all', () => {
  const { stream, log, turn } = world();
  const ended = stream('e', 1);
  const dropped = stream('d', 1);
  for (let n = 0; n < 3; n++) ended.queue.push(`${n}`, 1);
  for (let n = 0; n < 3; n++) dropped.queue.push(`${n}`, 1);
  dropped.queue.drop();
  ended.queue.flush();
  for (let n = 0; n < 5; n++) turn();
  expect(log.filter((line) => line !== 'flush')).toEqual(['e0', 'e1', 'e2']);
});

test('a piece that fails is told of, and the others have their turns', () => {
  const { pacer, log, turn, stream } = world();
  const failing = pacer.queue<string>({
    take: () => {
      throw new Error('injected');
    },
    pause: () => undefined,
    resume: () => undefined,
    failed: (error) => log.push(String(error)),
  });
  const other = stream('a', 1);
  other.queue.push('0', 1);
  other.queue.push('1', 1);
  failing.push('x', 1);
  turn();
  turn();
  turn();
  expect(log).toContain('Error: injected');
  expect(log).toContain('a1');
});

test('work in steps goes on in later turns, and rejects with its error', async () => {
  const { pacer, spend, turn } = world();
  let steps = 0;
  const step = (isOver: IsOver): boolean => {
    do {
      steps++;
      spend(0.5);
    } while (!isOver());
    return steps >= 6;
  };
  const done = pacer.reader().run(step);
  expect(steps).toBe(2);
  for (let n = 0; n < 3; n++) turn();
  await done;
  expect(steps).toBe(6);
  spend(5);
  const failed = pacer.reader().run(() => {
    if (steps++ === 6) return false;
    throw new Error('injected');
  });
  turn();
  turn();
  await expect(failed).rejects.toThrow('injected');
});

test('frames are the same however often the cutting of a chunk was stopped', () => {
  const lines = fc.array(fc.stringMatching(/^[a-z]{0,3000}$/), { maxLength: 12 });
  fc.assert(
    fc.property(
      lines,
      fc.array(fc.boolean(), { minLength: 1 }),
      fc.integer({ min: 1, max: 20_000 }),
      (texts, stops, size) => {
        const bytes = Buffer.from(texts.map((text) => `${text}\n`).join(''));
        const seen: string[] = [];
        const splitter = new FrameSplitter(2500, {
          frame: (b, start, end) => seen.push(b.toString('utf8', start, end)),
          overflowed: () => undefined,
          badFrame: (reason) => seen.push(reason),
        });
        let asked = 0;
        const isOver: IsOver = () => stops[asked++ % stops.length] === true;
        for (let from = 0; from < bytes.length; from += size) {
          let chunk = bytes.subarray(from, from + size);
          while (chunk.length > 0) chunk = chunk.subarray(splitter.push(chunk, isOver));
        }
        expect(seen).toEqual(
          texts.filter((text) => text !== '').map((text) => (text.length > 2500 ? 'too-long' : text)),
        );
      },
    ),
  );
});

test.each([
  { what: 'short messages without end', bytes: 1000, turns: 200, floods: 3 },
  { what: 'short messages for a moment', bytes: 1000, turns: 60, floods: 0 },
  { what: 'long messages without end', bytes: 2 << 20, turns: 200, floods: 0 },
])('a flood is told of for $what: $floods times', ({ bytes, turns, floods }) => {
  const { stream, log, turn } = world();
  const { queue, state } = stream('a', 2);
  queue.push('-', bytes);
  for (let n = 0; n < turns; n++) {
    queue.push('-', bytes);
    turn();
  }
  expect(log.filter((line) => line === 'flooded')).toHaveLength(floods);
  while (state.paused) turn();
});

test('a flood is told of though the stream has nothing more in most turns', () => {
  const { stream, log, turn } = world();
  const { queue } = stream('a', 2);
  for (let n = 0; n < 64; n++) {
    queue.push('-', 1000);
    if (n % 3 === 0) queue.push('-', 1000);
    turn();
    turn();
  }
  expect(log).toContain('flooded');
});
