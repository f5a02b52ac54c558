import { expect, test } from 'vitest';
import { quantile, shownMs, since } from '../../../../src/cli/render/latency.ts';
import type { ServerLatency } from '../../../../src/model/server-latency.ts';

const BOUNDS = [1, 10, 100];
const of = (buckets: number[], sumMs = 0, maxMs = 1000) => ({
  ...{ server: 'a', buckets, sumMs, maxMs },
  errors: 0,
  unanswered: 0,
});

test('a share of the answers came within the bucket that holds it, evenly spread', () => {
  expect(quantile(0.5, of([0, 10, 0, 0]), BOUNDS)).toBe(5.5);
  expect(quantile(0.99, of([99, 0, 1, 0]), BOUNDS)).toBe(1);
  expect(quantile(1, of([99, 0, 1, 0]), BOUNDS)).toBe(100);
  expect(quantile(0.5, of([0, 0, 0, 5]), BOUNDS)).toBe(550);
  expect(quantile(0.5, of([0, 0, 0, 0]), BOUNDS)).toBeUndefined();
});

test('no share of the answers took longer than the longest of them', () => {
  expect(quantile(0.99, of([0, 0, 1, 0], 0, 12), BOUNDS)).toBeCloseTo(12, 1);
  expect(quantile(0.5, of([0, 0, 1, 0], 0, 12), BOUNDS)).toBe(11);
  expect(quantile(1, of([5, 0, 0, 1], 0, 800), BOUNDS)).toBe(800);
});

test('if a daemon does not report the longest time, nothing is known above the bounds', () => {
  const { maxMs: _, ...earlier } = of([0, 0, 0, 5]);
  expect(quantile(0.5, earlier as unknown as ServerLatency, BOUNDS)).toBe(100);
  expect(quantile(0.5, { ...earlier, buckets: [0, 10, 0, 0] } as unknown as ServerLatency, BOUNDS)).toBe(5.5);
});

test('the answers since an earlier report are the difference', () => {
  expect(since(of([1, 2, 0, 0], 4), of([1, 5, 1, 0], 50))).toMatchObject({ buckets: [0, 3, 1, 0], sumMs: 46 });
  expect(since(undefined, of([1, 0, 0, 0]))).toEqual(of([1, 0, 0, 0]));
});

test('times are shown with as many digits as they are worth', () => {
  expect([undefined, 0.123, 1.25, 99.6, 12_345].map(shownMs)).toEqual(['-', '0.12 ms', '1.3 ms', '100 ms', '12 s']);
});
