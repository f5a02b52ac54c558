import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { DEEPEST } from '../../../src/wire/json-grammar.ts';
import { findItems } from '../../../src/wire/json-items.ts';
import { frameAt, jsonText, mutate, mutations, parsed, place } from '../../support/json-text.ts';

const space = fc.stringMatching(/^[ \t\r]{0,2}$/);
const arrayText = fc
  .tuple(fc.array(fc.tuple(space, jsonText, space), { maxLength: 6 }), space)
  .map(([items, empty]) => `[${items.length === 0 ? empty : items.map((item) => item.join('')).join(',')}]`);

describe('the items of an array', () => {
  test('are those that JSON.parse finds, wherever in a buffer the array stands', () => {
    fc.assert(
      fc.property(arrayText, place, (text, where) => {
        const { b, start } = frameAt(text, where);
        const items = findItems(b, start)?.map(({ from, to }) => b.toString('utf8', from, to));
        expect(items?.map((item) => JSON.parse(item) as unknown)).toEqual(JSON.parse(text));
        for (const item of items ?? []) expect(item).toBe(item.trim());
      }),
      { numRuns: 2000 },
    );
  });

  test('are looked for no further than asked', () => {
    const b = Buffer.from('[1, [2], 3, no JSON\n');
    expect(findItems(b, 0, 3)).toHaveLength(3);
    expect(findItems(b, 0, 4)).toBeUndefined();
    expect(findItems(Buffer.from('[]\n'), 0, 1)).toEqual([]);
  });

  test('may each be nested as deeply as a message', () => {
    const nested = (levels: number): Buffer => Buffer.from(`[0,${'['.repeat(levels)}${']'.repeat(levels)}]\n`);
    expect(findItems(nested(DEEPEST), 0)).toHaveLength(2);
    expect(findItems(nested(DEEPEST + 1), 0)).toBeUndefined();
  });

  test('are not found in what is no array', () => {
    for (const text of ['{}', '"[]"', '1', '', '[1', '[1,', '[1 2]', '[,]', '[1,]', '[}', '[1}'])
      expect(findItems(Buffer.from(`${text}\n`), 0)).toBeUndefined();
  });

  test('are never made up: what is found in broken bytes is JSON up to the bracket that closes it', () => {
    fc.assert(
      fc.property(arrayText, mutations, (text, steps) => {
        const bytes = mutate(text, steps);
        if (bytes === undefined || bytes[0] !== 0x5b) return;
        const items = findItems(Buffer.concat([bytes, Buffer.from('\n')]), 0);
        if (items === undefined) expect(parsed(bytes)).toBeUndefined();
        else if (parsed(bytes) !== undefined)
          expect(items.map(({ from, to }) => parsed(bytes.subarray(from, to))?.value)).toEqual(parsed(bytes)?.value);
      }),
      { numRuns: 2000 },
    );
  });
});
