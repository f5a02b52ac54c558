// The machine that we run on, for discovery. Only regular files are read: opening a pipe or a device must not keep
// anyone waiting, and nothing is read that is larger than any config.

import { closeSync, constants, fstatSync, open, readSync } from 'node:fs';
import { readdir, realpath } from 'node:fs/promises';
import { promisify } from 'node:util';
import { systemCode } from '../util/bridge-error.ts';
import type { DiscoveryHost, HostFiles, OwnIdentity, Platform } from './host.ts';
import { MOST_BYTES } from './source-text.ts';

const openFile = promisify(open);
const READ = constants.O_RDONLY | (constants.O_NONBLOCK ?? 0);

export interface NodeProcess {
  readonly platform: string;
  readonly homedir: string;
  readonly cwd: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly self: OwnIdentity;
}

export function nodeDiscoveryHost(process: NodeProcess): DiscoveryHost {
  return { ...process, platform: platformOf(process.platform), files: NODE_FILES };
}

/** Whatever is neither keeps its files as Linux does. */
function platformOf(platform: string): Platform {
  return platform === 'darwin' || platform === 'win32' ? platform : 'linux';
}

const NODE_FILES: HostFiles = {
  read: unlessAbsent(readRegular, undefined),
  list: unlessAbsent((dir: string) => readdir(dir), []),
  realpath: (path) => realpath(path),
};

function unlessAbsent<Asked extends unknown[], Found, Otherwise>(
  task: (...asked: Asked) => Promise<Found>,
  otherwise: Otherwise,
): (...asked: Asked) => Promise<Found | Otherwise> {
  return async (...asked) => {
    try {
      return await task(...asked);
    } catch (error) {
      if (systemCode(error) === 'ENOENT' || systemCode(error) === 'ENOTDIR') return otherwise;
      throw error;
    }
  };
}

async function readRegular(path: string, most = MOST_BYTES): Promise<Uint8Array> {
  const fd = await openFile(path, READ);
  try {
    return contentOf(fd, path, most);
  } finally {
    closeSync(fd);
  }
}

/** Synchronously, as config files are small: the round trips of four calls would take longer than the calls. */
function contentOf(fd: number, path: string, most: number): Uint8Array {
  const stat = fstatSync(fd);
  if (stat.isDirectory()) throw failure('EISDIR', path);
  if (!stat.isFile()) throw failure('NOT_A_FILE', path);
  if (stat.size > most) throw failure('EFBIG', path);
  const buffer = Buffer.allocUnsafe(stat.size);
  let length = 0;
  // What grows meanwhile is being written: it is read up to where it was.
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
