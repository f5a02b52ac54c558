// A machine in memory for discovery: files as an example writes them down, with links, directories and what may not be
// read. Nothing in it can be changed.

import { posix, win32 } from 'node:path';
import type { DiscoveryHost, OwnIdentity, Platform } from '../../src/discovery/host.ts';

export interface MemoryFile {
  readonly text?: string;
  readonly bytes?: Uint8Array;
  readonly bom?: boolean;
  readonly crlf?: boolean;
  readonly utf16le?: boolean;
  readonly dir?: boolean;
  readonly mode?: string;
  readonly symlinkTo?: string;
}

export interface MemoryMachine {
  readonly platform: Platform;
  readonly homedir: string;
  readonly cwd: string;
  readonly env?: Readonly<Record<string, string | undefined>>;
  readonly self?: OwnIdentity;
  /** The processes that run. */
  readonly pids?: readonly number[];
  readonly files: Readonly<Record<string, MemoryFile>>;
}

const NOBODY: OwnIdentity = { bins: [], packages: [], endpoints: [] };
const MOST_LINKS = 20;

export function memoryHost({ files, env = {}, self = NOBODY, pids = [], ...machine }: MemoryMachine): DiscoveryHost {
  const path = machine.platform === 'win32' ? win32 : posix;
  const byPath = new Map(Object.entries(files).map(([name, file]) => [path.normalize(name), file]));
  const follow = (name: string): string => {
    let real = path.normalize(name);
    for (let n = 0; n < MOST_LINKS; n++) {
      const target = byPath.get(real)?.symlinkTo;
      if (target === undefined) return real;
      real = path.resolve(path.dirname(real), target);
    }
    throw failure('ELOOP');
  };
  const isDir = (name: string): boolean =>
    byPath.get(name)?.dir === true || [...byPath.keys()].some((other) => other.startsWith(`${name}${path.sep}`));
  return {
    ...machine,
    env,
    self,
    isAlive: ({ pid }) => pids.includes(pid),
    files: {
      isPrivate: async (name) => byPath.get(follow(name))?.mode !== '666',
      read: async (name) => {
        const real = follow(name);
        const file = byPath.get(real);
        if (file?.mode === '000') throw failure('EACCES');
        if (isDir(real)) throw failure('EISDIR');
        return file && bytesOf(file);
      },
      list: async (name) => {
        const dir = follow(name);
        const below = [...byPath.keys()].filter((other) => other.startsWith(`${dir}${path.sep}`));
        return [...new Set(below.map((other) => other.slice(dir.length + 1).split(path.sep)[0] ?? ''))];
      },
      realpath: async (name) => {
        const real = follow(name);
        if (byPath.has(real) || isDir(real)) return real;
        throw failure('ENOENT');
      },
    },
  };
}

function bytesOf({ text = '', bytes, bom, crlf, utf16le }: MemoryFile): Uint8Array {
  if (bytes !== undefined) return bytes;
  const lines = crlf ? text.replaceAll('\n', '\r\n') : text;
  if (utf16le) return Buffer.concat([Buffer.from([0xff, 0xfe]), Buffer.from(lines, 'utf16le')]);
  return Buffer.from(bom ? `\ufeff${lines}` : lines);
}

function failure(code: string): Error {
  return Object.assign(new Error(code), { code });
}
