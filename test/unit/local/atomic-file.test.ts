import { chmodSync, mkdirSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { writeAtomically } from '../../../src/local/atomic-file.ts';
import { temporaryDir } from '../../support/temporary-dir.ts';

describe('a file that is written whole', () => {
  test('has the new content, is its owner’s alone, and leaves nothing beside it', () => {
    const dir = join(temporaryDir(), 'a', 'b');
    const path = join(dir, 'file');
    for (const content of ['one', '', 'x'.repeat(3_000_000)]) {
      writeAtomically(path, Buffer.from(content));
      expect(readFileSync(path, 'utf8')).toBe(content);
    }
    expect(readdirSync(dir)).toEqual(['file']);
    expect([statSync(path).mode & 0o777, statSync(dir).mode & 0o777]).toEqual([0o600, 0o700]);
  });

  test('takes the place of one that others could read, and of a link, whose target stays as it is', () => {
    const dir = temporaryDir();
    const [path, link] = [join(dir, 'file'), join(dir, 'link')];
    writeFileSync(path, 'old');
    chmodSync(path, 0o644);
    symlinkSync(path, link);
    writeAtomically(link, Buffer.from('through'));
    expect(readFileSync(path, 'utf8')).toBe('old');
    writeAtomically(path, Buffer.from('new'));
    expect([readFileSync(path, 'utf8'), statSync(path).mode & 0o777]).toEqual(['new', 0o600]);
  });

  test('that cannot be put in its place leaves nothing behind', () => {
    const dir = temporaryDir();
    mkdirSync(join(dir, 'taken', 'below'), { recursive: true });
    expect(() => writeAtomically(join(dir, 'taken'), Buffer.from('x'))).toThrow();
    expect(readdirSync(dir)).toEqual(['taken']);
  });
});
