import { expect, test } from 'vitest';
import { jsonLine, readableLine } from '../../../../src/cli/commands/logs.ts';
import { coloursOf } from '../../../../src/cli/render/colour.ts';
import { fakeHost } from '../../../support/cli-host.ts';

const COLOURS = coloursOf(fakeHost('/h', '/h', { columns: 80 }));
const time = '2026-01-02T03:04:05.678Z';
const line = (fields: object): string => JSON.stringify({ time, level: 'warn', message: 'server gone', ...fields });

test('a line for people has time, severity, message and fields, with quotes around values of several words', () => {
  expect(readableLine(line({ server: 'files', pid: 7, how: 'exited with code 3', empty: '' }), undefined)).toBe(
    `${time} warn  server gone  server=files  pid=7  how="exited with code 3"  empty=""`,
  );
});

test('only a terminal gets colours', () => {
  expect(readableLine(line({}), COLOURS)).toBe(`${time} \u001b[33mwarn \u001b[0m server gone`);
});

test('texts from outside move no cursor and reverse no text', () => {
  const shown = readableLine(line({ message: 'a\u001b[2Jb', reason: 'x\n\u009by \u202ez', '\u001b[8m': 'n' }), COLOURS);
  expect(shown.replace('\u001b[33m', '').replace('\u001b[0m', '')).not.toMatch(/\p{Cc}|\p{Cf}/u);
  expect(shown).toContain('reason="x\\n\\u{9b}y \\u{202e}z"');
});

test('a line of another program is shown unchanged', () => {
  expect(readableLine('\tat main (x.js:1)', undefined)).toBe('\tat main (x.js:1)');
  expect(readableLine('{"time":1}', undefined)).toBe('{"time":1}');
  expect(readableLine('{ code: 7', undefined)).toBe('{ code: 7');
  expect(readableLine('bell\u0007', undefined)).toBe('bell\\u{7}');
});

test('for scripts a line is unchanged, and escaped values are equal', () => {
  expect(jsonLine(line({ a: 1 }))).toBe(line({ a: 1 }));
  const odd = line({ a: '\u202e' });
  expect([jsonLine(odd), JSON.parse(jsonLine(odd))]).toEqual([expect.stringContaining('\\u202e'), JSON.parse(odd)]);
});
