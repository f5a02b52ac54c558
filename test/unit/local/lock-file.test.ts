import {
  chownSync,
  lstatSync,
  readFileSync,
  renameSync,
  symlinkSync,
  unlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { LockFile, notedPid } from '../../../src/local/lock-file.ts';
import { ownUid } from '../../../src/local/owned-path.ts';
import { temporaryDir } from '../../support/temporary-dir.ts';

const newPath = (): string => join(temporaryDir(), 'x.lock');

function take(path: string): LockFile {
  const lock = LockFile.take(path);
  if (lock === undefined) throw new Error('the lock is taken');
  return lock;
}

function takeForThisTest(path: string): LockFile {
  const lock = take(path);
  onTestFinished(() => lock.release());
  return lock;
}

describe('a lock', () => {
  test('is had by one at a time, also within one process', () => {
    const path = newPath();
    takeForThisTest(path);
    expect([LockFile.take(path), LockFile.take(path)]).toEqual([undefined, undefined]);
  });

  test('is free after its release, and the file stays', () => {
    const path = newPath();
    const lock = take(path);
    const { ino } = lstatSync(path);
    lock.release();
    takeForThisTest(path);
    expect(lstatSync(path).ino).toBe(ino);
  });

  test('is refused without a trace left, so that the holder’s release frees it', () => {
    const path = newPath();
    const lock = take(path);
    for (let i = 0; i < 20; i++) expect(LockFile.take(path)).toBeUndefined();
    lock.release();
    takeForThisTest(path);
  });

  test('is for its user alone to read', () => {
    const path = newPath();
    takeForThisTest(path);
    expect(lstatSync(path).mode & 0o077).toBe(0);
  });

  test('guards the file that stands at its path, not one that was moved away from there', () => {
    const path = newPath();
    takeForThisTest(path);
    renameSync(path, `${path}.old`);
    takeForThisTest(path);
    expect([LockFile.take(path), LockFile.take(`${path}.old`)]).toEqual([undefined, undefined]);
    unlinkSync(`${path}.old`);
    expect(LockFile.take(path)).toBeUndefined();
  });

  test('is not taken through a link, nor in a directory that is not there', () => {
    const dir = temporaryDir();
    symlinkSync(join(dir, 'elsewhere'), join(dir, 'link'));
    expect(() => LockFile.take(join(dir, 'link'))).toThrow(expect.objectContaining({ code: 'SOCKET_UNUSABLE' }));
    expect(() => LockFile.take(join(dir, 'none', 'x'))).toThrow(expect.objectContaining({ code: 'SOCKET_UNUSABLE' }));
  });

  test.runIf(ownUid() === 0)('is not taken on the file of another user', () => {
    const path = newPath();
    writeFileSync(path, '');
    chownSync(path, 12_345, 12_345);
    expect(() => LockFile.take(path)).toThrow(expect.objectContaining({ code: 'SOCKET_FOREIGN' }));
  });

  test('is made young by a touch', () => {
    const path = newPath();
    const lock = takeForThisTest(path);
    utimesSync(path, 1, 1);
    lock.touch();
    expect(lstatSync(path).mtimeMs).toBeGreaterThan(1_000_000);
  });
});

describe('the note in a lock', () => {
  test('is replaced as a whole, and says who has it', () => {
    const path = newPath();
    const lock = takeForThisTest(path);
    lock.describe({ pid: 1_234_567, version: 'a long one' });
    lock.describe({ pid: 7 });
    expect([readFileSync(path, 'utf8'), notedPid(path)]).toEqual(['{"pid":7}\n', 7]);
  });

  test('of another kind, or none, says nothing', () => {
    const path = newPath();
    expect(notedPid(path)).toBeUndefined();
    for (const text of ['', 'x', 'null', '7', '[]', '{}', '{"pid":"7"}']) {
      writeFileSync(path, text);
      expect([text, notedPid(path)]).toEqual([text, undefined]);
    }
  });
});
