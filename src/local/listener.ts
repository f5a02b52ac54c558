// The daemon's socket. Only the holder of the path's lock may take over the path.

import { randomBytes } from 'node:crypto';
import { lstatSync, lutimesSync, renameSync, unlinkSync } from 'node:fs';
import { createServer, type Server, type Socket } from 'node:net';
import { dirname, join } from 'node:path';
import { BridgeError, systemCode } from '../util/bridge-error.ts';
import { nextTurn } from '../util/next-turn.ts';
import { checkActivated } from './activated-socket.ts';
import { LockFile, notedPid } from './lock-file.ts';
import { statOf } from './owned-path.ts';
import { inspectSocket, lockPathOf } from './socket-path.ts';
import { fileFailure } from './whole-write.ts';

/** The number of turns of the event loop without a new connection after which none waits: each turn looks for one. */
const QUIET_TURNS = 3;
/** The most turns of accepting; while the socket stays, new clients may come forever. */
const MOST_TURNS = 100;

/** The backlog. Node's default of 511 turns away hundreds of 10,000 clients that come at once. */
const BACKLOG = 4096;

interface Opened {
  readonly path: string;
  readonly lock: LockFile;
  readonly server: Server;
  readonly onSocket: (socket: Socket) => void;
  readonly isHandedOn: boolean;
}

export class Listener {
  readonly path: string;
  readonly #lock: LockFile;
  readonly #onSocket: (socket: Socket) => void;
  #server: Server;
  #inode: number;
  #isHandedOn: boolean;
  #accepted = 0;

  private constructor({ path, lock, server, onSocket, isHandedOn }: Opened) {
    this.path = path;
    this.#isHandedOn = isHandedOn;
    this.#lock = lock;
    this.#server = server;
    this.#onSocket = onSocket;
    this.#count(server);
    this.#inode = lstatSync(path).ino;
  }

  /** Becomes the daemon of this path; fails if there is one. `activatedFd` is a socket that is bound already. */
  static async open(path: string, onSocket: (socket: Socket) => void, activatedFd?: number): Promise<Listener> {
    const lock = LockFile.take(lockPathOf(path));
    if (lock === undefined) throw alreadyRunning(path);
    try {
      const server = await (activatedFd === undefined
        ? bindSocket(path, onSocket)
        : adopt(activatedFd, path, onSocket));
      return new Listener({ path, lock, server, onSocket, isHandedOn: activatedFd !== undefined });
    } catch (error) {
      lock.release();
      throw error;
    }
  }

  /** True if another program has bound the socket and keeps it for the next daemon. */
  get isHandedOn(): boolean {
    return this.#isHandedOn;
  }

  describe(holder: Readonly<Record<string, string | number>>): void {
    this.#lock.describe(holder);
  }

  /** Updates the times of socket and lock, so that programs that clean /tmp leave them. */
  touch(): void {
    const now = new Date();
    if (this.#isOurs()) lutimesSync(this.path, now, now);
    this.#lock.touch();
  }

  /** Binds the path again if somebody has removed the socket. Returns true if it had to. */
  async heal(): Promise<boolean> {
    if (statOf(this.path) !== undefined) return false;
    const server = await bindSocket(this.path, this.#onSocket);
    this.#server.close();
    this.#server = server;
    this.#count(server);
    this.#inode = lstatSync(this.path).ino;
    this.#isHandedOn = false;
    return true;
  }

  #count(server: Server): void {
    server.on('connection', () => void this.#accepted++);
  }

  /**
   * Removes the socket if it is still this daemon's. Resolves when every client that had connected to it has been
   * handed over. The lock stays, so that no other daemon comes meanwhile; heal() brings the socket back. Resolves to an
   * error if the socket could not be removed; clients that come then are still handed over.
   */
  async retreat(): Promise<BridgeError | undefined> {
    if (this.#isHandedOn) return undefined; // clients not handed over wait for the next daemon
    const failure = this.#remove();
    let turns = failure === undefined ? Number.POSITIVE_INFINITY : MOST_TURNS;
    for (let quiet = 0; quiet < QUIET_TURNS && turns > 0; turns--) {
      const before = this.#accepted;
      await nextTurn();
      quiet = this.#accepted === before ? quiet + 1 : 0;
    }
    return failure;
  }

  #remove(): BridgeError | undefined {
    try {
      if (this.#isOurs()) unlinkSync(this.path);
      return undefined;
    } catch (error) {
      if (systemCode(error) === 'ENOENT') return undefined; // somebody else has just removed it
      return fileFailure(`Cannot remove ${this.path}`, error, 'The next daemon of this path takes its place.');
    }
  }

  /** Takes no new connections. Those not handed over are lost, see retreat(). */
  stopAccepting(): void {
    this.#server.close();
  }

  release(): void {
    this.#lock.release();
  }

  #isOurs(): boolean {
    return statOf(this.path)?.ino === this.#inode;
  }
}

/**
 * Binds another name and renames it, so that the path changes from the dead socket to the living one in one step. When
 * the server closes, libuv removes only the name that it bound, never a later socket at the path.
 */
export async function bindSocket(path: string, onSocket: (socket: Socket) => void): Promise<Server> {
  inspectSocket(path);
  const server = createServer({ allowHalfOpen: true }, onSocket);
  const temporary = join(dirname(path), `.m${randomBytes(3).toString('hex')}`);
  const umask = process.umask(0o177);
  try {
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen({ path: temporary, backlog: BACKLOG }, resolve);
      process.umask(umask); // listen() has bound by now
    });
    renameSync(temporary, path);
    // A failed accept concerns only the client that wanted to connect.
    server.on('error', () => undefined);
    return server;
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

/** Takes over a socket that another program has bound, with the connections that wait there. */
async function adopt(fd: number, path: string, onSocket: (socket: Socket) => void): Promise<Server> {
  checkActivated(fd, path);
  const server = createServer({ allowHalfOpen: true }, onSocket);
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen({ fd, backlog: BACKLOG }, resolve);
  });
  server.on('error', () => undefined);
  return server;
}

function alreadyRunning(path: string): BridgeError {
  const pid = notedPid(lockPathOf(path));
  const who = pid === undefined ? 'Another daemon' : `Another daemon (pid ${pid})`;
  return new BridgeError('DAEMON_ALREADY_RUNNING', `${who} has ${path}`, {
    hint: 'Use it as it is, or end it with: mcp-bridge stop',
  });
}
