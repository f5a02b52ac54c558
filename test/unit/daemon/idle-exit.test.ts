import { describe, expect, test } from 'vitest';
import { IdleExit } from '../../../src/daemon/kept-socket.ts';
import { FakeClock } from '../../support/fake-clock.ts';

function watching(comesAtLast = false, canHide = true) {
  const clock = new FakeClock();
  const users = { count: 0 };
  const seen: string[] = [];
  const exit = new IdleExit({
    clock,
    idleMs: 10_000,
    isInUse: () => users.count > 0,
    retreat: () => {
      seen.push('retreats');
      if (comesAtLast) users.count++;
      return Promise.resolve(canHide);
    },
    comeBack: () => {
      seen.push('is back');
      if (comesAtLast) users.count--;
    },
    leave: () => void seen.push('leaves'),
  });
  return { clock, users, exit, seen };
}
const settle = () => new Promise(setImmediate);

describe('an unused daemon', () => {
  test('leaves once, when that has lasted', async () => {
    const { clock, seen } = watching();
    clock.advance(9_000);
    expect(seen).toEqual([]);
    clock.advance(5_000);
    await settle();
    clock.advance(60_000);
    await settle();
    expect(seen).toEqual(['retreats', 'leaves']);
  });

  test('waits again after any use, even between two checks', () => {
    const { clock, users, exit, seen } = watching();
    users.count = 1;
    clock.advance(60_000);
    users.count = 0;
    clock.advance(8_500);
    exit.used();
    clock.advance(9_000);
    expect(seen).toEqual([]);
    clock.advance(2_000);
    expect(seen).toEqual(['retreats']);
  });

  test('stays if it can be found still, and tries again later', async () => {
    const { clock, seen } = watching(false, false);
    clock.advance(10_000);
    await settle();
    clock.advance(10_000);
    await settle();
    expect(seen).toEqual(['retreats', 'is back', 'retreats', 'is back']);
  });

  test('stays if somebody comes at the last moment, and tries again later', async () => {
    const { clock, seen } = watching(true);
    clock.advance(10_000);
    await settle();
    clock.advance(9_000);
    expect(seen).toEqual(['retreats', 'is back']);
    clock.advance(1_000);
    expect(seen).toEqual(['retreats', 'is back', 'retreats']);
  });

  test('does nothing more once it is closed, even in the middle of a retreat', async () => {
    const { clock, exit, seen } = watching();
    clock.advance(10_000);
    exit.close();
    await settle();
    clock.advance(60_000);
    expect([seen, clock.pending]).toEqual([['retreats'], 0]);
  });
});
