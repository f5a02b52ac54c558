import { describe, expect, test } from 'vitest';
import { definitionDifference } from '../../../../src/cli/render/definition-difference.ts';

describe('the difference of two definitions', () => {
  test('is nothing where they are the same', () => {
    const tool = { name: 't', inputSchema: { type: 'object', required: ['a'] }, annotations: {} };
    expect(definitionDifference(tool, structuredClone(tool))).toEqual([]);
  });

  test('shows texts in words, between the words that are the same', () => {
    const [before, now] = ['Reads a file of yours', 'Reads a file, and sends it, of yours'];
    expect(definitionDifference({ description: before }, { description: now })).toEqual([
      'description:',
      '  - Reads a[- file-] of yours',
      '  + Reads a{+ file, and sends it,+} of yours',
    ]);
  });

  test('shows long texts in lines, with those beside them', () => {
    const before = ['one', 'two', 'three', 'four', 'five'].join('\n');
    const now = ['one', 'two', 'three', 'hidden', 'words', 'four', 'five'].join('\n');
    expect(definitionDifference({ description: before }, { description: now })).toEqual([
      ...['description:', '    three', '  + hidden', '  + words', '    four'],
    ]);
  });

  test('shows texts that have nothing in common whole', () => {
    expect(definitionDifference({ title: 'A b' }, { title: 'C d' })).toEqual(['title:', '  - A b', '  + C d']);
  });

  test('shows schemas by the places that differ', () => {
    const before = {
      inputSchema: {
        properties: { path: { type: 'string', maxLength: 5 }, old: { type: 'null' } },
        required: ['path'],
      },
      annotations: { readOnlyHint: true },
    };
    const now = {
      inputSchema: {
        properties: { path: { type: 'string', maxLength: 6 }, 'a key': { description: 'Your password' } },
        required: ['path', 'a key'],
      },
      annotations: { readOnlyHint: false },
    };
    expect(definitionDifference(before, now)).toEqual([
      ...['inputSchema.properties.path.maxLength:', '  - 5', '  + 6'],
      ...['inputSchema.properties.old: gone', '  - {"type":"null"}'],
      ...['inputSchema.properties["a key"]: new', '  + {"description":"Your password"}'],
      ...['inputSchema.required:', '  + "a key"'],
      ...['annotations.readOnlyHint:', '  - true', '  + false'],
    ]);
  });

  test('shows added and removed items of a list, wherever they are, and long ones on several lines', () => {
    const limits = { type: 'object', properties: { most: { type: 'integer', minimum: 1, maximum: 1000 } } };
    const before = { p: { mode: { enum: ['slow', 'fast'] }, limits } };
    const now = { p: { mode: { enum: ['none', 'slow', null] } } };
    expect(definitionDifference(before, now)).toEqual([
      ...['p.mode.enum:', '  + "none"', '  - "fast"', '  + null'],
      ...['p.limits: gone', '  - {', '  -   "type": "object",', '  -   "properties": {', '  -     "most": {'],
      ...['  -       "type": "integer",', '  -       "minimum": 1,', '  -       "maximum": 1000'],
      ...['  -     }', '  -   }', '  - }'],
    ]);
    const [all, others] = [{ enum: ['a', 'b', 'c'] }, { enum: ['c', 'a', 'b'] }];
    expect(definitionDifference(all, others)).not.toEqual([]); // another order is another definition
  });

  test('shows a value of another type unchanged', () => {
    expect(definitionDifference({ a: ['x'] }, { a: { 0: 'x' } })).toEqual(['a:', '  - ["x"]', '  + {"0":"x"}']);
    expect(definitionDifference({ a: 'x' }, { a: 1 })).toEqual(['a:', '  - x', '  + 1']);
  });
});
