// Everything that discovery knows of the machine comes through this interface, so that it can give the answers of any
// platform on any other. Nothing in this room may bypass it.

import type { ProcessIdentity } from '../local/process-identity.ts';

export type Platform = 'linux' | 'darwin' | 'win32';

export interface HostFiles {
  /**
   * Returns undefined if there is no such file; throws with a `code` if it is something else or may not be read. A file
   * larger than `mostBytes` is not used, so it need not be read.
   */
  read(path: string, mostBytes?: number): Promise<Uint8Array | undefined>;
  /** The names in a directory; empty if there is none. */
  list(dir: string): Promise<readonly string[]>;
  realpath(path: string): Promise<string>;
  /** True if only this user and root can have written the file. If missing, that is assumed. */
  isPrivate?(path: string): Promise<boolean>;
}

/** The names and sockets of the bridge itself, so that it does not serve itself. */
export interface OwnIdentity {
  /** Bare names and absolute paths. */
  readonly bins: readonly string[];
  readonly packages: readonly string[];
  readonly endpoints: readonly string[];
}

export interface DiscoveryHost {
  readonly platform: Platform;
  readonly homedir: string;
  readonly cwd: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly files: HostFiles;
  readonly self: OwnIdentity;
  /** True if a process runs here. If missing, no process runs, and no running server is found. */
  isAlive?(process: ProcessIdentity): boolean;
}
