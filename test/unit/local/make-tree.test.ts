import { mkdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { makeTree } from '../../../src/local/private-file.ts';
import { temporaryDir } from '../../support/temporary-dir.ts';

describe('a tree of directories', () => {
  test('is made from the first that is missing, each for its owner alone', () => {
    const dir = temporaryDir();
    mkdirSync(join(dir, 'a'));
    expect(makeTree(join(dir, 'a/b/c'), 0o700)).toBe(join(dir, 'a/b'));
    expect(['a/b', 'a/b/c'].map((name) => statSync(join(dir, name)).mode & 0o777)).toEqual([0o700, 0o700]);
    expect(makeTree(join(dir, 'a/b/c'), 0o700)).toBeUndefined();
  });

  test('below a file is an error', () => {
    const dir = temporaryDir();
    writeFileSync(join(dir, 'file'), '');
    expect(() => makeTree(join(dir, 'file/a/b'), 0o700)).toThrow(/ENOTDIR/);
  });

  test.runIf(process.platform === 'linux')('where the kernel has no such place is an error, and ends', () => {
    expect(() => makeTree('/proc/self/a/b/c', 0o700)).toThrow(/ENOENT/);
  });
});
