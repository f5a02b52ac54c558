import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { duration, printable, table } from '../../../../src/cli/render/table.ts';

describe('a table', () => {
  test('has columns as wide as they need to be, and no blanks at the end of a line', () => {
    expect(
      table(
        ['NAME', 'N'],
        [
          ['a', '10'],
          ['longer', ''],
        ],
      ),
    ).toBe('NAME    N\na       10\nlonger\n');
    expect(table(['NAME'], [])).toBe('NAME\n');
  });

  test('has one line for each row, whatever a peer calls itself', () => {
    fc.assert(
      fc.property(fc.array(fc.string({ unit: 'binary' })), (names) => {
        const lines = table(
          ['NAME', 'X'],
          names.map((name) => [name, 'x']),
        ).split('\n');
        expect(lines).toHaveLength(names.length + 2);
        for (const line of lines) expect(line).not.toMatch(/[\p{Cc}\p{Cf}\u2028\u2029]/u);
      }),
    );
  });
});

describe('a text for people', () => {
  test.each([
    ['\x1b[2Jx', '\\u{1b}[2Jx'],
    ['a\nb\r\tc', 'a\\u{a}b\\u{d}\\u{9}c'],
    ['\u202egnp.exe', '\\u{202e}gnp.exe'],
    ['\u200bx\ufeff', '\\u{200b}x\\u{feff}'],
    ['\u2028\u2029\x7f\x9b', '\\u{2028}\\u{2029}\\u{7f}\\u{9b}'],
    ['\u{e0041}', '\\u{e0041}'],
    ['é 日本 😀', 'é 日本 😀'],
  ])('%j is shown as %s', (text, shown) => {
    expect(printable(text)).toBe(shown);
  });
});

test.each([
  [0, '0 s'],
  [59_999, '59 s'],
  [60_000, '1 min 0 s'],
  [3_599_999, '59 min 59 s'],
  [3_600_000, '1 h 0 min'],
  [86_399_999, '23 h 59 min'],
  [86_400_000, '1 d 0 h'],
  [900_000_000, '10 d 10 h'],
])('%i ms are %s', (ms, text) => {
  expect(duration(ms)).toBe(text);
});
