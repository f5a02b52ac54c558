// The machine that we run on, for discovery. Only regular files are read: opening a pipe or a device must not keep
// anyone waiting, and nothing is read that is larger than any config.

import { constants } from 'node:fs';
import { type FileHandle, open, readdir, realpath } from 'node:fs/promises';
import { systemCode } from '../util/bridge-error.ts';
import type { DiscoveryHost, HostFiles, OwnIdentity, Platform } from './host.ts';
import { MOST_BYTES } from './source-text.ts';

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
  list: unlessAbsent((dir) => readdir(dir), []),
  realpath: (path) => realpath(path),
};

function unlessAbsent<Found, Otherwise>(
  task: (path: string) => Promise<Found>,
  otherwise: Otherwise,
): (path: string) => Promise<Found | Otherwise> {
  return async (path) => {
    try {
      return await task(path);
    } catch (error) {
      if (systemCode(error) === 'ENOENT' || systemCode(error) === 'ENOTDIR') return otherwise;
      throw error;
    }
  };
}

async function readRegular(path: string): Promise<Uint8Array> {
  const file = await open(path, READ);
  try {
    return await contentOf(file, path);
  } finally {
    await file.close();
  }
}

async function contentOf(file: FileHandle, path: string): Promise<Uint8Array> {
  const stat = await file.stat();
  if (stat.isDirectory()) throw failure('EISDIR', path);
  if (!stat.isFile()) throw failure('NOT_A_FILE', path);
  if (stat.size > MOST_BYTES) throw failure('EFBIG', path);
  const buffer = Buffer.allocUnsafe(Math.min(MOST_BYTES, stat.size + 1));
  let length = 0;
  // What grows meanwhile is being written: it is read up to where it was.
  while (length < buffer.length) {
    const { bytesRead } = await file.read(buffer, length, buffer.length - length);
    if (bytesRead === 0) break;
    length += bytesRead;
  }
  return buffer.subarray(0, length);
}

function failure(code: string, path: string): Error {
  return Object.assign(new Error(`${path} is not read`), { code });
}
