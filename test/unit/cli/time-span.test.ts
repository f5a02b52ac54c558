import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { timeSpanMs } from '../../../src/cli/patience.ts';

describe('a time that a person types', () => {
  test.each([
    ['500ms', 500],
    ['2s', 2000],
    ['0.05s', 50],
    ['5m', 300_000],
    ['1h', 3_600_000],
    ['250', 250],
  ])('%s is %i ms', (text, ms) => {
    expect(timeSpanMs(text, 'ms')).toBe(ms);
  });

  test.each(['', '0', '-1', 'soon', '2 s', '2S', '1e3', '2147483648', '600h', ['1s', '2s'], undefined])(
    '%j is none',
    (text) => {
      expect(timeSpanMs(text, 'ms')).toBeUndefined();
    },
  );

  test('a number alone is in the unit of whoever asks', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 10_000 }), (number) => {
        expect(timeSpanMs(`${number}`, 's')).toBe(timeSpanMs(`${number}s`, 'ms'));
      }),
    );
  });
});
