// Files that are whole whatever happens to the process that writes them, or to the disk.

import { spawn, spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { buildSync } from 'esbuild';
import { expect, test } from 'vitest';
import { temporaryDir } from '../support/temporary-dir.ts';
import { ROOT } from '../support/test-daemon.ts';

const BYTES = 2_000_000;

/** A program of what is in the directory `src`, which gets `writePrivate` and its own arguments. */
function program(dir: string, body: string): string {
  const outfile = join(dir, 'program.mjs');
  buildSync({
    stdin: {
      contents: `import { writePrivate } from './private-file.ts';\n${body}`,
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
      writePrivate(${JSON.stringify(path)}, 'abcdefgh'[n % 8].repeat(${BYTES}));
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

test('a disk that takes only a part of it leaves the old content, and nothing beside it', () => {
  const dir = temporaryDir();
  const place = join(dir, 'place');
  mkdirSync(place);
  const file = program(
    dir,
    `import { readdirSync, readFileSync } from 'node:fs';
    const path = ${JSON.stringify(join(place, 'file'))};
    const old = 'o'.repeat(200_000);
    writePrivate(path, old);
    let message = 'none';
    try { writePrivate(path, 'n'.repeat(900_000)); } catch (error) { message = error.message; }
    const isOld = readFileSync(path, 'utf8') === old;
    process.stdout.write(JSON.stringify({ message, isOld, files: readdirSync(${JSON.stringify(place)}) }));`,
  );
  // As from a full disk, the first write comes back short without an error, and only the next one fails.
  const limited = 'trap "" XFSZ; ulimit -f 1024; exec "$0" "$1"';
  const { stdout } = spawnSync('/bin/sh', ['-c', limited, process.execPath, file]);
  expect(JSON.parse(stdout.toString())).toEqual({
    message: `Cannot write ${join(place, 'file')}: EFBIG`,
    isOld: true,
    files: ['file'],
  });
});
