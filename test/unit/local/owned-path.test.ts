import { chmodSync, chownSync, lstatSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { ensurePrivateDir, isForeign, ownUid, statOf } from '../../../src/local/owned-path.ts';
import { temporaryDir } from '../../support/temporary-dir.ts';

const isRoot = ownUid() === 0;

describe('a path', () => {
  test('is looked at itself, a link not followed', () => {
    const dir = temporaryDir();
    symlinkSync('/nowhere', join(dir, 'link'));
    expect(statOf(join(dir, 'link'))?.isSymbolicLink()).toBe(true);
    expect(statOf(join(dir, 'none'))).toBeUndefined();
    writeFileSync(join(dir, 'file'), '');
    expect(statOf(join(dir, 'file', 'below'))).toBeUndefined();
  });

  test('that cannot be looked at is an error', () => {
    expect(() => statOf(join(temporaryDir(), 'x'.repeat(300)))).toThrow(
      expect.objectContaining({ code: 'SOCKET_UNUSABLE' }),
    );
  });

  test('is not foreign when it is ours or not there', () => {
    const dir = temporaryDir();
    expect([isForeign(dir), isForeign(join(dir, 'none'))]).toEqual([false, false]);
  });

  test.runIf(isRoot)('is foreign when another user has it, also as a link of theirs to what is ours', () => {
    const dir = temporaryDir();
    writeFileSync(join(dir, 'file'), '');
    chownSync(join(dir, 'file'), 12_345, 12_345);
    expect(isForeign(join(dir, 'file'))).toBe(true);
  });
});

describe('a private directory', () => {
  test('is made, for its user alone, and is good again the next time', () => {
    const dir = join(temporaryDir(), 'private');
    ensurePrivateDir(dir);
    expect(lstatSync(dir).mode & 0o777).toBe(0o700);
    expect(() => ensurePrivateDir(dir)).not.toThrow();
  });

  test.each([0o710, 0o701, 0o770, 0o755])('that others may use (%o) is refused and left as it is', (mode) => {
    const dir = join(temporaryDir(), 'open');
    mkdirSync(dir);
    chmodSync(dir, mode);
    expect(() => ensurePrivateDir(dir)).toThrow(expect.objectContaining({ code: 'SOCKET_FOREIGN' }));
    expect(lstatSync(dir).mode & 0o777).toBe(mode);
  });

  test('is no file and no link', () => {
    const dir = temporaryDir();
    writeFileSync(join(dir, 'file'), '');
    mkdirSync(join(dir, 'real'), { mode: 0o700 });
    symlinkSync('real', join(dir, 'link'));
    for (const name of ['file', 'link'])
      expect(() => ensurePrivateDir(join(dir, name))).toThrow(expect.objectContaining({ code: 'SOCKET_FOREIGN' }));
  });

  test('that cannot be made is an error', () => {
    expect(() => ensurePrivateDir(join(temporaryDir(), 'no', 'parent'))).toThrow(
      expect.objectContaining({ code: 'SOCKET_UNUSABLE' }),
    );
  });
});
