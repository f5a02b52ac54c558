// This machine as a host for discovery. Only regular files are read, and none larger than a config can be.

import { readdir, realpath, stat } from 'node:fs/promises';
import { ownUid } from '../local/owned-path.ts';
import { livenessOf } from '../local/process-identity.ts';
import { readRegular } from '../local/regular-file.ts';
import { systemCode } from '../util/bridge-error.ts';
import type { DiscoveryHost, HostFiles, OwnIdentity, Platform } from './host.ts';

export interface NodeProcess {
  readonly platform: string;
  readonly homedir: string;
  readonly cwd: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly self: OwnIdentity;
}

export function nodeDiscoveryHost(process: NodeProcess): DiscoveryHost {
  return {
    ...process,
    platform: platformOf(process.platform),
    files: NODE_FILES,
    isAlive: (identity) => livenessOf(identity) === 'alive',
  };
}

/** The platform whose places are used. All other systems count as Linux. */
function platformOf(platform: string): Platform {
  return platform === 'darwin' || platform === 'win32' ? platform : 'linux';
}

const NODE_FILES: HostFiles = {
  read: unlessAbsent(readRegular, undefined),
  list: unlessAbsent((dir: string) => readdir(dir), []),
  realpath: (path) => realpath(path),
  isPrivate: unlessAbsent(async (path: string) => {
    const { uid, mode } = await stat(path);
    return (uid === ownUid() || uid === 0) && (mode & 0o022) === 0;
  }, true),
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
