// Values of a program, as JSON can carry them: what is left is what JSON makes of it, and nothing throws.

import fc from 'fast-check';
import { expect, test } from 'vitest';
import { plainOf } from '../../../src/util/plain-json.ts';

test('what JSON can say stays as it is', () => {
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      expect(JSON.stringify(plainOf(value))).toBe(JSON.stringify(value));
    }),
  );
});

test('what it cannot say is left out, and the rest stays', () => {
  const around: Record<string, unknown> = { command: 'node', n: 1n, call: () => 1, args: ['a', () => 1] };
  around.self = around;
  Object.defineProperty(around, 'broken', {
    enumerable: true,
    get: () => {
      throw new Error('never');
    },
  });
  expect(plainOf(around)).toMatchObject({ command: 'node', n: '1', args: ['a', null] });
  expect(JSON.parse(JSON.stringify(plainOf(around)))).not.toHaveProperty('broken');
});
