// The link to a caller on another host, while the core takes nothing from it.

import { expect, test } from 'vitest';
import { OwnerLink } from '../../../src/federation/owner-link.ts';
import { FlushTurn } from '../../../src/wire/outbox.ts';

const nobody = { notify: () => undefined, answer: () => undefined, over: () => undefined };

test('requests that wait for the core are counted until it takes them', () => {
  const link = new OwnerLink({ turn: new FlushTurn(() => undefined), closed: () => undefined });
  const frame = Buffer.from('{}\n');
  link.pause();
  link.take(frame, 2, '1', nobody);
  link.take(frame, 2, '2', nobody);
  expect([link.isWaiting, link.waitingBytes]).toEqual([true, 4]);
  link.resume();
  expect([link.isWaiting, link.waitingBytes]).toEqual([false, 0]);
});
