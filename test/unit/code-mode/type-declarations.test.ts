// Types made from schemas: they parse as TypeScript, whatever the schema says.

import { transform } from 'sucrase';
import { describe, expect, test } from 'vitest';
import { typeDeclarations } from '../../../src/code-mode/type-declarations.ts';

const declared = (inputSchema: unknown, more: object = {}): string =>
  typeDeclarations([{ server: 'files', tool: 'read', inputSchema, ...more }]);

const argsOf = (inputSchema: unknown): string | undefined =>
  /args\??: ([\s\S]*?)\): Promise/
    .exec(declared({ type: 'object', properties: { a: inputSchema }, required: ['a'] }))?.[1]
    ?.replace(/^\{\s*a: |;\s*\}$/g, '');

describe('a schema as a type', () => {
  test.each([
    [{ type: 'string' }, 'string'],
    [{ type: 'integer' }, 'number'],
    [{ type: ['string', 'null'] }, 'string | null'],
    [{ enum: ['a', 1, null] }, '"a" | 1 | null'],
    [{ const: 'x' }, '"x"'],
    [{ type: 'array', items: { type: 'number' } }, 'number[]'],
    [{ type: 'array', items: { enum: ['a', 'b'] } }, 'Array<"a" | "b">'],
    [{ anyOf: [{ type: 'string' }, { type: 'number' }] }, 'string | number'],
    [{ type: 'object', additionalProperties: { type: 'number' } }, 'Record<string, number>'],
    [{ $ref: '#/properties/a' }, 'unknown'],
    [{ $ref: 'https://example.com/schema' }, 'unknown'],
    [true, 'unknown'],
    [{}, 'unknown'],
  ])('%j is %s', (schema, type) => {
    expect(argsOf(schema)).toBe(type);
  });

  test('references within the schema are followed', () => {
    const schema = {
      type: 'object',
      properties: { a: { $ref: '#/$defs/A~1B' } },
      $defs: { 'A/B': { type: 'boolean' } },
    };
    expect(declared(schema)).toContain('a?: boolean;');
  });
});

test('tools of one server are grouped, with their descriptions and answers', () => {
  const text = typeDeclarations([
    {
      server: 'files',
      tool: 'read',
      description: 'Reads.\n Now.',
      outputSchema: { type: 'object', properties: { n: { type: 'number' } } },
    },
    {
      server: 'my-server',
      tool: 'a.b',
      inputSchema: { type: 'object', properties: { x: { type: 'string', description: 'X */' } }, required: ['x'] },
    },
    { server: 'files', tool: 'write' },
  ]);
  expect(text).toBe(`declare const servers: {
  files: {
    /** Reads. Now. */
    read(args?: unknown): Promise<{
      n?: number;
    }>;
    write(args?: unknown): Promise<unknown>;
  };
  "my-server": {
    "a.b"(args: {
      /** X * / */
      x: string;
    }): Promise<unknown>;
  };
};
`);
});

test.each([
  ['names with quotes and ends', { type: 'object', properties: { '"}; evil(); {': { type: 'string' }, '*/': {} } }],
  ['a description that ends a comment', { type: 'object', properties: { a: { description: '*/ evil(); /*' } } }],
  ['deep nesting', Array.from({ length: 500 }).reduce((inner) => ({ type: 'object', properties: { a: inner } }), {})],
  ['a circle of references', { $ref: '#/$defs/a', $defs: { a: { $ref: '#/$defs/a' } } }],
  ['a tree of references', { $ref: '#/$defs/a', $defs: { a: { anyOf: Array(50).fill({ $ref: '#/$defs/a' }) } } }],
])('%s in a schema makes a type that parses, and is no long text', (_, schema) => {
  const text = declared(schema, { description: '*/ evil()' });
  expect(text.length).toBeLessThan(100_000);
  expect(() => transform(text, { transforms: ['typescript'] })).not.toThrow();
  expect(transform(text, { transforms: ['typescript'] }).code).not.toContain('evil()');
});
