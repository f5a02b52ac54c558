// Frames that wait while their reader is paused.

import { expect, test } from 'vitest';
import { WaitingFrames } from '../../../src/wire/waiting-frames.ts';

test('frames are handed on in their order, also where one pauses the reader or brings another one', () => {
  const frames = new WaitingFrames();
  const handed: string[] = [];
  const add = (name: string, more?: () => void): void =>
    frames.add(() => {
      handed.push(name);
      more?.();
    }, name.length);
  add('at once');
  frames.pause();
  add('a', () => frames.pause());
  add('b', () => add('d'));
  add('c');
  expect([handed, frames.bytes]).toEqual([['at once'], 3]);
  frames.resume();
  expect([handed, frames.isPaused, frames.bytes]).toEqual([['at once', 'a'], true, 2]);
  frames.resume();
  expect([handed, frames.isPaused, frames.bytes]).toEqual([['at once', 'a', 'b', 'c', 'd'], false, 0]);
});

test('so many wait that it is full, until they are dropped or handed on', () => {
  const frames = new WaitingFrames();
  frames.pause();
  let handed = 0;
  while (!frames.isFull) frames.add(() => handed++, 1);
  expect(frames.bytes).toBe(64);
  frames.resume();
  expect([handed, frames.isFull]).toEqual([64, false]);
  frames.pause();
  frames.add(() => handed++, 1);
  frames.drop();
  frames.resume();
  expect(handed).toBe(64);
});
