// Arguments are looked at before a server is bothered with them: rightly, quickly, whatever a schema says.

import { Ajv2020 } from 'ajv/dist/2020.js';
import fc from 'fast-check';
import { beforeAll, describe, expect, test, vi } from 'vitest';
import { ArgumentCheck, outlineOf } from '../../../src/meta-tools/argument-check.ts';
import { KnownTool } from '../../../src/meta-tools/known-tools.ts';
import { partsOf } from '../../../src/meta-tools/schema-compiler.ts';

const failures: unknown[] = [];
const check = new ArgumentCheck((error) => void failures.push(error));
beforeAll(() => check.ready);

function faultIn(inputSchema: unknown, args: unknown): string | undefined {
  const page = Buffer.from(JSON.stringify({ name: 't', inputSchema }));
  const tool = new KnownTool('t', '"t"', page, { from: 0, to: page.length });
  const text = JSON.stringify(args);
  const b = Buffer.from(`  ${text}\n`);
  return check.faultIn(tool, b, { from: 2, to: b.length - 1 });
}

/** Each of them refers to the next one twice. */
function doubling(depth: number): object {
  const next = (i: number): object => ({ $ref: `#/$defs/${i + 1}` });
  const all = Array.from({ length: depth }, (_, i) => [i, { anyOf: [next(i), next(i)] }]);
  return Object.fromEntries([...all, [depth, { type: 'string' }]]);
}

function nested(depth: number): object {
  return depth === 0 ? {} : { a: nested(depth - 1) };
}

const SCHEMA = {
  type: 'object',
  properties: {
    name: { type: 'string' },
    size: { enum: ['small', 'large'] },
    nested: { type: 'object', properties: { list: { type: 'array', items: { type: 'integer' } } } },
  },
  required: ['name'],
};

describe('the faults of arguments', () => {
  test.each<[object, string | undefined]>([
    [{ name: 'x' }, undefined],
    [{}, 'arguments.name is missing'],
    [{ name: 'x', size: 'huge' }, 'arguments.size must be one of ["small","large"]'],
    [{ name: 'x', nested: { list: [1, 'a'] } }, 'arguments.nested.list.1 must be integer'],
    [{ name: 7, size: 8 }, 'arguments.name must be string; arguments.size must be one of ["small","large"]'],
  ])('%j', (args, fault) => {
    expect(faultIn(SCHEMA, args)).toBe(fault);
  });

  test.each([
    'http://json-schema.org/draft-07/schema#',
    'https://json-schema.org/draft/2020-12/schema',
    'http://other/',
  ])('are found by a schema that says it is of %s', ($schema) => {
    expect(faultIn({ ...SCHEMA, $schema, $id: 'https://x/y' }, {})).toBe('arguments.name is missing');
    expect(faultIn({ ...SCHEMA, $schema, $id: 'https://x/y' }, { name: '' })).toBeUndefined();
  });

  test('are found through references that lead round in circles', () => {
    const schema = {
      $defs: { node: { type: 'object', properties: { next: { $ref: '#/$defs/node' } }, required: ['value'] } },
      $ref: '#/$defs/node',
    };
    expect(faultIn(schema, { value: 1, next: { next: { value: 2 } } })).toBe('arguments.next.value is missing');
  });

  test.each<[string, unknown]>([
    ['is none', undefined],
    ['is no object', 'x'],
    ['is none that anybody understands', { type: 'nothing' }],
    ['refers to what is elsewhere', { $ref: 'https://example.com/schema.json' }],
    ['is larger than any that is meant', { description: 'x'.repeat(1_000_000), required: ['a'] }],
  ])('are the server’s to find where a schema %s', (_, schema) => {
    expect(faultIn(schema, {})).toBeUndefined();
  });

  test('are found without running patterns, which might never end', () => {
    const schema = { properties: { a: { pattern: '^(a+)+$' } }, required: ['b'] };
    expect(faultIn(schema, { a: `${'a'.repeat(40)}!` })).toBe('arguments.b is missing');
  });

  test.each<[string, object, unknown]>([
    [
      'goes round in circles without coming to a part of the value',
      { properties: { a: { $ref: '#/$defs/x' } }, $defs: { x: { allOf: [{ $ref: '#/$defs/x' }] } } },
      { a: 1 },
    ],
    ['doubles with each step', { properties: { a: { $ref: '#/$defs/0' } }, $defs: doubling(40) }, { a: 1 }],
    [
      'multiplies with the depth of the value',
      { $ref: '#/$defs/x', $defs: { x: { allOf: Array(9).fill({ properties: { a: { $ref: '#/$defs/x' } } }) } } },
      nested(40),
    ],
    ['would have others wait', { $async: true, required: ['b'] }, {}],
    ['has a part that would', { properties: { a: { $async: true, type: 'string' } } }, { a: 1 }],
    ['refers to what is found while it runs', { properties: { a: { $dynamicRef: '#x' } } }, { a: 1 }],
  ])('are the server’s to find where a schema %s', (_, schema, args) => {
    for (let i = 0; i < 2; i++) expect(faultIn(schema, args)).toBeUndefined();
  });

  test.each<[string, object]>([
    ['has an unknown type', { type: 'nothing' }],
    ['refers to what is elsewhere', { $ref: 'https://example.com/schema.json' }],
    ['refers to what is not there', { properties: { a: { $ref: '#/$defs/none' } } }],
    ['doubles', { properties: { a: { $ref: '#/$defs/0' } }, $defs: doubling(40) }],
    ['says that nothing may be null', { properties: { a: { type: 'null', nullable: false } } }],
    ['says null of no type', { properties: { a: { nullable: true } } }],
    ['has an enum of nothing', { properties: { a: { enum: [] } } }],
    ['has the name of an older draft', { id: 'x', properties: { a: { id: 'y' } } }],
    ['has two parts of one name', { $defs: { a: { $id: 'x:y', type: 'string' }, b: { $id: 'x:y' } } }],
    ['has a strange anchor', { $defs: { a: { $anchor: '%%' } } }],
    ['has a strange name', { $defs: { a: { $id: 'http://%%' } } }],
    ['has a strange reference', { $ref: 'http://[' }],
    ['has a text for a number', { properties: { a: { minimum: '1' } } }],
    ['is too deep', nested(3000)],
  ])('a schema that %s is no error of ours', (_, schema) => {
    for (const $schema of ['http://json-schema.org/draft-07/schema#', 'https://json-schema.org/draft/2020-12/schema'])
      faultIn({ $schema, ...schema }, { a: 1 });
    expect(failures).toEqual([]);
  });

  test('an error that no schema explains is told, and lets arguments pass', () => {
    const thrown = new Error('CodeGen: name must be a valid identifier');
    vi.spyOn(Ajv2020.prototype, 'compile').mockImplementationOnce(() => {
      throw thrown;
    });
    expect(faultIn({ required: ['b'] }, {})).toBeUndefined();
    expect(failures.splice(0)).toEqual([thrown]);
  });

  test('are found by a schema that is referred to a thousand times, compiled once', () => {
    const large = { properties: Object.fromEntries(Array.from({ length: 300 }, (_, i) => [i, { type: 'string' }])) };
    const properties = Object.fromEntries(Array.from({ length: 500 }, (_, i) => [`f${i}`, { $ref: '#/$defs/l' }]));
    expect(faultIn({ properties, $defs: { l: large } }, { f499: { 7: 7 } })).toBe('arguments.f499.7 must be string');
  });

  test('are found by the thousandth schema as by the first', () => {
    for (let i = 0; i < 1200; i++) expect(faultIn({ required: [`a${i}`] }, {})).toBe(`arguments.a${i} is missing`);
  });

  test('that are there twice are found in a time that grows with how many there are', () => {
    const schema = { type: 'object', properties: { l: { type: 'array', uniqueItems: true } } };
    const items = Array.from({ length: 5000 }, (_, i) => ({ i }));
    expect(faultIn(schema, { l: items })).toBeUndefined();
    expect(faultIn(schema, { l: [...items, { i: 4999 }] })).toBe('arguments.l must NOT have duplicate items');
  });

  test('are looked for while the parts of both are not too many, and else are for the server to find', () => {
    const members = Array.from({ length: 8 }, (_, i) => `m${i}`);
    const schema = {
      type: 'object',
      properties: { l: { type: 'array', items: { type: 'object', required: members } } },
    };
    const parts = partsOf(schema, 1000);
    const most = Math.floor(200_000 / parts);
    const lacking = (count: number): unknown => ({ l: Array.from({ length: count - 2 }, () => ({})) });
    expect(faultIn(schema, lacking(most))).toContain('arguments.l.0.m0 is missing');
    expect(faultIn(schema, lacking(most + 1))).toBeUndefined();
  });

  test('are for the server to find in what is long without its long texts', () => {
    const schema = { type: 'object', properties: { l: { type: 'array', maxItems: 1 }, t: { type: 'string' } } };
    const longTexts = { l: [1, 2], t: 'x'.repeat(1_000_000) };
    expect(faultIn(schema, longTexts)).toBe('arguments.l must NOT have more than 1 items');
    expect(faultIn(schema, { l: Array.from({ length: 40_000 }, () => 0) })).toBeUndefined();
  });

  test('say nothing of the values', () => {
    expect(faultIn(SCHEMA, { name: ['s3cret-value'], size: 's3cret-value' })).not.toContain('s3cret');
  });
});

