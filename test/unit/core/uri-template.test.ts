import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { matchesTemplate } from '../../../src/core/joined-view.ts';

describe('a URI', () => {
  test.each([
    ['file:///{path}', 'file:///a/b.txt'],
    ['file:///{+path}', 'file:///a/b.txt'],
    ['db://{table}/{id}', 'db://users/7'],
    ['db://{table}/{id}/raw', 'db://users/7/raw'],
    ['db://x{?q,page}', 'db://x?q=1&page=2'],
    ['db://x{?q}', 'db://x'],
    ['{uri}', 'anything:at-all'],
    ['{a}{b}', ''],
    ['plain:uri', 'plain:uri'],
  ])('may have come from %s: %s', (template, uri) => {
    expect(matchesTemplate(template, uri)).toBe(true);
  });

  test.each([
    ['file:///{path}', 'http:///a'],
    ['db://{table}/{id}', 'db://users'],
    ['db://{table}/{id}/raw', 'db://users/7/cooked'],
    ['a{x}aa', 'aa'],
    ['ab{x}ba', 'aba'],
    ['a{x}b{y}b', 'ab'],
    ['plain:uri', 'plain:uri/'],
    ['', 'a:b'],
  ])('cannot have come from %s: %s', (template, uri) => {
    expect(matchesTemplate(template, uri)).toBe(false);
  });

  test('that was made from a template matches it, whatever the values', () => {
    const literal = fc.stringMatching(/^[a-z:/.?=]{0,5}$/);
    fc.assert(
      fc.property(
        literal,
        fc.array(fc.tuple(fc.string({ maxLength: 5 }), literal), { maxLength: 5 }),
        (first, parts) => {
          const template = first + parts.map(([, after], n) => `{v${n}}${after}`).join('');
          const uri = first + parts.map(([value, after]) => value + after).join('');
          expect(matchesTemplate(template, uri)).toBe(true);
        },
      ),
      { numRuns: 1000 },
    );
  });

  test('matches exactly when a regular expression of the same literals does', () => {
    const short = fc.stringMatching(/^[ab]{0,3}$/);
    fc.assert(
      fc.property(
        fc.array(short, { minLength: 1, maxLength: 4 }),
        fc.stringMatching(/^[ab]{0,8}$/),
        (literals, uri) => {
          const slow = new RegExp(`^${literals.join('.*')}$`);
          expect(matchesTemplate(literals.join('{x}'), uri)).toBe(slow.test(uri));
        },
      ),
      { numRuns: 3000 },
    );
  });
});
