// Files that are whole whatever happens to the process that writes them, or to the disk.

import { spawn, spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { buildSync } from 'esbuild';
import { expect, test } from 'vitest';
import { temporaryDir } from '../support/temporary-dir.ts';
import { ROOT } from '../support/test-daemon.ts';

const BYTES = 2_000_000;

/** A program of what is in the directory `src`, which gets `writeAtomically` and its own arguments. */
function program(dir: string, body: string): string {
  const outfile = join(dir, 'program.mjs');
  buildSync({
    stdin: {
      contents: `import { writeAtomically } from './atomic-file.ts';\n${body}`,
      resolveDir: join(ROOT, 'src/local'),
    },
    bundle: true,
    platform: 'node',
    format: 'esm',
    outfile,
  });
  return outfile;
}

test('a process that is killed in the middle of it leaves the old content or the new one', async () => {
  const dir = temporaryDir();
  const path = join(dir, 'file');
  const file = program(
    dir,
    `for (let n = 0; ; n++) {
      writeAtomically(${JSON.stringify(path)}, Buffer.alloc(${BYTES}, 'abcdefgh'[n % 8]));
      process.stdout.write('.');
    }`,
  );
  for (let writes = 1; writes <= 12; writes++) {
    const child = spawn(process.execPath, [file], { stdio: ['ignore', 'pipe', 'inherit'] });
    let written = 0;
    child.stdout.on('data', (dots: Buffer) => {
      written += dots.length;
      if (written >= writes) child.kill('SIGKILL'); // wherever it is in the next one
    });
    expect(await new Promise((resolve) => child.once('close', (_, signal) => resolve(signal)))).toBe('SIGKILL');
    const content = readFileSync(path);
    expect(content.equals(Buffer.alloc(BYTES, content.subarray(0, 1)))).toBe(true);
  }
});

/** Runs a script of the shell where it may mount what nobody else sees. */
function inNamespace(script: string, ...args: string[]) {
  return spawnSync('/bin/sh', ['-c', 'exec unshare -rm /bin/sh -c "$@"', 'sh', script, 'sh', ...args]);
}

const mayMount = inNamespace('mount -t tmpfs tmpfs /mnt').status === 0;

test.skipIf(!mayMount)('a full disk leaves the old content, and nothing beside it', () => {
  const dir = temporaryDir();
  const disk = join(dir, 'disk');
  mkdirSync(disk);
  const file = program(
    dir,
    `import { readdirSync, readFileSync } from 'node:fs';
    const path = ${JSON.stringify(join(disk, 'file'))};
    const old = Buffer.alloc(200_000, 'o');
    writeAtomically(path, old);
    let code = 'none';
    try { writeAtomically(path, Buffer.alloc(900_000, 'n')); } catch (error) { code = error.code; }
    const isOld = readFileSync(path).equals(old);
    process.stdout.write(JSON.stringify({ code, isOld, files: readdirSync(${JSON.stringify(disk)}) }));`,
  );
  const script = 'mount -t tmpfs -o size=1m tmpfs "$1" && exec "$2" "$3"';
  const { stdout } = inNamespace(script, disk, process.execPath, file);
  expect(JSON.parse(stdout.toString())).toEqual({ code: 'ENOSPC', isOld: true, files: ['file'] });
});
