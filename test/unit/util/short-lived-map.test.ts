// Compared with a Map, which it must not be told from.

import { getHeapSpaceStatistics } from 'node:v8';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { ShortLivedMap } from '../../../src/util/short-lived-map.ts';
import { runs } from '../../support/runs.ts';

type Key = string | number;

const oldSpaceBytes = (): number =>
  getHeapSpaceStatistics().find(({ space_name }) => space_name === 'old_space')?.space_used_size ?? Number.NaN;

const key: fc.Arbitrary<Key> = fc.oneof(
  fc.nat({ max: 40 }),
  fc.nat({ max: 6 }).map((n) => n * 1024), // all in one slot
  fc.maxSafeInteger(),
  fc.constantFrom(0, -0, '', 'a', '0', '1', '-1'),
  fc.string({ maxLength: 4 }),
  fc.nat({ max: 9 }).map((n) => `${n}-the-same-ending`),
);
const step = fc.oneof(
  { weight: 3, arbitrary: fc.record({ do: fc.constant('add' as const), key }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('delete' as const), key }) },
);

describe('a map of entries that live for a moment', () => {
  test('has, gives, counts and orders what a Map does', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
        const slow = new Map<Key, object>();
        const fast = new ShortLivedMap<Key, object>();
        for (const { do: what, key } of steps) {
          if (what === 'delete') expect(fast.delete(key)).toBe(slow.delete(key));
          else if (!slow.has(key)) {
            const value = {};
            slow.set(key, value);
            fast.add(key, value);
          }
          expect([fast.size, fast.has(key), fast.get(key)]).toEqual([slow.size, slow.has(key), slow.get(key)]);
        }
        const all = [...fast.values()];
        expect(all.length).toBe(slow.size);
        for (const [i, value] of [...slow.values()].entries()) expect(all[i]).toBe(value);
        for (const [key, value] of slow) expect(fast.get(key)).toBe(value);
      }),
      { numRuns: runs(2000) },
    );
  });

  test('holds thousands at once, whatever their last bits are', () => {
    for (const factor of [1, 3, 1024, 4096]) {
      const map = new ShortLivedMap<number, number>();
      for (let i = 0; i < 5000; i++) map.add(i * factor, i);
      expect([map.size, map.get(4999 * factor), map.has(5000 * factor)]).toEqual([5000, 4999, false]);
      expect([...map.values()]).toEqual(Array.from({ length: 5000 }, (_, i) => i));
      for (let i = 0; i < 5000; i++) expect(map.delete(i * factor)).toBe(true);
      expect([map.size, [...map.values()]]).toEqual([0, []]);
    }
  });

  test('gives no entry that is deleted while its values are looked through', () => {
    const map = new ShortLivedMap<number, number>();
    for (let i = 0; i < 10; i++) map.add(i, i);
    const seen: number[] = [];
    for (const value of map.values()) {
      seen.push(value);
      map.delete(value + 1);
    }
    expect(seen).toEqual([0, 2, 4, 6, 8]);
  });

  test('lets entries that have left be collected while they are young, which a Map does not', () => {
    const map = new ShortLivedMap<number, number[]>();
    map.add(-1, []);
    for (let i = 0; i < 400_000; i++) Array(16).fill(i); // by now its table has been moved to the old space
    const before = oldSpaceBytes();
    let most = 0;
    for (let i = 0; i < 400_000; i++) {
      map.add(i, Array(16).fill(i));
      map.delete(i - 100);
      if (i % 5000 === 0) most = Math.max(most, oldSpaceBytes() - before);
    }
    expect(map.size).toBe(100);
    expect(most).toBeLessThan(8 * 1024 * 1024);
  });
});
