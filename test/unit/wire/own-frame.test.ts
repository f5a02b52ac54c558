import { expect, test } from 'vitest';
import { ownFrame } from '../../../src/wire/own-frame.ts';

const chunk = Buffer.from(`first\n${'x'.repeat(100)}\r\nthird\n`);
const place = (start: number, end: number) => ({ b: chunk, start, end });

test('a small part of a chunk gets bytes of its own, with a newline behind them', () => {
  const frame = ownFrame(place(0, 5));
  expect(frame.b).toEqual(Buffer.from('first\n'));
  expect([frame.start, frame.end, frame.b.buffer.byteLength]).toEqual([0, 5, 6]);
});

test('what is most of its chunk stays where it is', () => {
  const most = place(6, 106);
  expect(ownFrame(most)).toBe(most);
});
