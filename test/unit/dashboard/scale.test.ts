import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { levelsUpTo, timesBetween } from '../../../src/dashboard/parts/scale.ts';

describe('the numbers beside a chart', () => {
  test.each([
    [1, [0, 0.5, 1]],
    [4, [0, 1, 2, 3, 4]],
    [7.3, [0, 2, 4, 6, 8]],
    [1234, [0, 500, 1000, 1500]],
    [50_000, [0, 20_000, 40_000, 60_000]],
  ])('up to %d are %j', (most, levels) => {
    expect(levelsUpTo(most)).toEqual(levels);
  });

  test('are few, in equal steps, and reach the largest value', () => {
    fc.assert(
      fc.property(fc.double({ min: 1, max: 1e9, noNaN: true }), (most) => {
        const levels = levelsUpTo(most);
        expect(levels.length).toBeGreaterThanOrEqual(2);
        expect(levels.length).toBeLessThanOrEqual(6);
        expect(levels.at(-1)).toBeGreaterThanOrEqual(most * (1 - 1e-9));
      }),
    );
  });

  test('times are round, inside, and no more than there is room for', () => {
    expect(timesBetween(1000, 1060, 6)).toEqual([1000, 1010, 1020, 1030, 1040, 1050, 1060]);
    expect(timesBetween(1003, 1303, 4)).toEqual([1080, 1200]);
    fc.assert(
      fc.property(
        fc.nat(1e9),
        fc.integer({ min: 60, max: 300 }),
        fc.double({ min: 1, max: 20, noNaN: true }),
        (from, span, most) => {
          const times = timesBetween(from, from + span, most);
          expect(times.length).toBeLessThanOrEqual(most + 1);
          for (const at of times) expect(at).toBeGreaterThanOrEqual(from);
          for (const at of times) expect(at).toBeLessThanOrEqual(from + span);
        },
      ),
    );
  });

  test('there is none where no room is', () => {
    expect(timesBetween(1000, 1300, 0)).toEqual([]);
  });
});
