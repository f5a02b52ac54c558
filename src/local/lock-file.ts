// The one judge of who is the daemon of a path: a lock of the kernel's, which dies with its holder and never before.
// Neither a pid nor a socket that answers proves anything: pids come back, and a stopped process still takes connections. Files
// that several processes change have such locks too, taken in turn.

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

  /** Takes the lock, or returns undefined while another process has it. */
  static take(path: string): LockFile | undefined {
    for (;;) {
      const fd = openLock(path);
      if (!tryLock(fd)) {
        closeSync(fd);
        return undefined;
      }
      // Someone may have removed the file after it was opened: then this lock guards nothing.
      if (statOf(path)?.ino === fstatSync(fd).ino) return new LockFile(fd);
      closeSync(fd);
    }
  }

  /** Leaves a note for people; nothing is ever decided by it. */
  describe(holder: Readonly<Record<string, string | number>>): void {
    const note = Buffer.from(`${JSON.stringify(holder)}\n`);
    try {
      ftruncateSync(this.#fd);
      writeSync(this.#fd, note, 0, note.length, 0);
    } catch (error) {
      expectSystemError(error); // A full disk is no reason not to serve.
    }
  }

  /** Makes the file young, so that those who sweep old files out of /tmp let it be. */
  touch(): void {
    const now = new Date();
    futimesSync(this.#fd, now, now);
  }

  /** The file stays: to remove it would let two daemons lock two files of one name. */
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

/** The pid that the holder of a lock has noted down, for messages. */
export function notedPid(path: string): number | undefined {
  try {
    const note: unknown = JSON.parse(readFileSync(path, 'utf8'));
    if (typeof note !== 'object' || note === null || !('pid' in note)) return undefined;
    return typeof note.pid === 'number' ? note.pid : undefined;
  } catch (error) {
    if (!(error instanceof SyntaxError)) expectSystemError(error);
    return undefined; // No note, no pid: it is only for messages.
  }
}

// --- turns ---

/** The time for one turn: it is short work, or one request over the network. */
const TIMEOUT_MS = 60_000;
const POLL_MS = 25;

/**
 * Runs `task` while this process holds the lock of a file that several processes change: without it, one of two would lose what
 * the other has written. The lock stands beside the file, whose directory must be there.
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
