import { appendFileSync, existsSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { putAsideLog } from '../../../src/local/bounded-log.ts';
import { LogTail } from '../../../src/local/log-tail.ts';
import { temporaryDir } from '../../support/temporary-dir.ts';

const numbered = (from: number, count: number): string[] =>
  Array.from({ length: count }, (_, i) => `line ${from + i} ${'é'.repeat((from + i) % 7)}`);
const written = (lines: readonly string[]): string => lines.map((line) => `${line}\n`).join('');
const newLog = (): string => join(temporaryDir(), 'daemon.log');

describe('the last lines of a log', () => {
  test('are as many as are wanted, or as there are, however long the log is', () => {
    const path = newLog();
    const lines = numbered(0, 20_000);
    writeFileSync(path, written(lines));
    for (const count of [0, 1, 50, 7_000, 19_999, 20_000])
      expect(new LogTail(path).last(count)).toEqual(lines.slice(lines.length - count));
    expect(new LogTail(path).last(50_000)).toEqual(lines);
  });

  test('begin in the one that was put aside, where the new one has too few', () => {
    const path = newLog();
    writeFileSync(path, written(numbered(0, 10)));
    putAsideLog(path, 0);
    appendFileSync(path, written(numbered(10, 3)));
    expect(new LogTail(path).last(5)).toEqual(numbered(8, 5));
    expect(new LogTail(path).last(2)).toEqual(numbered(11, 2));
  });

  test('are not there where there is no log', () => {
    expect(new LogTail(newLog()).last(5)).toBeUndefined();
    expect(new LogTail(temporaryDir()).last(5), 'a directory is none').toBeUndefined();
  });
});

describe('what comes behind them', () => {
  test('comes in whole lines', () => {
    const path = newLog();
    writeFileSync(path, 'one\ntw');
    const tail = new LogTail(path);
    expect(tail.last(5)).toEqual(['one']);
    appendFileSync(path, 'o\nthree\nfo');
    expect(tail.more()).toEqual(['two', 'three']);
    expect(tail.more()).toEqual([]);
    appendFileSync(path, 'ur\n');
    expect(tail.more()).toEqual(['four']);
  });

  test('goes on where somebody has emptied the log, or removed it, by hand', () => {
    const path = newLog();
    writeFileSync(path, written(numbered(0, 5)));
    const tail = new LogTail(path);
    tail.last(0);
    truncateSync(path);
    expect(tail.more()).toEqual([]);
    appendFileSync(path, written(numbered(5, 2)));
    expect(tail.more()).toEqual(numbered(5, 2));
    rmSync(path);
    expect(tail.more()).toEqual([]);
    writeFileSync(path, written(numbered(7, 9)));
    expect(tail.more()).toEqual(numbered(7, 9));
  });

  test('lacks no line and has none twice, whenever the log is put aside', () => {
    const step = fc.oneof(fc.nat(12), fc.constantFrom('put aside', 'look'));
    fc.assert(
      fc.property(fc.array(step, { maxLength: 20 }), (steps) => {
        const path = newLog();
        let count = 3;
        writeFileSync(path, written(numbered(0, count)));
        const tail = new LogTail(path);
        const seen = tail.last(0) ?? [];
        let hasSeenIt = true;
        for (const each of steps) {
          if (typeof each === 'number') {
            appendFileSync(path, written(numbered(count, each)));
            count += each;
          } else if (each === 'look') {
            seen.push(...tail.more());
            hasSeenIt = statSync(path).size > 0;
          } else if (hasSeenIt) {
            putAsideLog(path, 0);
            if (!existsSync(path)) writeFileSync(path, '');
            hasSeenIt = false; // 10 MiB are not written between two looks
          }
        }
        seen.push(...tail.more());
        expect(seen).toEqual(numbered(3, count - 3));
      }),
      { numRuns: 300 },
    );
  });
});
