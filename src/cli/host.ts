// The process as a command sees it. Made once, in main.ts; tests make their own.

import type { Readable, Writable } from 'node:stream';
import type { SocketReader } from '../client/stdio-relay.ts';

export interface CliHost {
  readonly stdin: Readable;
  /** True if stdin is a pipe or a socket. */
  readonly isPiped?: boolean;
  /**
   * Opens stdin as a socket that reads with `reader`; undefined if stdin is no socket. After that, `stdin` must not be
   * used.
   */
  openStdin?(reader: SocketReader): Readable | undefined;
  readonly stdout: Writable;
  readonly stderr: Writable;
  /** True if `--no-color` was given. */
  readonly isColourless?: boolean;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  readonly homedir: string;
  /** True if HOME is no absolute path: then a shell expands `~` differently. */
  readonly isHomeUnnamed?: boolean;
  /** The Node executable, and the file that runs `mcp-bridge`. */
  readonly node: string;
  readonly program: string;
  readonly version: string;
  readonly pid: number;
  /** The version, and the source that the program was built from. */
  readonly build: string;
  /** Calls `listener` on Ctrl-C instead of ending; returns the function that stops that. */
  onInterrupt(listener: () => void): () => void;
  /** Calls `listener` once when this process is told to end, instead of ending. */
  onEnd(listener: () => void): void;
}
