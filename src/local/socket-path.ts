// Where the socket is. The daemon and its clients come to the same answer, because both ask here.

import { join, resolve } from 'node:path';
import { BridgeError } from '../util/bridge-error.ts';
import { defaultSocket, type SocketUser } from './default-socket.ts';
import { ownUid, statOf } from './owned-path.ts';

/** Beyond this Node cuts a path off without a word and reaches another one; macOS stops here too. */
export const MAX_SOCKET_PATH_BYTES = 103;
export const DEFAULT_SOCKET = '/tmp/mcp-bridge.sock';
/** The listener binds another name in the same directory first, and that one needs room. */
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
  /** Where relative paths begin. */
  readonly cwd: string;
  readonly user: SocketUser;
  /** The shared directory of the default; another one only in tests. */
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

/** Tells whether a socket of this user stands at the path. Anything else there is an error. */
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
