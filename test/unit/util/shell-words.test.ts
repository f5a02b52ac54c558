import { execFileSync } from 'node:child_process';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { shellWord } from '../../../src/util/shell-words.ts';

test('a plain word stays as it is', () => {
  expect(['github', 'a/b.c', 'NAME@HOST', 'x=1'].map(shellWord)).toEqual(['github', 'a/b.c', 'NAME@HOST', 'x=1']);
});

test('any words are the same words behind a shell', () => {
  const word = fc.string({ minLength: 1, unit: fc.constantFrom(...`a' "$\`\\;#&|<>(){}[]*?!~\n\t-=é`) });
  fc.assert(
    fc.property(fc.array(word, { minLength: 20, maxLength: 40 }), (words) => {
      const script = `printf '%s\\0' ${words.map(shellWord).join(' ')}`;
      const printed = execFileSync('/bin/sh', ['-c', script]).toString().split('\0').slice(0, -1);
      expect(printed).toEqual(words);
    }),
    { numRuns: 10 },
  );
});
