import {
  appendFileSync,
  closeSync,
  existsSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { boundedWriter, MOST_LOG_BYTES, putAsideLog } from '../../../src/local/bounded-log.ts';
import { LockFile } from '../../../src/local/lock-file.ts';
import { temporaryDir } from '../../support/temporary-dir.ts';

/** A log, held open as a daemon's stderr is. */
function openLog(text = ''): { path: string; fd: number } {
  const path = join(temporaryDir(), 'daemon.log');
  writeFileSync(path, text, { mode: 0o600 });
  const fd = openSync(path, 'a');
  onTestFinished(() => closeSync(fd));
  return { path, fd };
}
const sizes = (path: string): number[] =>
  [path, `${path}.1`].map((file) => (existsSync(file) ? lstatSync(file).size : -1));

test('a log is put aside beyond its bound and not at it, for its user alone, and whoever holds it writes on into the old one', () => {
  const { path, fd } = openLog('0123456789');
  putAsideLog(path, 10);
  expect(sizes(path)).toEqual([10, -1]);
  writeSync(fd, 'x');
  putAsideLog(path, 10);
  expect(sizes(path)).toEqual([-1, 11]);
  writeSync(fd, 'next\n');
  expect(readFileSync(`${path}.1`, 'utf8')).toBe('0123456789xnext\n');
  expect(lstatSync(`${path}.1`).mode & 0o777).toBe(0o600);
});

test('there is one old log, and nothing else is left', () => {
  const { path } = openLog();
  for (const text of ['first', 'second', 'third']) {
    appendFileSync(path, text);
    putAsideLog(path, 1);
  }
  expect(readFileSync(`${path}.1`, 'utf8')).toBe('third');
  expect(readdirSync(join(path, '..')).sort()).toEqual(['daemon.log.1', 'daemon.log.lock']);
});

test('writers look after it by themselves: two on one file lose no line, break none, and keep it within its bound', () => {
  const { path, fd } = openLog();
  const other = openSync(path, 'a');
  const line = (n: number): string => `${`${n}`.padStart(8)}${'x'.repeat(1000)}\n`;
  const writers = [fd, other].map((each) => boundedWriter(path, each, () => expect.unreachable()));
  const seen = new Set<string>();
  const look = (): void => {
    for (const file of [path, `${path}.1`])
      if (existsSync(file)) for (const each of readFileSync(file, 'utf8').trimEnd().split('\n')) seen.add(each);
  };
  const count = Math.ceil((2.5 * MOST_LOG_BYTES) / line(0).length);
  let most = 0;
  for (let n = 0; n < count; n++) {
    writers[n % 2]?.(line(n));
    if (n % 4000 === 0) look();
    most = Math.max(most, sizes(path)[0] ?? 0);
  }
  look();
  closeSync(other);
  seen.delete('');
  expect([...seen].sort()).toEqual(Array.from({ length: count }, (_, n) => line(n).trimEnd()));
  expect(most).toBeGreaterThan(MOST_LOG_BYTES);
  expect(most).toBeLessThan(MOST_LOG_BYTES + 3 * 64 * 1024);
});

test('what somebody has redirected elsewhere is left alone', () => {
  const { path } = openLog();
  const { path: elsewhere, fd } = openLog();
  const write = (): void => undefined;
  expect(boundedWriter(path, fd, write)).toBe(write);
  expect(boundedWriter(elsewhere, fd, write)).not.toBe(write);
  expect(boundedWriter(join(path, 'none'), fd, write)).toBe(write);
});

test('it is left to the one who does it already, and links are not followed', () => {
  const { path } = openLog('0123456789');
  const lock = LockFile.take(`${path}.lock`);
  putAsideLog(path, 1);
  expect(sizes(path)).toEqual([10, -1]);
  lock?.release();
  const link = join(temporaryDir(), 'link.log');
  symlinkSync(path, link);
  putAsideLog(link, 1);
  expect(sizes(path)).toEqual([10, -1]);
});

test('where no copy can be made room is made all the same', () => {
  const { path } = openLog('0123456789');
  mkdirSync(`${path}.1`);
  appendFileSync(join(`${path}.1`, 'taken'), '');
  putAsideLog(path, 1);
  expect(lstatSync(path).size).toBe(0);
  expect(readdirSync(join(path, '..')).sort()).toEqual(['daemon.log', 'daemon.log.1', 'daemon.log.lock']);
});
