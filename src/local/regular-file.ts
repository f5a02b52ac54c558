// Reads files that somebody else may have written, such as a project's files: only regular ones, up to the size of any
// config. Opening a pipe or a device must not block anyone.

import { closeSync, constants, fstatSync, open, openSync, readSync } from 'node:fs';
import { promisify } from 'node:util';

export const MOST_CONFIG_BYTES = 5 * 1024 * 1024;

const openFile = promisify(open);
const READ = constants.O_RDONLY | (constants.O_NONBLOCK ?? 0);

/** Reads a file. Fails as system calls do: with EFBIG, EISDIR, or NOT_A_FILE for a file that it does not read. */
export async function readRegular(path: string, most = MOST_CONFIG_BYTES): Promise<Uint8Array> {
  return closing(await openFile(path, READ), path, most);
}

export function readRegularSync(path: string): Uint8Array {
  return closing(openSync(path, READ), path, MOST_CONFIG_BYTES);
}

function closing(fd: number, path: string, most: number): Uint8Array {
  try {
    return contentOf(fd, path, most);
  } finally {
    closeSync(fd);
  }
}

/** Reads synchronously: config files are small, and four round trips would take longer than the four calls. */
function contentOf(fd: number, path: string, most: number): Uint8Array {
  const stat = fstatSync(fd);
  if (stat.isDirectory()) throw failure('EISDIR', path);
  if (!stat.isFile()) throw failure('NOT_A_FILE', path);
  if (stat.size > most) throw failure('EFBIG', path);
  const buffer = Buffer.allocUnsafe(stat.size);
  let length = 0;
  // A file that grows meanwhile is being written: it is read up to its earlier size.
  while (length < buffer.length) {
    const count = readSync(fd, buffer, length, buffer.length - length, null);
    if (count === 0) break;
    length += count;
  }
  return buffer.subarray(0, length);
}

function failure(code: string, path: string): Error {
  return Object.assign(new Error(`${path} is not read`), { code });
}
