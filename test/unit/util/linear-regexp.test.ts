// Expressions that are matched by walking over the text once, compared with JavaScript's own engine.

import fc from 'fast-check';
import { expect, test } from 'vitest';
import { LinearRegexp, RegexpRefused } from '../../../src/util/linear-regexp.ts';

const PIECES = [
  ...['a', 'b', 'c', '.', '\\.', '[ab]', '[^a]', '[a-c\\]]', '\\d', '\\W', '\\b', '\\B', '^', '$', '1', '\\x61', '\\n'],
  ...['(', '(?:', '(?=', '(?!', '(?<=', '(?<!', ')', ')', ')', '|', '*', '+', '?', '*?', '{1,2}', '{2}', '{1,}'],
];
const TEXTS = ['a', 'b', 'c', '1', '.', '-', ']', '\n', ' '];
const expressions = fc.array(fc.constantFrom(...PIECES), { minLength: 1, maxLength: 10 }).map((each) => each.join(''));
const texts = fc.array(fc.constantFrom(...TEXTS), { maxLength: 7 }).map((each) => each.join(''));

function compiled(source: string): RegExp | undefined {
  try {
    return new RegExp(source);
  } catch {
    return undefined;
  }
}

test('an expression is found where JavaScript finds it', () => {
  fc.assert(
    fc.property(expressions, fc.array(texts, { minLength: 1, maxLength: 8 }), (source, each) => {
      const expression = compiled(source);
      fc.pre(expression !== undefined);
      const linear = new LinearRegexp(source);
      for (const text of each)
        expect([source, text, linear.test(text)]).toEqual([source, text, expression?.test(text)]);
    }),
    { numRuns: 3000 },
  );
});

test('no text takes longer than its length allows, where JavaScript would try for years', () => {
  const text = `${'a'.repeat(5000)}!`;
  for (const source of ['^(a|aa)+$', '^(a+)+$', '^(?:a?){30}a{30}$', `^${'.*?a'.repeat(40)}$`, '^(?=(a*)*b)'])
    expect(new LinearRegexp(source).test(text)).toBe(false);
});

test.each(['(a)\\1', '(?<n>a)\\k<n>', 'a{30000}', '(a', 'a)', '*', '[a', 'a{2,1}', '(?x)'])(
  '%s is refused',
  (source) => {
    expect(() => new LinearRegexp(source)).toThrow(RegexpRefused);
  },
);

test('an expression that is too large is refused before anything is made of it', () => {
  expect(() => new LinearRegexp('(?:(?:a{900}){900}){900}')).toThrow('it is too large');
});
