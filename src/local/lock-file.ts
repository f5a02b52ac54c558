// Decides which process is the daemon of a path, by a lock of the kernel. The lock ends when its holder ends, never
// earlier. A pid or an answering socket proves nothing: pids are reused, and a stopped process still takes connections.
// Files that several processes change have such locks too; processes take them in turn.

import {
  closeSync,
  constants,
  fstatSync,
  ftruncateSync,
  futimesSync,
  openSync,
  readFileSync,
  writeSync,
} from 'node:fs';
import { BridgeError, systemCode } from '../util/bridge-error.ts';
import { expectSystemError } from '../util/expected-error.ts';
import { tryLock } from './kernel-lock.ts';
import { isForeign, statOf } from './owned-path.ts';

const OPEN = constants.O_RDWR | constants.O_CREAT | constants.O_NOFOLLOW;

export class LockFile {
  readonly #fd: number;

  private constructor(fd: number) {
    this.#fd = fd;
  }

  /** Takes the lock; undefined while another process has it. */
  static take(path: string): LockFile | undefined {
    for (;;) {
      const fd = openLock(path);
      if (!tryLock(fd)) {
        closeSync(fd);
        return undefined;
      }
      // Somebody may have removed the file after it was opened: then this lock guards nothing.
      if (statOf(path)?.ino === fstatSync(fd).ino) return new LockFile(fd);
      closeSync(fd);
    }
  }

  /** Leaves a note for people; no program decides by it. */
  describe(holder: Readonly<Record<string, string | number>>): void {
    const note = Buffer.from(`${JSON.stringify(holder)}\n`);
    try {
      ftruncateSync(this.#fd);
      writeSync(this.#fd, note, 0, note.length, 0);
    } catch (error) {
      expectSystemError(error); // A full disk is no reason to stop serving.
    }
  }

  /** Updates the file's time, so that programs that clean /tmp leave it. */
  touch(): void {
    const now = new Date();
    futimesSync(this.#fd, now, now);
  }

  /** Releases the lock. The file stays: without it, two daemons could lock two files of the same name. */
  release(): void {
    closeSync(this.#fd);
  }
}

function openLock(path: string): number {
  if (isForeign(path)) {
    throw new BridgeError('SOCKET_FOREIGN', `${path} belongs to another user`, {
      hint: 'Choose another socket with --mcp-bridge-socket or MCP_BRIDGE_SOCKET.',
    });
  }
  try {
    return openSync(path, OPEN, 0o600);
  } catch (error) {
    throw new BridgeError('SOCKET_UNUSABLE', `Cannot open ${path}: ${systemCode(error) ?? 'unknown error'}`, {
      cause: error,
      hint: 'Its directory must exist and be writable.',
    });
  }
}

/** The pid that the holder of a lock has noted, for messages. */
export function notedPid(path: string): number | undefined {
  try {
    const note: unknown = JSON.parse(readFileSync(path, 'utf8'));
    if (typeof note !== 'object' || note === null || !('pid' in note)) return undefined;
    return typeof note.pid === 'number' ? note.pid : undefined;
  } catch (error) {
    if (!(error instanceof SyntaxError)) expectSystemError(error);
    return undefined; // There is no note, so no pid: it is only for messages.
  }
}

// --- turns ---

/** The time for one turn: it is short work, or one request over the network. */
const TIMEOUT_MS = 60_000;
const POLL_MS = 25;

/**
 * Runs `task` while this process holds the lock of a file that several processes change. Without the lock, two
 * processes would overwrite each other's changes. The lock stands beside the file; its directory must exist.
 */
export async function inTurn<Result>(
  path: string,
  task: () => Result | Promise<Result>,
  timeoutMs = TIMEOUT_MS,
): Promise<Result> {
  const lock = await taken(path, timeoutMs);
  try {
    return await task();
  } finally {
    lock.release();
  }
}

async function taken(path: string, timeoutMs: number): Promise<LockFile> {
  const deadline = performance.now() + timeoutMs;
  while (performance.now() < deadline) {
    const lock = LockFile.take(`${path}.lock`);
    if (lock !== undefined) return lock;
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
  throw new BridgeError('FILE_UNUSABLE', `${path} is held by another process`, { hint: 'Try it again.' });
}
