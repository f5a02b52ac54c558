// Calls of `execute_tool` as models put them: without arguments, and with them as JSON in a text.

import fc from 'fast-check';
import { expect, test } from 'vitest';
import { repairedExecution } from '../../../src/meta-tools/execution.ts';
import { ERA_2025 } from '../../../src/protocol/era-2025.ts';
import { Envelope } from '../../../src/wire/envelope.ts';

interface Call {
  readonly params: { readonly name: string; readonly arguments: Readonly<Record<string, unknown>> };
}

/** The call as it should be put; undefined if it stays as it is. */
function mended(args: string): Call | undefined {
  const text = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"execute_tool","arguments":${args},"_meta":{"a":1}}}`;
  const b = Buffer.from(`padding${text}\n`);
  const frame = { b, start: 7, end: b.length - 1 };
  const read = new Envelope(ERA_2025.keys);
  expect(read.scan(b, 7, b.length - 1, 128)).toBe(true);
  const after = repairedExecution(frame, read);
  if (after === undefined) return undefined;
  const line = after.b.toString('utf8', after.start, after.end);
  expect([after.b[after.end], line.includes('\n')]).toEqual([0x0a, false]);
  expect(line.endsWith(',"_meta":{"a":1}}}')).toBe(true);
  return JSON.parse(line) as Call;
}

const withText = (text: string): string => `{"server":"s","arguments":${JSON.stringify(text)},"tool":"t"}`;

/** The slow way to say what a text stands for. */
function objectIn(text: string): unknown {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

test.each(['', ' ', ',"arguments":null'])('a call without arguments has none (%j)', (arguments_) => {
  expect(mended(`{"server":"s","tool":"t"${arguments_}}`)?.params.arguments).toEqual({
    server: 's',
    tool: 't',
    arguments: {},
  });
});

test.each(['{}', '{"server":"s","arguments":{"a":1}}', '{"arguments":[]}', '{"arguments":7}', '[]', '7', '"x"'])(
  'what cannot be mended, or need not be, stays as it is (%s)',
  (args) => {
    expect(mended(args)).toBeUndefined();
  },
);

const spaced = fc
  .tuple(fc.dictionary(fc.string({ unit: 'binary' }), fc.jsonValue()), fc.constantFrom('', ' ', '\t', '\r\n '))
  .map(([object, indent]) => JSON.stringify(object, undefined, 2).replaceAll('\n', `\n${indent}`));

test('the JSON of an object in a text is that object', () => {
  fc.assert(
    fc.property(spaced, (text) => {
      expect(mended(withText(text))?.params.arguments.arguments).toEqual(JSON.parse(text));
    }),
  );
});

const broken = fc
  .tuple(spaced, fc.nat(), fc.nat(3), fc.constantFrom('', '"', '{', '}', ',', '\n', '\\', '\ud800', '\u0000', ' '))
  .map(([text, at, cut, put]) => {
    const from = at % (text.length + 1);
    return text.slice(0, from) + put + text.slice(from + cut);
  });

test('a text is taken for an object exactly where JSON.parse takes it for one, and nothing of it gets out', () => {
  fc.assert(
    fc.property(broken, (text) => {
      const object = /\p{Surrogate}/u.test(text) ? undefined : objectIn(text);
      const call = mended(withText(text));
      expect(call?.params.arguments.arguments).toEqual(object);
      if (call !== undefined) {
        expect(Object.keys(call.params)).toEqual(['name', 'arguments', '_meta']);
        expect(Object.keys(call.params.arguments)).toEqual(['server', 'arguments', 'tool']);
      }
    }),
    { numRuns: 3000 },
  );
});

test.each(['{},"name":"other"', '{}}', '{"a":"x\ny"}', '[{}]', '"{}"', '', ' ', '\ufeff{}'])(
  'the text %j is no object',
  (text) => {
    expect(mended(withText(text))).toBeUndefined();
  },
);
