// A directory of a test's own, gone when the test is.

import { mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';

export function temporaryDir(): string {
  const dir = realpathSync(mkdtempSync(join(tmpdir(), 'mcp-')));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  return dir;
}
