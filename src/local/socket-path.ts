// Decides the path of the socket. The daemon and its clients get the same answer, because both ask here. If another
// user holds the default path, the first program records another path in the state directory, and the others read it
// there.

import { linkSync, mkdirSync, readdirSync, rmdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, isAbsolute, join, resolve } from 'node:path';
import { BridgeError, systemCode } from '../util/bridge-error.ts';
import { expectSystemError } from '../util/expected-error.ts';
import { randomName } from '../util/random-name.ts';
import { isForeign, ownUid, statOf } from './owned-path.ts';
import { ensurePrivateTree, readPrivate } from './private-file.ts';
import { stateDir } from './state-dir.ts';
import { tryingFile } from './whole-write.ts';

/** Node silently truncates a longer path and reaches another socket; macOS stops here too. */
export const MAX_SOCKET_PATH_BYTES = 103;
export const DEFAULT_SOCKET = '/tmp/mcp-bridge.sock';
/** The listener binds another name in the same directory first, and that name needs room. */
const MAX_SOCKET_DIR_BYTES = MAX_SOCKET_PATH_BYTES - '/.m123456'.length;

type SocketPathSource = 'flag' | 'environment' | 'config' | 'default' | 'fallback';

export interface SocketPath {
  readonly path: string;
  readonly source: SocketPathSource;
}

export interface SocketPathWishes {
  readonly flag?: string | undefined;
  readonly environment?: string | undefined;
  readonly config?: string | undefined;
  /** The base of relative paths. */
  readonly cwd: string;
  readonly user: SocketUser;
  /** The shared directory of the default; only tests use another one. */
  readonly tmp?: string;
}

/** The path by flag, environment, config file or default, in this order. */
export function socketPath(wishes: SocketPathWishes): SocketPath {
  const { flag, environment, config, cwd } = wishes;
  if (flag) return { path: checked(resolve(cwd, flag)), source: 'flag' };
  if (environment) return { path: checked(resolve(cwd, environment)), source: 'environment' };
  if (config) return { path: checked(resolve(cwd, config)), source: 'config' };
  return defaultSocket(wishes.tmp ?? '/tmp', wishes.user);
}

export function lockPathOf(socket: string): string {
  return `${socket}.lock`;
}

function checked(path: string): string {
  const tooLong = Buffer.byteLength(path) > MAX_SOCKET_PATH_BYTES;
  const dirTooLong = Buffer.byteLength(join(path, '..')) > MAX_SOCKET_DIR_BYTES;
  if (!tooLong && !dirTooLong) return path;
  const limit = tooLong
    ? `${MAX_SOCKET_PATH_BYTES} bytes, the limit for a socket's path`
    : `${MAX_SOCKET_DIR_BYTES} bytes in its directory's name, the limit`;
  throw new BridgeError('SOCKET_PATH_TOO_LONG', `${path} has more than ${limit}`, {
    hint: 'Choose a shorter path with --mcp-bridge-socket or MCP_BRIDGE_SOCKET.',
  });
}

/** Checks for a socket of this user at the path. Throws if something else is there. */
export function inspectSocket(path: string): 'absent' | 'present' {
  const stat = statOf(path);
  if (stat === undefined) return 'absent';
  if (stat.uid !== ownUid()) {
    throw new BridgeError('SOCKET_FOREIGN', `${path} belongs to another user`, {
      hint: 'Choose another path with --mcp-bridge-socket or MCP_BRIDGE_SOCKET.',
    });
  }
  if (stat.isSocket()) return 'present';
  throw new BridgeError('SOCKET_NOT_A_SOCKET', `${path} is not a socket`, {
    hint: 'Move it away, or choose another path with --mcp-bridge-socket or MCP_BRIDGE_SOCKET.',
  });
}

// --- the default ---

/** The user's environment and home: they name the runtime and the state directory. */
interface SocketUser {
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly homedir: string;
}

interface DefaultSocket {
  readonly path: string;
  readonly source: 'default' | 'fallback';
}

const SOCKET = 'mcp-bridge.sock';
const LOCK = `${SOCKET}.lock`;
/** Records never change, so that two processes at once always agree: the record with the highest number counts. */
const RECORD = /^socket-(\d{1,9})$/;
/** The number of processes that may record a path at the same moment; each failed try loses to one of them. */
const MOST_TRIES = 10;
const CHOOSE = 'Choose another socket with --mcp-bridge-socket or MCP_BRIDGE_SOCKET.';
/** A socket's path has at most 103 bytes, and the listener binds a longer name beside it first. */
const MOST_PATH_BYTES = 90;
const isShortEnough = (path: string): boolean => Buffer.byteLength(path) <= MOST_PATH_BYTES;

