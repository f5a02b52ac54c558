import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { buildSync } from 'esbuild';
import { describe, expect, test } from 'vitest';
import { readConfigFile, removeMadeDirs, replaceConfigFile } from '../../../src/editing/config-file.ts';
import { temporaryDir } from '../../support/temporary-dir.ts';

/** Whose rights are looked at where the tests are run by root, to whom everything is allowed. */
const SOMEBODY = 61_234;
const NEW = Buffer.from('new');

function fileWith(text: string | Buffer, mode = 0o644): { dir: string; path: string } {
  const dir = temporaryDir();
  const path = join(dir, 'f.json');
  writeFileSync(path, text);
  chmodSync(path, mode);
  return { dir, path };
}

describe('a config file', () => {
  test.each([0o600, 0o640, 0o644, 0o664])('keeps its mode %o when it is replaced', (mode) => {
    const { dir, path } = fileWith('old', mode);
    replaceConfigFile(readConfigFile(path), NEW);
    expect(statSync(path).mode & 0o7777).toBe(mode);
    expect(readFileSync(path, 'utf8')).toBe('new');
    expect(readdirSync(dir)).toEqual(['f.json']);
  });

  test('is made for its user alone, with the directories that it needs', () => {
    const dir = temporaryDir();
    const path = join(dir, 'a/b/f.json');
    const made = replaceConfigFile(readConfigFile(path), NEW);
    expect(made).toEqual([join(dir, 'a'), join(dir, 'a/b')]);
    expect(statSync(path).mode & 0o777).toBe(0o600);
    writeFileSync(join(dir, 'a/other'), '');
    replaceConfigFile(readConfigFile(path), undefined);
    removeMadeDirs(made);
    expect(readdirSync(join(dir, 'a'))).toEqual(['other']);
  });

  test('is replaced where a chain of links leads to, and the links stay', () => {
    const { dir, path } = fileWith('old');
    mkdirSync(join(dir, 'home'));
    symlinkSync('../f.json', join(dir, 'home/one'));
    symlinkSync('one', join(dir, 'home/two'));
    replaceConfigFile(readConfigFile(join(dir, 'home/two')), NEW);
    expect(readFileSync(path, 'utf8')).toBe('new');
    expect(readlinkSync(join(dir, 'home/two'))).toBe('one');
    expect(lstatSync(join(dir, 'home/one')).isSymbolicLink()).toBe(true);
  });

  test('is made where a link leads to that leads nowhere yet', () => {
    const dir = temporaryDir();
    symlinkSync('dotfiles/f.json', join(dir, 'f.json'));
    const file = readConfigFile(join(dir, 'f.json'));
    expect(file.bytes).toBeUndefined();
    replaceConfigFile(file, NEW);
    expect(readFileSync(join(dir, 'dotfiles/f.json'), 'utf8')).toBe('new');
    expect(lstatSync(join(dir, 'f.json')).isSymbolicLink()).toBe(true);
  });

  test('that another program changes meanwhile is left as changed', () => {
    const { dir, path } = fileWith('old');
    const file = readConfigFile(path);
    const theirs = () => writeFileSync(path, 'theirs');
    expect(() => replaceConfigFile(file, NEW, theirs)).toThrow(expect.objectContaining({ code: 'FILE_CHANGED' }));
    expect(() => replaceConfigFile(file, undefined)).toThrow(expect.objectContaining({ code: 'FILE_CHANGED' }));
    expect(readFileSync(path, 'utf8')).toBe('theirs');
    expect(readdirSync(dir)).toEqual(['f.json']);
  });

  test('that another program creates meanwhile is left as created', () => {
    const path = join(temporaryDir(), 'f.json');
    const file = readConfigFile(path);
    const theirs = () => writeFileSync(path, '');
    expect(() => replaceConfigFile(file, NEW, theirs)).toThrow(expect.objectContaining({ code: 'FILE_CHANGED' }));
    expect(readFileSync(path, 'utf8')).toBe('');
  });

  test('whose link changes meanwhile is not replaced', () => {
    const { dir, path } = fileWith('old');
    symlinkSync('f.json', join(dir, 'link'));
    const file = readConfigFile(join(dir, 'link'));
    const theirs = () => {
      writeFileSync(join(dir, 'other'), 'old');
      replaceLink(join(dir, 'link'), 'other');
    };
    expect(() => replaceConfigFile(file, NEW, theirs)).toThrow(expect.objectContaining({ code: 'FILE_CHANGED' }));
    expect(readFileSync(path, 'utf8')).toBe('old');
  });

  test.each<[string, (dir: string) => void, string]>([
    ['a directory', (dir) => mkdirSync(join(dir, 'x')), 'is not a file'],
    ['a link to itself', (dir) => symlinkSync('x', join(dir, 'x')), 'leads back to itself'],
    ['UTF-16', (dir) => writeFileSync(join(dir, 'x'), Buffer.from('\ufeff{}', 'utf16le')), 'is not UTF-8'],
    ['UTF-16 without a mark', (dir) => writeFileSync(join(dir, 'x'), Buffer.from('{}', 'utf16le')), 'is not UTF-8'],
    ['a file that is too large', (dir) => writeFileSync(join(dir, 'x'), Buffer.alloc(65 * 1024 * 1024, ' ')), '64 MB'],
  ])('%s is refused', (_, make, problem) => {
    const dir = temporaryDir();
    make(dir);
    expect(() => readConfigFile(join(dir, 'x'))).toThrow(
      expect.objectContaining({ code: 'FILE_UNUSABLE', message: expect.stringContaining(problem) }),
    );
  });

  test('a directory on the way that is a file is said', () => {
    const { path } = fileWith('old');
    expect(() => readConfigFile(join(path, 'x'))).toThrow(
      expect.objectContaining({ code: 'FILE_UNUSABLE', message: expect.stringContaining('no directory') }),
    );
  });

  test('that may not be read or written is refused', () => {
    const { dir, path } = fileWith('old', 0o000);
    expect(asSomebody(dir, path)).toEqual([
      expect.stringMatching(/^FILE_UNUSABLE: .*permission denied/),
      expect.stringMatching(/^FILE_UNUSABLE: .*permission denied/),
      expect.stringMatching(/^FILE_UNUSABLE: .*permission denied/),
      'done',
    ]);
    expect([readFileSync(path, 'utf8'), readdirSync(dir)]).toEqual(['new', ['config-file.mjs', 'f.json']]);
  });
});

