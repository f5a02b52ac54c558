import { expect, test } from 'vitest';
import { containedClock } from '../../../src/util/clock.ts';
import { FakeClock } from '../../support/fake-clock.ts';

test('an error in a timer of a contained clock is said, and the next turns of that timer and of others come', () => {
  const clock = new FakeClock();
  const errors: unknown[] = [];
  const contained = containedClock(clock, (error) => void errors.push(error));
  let turns = 0;
  const fail = (): never => {
    turns++;
    throw new Error('injected');
  };
  contained.every(10, fail);
  contained.after(10, fail);
  contained.after(10, () => void turns++);
  clock.advance(20);
  expect([turns, errors.length, contained.now()]).toEqual([4, 3, clock.now()]);
});