/**
 * Returns the default path, or a path of this user's own while another user holds the default. A user who once had to
 * fall back stays there for as long as that socket exists. So the daemon and its clients stay together even after the
 * other user has left.
 */
function defaultSocket(tmp: string, user: SocketUser): DefaultSocket {
  const path = join(tmp, SOCKET);
  if (isForeign(path) || isForeign(join(tmp, LOCK))) return { path: ownSocket(tmp, user), source: 'fallback' };
  if (statOf(path) !== undefined) return { path, source: 'default' };
  const own = lastRecord(user)?.path;
  const isInUse = own !== undefined && isUsable(own) && statOf(own) !== undefined;
  return isInUse ? { path: own, source: 'fallback' } : { path, source: 'default' };
}

/** Reads the recorded path, or chooses and records one. */
function ownSocket(tmp: string, user: SocketUser): string {
  for (let tries = 0; tries < MOST_TRIES; tries++) {
    const last = lastRecord(user);
    if (last?.path !== undefined && isUsable(last.path)) return last.path;
    const runtime = runtimeSocket(user);
    const chosen = runtime ?? newSocket(tmp);
    if (recorded(chosen, (last?.number ?? 0) + 1, user)) return chosen;
    if (runtime === undefined) rmdirSync(dirname(chosen)); // another process was first: its path counts
  }
  throw new BridgeError('SOCKET_FOREIGN', `Another user holds ${join(tmp, SOCKET)}, and no other place could be kept`, {
    hint: CHOOSE,
  });
}

/** The socket in the user's runtime directory; the system makes that directory at login, for this user alone. */
function runtimeSocket({ environment: { XDG_RUNTIME_DIR: dir } }: SocketUser): string | undefined {
  const path = dir !== undefined && isAbsolute(dir) ? join(dir, SOCKET) : undefined;
  return path !== undefined && isUsable(path) && isShortEnough(path) ? path : undefined;
}

/** Makes a directory with a name that nobody can take first. */
function newSocket(tmp: string): string {
  const dir = join(tmp, `mcp-bridge-${randomName(12, 'base64url')}`);
  try {
    mkdirSync(dir, { mode: 0o700 });
  } catch (error) {
    const reason = systemCode(error);
    if (reason === undefined) throw error;
    throw new BridgeError('SOCKET_UNUSABLE', `Cannot make the directory ${dir}: ${reason}`, {
      cause: error,
      hint: CHOOSE,
    });
  }
  return join(dir, SOCKET);
}

/** True if the directory is safe. A logout or a reboot may have removed it, and another user may have made it since. */
function isUsable(path: string): boolean {
  const stat = statOf(dirname(path));
  return stat?.isDirectory() === true && stat.uid === ownUid() && (stat.mode & 0o077) === 0;
}

interface SocketRecord {
  readonly number: number;
  /** Undefined if we did not write the record. */
  readonly path: string | undefined;
}

function lastRecord({ environment, homedir }: SocketUser): SocketRecord | undefined {
  const dir = stateDir(environment, homedir);
  const number = Math.max(0, ...numbersIn(dir));
  if (number === 0) return undefined;
  const path = readPrivate(join(dir, `socket-${number}`))?.trim();
  return { number, path: path !== undefined && isAbsolute(path) && isShortEnough(path) ? path : undefined };
}

function numbersIn(dir: string): number[] {
  try {
    return readdirSync(dir)
      .flatMap((name) => RECORD.exec(name)?.[1] ?? [])
      .map(Number);
  } catch (error) {
    expectSystemError(error);
    return []; // There is no state yet, or none that can be read.
  }
}

/** Records a path; false if another process has recorded one under this number. */
function recorded(path: string, number: number, { environment, homedir }: SocketUser): boolean {
  const dir = stateDir(environment, homedir);
  ensurePrivateTree(dir);
  const file = join(dir, `socket-${number}`);
  const temporary = `${file}.${randomName(6)}`;
  return tryingFile(`Cannot write ${file}`, () => {
    try {
      writeFileSync(temporary, `${path}\n`, { mode: 0o600, flag: 'wx' });
      linkSync(temporary, file); // whole or not at all, and never over another one
      rmSync(join(dir, `socket-${number - 1}`), { force: true });
      return true;
    } catch (error) {
      if (systemCode(error) === 'EEXIST') return false;
      throw error;
    } finally {
      rmSync(temporary, { force: true });
    }
  });
}
