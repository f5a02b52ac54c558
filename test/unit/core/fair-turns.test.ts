// The turns of work that takes time.

import { expect, test } from 'vitest';
import { FairTurns } from '../../../src/core/fair-turns.ts';

test('an owner with much work delays nobody else, and the loop turns between two jobs', async () => {
  const turns = new FairTurns();
  const done: string[] = [];
  let looks = 0;
  const look = (): void => {
    looks++;
    if (done.length < 21) setImmediate(look);
  };
  const greedy = Array.from({ length: 20 }, (_, i) => turns.run('greedy', () => done.push(`g${i}`)));
  const modest = turns.run('modest', async () => done.push('m'));
  setImmediate(look);
  await modest;
  expect(done.length).toBeLessThanOrEqual(3);
  await Promise.all(greedy);
  expect(done).toHaveLength(21);
  expect(looks).toBeGreaterThanOrEqual(19);
});

test('a job that fails fails alone', async () => {
  const turns = new FairTurns();
  const failing = turns.run('one', () => {
    throw new Error('no');
  });
  const next = turns.run('one', () => 'yes');
  await expect(failing).rejects.toThrow('no');
  expect(await next).toBe('yes');
});
