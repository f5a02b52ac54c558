// Opens a connection to the daemon; starts one if none runs.

import type { Socket } from 'node:net';
import { BridgeError } from '../util/bridge-error.ts';
import type { FrameInput } from '../wire/frame-input.ts';
import { openBridgeSocket } from './bridge-socket.ts';
import type { StartOptions } from './start-daemon.ts';

/** The settings for starting a daemon, wherever its socket is. */
export type StartSettings = Omit<StartOptions, 'path' | 'open'>;

/**
 * Opens a connection. Without `start` a daemon must run. With `newInput`, the socket reads frames into that instead of
 * emitting data.
 */
export async function openOrStart(
  path: string,
  start: StartSettings | undefined,
  newInput?: () => FrameInput,
): Promise<Socket> {
  try {
    return await openBridgeSocket(path, newInput?.());
  } catch (error) {
    const isAbsent = error instanceof BridgeError && error.code === 'DAEMON_NOT_RUNNING';
    if (!isAbsent || start === undefined) throw error;
    const { laterCode } = await import('./later.ts');
    const { startDaemon } = laterCode();
    const open = (at: string): Promise<Socket> => openBridgeSocket(at, newInput?.());
    return (await startDaemon({ ...start, path, open, serveArgs: ['--autostarted', ...start.serveArgs] })).socket;
  }
}