function replaceLink(path: string, target: string): void {
  symlinkSync(target, `${path}.new`);
  renameSync(`${path}.new`, path);
}

/** What comes of reading and replacing the file, for a user who is not root and to whom it belongs. */
function asSomebody(dir: string, path: string): string[] {
  const outfile = join(dir, 'config-file.mjs');
  const entryPoint = new URL('../../../src/editing/config-file.ts', import.meta.url).pathname;
  buildSync({ entryPoints: [entryPoint], outfile, bundle: true, platform: 'node', format: 'esm' });
  const program = `
    import { chmodSync } from 'node:fs';
    import { readConfigFile, replaceConfigFile } from ${JSON.stringify(outfile)};
    const [dir, path] = ${JSON.stringify([dir, path])};
    const replace = () => replaceConfigFile(readConfigFile(path), Buffer.from('new'));
    const outcomes = [[0o000, 0o700], [0o444, 0o700], [0o644, 0o500], [0o644, 0o700]].map(([fileMode, dirMode]) => {
      chmodSync(path, fileMode);
      chmodSync(dir, dirMode);
      try {
        return replace(), 'done';
      } catch ({ code, message }) {
        return code + ': ' + message;
      }
    });
    console.log(JSON.stringify(outcomes));`;
  const isRoot = process.getuid?.() === 0;
  if (isRoot) for (const each of [dir, path]) chownSync(each, SOMEBODY, SOMEBODY);
  const somebody = isRoot ? { uid: SOMEBODY, gid: SOMEBODY } : {};
  const args = ['--input-type=module', '-e', program];
  return JSON.parse(execFileSync(process.execPath, args, { cwd: '/', ...somebody, encoding: 'utf8' })) as string[];
}
