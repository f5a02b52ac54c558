import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { ByteTable } from '../../../src/wire/byte-table.ts';

/** Looks the text up where it stands in the middle of other bytes. */
function find<T>(table: ByteTable<T>, text: string): T | undefined {
  const b = Buffer.from(`"${text}"`);
  return table.find(b, 1, b.length - 1);
}

describe('a table of texts', () => {
  test('finds what a Map finds, for the texts in it, their neighbours and any others', () => {
    const text = fc.oneof(
      fc.string({ unit: 'grapheme', minLength: 1, maxLength: 12 }),
      fc.stringMatching(/^[ab]{1,6}$/),
    );
    fc.assert(
      fc.property(fc.uniqueArray(text, { maxLength: 60 }), fc.array(text), (known, others) => {
        const map = new Map(known.map((entry, i) => [entry, i]));
        const table = new ByteTable(map);
        for (const entry of [
          ...known,
          ...others,
          ...known.flatMap((one) => [`${one}x`, `x${one}`, one.slice(1), one.slice(0, -1)]),
        ])
          expect([entry, find(table, entry)]).toEqual([entry, map.get(entry)]);
      }),
      { numRuns: 500 },
    );
  });

  test('tells texts apart that share a bucket', () => {
    const texts = Array.from({ length: 2000 }, (_, i) => `${i}-${'x'.repeat(i % 40)}`);
    const table = new ByteTable(texts.map((text, i) => [text, i] as const));
    for (const [i, text] of texts.entries()) expect(find(table, text)).toBe(i);
  });

  test('finds nothing in no bytes, and nothing when it is empty', () => {
    expect(find(new ByteTable([['a', 1]]), '')).toBeUndefined();
    expect(find(new ByteTable<number>([]), 'a')).toBeUndefined();
    expect(new ByteTable([['a', 1]]).find(Buffer.from('a'), 1, 0)).toBeUndefined();
  });

  test('looks at its range only', () => {
    const table = new ByteTable([['ping', 1]]);
    const b = Buffer.from('xpingx');
    const hits = [];
    for (let from = 0; from <= b.length; from++)
      for (let to = from; to <= b.length; to++) if (table.find(b, from, to) !== undefined) hits.push([from, to]);
    expect(hits).toEqual([[1, 5]]);
  });
});
