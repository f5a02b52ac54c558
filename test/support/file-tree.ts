// Files of a test: written from an object, and looked at whether anything has become of them.

import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** By path from the directory; what is no text is written as JSON. */
export function writeFiles(dir: string, files: Readonly<Record<string, unknown>>): void {
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(dirname(join(dir, path)), { recursive: true });
    writeFileSync(join(dir, path), typeof content === 'string' ? content : JSON.stringify(content));
  }
}

/** Everything below it, with what it holds and when it was changed. */
export function treeBelow(dir: string): string[] {
  return readdirSync(dir, { recursive: true, encoding: 'utf8' })
    .sort()
    .map((name) => {
      const stat = statSync(join(dir, name));
      return `${name} ${stat.mode} ${stat.mtimeMs} ${stat.isFile() ? readFileSync(join(dir, name), 'utf8') : ''}`;
    });
}
