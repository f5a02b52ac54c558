// The packages that a daemon needs later, if at all: read when it starts, compressed as the build has written them, because npm
// may have replaced or removed the files by the time that they are needed. Compiled when they are.

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

/** Reads all that stands in a directory. */
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

/** The exports of a package, for the bundles; whoever calls it keeps them. @public */
export function laterCode(name: string): unknown {
  const code = kept.get(name);
  invariant(code !== undefined, 'a package that is needed later was kept');
  kept.delete(name);
  return runModule(gunzipSync(code.packed).toString('latin1'), code.file);
}
