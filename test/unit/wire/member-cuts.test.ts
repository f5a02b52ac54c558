// Cutting and adding members by splicing says the same as taking the object apart would, and leaves the bytes of what stays.

import fc from 'fast-check';
import { expect, test } from 'vitest';
import { findMembers } from '../../../src/wire/json-members.ts';
import { areAll, cutMembers, KeySet, setMembers } from '../../../src/wire/member-cuts.ts';
import { FlushTurn, Outbox } from '../../../src/wire/outbox.ts';
import { Splice } from '../../../src/wire/splice.ts';
import { runs } from '../../support/runs.ts';

const space = fc.constantFrom('', ' ', '\t', '  ');
const value = fc.oneof(fc.constantFrom('1', '"x, y"', '{}', '[ ]', '{"a":{"b":"}"}}', 'null'), fc.json());

/** An object in JSON with these keys, each once, in any order and with any spaces. */
function objectText(keys: readonly string[]): fc.Arbitrary<string> {
  return fc.shuffledSubarray([...keys]).chain((chosen) =>
    fc
      .tuple(
        fc.array(fc.tuple(space, space, space, value), { minLength: chosen.length, maxLength: chosen.length }),
        space,
      )
      .map(([parts, last]) => {
        const members = chosen.map((key, i) => {
          const [one = '', two = '', three = '', text = '1'] = parts[i] ?? [];
          return `${one}${JSON.stringify(key)}${two}:${three}${text}${one}`;
        });
        return `{${members.length === 0 ? last : members.join()}}`;
      }),
  );
}

function spliced(text: string, cut: (splice: Splice, b: Buffer) => void): string {
  const b = Buffer.from(`${text}\n`);
  const written: Uint8Array[] = [];
  const outbox = new Outbox(
    {
      write: (bytes) => written.push(Buffer.from(bytes)) > 0,
      cork: () => undefined,
      uncork: () => undefined,
      writableLength: 0,
    },
    new FlushTurn((task) => task()),
  );
  const splice = new Splice();
  cut(splice.clear(), b);
  splice.send(outbox, b, 0, b.length - 1);
  outbox.flush();
  return Buffer.concat(written).toString().trimEnd();
}

const without = (text: string, keys: readonly string[]): Record<string, unknown> =>
  Object.fromEntries(Object.entries(JSON.parse(text) as object).filter(([key]) => !keys.includes(key)));

test('members are cut out with their commas, wherever they stand, and nothing else changes', () => {
  const gone = ['x', 'y', 'longer key'];
  fc.assert(
    fc.property(objectText(['a', 'b', 'c', ...gone]), (text) => {
      const b = Buffer.from(`${text}\n`);
      const spans = [...(findMembers(b, 0, gone)?.spans.values() ?? [])];
      expect(JSON.parse(spliced(text, (splice, bytes) => cutMembers(splice, bytes, spans)))).toEqual(
        without(text, gone),
      );
      const isAll = Object.keys(JSON.parse(text) as object).every((key) => gone.includes(key)) && spans.length > 0;
      expect(areAll(b, spans)).toBe(isAll);
    }),
    { numRuns: runs(500) },
  );
});

test('the bytes of the members that stay are not touched', () => {
  const text = '{ "x" : 1 , "n" : 1.50e+3 ,"y":{ }, "s":"\\u00fc" }';
  const { spans } = findMembers(Buffer.from(`${text}\n`), 0, ['x', 'y']) ?? { spans: new Map() };
  expect(spliced(text, (splice, b) => cutMembers(splice, b, [...spans.values()]))).toBe(
    '{ "n" : 1.50e+3 ,"s":"\\u00fc" }',
  );
});

test('members are set behind all others, in the place of those with the same key in any case or spelling', () => {
  const ours = new KeySet(['ours/One', 'two']);
  const alike = ['ours/One', 'OURS/one', 'two', 'TWO'];
  fc.assert(
    fc.property(
      objectText(['a', 'b', 'twos', ...alike]),
      fc.constantFrom('', '"ours/One":1', '"two":{},"ours/One":[2]'),
      (text, members) => {
        const after = spliced(text, (splice, b) => setMembers(splice, b, 0, ours, members));
        const set = JSON.parse(`{${members}}`) as object;
        expect(JSON.parse(after)).toEqual({ ...without(text, alike), ...set });
        expect(Object.keys(JSON.parse(after) as object).slice(-Object.keys(set).length || undefined)).toEqual(
          members === '' ? Object.keys(without(text, alike)) : Object.keys(set),
        );
      },
    ),
    { numRuns: runs(500) },
  );
});

test('a key with escapes counts as the key that it spells, and each of several is cut', () => {
  const text = '{"tw\\u006f":1,"a":2,"two":3,"two":4}';
  expect(spliced(text, (splice, b) => setMembers(splice, b, 0, new KeySet(['two']), '"two":5'))).toBe(
    '{"a":2,"two":5}',
  );
});
