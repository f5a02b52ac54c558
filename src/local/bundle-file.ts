// Loads a bundle of this package that stands beside the running one.

import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { runModule } from './module-code.ts';

/**
 * Returns the exports of a bundle. `require` would decode its text as UTF-8 and leave 3 MiB of freed memory in a
 * process that may run for months. A bundle has one byte for each character; a test checks that.
 */
export function loadBundle(name: string): unknown {
  return keepBundle(name)();
}

/** Reads a bundle now, because the package may be gone later. The returned function runs it. */
export function keepBundle(name: string): () => unknown {
  const file = join(dirname(import.meta.filename), name);
  const bytes = readFileSync(file);
  return () => runModule(bytes.latin1Slice(0, bytes.length), file);
}
