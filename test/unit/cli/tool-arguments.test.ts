import { execFileSync } from 'node:child_process';
import { Ajv } from 'ajv';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { exampleCall } from '../../../src/cli/render/tool-schema.ts';
import { argumentsFrom, argumentsIn } from '../../../src/cli/tool-arguments.ts';

const toolWith = (properties: object, more: object = {}) => ({
  server: 's',
  tool: 't',
  inputSchema: { type: 'object', properties, ...more },
});
const typed = (schema: object, ...texts: string[]): unknown =>
  (
    JSON.parse(
      argumentsFrom(
        texts.map((text) => `k=${text}`),
        toolWith({ k: schema }),
      ),
    ) as { k: unknown }
  ).k;

const name = fc.stringMatching(/^[a-z_][a-zA-Z0-9_.-]{0,8}$/).filter((text) => text !== '__proto__');
const text = fc.string({ unit: 'binary', maxLength: 20 });

/** A schema with a value that it takes. */
const typedValue = fc.oneof(
  text.map((value) => ({ schema: { type: 'string' }, value })),
  fc.integer().map((value) => ({ schema: { type: 'integer' }, value })),
  fc
    .double({ noNaN: true, noDefaultInfinity: true })
    .map((value) => ({ schema: { type: 'number' }, value: value + 0 })),
  fc.boolean().map((value) => ({ schema: { type: 'boolean' }, value })),
  fc.array(fc.integer()).map((value) => ({ schema: { type: 'array', items: { type: 'integer' } }, value })),
  fc.array(text).map((value) => ({ schema: { type: 'array', items: { type: 'string' } }, value })),
  fc.uniqueArray(text, { minLength: 1 }).map((value) => ({ schema: { enum: value }, value: value[0] })),
  fc.dictionary(name, fc.integer()).map((value) => ({ schema: { type: 'object' }, value: { ...value } })),
);

describe('KEY=VALUE', () => {
  test('gives back every value of its type', () => {
    fc.assert(
      fc.property(fc.dictionary(name, typedValue), (parameters) => {
        const entries = Object.entries(parameters);
        const tool = toolWith(Object.fromEntries(entries.map(([key, { schema }]) => [key, schema])));
        const pairs = entries.map(([key, { value }]) =>
          typeof value === 'string' ? `${key}=${value}` : `${key}=${JSON.stringify(value)}`,
        );
        const json = argumentsFrom(pairs, tool);
        expect(json).not.toContain('\n');
        expect(JSON.parse(json)).toEqual(
          JSON.parse(JSON.stringify(Object.fromEntries(entries.map(([key, { value }]) => [key, value])))),
        );
      }),
      { numRuns: 2000 },
    );
  });

  test('gives back any JSON behind :=, whatever the type', () => {
    fc.assert(
      fc.property(fc.json(), typedValue, (json, { schema }) => {
        expect(JSON.parse(argumentsFrom([`k:=${json}`], toolWith({ k: schema })))).toEqual({ k: JSON.parse(json) });
      }),
    );
  });

  test('is a value of its type, or an error that names the parameter', () => {
    const ajv = new Ajv();
    fc.assert(
      fc.property(text, typedValue, (value, { schema }) => {
        let json: string;
        try {
          json = argumentsFrom([`k=${value}`], toolWith({ k: schema }));
        } catch (error) {
          expect(error).toMatchObject({ code: 'USAGE', message: expect.stringMatching(/^k must be /) });
          return;
        }
        expect(ajv.validate(schema, (JSON.parse(json) as { k: unknown }).k), json).toBe(true);
      }),
      { numRuns: 1000 },
    );
  });

  test.each([
    ['the first type that it can be', { type: ['string', 'integer'] }, ['5'], 5],
    ['a text where it is no number', { type: ['string', 'integer'] }, ['5a'], '5a'],
    ['one item as a list', { type: 'array', items: { type: 'integer' } }, ['5'], [5]],
    ['many items', { type: 'array', items: { type: 'integer' } }, ['5', '6'], [5, 6]],
    ['a text as an item, with its commas', { type: 'array', items: { type: 'string' } }, ['a, b'], ['a, b']],
    ['anything where nothing is said', {}, ['{"a":1}'], { a: 1 }],
    ['a text where nothing is said', {}, ['a=b'], 'a=b'],
    ['nothing', { type: 'string' }, [''], ''],
    ['a number with a zero before it, as text', { type: ['string', 'number'] }, ['007'], '007'],
  ])('takes %s', (_, schema, texts, value) => {
    expect(typed(schema, ...texts)).toEqual(value);
  });

  test('keeps every digit', () => {
    expect(argumentsFrom(['k=12345678901234567890.10'], toolWith({ k: { type: 'number' } }))).toBe(
      '{"k":12345678901234567890.10}',
    );
  });

  test('takes other names where the schema does', () => {
    const others = (more: object): unknown => JSON.parse(argumentsFrom(['x=1'], toolWith({ k: {} }, more)));
    expect(others({ additionalProperties: true })).toEqual({ x: 1 });
    expect(others({ additionalProperties: { type: 'string' } })).toEqual({ x: '1' });
    expect(() => others({})).toThrow('t has no parameter "x"');
    expect(JSON.parse(argumentsFrom(['x=1'], { server: 's', tool: 't', inputSchema: undefined }))).toEqual({ x: 1 });
    const none = toolWith({}, { additionalProperties: false });
    expect(() => argumentsFrom(['x=1'], none)).toThrow(expect.objectContaining({ hint: 'It takes none.' }));
  });

  test.each([['__proto__'], ['constructor'], ['toString']])('%s is a name like any other', (key) => {
    const json = argumentsFrom([`${key}=1`], { server: 's', tool: 't', inputSchema: {} });
    expect(json).toBe(`{"${key}":1}`);
    expect(() => argumentsFrom([`${key}=1`], toolWith({ k: {} }))).toThrow('has no parameter');
  });
});

