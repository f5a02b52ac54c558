import { Ajv2019 } from 'ajv/dist/2019.js';
import { Ajv2020 } from 'ajv/dist/2020.js';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { isWrapped, wrappedSchema } from '../../../src/protocol/output-schema.ts';
import { runs } from '../../support/runs.ts';

describe('an output schema that is not of an object', () => {
  test.each([
    ['an array', { type: 'array', items: { type: 'number' } }],
    ['a choice', { anyOf: [{ type: 'string' }, { type: 'null' }] }],
    ['several types', { type: ['object', 'null'] }],
  ])('becomes the member of one: %s', (_, schema) => {
    expect(isWrapped(schema)).toBe(true);
    expect(wrappedSchema(schema)).toEqual({ type: 'object', properties: { result: schema }, required: ['result'] });
  });

  test('is one without a type too, and none that is no schema', () => {
    expect([{}, { type: 'object' }, undefined, true, []].map(isWrapped)).toEqual([true, false, false, false, false]);
  });

  test('has its references led to where it stands now, and its data left alone', () => {
    const schema = {
      $schema: 'https://json-schema.org/draft/2020-12/schema',
      type: 'array',
      items: {
        anyOf: [{ $ref: '#' }, { $ref: '#/$defs/one' }, { $ref: 'https://example.com/x' }, { $ref: '#anchor' }],
      },
      $defs: {
        one: { const: { $ref: '#/$defs/two' } },
        $ref: { $ref: '#/$defs/one' },
        two: { $id: 'x:', items: { $ref: '#' } },
      },
    };
    expect(wrappedSchema(schema)).toEqual({
      $schema: schema.$schema,
      type: 'object',
      required: ['result'],
      properties: {
        result: {
          type: 'array',
          items: {
            anyOf: [
              { $ref: '#/properties/result' },
              { $ref: '#/properties/result/$defs/one' },
              { $ref: 'https://example.com/x' },
              { $ref: '#anchor' },
            ],
          },
          $defs: {
            one: { const: { $ref: '#/$defs/two' } },
            $ref: { $ref: '#/properties/result/$defs/one' },
            two: { $id: 'x:', items: { $ref: '#' } },
          },
        },
      },
    });
  });

  test.each([{}, { $recursiveAnchor: true }])(
    'of 2019-09 that refers to itself means the same where it stands now: %j',
    (anchor) => {
      const tree = {
        $schema: 'https://json-schema.org/draft/2019-09/schema',
        ...anchor,
        type: 'array',
        items: { anyOf: [{ type: 'number' }, { $recursiveRef: '#' }, { $ref: '#/$defs/even', $recursiveRef: '#' }] },
        $defs: { even: { maxItems: 2 }, $recursiveRef: { type: 'null' } },
      };
      const validator = new Ajv2019({ strict: false });
      const [direct, wrapped] = [validator.compile(tree), validator.compile(wrappedSchema(tree))];
      for (const value of [[], [1], [[[2], 1], []], [['x']], 'x', [[[['x']]]], [{ result: [] }], { result: [] }])
        expect([JSON.stringify(value), wrapped({ result: value })]).toEqual([JSON.stringify(value), direct(value)]);
    },
  );

  test('with a base of its own stays as it is', () => {
    const schema = { $id: 'https://example.com/s', type: 'array', items: { $ref: '#/$defs/a' }, $defs: { a: {} } };
    expect(wrappedSchema(schema)).toMatchObject({ properties: { result: schema } });
  });

  test('takes the same content as before, in an object', () => {
    const schema = {
      anyOf: [{ type: 'number' }, { type: 'array', items: { $ref: '#' } }, { $ref: '#/$defs/word' }],
      $defs: { word: { type: 'string', maxLength: 2 } },
    };
    const before = new Ajv2020({ strict: false }).compile(schema);
    const after = new Ajv2020({ strict: false }).compile(wrappedSchema(schema));
    const content = fc.letrec((tie) => ({
      any: fc.oneof(fc.integer(), fc.string({ maxLength: 3 }), fc.boolean(), fc.array(tie('any'), { maxLength: 3 })),
    })).any;
    fc.assert(
      fc.property(content, (value) => {
        expect(after({ result: value })).toBe(before(value));
      }),
      { numRuns: runs(500) },
    );
  });
});
