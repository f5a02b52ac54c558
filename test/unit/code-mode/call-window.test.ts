// Which calls of a program are under way, and when its process is not read.

import { expect, test } from 'vitest';
import { CallWindow } from '../../../src/code-mode/call-window.ts';

const MIB = 1024 * 1024;

class World {
  waiting = 0;
  isPaused = false;
  readonly begun: number[] = [];
  readonly window = new CallWindow({
    waitingBytes: () => this.waiting,
    paused: (isPaused) => {
      this.isPaused = isPaused;
    },
  });

  add(count: number, bytes = 10): void {
    for (let i = 0; i < count; i++) {
      const number = this.begun.length + i;
      this.window.add(bytes, () => this.begun.push(number));
    }
  }
}

test('sixteen calls go before the first answer, and as many as have room once answers turn out short', () => {
  const world = new World();
  world.add(300);
  expect(world.begun).toHaveLength(16);
  world.window.ended(10, 100);
  expect(world.begun).toHaveLength(300);
});

test('large answers let few calls go at once, and never none', () => {
  const world = new World();
  world.add(100);
  world.window.ended(10, 8 * MIB);
  expect(world.begun).toHaveLength(16);
  for (let i = 0; i < 12; i++) world.window.ended(10, 8 * MIB);
  expect(world.begun.length - 13).toBe(4);
});

test('no call begins while answers wait for the process, until it has read them', () => {
  const world = new World();
  world.waiting = 17 * MIB;
  world.add(3);
  expect(world.begun).toHaveLength(0);
  world.waiting = MIB;
  world.window.goOn();
  expect(world.begun).toHaveLength(3);
});

test('the process is not read while too many arguments are under way; those that it has said go on meanwhile', () => {
  const world = new World();
  world.add(5, MIB);
  expect(world.isPaused).toBe(true);
  for (let i = 0; i < 4; i++) world.window.ended(MIB, 100);
  expect(world.isPaused).toBe(false);
  // It reads nothing while it cannot say what it has to say.
  world.waiting = 17 * MIB;
  world.add(6, MIB);
  expect(world.begun.length).toBeGreaterThan(5);
});

test('a call that is answered while it begins is followed by the next one, in order', () => {
  const order: number[] = [];
  const window = new CallWindow({ waitingBytes: () => 0, paused: () => undefined });
  for (let i = 0; i < 2000; i++)
    window.add(1, () => {
      order.push(i);
      window.ended(1, 1);
    });
  expect(order).toEqual(Array.from({ length: 2000 }, (_, i) => i));
});