describe('arguments with long texts', () => {
  const long = 'x'.repeat(20_000);

  test.each<[object, object, string | undefined]>([
    [{ properties: { a: { type: 'string' } } }, { a: long }, undefined],
    [{ properties: { a: { type: 'integer' } } }, { a: long }, 'arguments.a must be integer'],
    [{ properties: { a: { maxLength: 50 } } }, { a: long }, 'arguments.a must NOT have more than 50 characters'],
    [{ properties: { a: { minLength: 15_000 } } }, { a: long }, undefined],
    [{ properties: { a: { const: long } } }, { a: long }, undefined],
    [{ not: { properties: { a: { const: long } } } }, { a: long }, 'arguments must NOT be valid'],
    [{ required: ['b'] }, { a: long }, 'arguments.b is missing'],
  ])('are judged as all others', (schema, args, fault) => {
    expect(faultIn(schema, args)).toBe(fault);
  });

  test('keep everything else in their outline', () => {
    const text = fc.oneof(fc.string(), fc.string({ minLength: 1025, maxLength: 3000 }));
    const { value } = fc.letrec((tie) => ({
      value: fc.oneof(
        { depthSize: 'small' },
        text,
        fc.double({ noNaN: true, noDefaultInfinity: true }),
        fc.constantFrom(null, true, 1),
        fc.array(tie('value'), { maxLength: 4 }),
        fc.dictionary(text, tie('value'), { maxKeys: 4 }),
      ),
    }));
    fc.assert(
      fc.property(value, (args) => {
        const json = JSON.stringify(args);
        expect(outlineOf(Buffer.from(`${json}\n`), { from: 0, to: Buffer.byteLength(json) })).toEqual(
          shortened(JSON.parse(json)),
        );
      }),
    );
  });
});

/** The slow way to say the same. */
function shortened(value: unknown): unknown {
  if (typeof value === 'string') return Buffer.byteLength(JSON.stringify(value)) > 1024 ? 'x'.repeat(64) : value;
  if (Array.isArray(value)) return value.map(shortened);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, shortened(one)]));
}
