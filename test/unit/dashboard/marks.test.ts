import { expect, test } from 'vitest';
import { markedPieces } from '../../../src/dashboard/marks.ts';

test('a run of one character that cannot be seen is one mark with its length', () => {
  const run = '\u200b'.repeat(100_000);
  expect(markedPieces(`a${run}\u202eb`, false)).toEqual([
    'a',
    { code: '200B', times: 100_000 },
    { code: '202E', times: 1 },
    'b',
  ]);
});

test('beyond a number of marks, such characters are spelled out in one text', () => {
  const pieces = markedPieces('x\u200b'.repeat(50_000), false);
  expect(pieces.length).toBeLessThanOrEqual(2001);
  const texts = pieces.map((piece) => (typeof piece === 'string' ? piece : '.'));
  expect(texts.join('').replaceAll('\\u{200b}', '.')).toBe('x.'.repeat(50_000));
});

test('lines and tabs stay where lines are shown, and are marked where there is one line', () => {
  expect(markedPieces('one\n\ttwo', true)).toEqual(['one\n\ttwo']);
  expect(markedPieces('one\ntwo', false)).toEqual(['one', { code: '000A', times: 1 }, 'two']);
});
