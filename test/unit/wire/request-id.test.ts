import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type RequestId, readRequestId } from '../../../src/wire/request-id.ts';
import { frameAt, jsonText, type Place, parsed, place, stringText } from '../../support/json-text.ts';

function read(text: string, where?: Place): RequestId | undefined {
  const { b, start, end } = frameAt(text, where);
  return readRequestId(b, start, end);
}

/** The same rule on the parsed value. */
function slowId(text: string): RequestId | undefined {
  const value = parsed(text)?.value;
  if (typeof value === 'string') return Buffer.byteLength(text) - 2 <= 256 ? value : undefined;
  if (typeof value !== 'number' || Buffer.byteLength(text) > 256) return undefined;
  return Number.isSafeInteger(value) ? value + 0 : undefined;
}

describe('an id', () => {
  test('is what JSON.parse makes of it, for strings and safe integers only', () => {
    const digits = fc.stringMatching(/^-?(0|[1-9][0-9]{0,17})(\.0{1,3})?([eE][+-]?[0-9]{1,2})?$/);
    fc.assert(
      fc.property(fc.oneof(jsonText, stringText, digits, fc.maxSafeInteger().map(String)), place, (text, where) => {
        expect([text, read(text, where)]).toEqual([text, slowId(text)]);
      }),
      { numRuns: 4000 },
    );
  });

  test.each<[string, RequestId]>([
    ['0', 0],
    ['7', 7],
    ['-1', -1],
    ['1.0', 1],
    ['1e2', 100],
    ['10E-1', 1],
    ['-0', 0],
    ['-0.0', 0],
    ['999999999999999', 999_999_999_999_999],
    ['1000000000000000', 1_000_000_000_000_000],
    ['9007199254740991', Number.MAX_SAFE_INTEGER],
    ['-9007199254740991', Number.MIN_SAFE_INTEGER],
    ['""', ''],
    ['"7"', '7'],
    ['"\\u0061"', 'a'],
    ['"é😀"', 'é😀'],
    ['"\\ud800"', '\ud800'],
  ])('%s is taken', (text, id) => {
    expect(Object.is(read(text), id)).toBe(true);
  });

  test.each([
    '1.5',
    '-0.5',
    '1e-1',
    '9007199254740992',
    '-9007199254740992',
    '1e16',
    '1e400',
    'null',
    'true',
    'false',
    '{}',
    '[]',
    '[1]',
    '{"id":1}',
  ])('%s is refused', (text) => {
    expect(read(text)).toBeUndefined();
  });

  test('of 256 bytes between its quotes is taken, and of 257 refused, however they are spelled', () => {
    for (const [unit, width] of [
      ['a', 1],
      ['é', 2],
      ['😀', 4],
      ['\\n', 2],
    ] as const) {
      const atLimit = `"${unit.repeat(256 / width)}"`;
      expect(read(atLimit)).toBe(JSON.parse(atLimit));
      expect(read(`"x${unit.repeat(256 / width)}"`)).toBeUndefined();
    }
    expect(read(`1${'0'.repeat(300)}`)).toBeUndefined();
    expect(read(`1.${'0'.repeat(300)}`)).toBeUndefined();
  });
});
