import fc from 'fast-check';
import { expect, test } from 'vitest';
import { nestedParametersOf, typeName } from '../../../../src/cli/render/tool-schema.ts';

const shown = (schema: unknown): string[] =>
  nestedParametersOf(schema).map(
    ({ name, depth, isNeeded, shape }) => `${'  '.repeat(depth)}${name}${isNeeded ? '!' : ''}: ${typeName(shape)}`,
  );

test('a tree that is defined by itself is followed once', () => {
  const node = {
    type: 'object',
    properties: {
      value: { type: 'integer' },
      left: { $ref: '#/$defs/node' },
      children: { type: 'array', items: { $ref: '#/$defs/node' } },
    },
    required: ['value'],
  };
  expect(shown({ type: 'object', properties: { root: { $ref: '#/$defs/node' } }, $defs: { node } })).toEqual([
    'root: object',
    ...['  value!: integer', '  left: object', '  children: array of object'],
  ]);
  expect(shown({ properties: { again: { $ref: '#' } } })).toEqual(['again: object']);
});

test('parts of a schema that are put together from several are shown together', () => {
  const named = { properties: { name: { type: 'string' } }, required: ['name'] };
  const schema = { properties: { who: { allOf: [{ $ref: '#/$defs/named' }, { properties: { age: {} } }] } } };
  expect(shown({ ...schema, $defs: { named } })).toEqual(['who: object', '  name!: string', '  age: any']);
});

test('one of several kinds shows the members of all, needed by none', () => {
  const kinds = [
    { type: 'object', properties: { file: { type: 'string' } }, required: ['file'] },
    { type: 'object', properties: { file: { type: 'string' }, url: { type: 'string' } }, required: ['url'] },
  ];
  expect(shown({ properties: { from: { oneOf: kinds } } })).toEqual([
    'from: object',
    '  file: string',
    '  url: string',
  ]);
});

test('whatever a schema is, there is an end of it', () => {
  const wide = Object.fromEntries(Array.from({ length: 40 }, (_, i) => [`p${i}`, { $ref: `#/$defs/d${i}` }]));
  const defs = Object.fromEntries(
    Array.from({ length: 40 }, (_, i) => [`d${i}`, { type: 'object', properties: wide }]),
  );
  expect(shown({ properties: wide, $defs: defs })).toHaveLength(400);
  fc.assert(
    fc.property(fc.anything(), fc.jsonValue(), (one, other) => {
      expect(Array.isArray(nestedParametersOf({ properties: { one, other }, items: other }))).toBe(true);
    }),
  );
});
