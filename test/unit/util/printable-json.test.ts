import fc from 'fast-check';
import { expect, test } from 'vitest';
import { jsonLogger } from '../../../src/local/log-sink.ts';
import { printable, printableJson } from '../../../src/util/printable.ts';

test('JSON that is shown is the same value, without anything that moves a cursor', () => {
  fc.assert(
    fc.property(fc.jsonValue({ noUnicodeString: false }), fc.constantFrom(undefined, 2, '\t'), (value, indent) => {
      const shown = printableJson(JSON.stringify(value, undefined, indent));
      expect(JSON.parse(shown)).toEqual(JSON.parse(JSON.stringify(value)));
      expect(shown).not.toMatch(/[\u007f-\u009f\p{Cf}\p{Zl}\p{Zp}\p{DI}]/u);
    }),
  );
});

test('each unit of a character is written as JSON writes it', () => {
  expect(printableJson('"\u009b2J \u202e \u2028 \u{e0041} é 😀"')).toBe(
    '"\\u009b2J \\u202e \\u2028 \\udb40\\udc41 é 😀"',
  );
});

test.each([
  ['C1', '\u0085\u009b'],
  ['bidirectional', '\u202e\u2066\u200f\u061c'],
  ['invisible', '\u200b\u2060\u00ad\u034f\u115f\u3164\uffa0\ufe0f\u{e0100}\u{e0041}\u2800'],
  ['white as a space', '\u00a0\u2003\u3000\u2028'],
  ['a half', '\ud800'],
])('no character that is not seen as it is passes: %s', (_, characters) => {
  for (const character of characters) {
    const hex = (character.codePointAt(0) ?? 0).toString(16);
    expect(printable(`a${character}b`)).toBe(`a\\u{${hex}}b`);
    const json = printableJson(`"a${character}b"`);
    expect(json).toMatch(/^"a(?:\\u[0-9a-f]{4}){1,2}b"$/);
    expect(JSON.parse(json)).toBe(`a${character}b`);
  }
  expect(printable('é 😀 ñ')).toBe('é 😀 ñ');
});

test('a line of the daemon’s log has no such character', () => {
  const lines: string[] = [];
  jsonLogger('info', (line) => lines.push(line)).warn('a\u009b31m', { server: '\u202egpj' });
  expect(lines.join('')).toMatch(/"message":"a\\u009b31m","server":"\\u202egpj"\}\n$/);
});
