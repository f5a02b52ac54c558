// A file of lines that is put aside when it is large enough, and loses none.

import {
  appendFileSync,
  existsSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { LockFile } from '../../../src/local/lock-file.ts';
import { type LineBatch, RotatedFile } from '../../../src/local/rotated-file.ts';
import { temporaryDir } from '../../support/temporary-dir.ts';

const batch = (text: string): LineBatch => ({ bytes: Buffer.from(text), done: 0 });
const linesIn = (path: string): string[] => readFileSync(path, 'utf8').split('\n').slice(0, -1);

function fileIn(dir: string, options: { maxBytes?: number; keep?: number } = {}): { file: RotatedFile; path: string } {
  const path = join(dir, 'log');
  return { path, file: new RotatedFile({ path, maxBytes: options.maxBytes ?? 1000, keep: options.keep ?? 2 }) };
}

test('it and its directory are made for this user alone', async () => {
  const path = join(temporaryDir(), 'a', 'b', 'log');
  const file = new RotatedFile({ path, maxBytes: 1000, keep: 1 });
  await file.append(batch('one\n'));
  file.close();
  expect(readFileSync(path, 'utf8')).toBe('one\n');
  expect([path, join(path, '..')].map((each) => statSync(each).mode & 0o777)).toEqual([0o600, 0o700]);
});

test('it goes on behind what is there', async () => {
  const dir = temporaryDir();
  for (const line of ['one\n', 'two\n']) {
    const { file } = fileIn(dir);
    await file.append(batch(line));
    file.close();
  }
  expect(linesIn(join(dir, 'log'))).toEqual(['one', 'two']);
});

test('a line that somebody has left broken does not spoil the next one', async () => {
  const dir = temporaryDir();
  const { file, path } = fileIn(dir);
  writeFileSync(path, 'whole\n{"bro', { mode: 0o600 });
  await file.append(batch('one\n'));
  appendFileSync(path, '{"broken by another proc');
  await file.append(batch('two\n'));
  file.close();
  expect(linesIn(path)).toEqual(['whole', '{"bro', 'one', '{"broken by another proc', 'two']);
});

describe('what somebody else has put in its place', () => {
  test('is refused if it is a link, open to others, or no file, and is left as it is', async () => {
    const dir = temporaryDir();
    const target = join(dir, 'target');
    const { file, path } = fileIn(dir);
    writeFileSync(target, 'mine\n', { mode: 0o600 });
    symlinkSync(target, path);
    await expect(file.append(batch('x\n'))).rejects.toMatchObject({ code: 'FILE_UNUSABLE' });
    rmSync(path);
    writeFileSync(path, 'readable\n', { mode: 0o644 });
    await expect(file.append(batch('x\n'))).rejects.toMatchObject({ code: 'FILE_UNUSABLE' });
    rmSync(path);
    mkdirSync(path);
    await expect(file.append(batch('x\n'))).rejects.toMatchObject({ code: 'FILE_UNUSABLE' });
    expect(readFileSync(target, 'utf8')).toBe('mine\n');
  });

  test('is noticed while it is open', async () => {
    const dir = temporaryDir();
    const { file, path } = fileIn(dir);
    await file.append(batch('one\n'));
    renameSync(path, join(dir, 'moved'));
    await file.append(batch('two\n'));
    rmSync(path);
    await file.append(batch('three\n'));
    symlinkSync(join(dir, 'moved'), join(dir, 'link'));
    renameSync(join(dir, 'link'), path);
    await expect(file.append(batch('four\n'))).rejects.toMatchObject({ code: 'FILE_UNUSABLE' });
    expect(linesIn(join(dir, 'moved'))).toEqual(['one']);
  });
});

describe('putting aside', () => {
  test('keeps as many as it is told to, and each within its size', async () => {
    const dir = temporaryDir();
    const { file } = fileIn(dir, { maxBytes: 25, keep: 2 });
    for (let n = 0; n < 20; n++) await file.append(batch(`line ${String(n).padStart(2, '0')}\n`)); // 8 bytes each
    file.close();
    expect(readdirSync(dir).sort()).toEqual(['log', 'log.1', 'log.2', 'log.lock']);
    const all = ['log.2', 'log.1', 'log'].flatMap((name) => linesIn(join(dir, name)));
    expect(all).toEqual(Array.from({ length: 8 }, (_, n) => `line ${n + 12}`));
    for (const name of ['log', 'log.1', 'log.2']) expect(statSync(join(dir, name)).mode & 0o777).toBe(0o600);
  });

  test('a batch larger than a file may be stays whole', async () => {
    const dir = temporaryDir();
    const { file, path } = fileIn(dir, { maxBytes: 10 });
    await file.append(batch('a\n'));
    await file.append(batch('b'.repeat(50).concat('\n')));
    file.close();
    expect([readFileSync(`${path}.1`, 'utf8'), statSync(path).size]).toEqual(['a\n', 51]);
  });

  // As if it had been killed before, between, and after the steps: which of the files are there then.
  test.each([
    [['log', 'log.1', 'log.2', 'log.3']],
    [['log', 'log.1', 'log.2']],
    [['log', 'log.1', 'log.3']],
    [['log', 'log.2', 'log.3']],
    [['log.1', 'log.2', 'log.3']],
  ])('goes on where one has been killed over it and has left %j', async (names) => {
    const dir = temporaryDir();
    for (const name of names) writeFileSync(join(dir, name), `${name}\n`, { mode: 0o600 });
    const { file } = fileIn(dir, { maxBytes: 8, keep: 3 });
    await file.append(batch('newest\n'));
    await file.append(batch('latest\n'));
    file.close();
    const all = ['log.3', 'log.2', 'log.1', 'log'].flatMap((name) => linesIn(join(dir, name)));
    // Whatever was there is there still, but for the oldest where there was no room.
    const rotations = names.includes('log') ? 2 : 1;
    const gone = Math.max(0, names.filter((name) => name !== 'log').length + rotations - 3);
    expect(all).toEqual(
      [...names]
        .sort((a, b) => (a < b ? 1 : -1))
        .slice(gone)
        .concat('newest', 'latest'),
    );
  });

  test('waits for another process that does it, and goes on with what that has made', async () => {
    const dir = temporaryDir();
    const { file, path } = fileIn(dir, { maxBytes: 8, keep: 1 });
    await file.append(batch('one\n'));
    const lock = LockFile.take(`${path}.lock`);
    await file.append(batch('twotwo\n'));
    expect([linesIn(path), existsSync(`${path}.1`)]).toEqual([['one', 'twotwo'], false]);
    linkSync(path, `${path}.1`);
    rmSync(path);
    lock?.release();
    await file.append(batch('three\n'));
    file.close();
    expect([linesIn(`${path}.1`), linesIn(path)]).toEqual([['one', 'twotwo'], ['three']]);
  });
});
