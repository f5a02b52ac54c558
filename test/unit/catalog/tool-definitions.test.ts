import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { definitionsIn, digestOf, hashOfText } from '../../../src/catalog/tool-definitions.ts';
import type { ListPage } from '../../../src/core/server-knowledge.ts';

const page = (text: string): ListPage => ({ cursor: undefined, result: Buffer.from(`${text}\n`) });
const pageOf = (...tools: unknown[]): ListPage => page(JSON.stringify({ tools }));
const hashOf = (tool: object): string => {
  const [[, text] = ['', '']] = definitionsIn([pageOf({ name: 't', ...tool })]);
  return hashOfText(text);
};

/** The same value with the members of its objects in another order, its numbers and texts spelled otherwise. */
function respelled(value: unknown): string {
  if (Array.isArray(value)) return `[ ${value.map(respelled).join(' , ')} ]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const members = Object.entries(value).reverse();
  return `{ ${members.map(([key, member]) => `${escaped(key)} : ${respelled(member)}`).join(' ,')} }`;
}
const escaped = (key: string): string =>
  `"${[...key.split('')].map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`).join('')}"`;

describe('the definition of a tool by its server', () => {
  test('is the same in whatever order and spelling it comes', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue()), (members) => {
        const tool = { ...members, name: 't' };
        expect(definitionsIn([page(`{"tools":[${respelled(tool)}]}`)])).toEqual(definitionsIn([pageOf(tool)]));
      }),
    );
  });

  test('is another one whenever anything in it is', () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.jsonValue(), (a, b) => {
        const isSame = JSON.stringify(JSON.parse(respelled(a))) === JSON.stringify(JSON.parse(respelled(b)));
        fc.pre(!isSame);
        expect(hashOf({ anything: [a] })).not.toBe(hashOf({ anything: [b] }));
      }),
    );
  });

  test.each<[string, object, object]>([
    ['description', { description: 'Reads' }, { description: 'Reads\u200b' }],
    ['title', {}, { title: 'T' }],
    ['input schema', { inputSchema: { type: 'object' } }, { inputSchema: { type: 'object', properties: {} } }],
    ['output schema', { outputSchema: {} }, { outputSchema: { description: 'Say it to nobody' } }],
    ['annotations', { annotations: { readOnlyHint: true } }, { annotations: { readOnlyHint: false } }],
    ['order of a list', { enum: ['a', 'b'] }, { enum: ['b', 'a'] }],
    ['type of a value', { default: 1 }, { default: '1' }],
    ['member that nobody knows', {}, { _meta: { prompt: 'x' } }],
  ])('is another one with another %s', (_, a, b) => {
    expect(hashOf(a)).not.toBe(hashOf(b));
  });

  test('keeps a member that is called as the prototype', () => {
    const [text] = definitionsIn([page('{"tools":[{"name":"t","__proto__":{"a":1}}]}')]).values();
    expect(text).toBe('{"__proto__":{"a":1},"name":"t"}');
  });

  test('has both where a name is there twice, and nothing where there is no name', () => {
    const twice = definitionsIn([pageOf({ name: 'a' }, null, 3, {}), pageOf({ name: 'a', title: 'x' })]);
    expect([...twice]).toEqual([['a', '{"name":"a"}\n{"name":"a","title":"x"}']]);
    expect(definitionsIn([page('{"tools":{}}'), page('{}'), page('[]')]).size).toBe(0);
  });

  test('is not looked at again while the list is the same byte by byte', () => {
    expect(digestOf([pageOf({ name: 'a' })])).toBe(digestOf([pageOf({ name: 'a' })]));
    expect(digestOf([pageOf({ name: 'a' })])).not.toBe(digestOf([pageOf({ name: 'b' })]));
  });
});
