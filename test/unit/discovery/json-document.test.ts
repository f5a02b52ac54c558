import fc from 'fast-check';
import { expect, test } from 'vitest';
import { parseJson, SyntaxFault } from '../../../src/discovery/document.ts';

test('JSON is read as JSON.parse reads it', async () => {
  await fc.assert(
    fc.asyncProperty(fc.json(), async (text) => {
      expect((await parseJson(text)).value).toEqual(JSON.parse(text));
    }),
  );
});

test('comments and trailing commas change nothing, and are told', async () => {
  await fc.assert(
    fc.asyncProperty(fc.dictionary(fc.string(), fc.jsonValue(), { minKeys: 1 }), async (value) => {
      const text = `// a comment\n${JSON.stringify(value).replace(/\}$/, ', /* and one */ }')}`;
      expect(await parseJson(text)).toEqual({
        value: JSON.parse(JSON.stringify(value)),
        duplicates: [],
        hasComments: true,
      });
    }),
  );
});

test.each([
  ['{"a":1,"a":2}', ['a']],
  ['{"a":{"b":1,"b":1},"c":[{"d":1,"d":2}]}', ['b', 'd']],
  ['{"a":"\\"b\\":1","b":"{\\"a\\":1}"}', []],
  ['{"a":1,"\\u0061":2}', ['a']],
  ['{"__proto__":1,"__proto__":{"x":1}}', ['__proto__']],
])('%s has %j twice', async (text, duplicates) => {
  const document = await parseJson(text);
  expect(document.duplicates).toEqual(duplicates);
  expect(document.value).toEqual(JSON.parse(text));
});

test('a key that objects treat in a special way is a key like others', async () => {
  const { value } = await parseJson('{"__proto__":{"polluted":true},/**/}');
  expect(Object.getPrototypeOf(value)).toBe(Object.prototype);
  expect(Object.keys(value as object)).toEqual(['__proto__']);
});

test('a fault has its place and says nothing of the text', async () => {
  const fault = await parseJson('{\n  "a": "secret"\n  "b": 1}').catch((error: unknown) => error);
  expect(fault).toBeInstanceOf(SyntaxFault);
  expect(fault).toMatchObject({ line: 3, column: 3, message: 'a comma is expected here' });
});
