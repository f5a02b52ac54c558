import { chownSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { isForeign, ownUid, statOf } from '../../../src/local/owned-path.ts';
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
