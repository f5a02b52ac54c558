// Loads a bundle of this package that stands beside the running one.

import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { runModule } from './module-code.ts';

/**
 * Returns the exports of a bundle. `require` would decode its text as UTF-8, which leaves 3 MiB of freed memory
 * behind in a process that may run for months. A bundle has one byte for each character, which a test checks.
 */
export function loadBundle(name: string): unknown {
  return keepBundle(name)();
}

/** Reads a bundle, whose package may be gone when it is needed; the function that is returned runs it. */
export function keepBundle(name: string): () => unknown {
  const file = join(dirname(import.meta.filename), name);
  const bytes = readFileSync(file);
  return () => runModule(bytes.latin1Slice(0, bytes.length), file);
}
