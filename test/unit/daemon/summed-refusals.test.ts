// Refusals of other hosts, as the audit log gets them: few lines, whatever comes.

import { expect, test } from 'vitest';
import { type SummedRefusal, SummedRefusals } from '../../../src/daemon/summed-refusals.ts';
import { FakeClock } from '../../support/fake-clock.ts';

function summed() {
  const clock = new FakeClock();
  const written: SummedRefusal[] = [];
  const sums = new SummedRefusals(clock, (sum) => written.push(sum));
  return { clock, written, sums };
}

const disagree = { what: 'request', host: 'laptop', server: 'tools', why: 'subject and body disagree' } as const;

test('the same refusal is one line in ten seconds, with its number', () => {
  const { clock, written, sums } = summed();
  clock.advance(500);
  for (let i = 0; i < 1000; i++) sums.add(disagree);
  sums.add({ ...disagree, host: 'desk' });
  clock.advance(9_999);
  expect(written).toEqual([]);
  clock.advance(1);
  expect(written).toEqual([
    { refusal: disagree, count: 1000, firstMs: 500 },
    { refusal: { ...disagree, host: 'desk' }, count: 1, firstMs: 500 },
  ]);
  clock.advance(60_000);
  expect(written).toHaveLength(2);
  sums.add(disagree);
  sums.flush();
  clock.advance(60_000);
  expect(written[2]).toEqual({ refusal: disagree, count: 1, firstMs: 70_500 });
  expect(written).toHaveLength(3);
});

test('refusals that were counted together count as so many', () => {
  const { written, sums } = summed();
  sums.add({ ...disagree, count: 1269 });
  sums.add(disagree);
  sums.flush();
  expect(written.map(({ count }) => count)).toEqual([1270]);
});

test('a flood that invents hosts and reasons has few lines, and none of it is left out of the numbers', () => {
  const { clock, written, sums } = summed();
  for (let second = 0; second < 60; second++) {
    for (let i = 0; i < 500; i++) sums.add({ ...disagree, host: `invented-${second}-${i}`, why: `reason ${i}` });
    clock.advance(1000);
  }
  expect(written.length).toBe(6 * 9);
  expect(written.reduce((count, one) => count + one.count, 0)).toBe(60 * 500);
  expect(written.filter(({ refusal }) => refusal === undefined)).toHaveLength(6);
});
