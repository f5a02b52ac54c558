// What discovery is given of the machine: everything it knows comes through here, so it gives the answers of any
// platform on any other. Nothing in this room may reach past it.

import type { ProcessIdentity } from '../local/process-identity.ts';

export type Platform = 'linux' | 'darwin' | 'win32';

export interface HostFiles {
  /**
   * Undefined when there is no such file; throws with a `code` when there is something else, or it may not be read.
   * What is larger than `mostBytes` is not used: it need not be read.
   */
  read(path: string, mostBytes?: number): Promise<Uint8Array | undefined>;
  /** The names in a directory; none when it is not there. */
  list(dir: string): Promise<readonly string[]>;
  realpath(path: string): Promise<string>;
  /** True if nobody but this user and root can have written it. Without an answer, it is taken for that. */
  isPrivate?(path: string): Promise<boolean>;
}

/** The names and sockets of the bridge itself, so that it does not become a server of its own. */
export interface OwnIdentity {
  /** Bare names, and absolute paths. */
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
  /** True if a process runs here. Without an answer none does, and no running server is found. */
  isAlive?(process: ProcessIdentity): boolean;
}
