// A form made from a schema, and arguments made from what somebody has typed.

import { expect, test } from 'vitest';
import { argumentsFrom, FormFault, fieldsOf } from '../../../src/dashboard/schema-form.ts';

const SCHEMA = {
  type: 'object',
  properties: {
    limit: { type: 'integer', default: 20 },
    share: { type: 'number' },
    path: { type: 'string', description: 'Where' },
    isDeep: { type: 'boolean' },
    mode: { type: 'string', enum: ['fast', 'whole'] },
    level: { enum: [1, 2] },
    tags: { type: 'array', items: { type: 'string' } },
    options: { type: 'object' },
    __proto__x: { type: 'string' },
  },
  required: ['path'],
};

const given = (typed: Record<string, string>) => argumentsFrom(fieldsOf(SCHEMA), (name) => typed[name] ?? '');

test('required fields come first, with type and description', () => {
  const [first, second] = fieldsOf(SCHEMA);
  expect(first).toMatchObject({ name: 'path', kind: 'text', isNeeded: true, description: 'Where' });
  expect(second).toMatchObject({ name: 'limit', kind: 'integer', example: '20', isNeeded: false });
});

test('each kind of field becomes a value of its type, and empty fields are left out', () => {
  expect(
    given({
      path: 'a',
      limit: '3',
      share: '0.5',
      isDeep: 'false',
      mode: 'whole',
      level: '2',
      tags: 'x, y',
      options: '{"a":1}',
    }),
  ).toEqual({
    ...{ path: 'a', limit: 3, share: 0.5, isDeep: false, mode: 'whole', level: 2, tags: ['x', 'y'], options: { a: 1 } },
  });
  expect(given({ path: '' })).toEqual({ path: '' });
  expect(given({ path: 'a', tags: '["x","y, z"]' })).toEqual({ path: 'a', tags: ['x', 'y, z'] });
});

test.each([
  [{ limit: '3.5' }, 'limit is no whole number'],
  [{ limit: 'many' }, 'limit is no number'],
  [{ share: ' ' }, 'share is no number'],
  [{ mode: 'slow' }, 'mode is none of its choices'],
  [{ options: '{' }, 'options is no JSON, and must be: object'],
])('%j is a fault that is said in words', (typed, message) => {
  expect(() => given({ path: 'a', ...typed })).toThrow(new FormFault(message));
});

test('a schema that is none has no fields, and a name of every object is only a name', () => {
  for (const schema of [undefined, null, 7, 'x', [], {}, { properties: 3 }]) expect(fieldsOf(schema)).toEqual([]);
  const fields = fieldsOf(JSON.parse('{"properties":{"__proto__":{"type":"string"}}}'));
  const made = argumentsFrom(fields, () => 'x');
  expect(Object.keys(made)).toEqual(['__proto__']);
  expect(JSON.stringify(made)).toBe('{"__proto__":"x"}');
});

test('a nullable value has the field of its other type', () => {
  const properties = {
    old: { type: ['string', 'null'] },
    python: { anyOf: [{ type: 'integer' }, { type: 'null' }], default: null, description: 'How many' },
    either: { anyOf: [{ type: 'integer' }, { type: 'string' }] },
  };
  const fields = fieldsOf({ type: 'object', properties });
  expect(fields.map(({ name, kind }) => [name, kind])).toEqual([
    ['old', 'text'],
    ['python', 'integer'],
    ['either', 'json'],
  ]);
  expect(fields[1]).toMatchObject({ description: 'How many', example: '' });
  const typed = (name: string): string => ({ old: 'a word', python: '3' })[name] ?? '';
  expect(argumentsFrom(fields, typed)).toEqual({ old: 'a word', python: 3 });
});
