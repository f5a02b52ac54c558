// The daemon's socket. Whoever has the path's lock may take the path over; nobody else touches it.

import { createHash } from 'node:crypto';
import { lstatSync, renameSync, unlinkSync } from 'node:fs';
import { createServer, type Server, type Socket } from 'node:net';
import { basename, dirname, join } from 'node:path';
import { BridgeError, systemCode } from '../util/bridge-error.ts';
import { LockFile, notedPid } from './lock-file.ts';
import { statOf } from './owned-path.ts';
import { inspectSocket, lockPathOf } from './socket-path.ts';

/** With Node's default of 511, hundreds of 10,000 clients that come at once are turned away. */
const BACKLOG = 4096;

export class Listener {
  readonly path: string;
  readonly #lock: LockFile;
  readonly #server: Server;
  readonly #inode: number;

  private constructor(path: string, lock: LockFile, server: Server) {
    this.path = path;
    this.#lock = lock;
    this.#server = server;
    this.#inode = lstatSync(path).ino;
  }

  /** Becomes the daemon of this path; fails if there is one. */
  static async open(path: string, onSocket: (socket: Socket) => void): Promise<Listener> {
    const lock = LockFile.take(lockPathOf(path));
    if (lock === undefined) throw alreadyRunning(path);
    try {
      inspectSocket(path);
      const server = createServer({ allowHalfOpen: true }, onSocket);
      await bind(server, path);
      return new Listener(path, lock, server);
    } catch (error) {
      lock.release();
      throw error;
    }
  }

  describe(holder: Readonly<Record<string, string | number>>): void {
    this.#lock.describe(holder);
  }

  touch(): void {
    this.#lock.touch();
  }

  /** Takes no new connections, and removes the socket if it is still this daemon's. The lock stays. */
  stopAccepting(): void {
    if (statOf(this.path)?.ino === this.#inode) unlinkSync(this.path);
    this.#server.close();
  }

  release(): void {
    this.#lock.release();
  }
}

/**
 * Binds another name and renames it: the path goes from the dead socket to the living one in one step, and when the
 * server closes, libuv removes the name that it bound, and not what has come to the path since.
 */
async function bind(server: Server, path: string): Promise<void> {
  const digest = createHash('sha256').update(basename(path)).digest('hex');
  const temporary = join(dirname(path), `.mcp${digest.slice(0, 5)}`);
  if (statOf(temporary) !== undefined) unlinkSync(temporary); // of one that died right here; the lock says so
  const umask = process.umask(0o177);
  try {
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen({ path: temporary, backlog: BACKLOG }, resolve);
      process.umask(umask); // listen() has bound by now
    });
    renameSync(temporary, path);
  } catch (error) {
    server.close();
    throw new BridgeError('SOCKET_UNUSABLE', `Cannot listen on ${path}: ${systemCode(error) ?? 'unknown error'}`, {
      cause: error,
      hint: 'Its directory must exist and be writable.',
    });
  } finally {
    process.umask(umask);
  }
}

function alreadyRunning(path: string): BridgeError {
  const pid = notedPid(lockPathOf(path));
  const who = pid === undefined ? 'Another daemon' : `Another daemon (pid ${pid})`;
  return new BridgeError('DAEMON_ALREADY_RUNNING', `${who} has ${path}`, {
    hint: 'Use it as it is, or end it with: mcp-bridge stop',
  });
}
