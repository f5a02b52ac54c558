// Numbers and times as the page writes them.

import { expect, test } from 'vitest';
import { clockTime, count, dateTime, shortCount } from '../../../src/dashboard/format.ts';

test.each([
  [0, '0'],
  [999, '999'],
  [1000, '1,000'],
  [9999.6, '10,000'],
  [1_234_567, '1,234,567'],
  [-1234, '-1,234'],
  [null, '–'],
])('%s is %s', (value, shown) => {
  expect(count(value)).toBe(shown);
});

test.each([
  [9999, '9,999'],
  [12_345, '12k'],
  [1_500_000, '1.5M'],
  [1_234_500_000, '1,235M'],
])('%s is %s where there is little room', (value, shown) => {
  expect(shortCount(value)).toBe(shown);
});

test('a time is that of the day, with two digits each', () => {
  const at = new Date(2026, 8, 5, 7, 3, 9);
  expect([clockTime(at), dateTime(at.getTime())]).toEqual(['07:03:09', '05 Sep, 07:03:09']);
});

test('an invalid time is shown as missing', () => {
  expect([clockTime('x'), dateTime('x')]).toEqual(['–', '–']);
});
