// The process as a command sees it. Made once, in main.ts; tests make their own.

import type { Readable, Writable } from 'node:stream';
import type { SocketReader } from '../client/stdio-relay.ts';

export interface CliHost {
  readonly stdin: Readable;
  /** True if stdin is a pipe or a socket. */
  readonly isPiped?: boolean;
  /** Opens stdin as a socket that reads with `reader`; undefined where stdin is none. Then nobody may use `stdin`. */
  openStdin?(reader: SocketReader): Readable | undefined;
  readonly stdout: Writable;
  readonly stderr: Writable;
  /** Somebody has said `--no-color`. */
  readonly isColourless?: boolean;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  readonly homedir: string;
  /** HOME names no absolute path, so that `~` is something else to a shell. */
  readonly isHomeUnnamed?: boolean;
  /** The Node that runs it, and the file that runs `mcp-bridge`. */
  readonly node: string;
  readonly program: string;
  readonly version: string;
  readonly pid: number;
  /** The version and what the program was made of. */
  readonly build: string;
  /** Calls `listener` when the person presses Ctrl-C, instead of ending; gives back what ends that. */
  onInterrupt(listener: () => void): () => void;
  /** Calls `listener` once, when anybody tells this process to end, instead of ending. */
  onEnd(listener: () => void): void;
}
