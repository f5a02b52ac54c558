import { chmodSync, linkSync, mkdirSync, readdirSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { ensurePrivateTree, readPrivate, removePrivate, writePrivate } from '../../../src/local/private-file.ts';
import { temporaryDir } from '../../support/temporary-dir.ts';

describe('a private file', () => {
  test('has what was written last, and is its only trace', () => {
    const dir = temporaryDir();
    const path = join(dir, 'f');
    expect(readPrivate(path)).toBeUndefined();
    writePrivate(path, 'one');
    writePrivate(path, 'ü');
    expect(readPrivate(path)).toBe('ü');
    expect(statSync(path).mode & 0o777).toBe(0o600);
    expect(readdirSync(dir)).toEqual(['f']);
    expect([removePrivate(path), removePrivate(path)]).toEqual([true, false]);
  });

  test('is replaced and not written over: who reads it has all of the old one', () => {
    const dir = temporaryDir();
    const path = join(dir, 'f');
    writePrivate(path, 'old');
    linkSync(path, join(dir, 'other'));
    writePrivate(path, 'new');
    expect([readPrivate(path), readPrivate(join(dir, 'other'))]).toEqual(['new', 'old']);
  });

  test.each<[string, (path: string) => void]>([
    ['a link', (path) => symlinkSync('/dev/null', path)],
    ['a link to nothing', (path) => symlinkSync('/none/such', path)],
    ['a directory', (path) => mkdirSync(path, { mode: 0o700 })],
    [
      'a file that others may read',
      (path) => {
        writeFileSync(path, 'x');
        chmodSync(path, 0o640);
      },
    ],
  ])('is never read, replaced or removed where there is %s', (_, make) => {
    const path = join(temporaryDir(), 'f');
    make(path);
    for (const task of [() => readPrivate(path), () => writePrivate(path, 'x'), () => removePrivate(path)])
      expect(task).toThrow(`${path} is not this user's alone, or is a link`);
  });

  test('that cannot be written says so', () => {
    const path = join(temporaryDir(), 'none', 'f');
    expect(() => writePrivate(path, 'x')).toThrow(`Cannot write ${path}: ENOENT`);
  });
});

describe('its directory', () => {
  test("is made with its parents, all of them this user's alone", () => {
    const dir = join(temporaryDir(), 'a', 'b');
    ensurePrivateTree(dir);
    ensurePrivateTree(dir);
    expect([statSync(dir).mode & 0o777, statSync(join(dir, '..')).mode & 0o777]).toEqual([0o700, 0o700]);
  });

  test('is refused if others may look into it, or if it is a link', () => {
    const dir = temporaryDir();
    mkdirSync(join(dir, 'open'), { mode: 0o755 });
    chmodSync(join(dir, 'open'), 0o755);
    symlinkSync(join(dir, 'open'), join(dir, 'link'));
    for (const name of ['open', 'link'])
      expect(() => ensurePrivateTree(join(dir, name))).toThrow("is not this user's alone");
  });
});
