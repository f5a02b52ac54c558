import { expect, test } from 'vitest';
import { ExchangeGate } from '../../../src/downstream/exchange-gate.ts';

/** What has begun, and how each of it leaves. */
function entering() {
  const begun: string[] = [];
  const leaves = new Map<string, () => void>();
  const enter = (door: ReturnType<ExchangeGate['door']>, name: string): (() => void) =>
    door.enter((leave) => {
      begun.push(name);
      leaves.set(name, leave);
    });
  return { begun, enter, leave: (name: string) => leaves.get(name)?.() };
}

test('one server gets a quarter of maxRemoteCalls, and the others have the rest', () => {
  const gate = new ExchangeGate(8);
  const [stuck, other] = [gate.door(), gate.door()];
  const { begun, enter, leave } = entering();
  for (const name of ['s1', 's2', 's3', 's4']) enter(stuck, name);
  for (const name of ['o1', 'o2']) enter(other, name);
  expect(begun).toEqual(['s1', 's2', 'o1', 'o2']);
  leave('s1');
  expect(begun.slice(4)).toEqual(['s3']);
});

test('where there are none left the servers take turns', () => {
  const gate = new ExchangeGate(4);
  const doors = Array.from({ length: 6 }, () => gate.door());
  const { begun, enter, leave } = entering();
  for (const [n, door] of doors.entries()) for (const call of ['a', 'b']) enter(door, `${n}${call}`);
  expect(begun).toEqual(['0a', '1a', '2a', '3a']);
  for (const name of ['0a', '0b', '4a', '5a', '4b']) leave(name);
  expect(begun.slice(4)).toEqual(['0b', '4a', '5a', '4b', '5b']);
});

test('there is always room for one', () => {
  const { begun, enter } = entering();
  enter(new ExchangeGate(1).door(), 'one');
  expect(begun).toEqual(['one']);
});

test('a request that leaves before its turn is not waited for', () => {
  const gate = new ExchangeGate(4);
  const [door, other] = [gate.door(), gate.door()];
  const { begun, enter, leave } = entering();
  enter(door, 'one');
  const two = enter(door, 'two');
  enter(door, 'three');
  for (const name of ['o1', 'o2', 'o3']) enter(other, name);
  two();
  two();
  leave('one');
  expect(begun).toEqual(['one', 'o1', 'three']);
  leave('three');
  leave('o1');
  expect(begun.slice(3)).toEqual(['o2']);
});
