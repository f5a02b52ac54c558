import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { findMembers } from '../../../src/wire/json-members.ts';
import { frameAt, jsonText, parsed, place } from '../../support/json-text.ts';

const NAMES = ['protocolVersion', '_meta', 'a"b', 'é'];

describe('the members of an object', () => {
  const key = fc.constantFrom(
    '"protocolVersion"',
    '"_meta"',
    '"\\u005fmeta"',
    '"a\\"b"',
    '"é"',
    '"\\u00e9"',
    '"x"',
    '""',
  );
  const space = fc.constantFrom('', ' ', '\t \r');
  const member = fc
    .tuple(space, key, space, jsonText, space)
    .map(([a, name, b, value, c]) => `${a}${name}${b}:${c}${value}${a}`);
  const object = fc
    .tuple(space, fc.array(member, { maxLength: 6 }), space)
    .map(([a, members, b]) => `{${members.length === 0 ? a : members.join(',')}}${b}`);

  test('are where JSON.parse finds them, the last one of a name', () => {
    fc.assert(
      fc.property(object, place, (text, where) => {
        const { b, start } = frameAt(text, where);
        const found = findMembers(b, start, NAMES);
        const value = parsed(text)?.value as Record<string, unknown>;
        for (const name of NAMES) {
          const span = found?.spans.get(name);
          const read = span === undefined ? undefined : (JSON.parse(b.toString('utf8', span.from, span.to)) as unknown);
          expect([text, name, read]).toEqual([text, name, value[name]]);
        }
        expect(found?.close).toBe(start + Buffer.byteLength(text.trimEnd()) - 1);
        expect(found?.isEmpty).toBe(Object.keys(value).length === 0);
      }),
      { numRuns: 1000 },
    );
  });

  test('are not looked for in what is no object, or no JSON', () => {
    for (const text of [
      '[]',
      '1',
      '"a"',
      'null',
      '',
      '{',
      '{"a"',
      '{"a":',
      '{"a":1',
      '{"a" 1}',
      '{a:1}',
      '{"a":1]',
      '{1:2}',
      '{"a":01}',
    ])
      expect([text, findMembers(frameAt(text).b, 0, ['a'])]).toEqual([text, undefined]);
  });

  test('of the names that were not asked for are passed over', () => {
    const found = findMembers(frameAt('{"b":{"a":1},"a":2}').b, 0, ['a']);
    expect([...(found?.spans.keys() ?? [])]).toEqual(['a']);
    expect(found?.spans.get('a')).toEqual({ from: 17, to: 18 });
  });
});