test('whatever a schema is made of, something comes of it', () => {
  fc.assert(
    fc.property(fc.jsonValue(), fc.string(), (inputSchema, value) => {
      const tool = { server: 's', tool: 't', inputSchema };
      expect(exampleCall(tool)).toMatch(/^mcp-bridge call s t/);
      try {
        JSON.parse(argumentsFrom([`k=${value}`], tool));
      } catch (error) {
        expect(error).toMatchObject({ code: 'USAGE' });
      }
    }),
  );
});

test('JSON arguments are put on one line, and otherwise unchanged', () => {
  expect(argumentsIn('{"a":\r\n "b\\n"}', '--args')).toBe('{"a":   "b\\n"}');
  for (const wrong of ['[]', '1', 'null', '', '{'])
    expect(() => argumentsIn(wrong, '--args')).toThrow('--args must be');
});

describe('the example', () => {
  test('can be pasted into a shell, and fits the schema', () => {
    const ajv = new Ajv();
    const printableText = fc.string({ unit: fc.constantFrom(...' \'"$`\\!*&;<>abc=:é🙂') });
    const parameter = fc.oneof(
      typedValue.map(({ schema }) => schema).filter((schema) => !('enum' in schema)),
      fc.uniqueArray(printableText, { minLength: 1 }).map((values) => ({ enum: values })),
      printableText.map((value) => ({ type: 'string', default: value })),
    );
    const anyName = fc.oneof(
      name,
      printableText.filter((key) => key !== ''),
    );
    fc.assert(
      fc.property(fc.dictionary(anyName, parameter, { maxKeys: 4 }), (properties) => {
        const tool = toolWith(properties, { required: Object.keys(properties) });
        const [, , server, called, ...args] = wordsOf(exampleCall(tool));
        expect([server, called]).toEqual(['s', 't']);
        const json = args[0] === '--args' ? (args[1] ?? '') : argumentsFrom(args, tool);
        expect(ajv.validate(tool.inputSchema, JSON.parse(json)), json).toBe(true);
      }),
      { numRuns: 150 },
    );
  });
});

/** As a real shell takes them. */
function wordsOf(line: string): string[] {
  return execFileSync('sh', ['-c', `printf '%s\\0' ${line}`], { encoding: 'utf8' })
    .split('\0')
    .slice(0, -1);
}

test('a parameter is meant by a short form of its name, too', () => {
  const tool = toolWith({ message: { type: 'string' }, count: { type: 'integer' } });
  expect(() => argumentsFrom(['msg=hi'], tool)).toThrow(expect.objectContaining({ hint: 'Did you mean message?' }));
});

test('the example of a tool without required parameters uses an optional one', () => {
  expect(exampleCall(toolWith({ limit: { type: 'integer' } }))).toBe('mcp-bridge call s t limit=1');
});
