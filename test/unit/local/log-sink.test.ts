import { existsSync, lstatSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import { describe, expect, test } from 'vitest';
import { jsonLogger, lossyWriter, openLogFile } from '../../../src/local/log-sink.ts';
import { LOG_LEVELS } from '../../../src/util/logger.ts';
import { temporaryDir } from '../../support/temporary-dir.ts';

describe('a log line', () => {
  test('is one line of JSON, whatever it says', () => {
    const lines: string[] = [];
    jsonLogger('debug', (line) => lines.push(line)).warn('a\n"b"', {
      server: 'x\ny',
      count: 1,
      isOld: true,
      nothing: undefined,
    });
    expect(lines).toHaveLength(1);
    expect(lines[0]).toMatch(/^[^\n]*\n$/);
    expect(JSON.parse(lines[0] ?? '')).toEqual({
      time: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
      level: 'warn',
      message: 'a\n"b"',
      server: 'x\ny',
      count: 1,
      isOld: true,
    });
  });

  test('is written from its level on', () => {
    const names = ['debug', 'info', 'warn', 'error'] as const;
    for (const [i, level] of LOG_LEVELS.entries()) {
      const levels: unknown[] = [];
      const logger = jsonLogger(level, (line) => levels.push((JSON.parse(line) as { level: string }).level));
      for (const name of names) logger[name]('x');
      expect(levels).toEqual(names.slice(i));
    }
  });
});

test('a log that nobody reads takes no more than a bound, and says what it has lost once somebody does', () => {
  let read: () => void = () => undefined;
  const lines: string[] = [];
  const stream = new Writable({
    write: (chunk: Buffer, _, done) => {
      lines.push(chunk.toString());
      read = done;
    },
  });
  const write = lossyWriter(stream);
  const line = `${'x'.repeat(999)}\n`;
  for (let i = 0; i < 5000; i++) write(line);
  expect(stream.writableLength).toBeLessThan(1024 * 1024 + 2 * line.length);
  while (stream.writableLength > 0) read();
  write('more\n');
  while (stream.writableLength > 0) read();
  const lost = JSON.parse(lines.at(-2) ?? '') as { lost: number };
  expect([lines.length - 2 + lost.lost, lines.at(-1)]).toEqual([5000, 'more\n']);
});

describe('a log file', () => {
  test('is appended to, by several writers at once, and is for its user alone', () => {
    const path = join(temporaryDir(), 'log');
    const [one, other] = [openLogFile(path), openLogFile(path)];
    one.write('a\n');
    other.write('b\n');
    one.write('c\n');
    one.close();
    other.close();
    const again = openLogFile(path);
    again.write('d\n');
    again.close();
    expect(readFileSync(path, 'utf8')).toBe('a\nb\nc\nd\n');
    expect(lstatSync(path).mode & 0o077).toBe(0);
  });

  test.runIf(existsSync('/dev/full'))('that is full loses the line and nothing else', () => {
    const full = openLogFile('/dev/full');
    expect(() => full.write('x\n')).not.toThrow();
    full.close();
  });

  test('that cannot be opened is an error with a hint', () => {
    const open = (): unknown => openLogFile(join(temporaryDir(), 'none', 'log'));
    expect(open).toThrow(
      expect.objectContaining({ code: 'CONFIG_INVALID', hint: expect.stringContaining('--log-file') as string }),
    );
  });
});
