// The words of a process: what a program can make of them, and what is not taken for one.

import { describe, expect, test } from 'vitest';
import { readWord, Speaker } from '../../../src/code-mode/words.ts';

const read = (line: string): unknown => {
  const b = Buffer.from(`${line}\n`);
  const word = readWord(b, 0, b.length - 1);
  return word && [word.run, word.kind, b.toString('utf8', word.from, word.to)];
};

test.each([
  ['3 begun ', [3, 'begun', '']],
  ['12 call 5\t"a"\t"b"\t{}', [12, 'call', '5\t"a"\t"b"\t{}']],
  ['1 print "1 idle "', [1, 'print', '"1 idle "']],
])('%j is a word', (line, expected) => {
  expect(read(line)).toEqual(expected);
});

test.each([
  '',
  ' begun ',
  '1',
  '1 ',
  '1 begun',
  '1 nothing ',
  '-1 idle ',
  '12345678901 idle ',
  '{"is":"idle"}',
  '1  idle ',
])('%j is none', (line) => {
  expect(read(line)).toBeUndefined();
});

describe('a program', () => {
  const said: string[] = [];
  const speaker = new Speaker(7, 300, (line) => said.push(line));
  test.each([
    ['print', '"x"', 'said', ['7 print "x"\n']],
    ['call', '1\t"a"\t"b"\t{}', 'asked', ['7 call 1\t"a"\t"b"\t{}\n']],
    ['returned', '1', 'last', ['7 returned 1\n']],
    ['idle', '', 'last', ['7 trap {"message":"nonsense"}\n']],
    ['begun', '', 'last', ['7 trap {"message":"nonsense"}\n']],
    ['print', '"x"\n7 idle ', 'last', ['7 trap {"message":"nonsense"}\n']],
    ['call', 'x'.repeat(301), 'too-long', []],
    ['returned', 'ä'.repeat(151), 'last', ['7 large returned 302\n']],
  ])('that says %s %j', (kind, text, saying, lines) => {
    said.length = 0;
    expect([speaker.sayForProgram(kind, text), said]).toEqual([saying, lines]);
  });
});
