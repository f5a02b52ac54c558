// A socket that another program, such as systemd, has bound and hands to the daemon: clients can connect before the
// daemon runs. The daemon uses it only if it is the socket that it would have bound itself.

import { fstatSync, readFileSync } from 'node:fs';
import { BridgeError } from '../util/bridge-error.ts';
import { expectSystemError } from '../util/expected-error.ts';
import { inspectSocket } from './socket-path.ts';

const FIRST_FD = 3;
const VARIABLES = ['LISTEN_PID', 'LISTEN_FDS', 'LISTEN_FDNAMES'];

/**
 * Returns the descriptor that was handed to this process, if there is one. Removes the variables, so that no child
 * process takes them as its own.
 */
export function takeActivatedFd(environment: Record<string, string | undefined>, pid: number): number | undefined {
  const [forPid, count] = VARIABLES.map((name) => environment[name]);
  for (const name of VARIABLES) delete environment[name];
  if (count === undefined || forPid !== `${pid}`) return undefined;
  if (count === '1') return FIRST_FD;
  throw unusable(`${count} sockets were handed to the daemon (LISTEN_FDS), which takes one`);
}

/** Throws unless the descriptor is a socket that listens at this path and belongs to this user. */
export function checkActivated(fd: number, path: string): void {
  const inode = inodeOf(fd);
  if (inspectSocket(path) === 'absent') throw unusable(`The socket that was handed to the daemon is not at ${path}`);
  const sockets = socketsOfMachine();
  if (sockets === undefined) return;
  const line = sockets.find((fields) => fields[INODE] === inode);
  if (line === undefined || line[TYPE] !== STREAM || !isListening(line[FLAGS]))
    throw unusable(`Descriptor ${fd} was handed to the daemon, and is no Unix socket that listens`);
  const bound = line.slice(PATH).join(' ');
  if (bound !== path)
    throw unusable(`The socket that was handed to the daemon is at ${bound || 'no path'}, not at ${path}`);
}

function inodeOf(fd: number): string {
  try {
    const stat = fstatSync(fd, { bigint: true });
    if (stat.isSocket()) return `${stat.ino}`;
  } catch (error) {
    expectSystemError(error);
  }
  throw unusable(`Descriptor ${fd} was handed to the daemon, and is no socket`);
}

/** The columns of /proc/net/unix. */
const [FLAGS, TYPE, INODE, PATH] = [3, 4, 6, 7];
const STREAM = '0001';
const ACCEPTS = 0x10000;

function isListening(flags: string | undefined): boolean {
  return (Number.parseInt(flags ?? '', 16) & ACCEPTS) !== 0;
}

/** The rows of that table; undefined without /proc: then only the path is checked. */
function socketsOfMachine(): string[][] | undefined {
  try {
    const lines = readFileSync('/proc/net/unix', 'utf8').split('\n').slice(1);
    return lines.map((line) => line.trimStart().split(/ +/));
  } catch (error) {
    expectSystemError(error);
    return undefined;
  }
}

function unusable(message: string): BridgeError {
  return new BridgeError('SOCKET_UNUSABLE', message, {
    hint: 'Name the same path in the unit of the socket and in that of the daemon: mcp-bridge service install',
  });
}
