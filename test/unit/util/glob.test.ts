// Globs mean what picomatch says that they mean, and take bounded time.

import fc from 'fast-check';
import picomatch from 'picomatch';
import { describe, expect, test } from 'vitest';
import { anyOf, globOf, LONGEST_PATTERN, LONGEST_TEXT, MOST_GLOBS, problemIn } from '../../../src/util/glob.ts';

const PIECES = [
  ...['*', '*', '?', 'a', 'a', 'b', 'b', 'c', '[', ']', '(', ')', '{', '}', '|', '!', '+', '@', ',', '.', '..', '\\'],
  ...['^', '-', '"', '$', '1', '3', '[!', '[[:alpha:]]', '@(', '!(', '*(', '+(', '?(', '(?=', '(?!', '(?<!', '(?:'],
  ...['\\d', '\\b', '=', ':', '_', ' ', '/'],
];
const LETTERS = [
  'a',
  'b',
  'c',
  'ab',
  '.',
  '1',
  '-',
  '!',
  '\n',
  '[',
  ']',
  '(',
  ')',
  '+',
  '\\',
  '{',
  '}',
  '"',
  '^',
  '/',
  '_',
];
const joined = (pieces: readonly string[], maxLength: number): fc.Arbitrary<string> =>
  fc.array(fc.constantFrom(...pieces), { minLength: 1, maxLength }).map((each) => each.join(''));

/** As rules were matched before: a star stands for slashes too. */
function before(pattern: string): (name: string) => boolean {
  const plain = (text: string): string => text.replaceAll('/', '\u2215');
  const matches = picomatch(plain(pattern), { dot: true, nonegate: true });
  return (name) => matches(plain(name));
}

test('every glob that is kept fits the names that it has always fitted', () => {
  fc.assert(
    fc.property(joined(PIECES, 9), fc.array(joined(LETTERS, 6), { minLength: 4, maxLength: 8 }), (pattern, names) => {
      fc.pre(globOf(pattern).isKept);
      const [fits, fitted] = [anyOf([pattern]), before(pattern)];
      for (const name of [pattern, ...names])
        expect([pattern, name, fits(name)]).toEqual([pattern, name, fitted(name)]);
    }),
    { numRuns: 3000 },
  );
});

test('a glob that is not kept has never fitted anything but its own text', () => {
  fc.assert(
    fc.property(joined(PIECES, 9), fc.array(joined(LETTERS, 6), { minLength: 4, maxLength: 8 }), (pattern, names) => {
      const glob = globOf(pattern);
      fc.pre(!glob.isKept && glob.problem.startsWith('is not a glob'));
      const fitted = before(pattern);
      for (const name of names)
        expect([pattern, name, name !== pattern && fitted(name)]).toEqual([pattern, name, false]);
    }),
    { numRuns: 3000 },
  );
});

test.each([
  ['get_*', 'get_x', true],
  ['*delete*all', 'delete_them_all', true],
  ['*delete*all', 'delete_them', false],
  ['*', 'a/b', true],
  ['git?ub:*', 'github:x', true],
  ['{read,write}_*', 'write_file', true],
  ['@(read|list)_*', 'list_', true],
  ['!(read_*)', 'write_x', true],
  ['!(read_*)', 'read_x', false],
  ['[[:digit:]]*', '1a', true],
  ['a\\*b', 'a*b', true],
  ['a\\*b', 'axb', false],
])('%s and %s: %s', (pattern, name, expected) => {
  expect(anyOf([pattern])(name)).toBe(expected);
});

describe('hostile patterns', () => {
  test('cost no more than their length allows on names that fit them everywhere but at the end', () => {
    const fits = anyOf(['*a'.repeat(17), '*delete*all', `${'*'.repeat(20)}b`, '+(a|b)*(a|ab)*c', '*(?*)z']);
    expect(fits(`${'a'.repeat(LONGEST_TEXT - 1)}x`)).toBe(false);
    expect(fits('x'.repeat(600_000))).toBe(false);
  });

  test('are refused where together they would take too long', () => {
    const many = Array.from({ length: 200 }, (_, i) => `${'*a'.repeat(100)}${i}`);
    expect(problemIn(many)?.problem).toBe('would take too long to match, with those before it');
    const deep = Array.from({ length: 50 }, (_, i) => `${'*('.repeat(80)}a${')'.repeat(80)}${i}`);
    expect(problemIn(deep)?.problem).toBe('would take too long to match, with those before it');
    const globs = Array.from({ length: MOST_GLOBS + 1 }, (_, i) => `a*${i}`);
    expect(problemIn(globs)).toEqual({
      pattern: `a*${MOST_GLOBS}`,
      problem: `is one of more than ${MOST_GLOBS} globs`,
    });
  });

  test('are not what many plain ones are: hundreds of globs, and any number of names', () => {
    expect(problemIn(Array.from({ length: MOST_GLOBS }, (_, i) => `get_*_${i}`))).toBeUndefined();
    expect(problemIn(Array.from({ length: 20_000 }, (_, i) => `server:tool_${i}`))).toBeUndefined();
  });
});

test.each([
  ['', 'is empty'],
  ['{a', 'is not a glob: its brackets, braces or ranges make no sense'],
  ['(a)\\1', 'cannot be kept: a part may not be asked for again by its number'],
  ['a'.repeat(LONGEST_PATTERN + 1), `is longer than ${LONGEST_PATTERN} characters`],
])('%j is refused with the reason', (pattern, problem) => {
  expect(problemIn(['ok', pattern])).toEqual({ pattern, problem });
});
