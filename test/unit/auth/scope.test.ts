import { expect, test } from 'vitest';
import { isAskable, joinedScope, missingScope } from '../../../src/auth/scope.ts';

test('scopes are joined, each right once, in the order in which they came', () => {
  expect(joinedScope('b a', undefined, 'a  c', '')).toBe('b a c');
  expect(joinedScope(undefined, ' ')).toBeUndefined();
});

test('invalid scopes are left out', () => {
  expect(joinedScope('a "b" c\\ \u001b[31m d\u00e9 e')).toBe('a e');
});

test('scopes that were not asked for are missing', () => {
  expect(missingScope('a b c', 'b')).toBe('a c');
  expect(missingScope('a', 'b a')).toBeUndefined();
  expect(missingScope('a', undefined)).toBe('a');
  expect(missingScope(undefined, 'a')).toBeUndefined();
});

test('a scope is not asked for if it would make the address of the page too long', () => {
  expect([isAskable('a'.repeat(4096)), isAskable('a'.repeat(4097))]).toEqual([true, false]);
});
