// A task that is asked for more often than it should run.

import { expect, test } from 'vitest';
import { PacedTask } from '../../../src/daemon/followed-servers.ts';
import { FakeClock } from '../../support/fake-clock.ts';

/** A task that takes as long as told. */
function paced(tookMs: number) {
  const clock = new FakeClock();
  const runs: number[] = [];
  const task = new PacedTask({
    clock,
    run: () => {
      runs.push(clock.now());
      return new Promise((resolve) => clock.after(tookMs, resolve));
    },
  });
  const pass = async (ms: number): Promise<void> => {
    for (let n = 0; n < ms; n++) {
      clock.advance(1);
      await Promise.resolve();
      await Promise.resolve();
    }
  };
  return { clock, runs, task, pass };
}

test('runs at once, and rests then for nineteen times as long as that took', async () => {
  const { clock, runs, task, pass } = paced(10);
  const start = clock.now();
  task.ask();
  await pass(20);
  task.ask();
  task.ask();
  await pass(400);
  expect(runs.map((ms) => ms - start)).toEqual([0, 200]);
  task.ask();
  expect(runs).toHaveLength(3);
  await pass(10);
});

test('takes a twentieth of the time, however often it is asked for', async () => {
  const { clock, runs, task, pass } = paced(5);
  const start = clock.now();
  while (clock.now() - start < 2_000) {
    task.ask();
    await pass(1);
  }
  expect(runs).toEqual(Array.from({ length: 21 }, (_, n) => start + n * 100));
});

test('rests for two seconds at the very most', async () => {
  const { clock, runs, task, pass } = paced(1_000);
  const start = clock.now();
  task.ask();
  await pass(1_000);
  task.ask();
  await pass(3_000);
  expect(runs.map((ms) => ms - start)).toEqual([0, 3_000]);
});

test('runs once more when it was asked for while it ran, until it is closed', async () => {
  const clock = new FakeClock();
  const ends: (() => void)[] = [];
  const task = new PacedTask({ clock, run: () => new Promise((resolve) => ends.push(resolve)) });
  for (let n = 0; n < 3; n++) task.ask();
  expect(ends).toHaveLength(1);
  ends[0]?.();
  await new Promise(setImmediate);
  expect(ends).toHaveLength(2);
  task.close();
  task.ask();
  ends[1]?.();
  await new Promise(setImmediate);
  expect(ends).toHaveLength(2);
});
