import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { FairQueue } from '../../../src/util/fair-queue.ts';

/** The same by a list of owners in turn, each with its items. */
class NaiveQueue {
  #turns: { readonly owner: string; readonly items: number[] }[] = [];

  get size(): number {
    return this.#turns.reduce((sum, { items }) => sum + items.length, 0);
  }
  push(owner: string, item: number): void {
    const turn = this.#turns.find((one) => one.owner === owner);
    if (turn !== undefined) turn.items.push(item);
    else this.#turns.push({ owner, items: [item] });
  }
  take(mayServe: (owner: string) => boolean): number | undefined {
    const turn = this.#turns.find(({ owner }) => mayServe(owner));
    if (turn === undefined) return undefined;
    const item = turn.items.shift();
    this.#turns = [...this.#turns.filter((one) => one !== turn), turn].filter(({ items }) => items.length > 0);
    return item;
  }
  remove(owner: string, item: number): boolean {
    const turn = this.#turns.find((one) => one.owner === owner);
    const at = turn?.items.indexOf(item) ?? -1;
    turn?.items.splice(at, at < 0 ? 0 : 1);
    this.#turns = this.#turns.filter(({ items }) => items.length > 0);
    return at >= 0;
  }
}

const owner = fc.constantFrom('a', 'b', 'c', 'd');
const step = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({ do: fc.constant('push' as const), owner, times: fc.constantFrom(1, 1, 1, 3, 90) }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant('take' as const),
      allowed: fc.subarray(['a', 'b', 'c', 'd']),
      times: fc.constantFrom(1, 1, 5, 80),
    }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('remove' as const), owner, item: fc.nat({ max: 400 }) }) },
);

describe('waiting in turns', () => {
  test('goes as in a naive queue, whatever is pushed, taken and removed', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 80, size: 'max' }), (steps) => {
        const queue = new FairQueue<string, number>();
        const naive = new NaiveQueue();
        let items = 0;
        for (const one of steps) {
          if (one.do === 'remove') expect(queue.remove(one.owner, one.item)).toBe(naive.remove(one.owner, one.item));
          else
            for (let i = 0; i < one.times; i++) {
              if (one.do === 'push') {
                queue.push(one.owner, items);
                naive.push(one.owner, items++);
              } else {
                const mayServe = (asked: string): boolean => one.allowed.includes(asked);
                expect(queue.take(mayServe)).toBe(naive.take(mayServe));
              }
            }
          expect(queue.size).toBe(naive.size);
        }
        while (naive.size > 0) expect(queue.take(() => true)).toBe(naive.take(() => true));
        expect([queue.size, queue.take(() => true)]).toEqual([0, undefined]);
      }),
      { numRuns: 500 },
    );
  });

  test('serves one of each owner before the second of any', () => {
    const queue = new FairQueue<string, string>();
    for (const item of ['a1', 'a2', 'a3', 'b1', 'c1', 'c2']) queue.push(item.charAt(0), item);
    expect(Array.from({ length: 6 }, () => queue.take(() => true))).toEqual(['a1', 'b1', 'c1', 'a2', 'c2', 'a3']);
  });

  test('passes over who may not be served, who keeps the place', () => {
    const queue = new FairQueue<string, string>();
    for (const item of ['a1', 'b1', 'b2']) queue.push(item.charAt(0), item);
    expect(queue.take((who) => who === 'b')).toBe('b1');
    expect(queue.take(() => false)).toBeUndefined();
    expect([queue.take(() => true), queue.take(() => true)]).toEqual(['a1', 'b2']);
  });

  test('passes on the next items of each owner that are to go to another queue, in order, and keeps the others', () => {
    const [queue, other] = [new FairQueue<string, number>(), new FairQueue<string, number>()];
    for (const item of [1, 3, 4, 5]) queue.push('a', item);
    for (const item of [7, 9]) queue.push('b', item);
    queue.push('c', 2);
    queue.passTo(other, (item) => item % 2 === 1);
    expect([[...queue.items()], [...other.items()]]).toEqual([
      [4, 5, 2],
      [1, 3, 7, 9],
    ]);
    expect([queue.size, other.size, queue.heads(), other.headOf('b')]).toEqual([
      3,
      4,
      [
        ['a', 4],
        ['c', 2],
      ],
      7,
    ]);
  });
});
