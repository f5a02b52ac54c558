// The packages that a daemon may need later. It reads them at its start, still compressed, because npm may replace or
// remove the files before they are needed. It compiles them when they are needed.

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { invariant } from '../util/invariant.ts';
import { runModule } from './module-code.ts';

const SUFFIX = '.cjs.gz';

interface Kept {
  readonly file: string;
  readonly packed: Buffer;
}

const kept = new Map<string, Kept>();

/** Reads all files of a directory. */
export function keepLaterCode(dir: string): void {
  for (const name of readdirSync(dir)) {
    const file = join(dir, name);
    if (name.endsWith(SUFFIX)) kept.set(name.slice(0, -SUFFIX.length), { file, packed: readFileSync(file) });
  }
}

/** The packed code of a program that another process runs. */
export function packedCode(name: string): Buffer {
  const code = kept.get(name);
  invariant(code !== undefined, 'a program that is needed later was kept');
  return code.packed;
}

/** The exports of a package, for the bundles; the caller keeps them. @public */
export function laterCode(name: string): unknown {
  const code = kept.get(name);
  invariant(code !== undefined, 'a package that is needed later was kept');
  kept.delete(name);
  return runModule(gunzipSync(code.packed).toString('latin1'), code.file);
}
