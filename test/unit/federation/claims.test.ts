// Turns of long answers: a host whose objects do not come holds up only its own.

import { expect, test } from 'vitest';
import { Claims } from '../../../src/federation/claims.ts';
import { deferred } from '../../../src/util/deferred.ts';

/** Objects come when the test says so. */
function slowStore() {
  const asked: string[] = [];
  const come = deferred<Uint8Array>();
  const claims = new Claims(() =>
    Promise.resolve({
      put: () => Promise.resolve(),
      take: (id) => {
        asked.push(id);
        return id.startsWith('stuck') ? come.promise : Promise.resolve(Buffer.from(id));
      },
    }),
  );
  return { claims, asked, come: () => come.resolve(Buffer.alloc(1)) };
}

test('answers of one host that do not come hold up none of another', async () => {
  const { claims, asked, come } = slowStore();
  const stuck = Array.from({ length: 66 }, (_, i) => claims.take(`stuck-${i}-object`, 100, 'evil'));
  await expect(claims.take('stuck-too-many', 100, 'evil')).rejects.toThrow('too many long answers');
  expect(Buffer.from(await claims.take('an-honest-one', 100, 'builder')).toString()).toBe('an-honest-one');
  await claims.put('an-object', Buffer.alloc(1), 'ann laptop');
  expect(asked.filter((id) => id.startsWith('stuck'))).toHaveLength(2);
  come();
  await Promise.all(stuck);
  expect(asked).toHaveLength(67);
});

test('hosts have their turns one after the other', async () => {
  const { claims, asked } = slowStore();
  const names = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'];
  await Promise.all(names.flatMap((host) => [1, 2, 3].map((n) => claims.take(`${host}-object-${n}`, 100, host))));
  expect(asked).toHaveLength(24);
  expect(new Set(asked.slice(0, 12).map((id) => id[0])).size).toBeGreaterThanOrEqual(6);
});
