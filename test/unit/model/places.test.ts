// Places of clients that have no connection of their own on the socket.

import fc from 'fast-check';
import { expect, test } from 'vitest';
import { Places } from '../../../src/model/places.ts';

/** Takes all that an owner may have; returns how many. */
function fill(places: Places, owner: string): number {
  for (let taken = 0; ; taken++) {
    if (!places.hasRoom(owner)) return taken;
    places.take(owner);
  }
}

test('one owner alone takes half of all places, and the next ones find some', () => {
  const places = new Places({ maxClients: 10_000 });
  expect([fill(places, 'http 1'), fill(places, 'other hosts'), fill(places, 'http 2')]).toEqual([5000, 1667, 556]);
});

test.each([
  [1, 1],
  [2, 1],
  [3, 2],
  [8, 6],
  [100, 75],
])('of %d places all owners together take at most %d', (maxClients, most) => {
  const places = new Places({ maxClients });
  let taken = 0;
  for (let i = 0; i < 200; i++) taken += fill(places, `owner ${i}`);
  expect(taken).toBe(most);
});

test('what is given back is free, and is the owner’s no more', () => {
  fc.assert(
    fc.property(fc.array(fc.record({ owner: fc.constantFrom('a', 'b', 'c'), takes: fc.boolean() })), (steps) => {
      const places = new Places({ maxClients: 12 });
      const held = { a: 0, b: 0, c: 0 } as Record<string, number>;
      const sum = (): number => Object.values(held).reduce((all, one) => all + one, 0);
      for (const { owner, takes } of steps) {
        const of = held[owner] ?? 0;
        expect(places.hasRoom(owner)).toBe(of < 2 * (9 - sum()));
        if (takes && places.hasRoom(owner)) {
          places.take(owner);
          held[owner] = of + 1;
        } else if (!takes && of > 0) {
          places.giveBack(owner);
          held[owner] = of - 1;
        }
        expect(sum()).toBeLessThanOrEqual(9);
      }
    }),
  );
});
