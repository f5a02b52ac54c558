// Files that are whole whatever happens: written beside their place, flushed, and put there in one step. A plain write is
// torn when the process is killed, and destroys the old content when the disk is full.

import { closeSync, fdatasyncSync, mkdirSync, openSync, renameSync, rmSync, writeSync } from 'node:fs';
import { dirname } from 'node:path';

/** Only the owner may read it, or look into a directory that is made for it. */
export function writeAtomically(path: string, content: Buffer): void {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  const temporary = `${path}.${process.pid}.tmp`;
  try {
    writeWhole(temporary, content);
    renameSync(temporary, path);
  } catch (error) {
    rmSync(temporary, { force: true });
    throw error;
  }
}

function writeWhole(path: string, content: Buffer): void {
  const descriptor = openSync(path, 'w', 0o600);
  try {
    // A full disk may take a part of it, and say so only the next time.
    for (let at = 0; at < content.length; ) at += writeSync(descriptor, content, at);
    fdatasyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}
