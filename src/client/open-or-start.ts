// A connection to the daemon, which is started if none runs.

import type { Socket } from 'node:net';
import { BridgeError } from '../util/bridge-error.ts';
import { openBridgeSocket } from './bridge-socket.ts';
import type { StartOptions } from './start-daemon.ts';

/** How a daemon is started, wherever its socket is. */
export type StartSettings = Omit<StartOptions, 'path'>;

/** Without `start` there must be one. */
export async function openOrStart(path: string, start: StartSettings | undefined): Promise<Socket> {
  try {
    return await openBridgeSocket(path);
  } catch (error) {
    const isAbsent = error instanceof BridgeError && error.code === 'DAEMON_NOT_RUNNING';
    if (!isAbsent || start === undefined) throw error;
    const { startDaemon } = await import('./start-daemon.ts');
    return (await startDaemon({ ...start, path, serveArgs: ['--autostarted', ...start.serveArgs] })).socket;
  }
}
