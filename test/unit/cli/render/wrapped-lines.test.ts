import fc from 'fast-check';
import { expect, test } from 'vitest';
import { wrappedLines } from '../../../../src/cli/render/terminal.ts';

test('a sentence breaks between words, and goes on below, indented', () => {
  expect(wrappedLines('! The server cannot be started at present', { width: 20 })).toBe(
    '! The server cannot\n  be started at\n  present',
  );
});

test('a pipe gets it whole', () => {
  const text = `! ${'word '.repeat(100)}end`;
  expect(wrappedLines(text)).toBe(text);
});

test('a path that fits into no line, and a command to type, stay in one piece', () => {
  expect(wrappedLines('Cannot read /a/path/longer/than/the/line there', { width: 16 })).toBe(
    'Cannot read\n  /a/path/longer/than/the/line\n  there',
  );
  expect(wrappedLines('It has failed. See: mcp-bridge logs broken --follow. That helps', { width: 32 })).toBe(
    'It has failed. See:\n  mcp-bridge logs broken --follow.\n  That helps',
  );
});

test('nothing is lost, and no line is too long but that of one piece', () => {
  const words = fc.array(fc.stringMatching(/^[a-z]{1,12}$/), { minLength: 1 }).map((list) => list.join(' '));
  fc.assert(
    fc.property(words, fc.integer({ min: 20, max: 60 }), (text, width) => {
      const lines = wrappedLines(text, { width }).split('\n');
      expect(lines.map((line) => line.trim()).join(' ')).toBe(text);
      for (const line of lines) expect(line.length).toBeLessThanOrEqual(width);
    }),
  );
});
