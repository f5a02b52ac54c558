import fc from 'fast-check';
import { expect, test } from 'vitest';
import { printableJson } from '../../../src/cli/json-output.ts';

test('JSON that is shown is the same value, without anything that moves a cursor', () => {
  fc.assert(
    fc.property(fc.jsonValue({ noUnicodeString: false }), fc.constantFrom(undefined, 2, '\t'), (value, indent) => {
      const shown = printableJson(JSON.stringify(value, undefined, indent));
      expect(JSON.parse(shown)).toEqual(JSON.parse(JSON.stringify(value)));
      expect(shown).not.toMatch(/[\u007f-\u009f\p{Cf}\p{Zl}\p{Zp}]/u);
    }),
  );
});

test('each unit of a character is written as JSON writes it', () => {
  expect(printableJson('"\u009b2J \u202e \u2028 \u{e0041} é 😀"')).toBe(
    '"\\u009b2J \\u202e \\u2028 \\udb40\\udc41 é 😀"',
  );
});
