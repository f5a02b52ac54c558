// A connection to the daemon, for the verbs that use it; one is started if none runs.

import type { Socket } from 'node:net';
import { openBridgeSocket } from '../client/bridge-socket.ts';
import type { Located } from '../client/locate.ts';
import { BridgeError } from '../util/bridge-error.ts';
import type { CliHost } from './host.ts';
import { placeOf } from './locate.ts';

export async function openOrStart(
  { path, loaded }: Located,
  values: { readonly 'no-autostart'?: boolean | undefined },
  host: CliHost,
): Promise<Socket> {
  try {
    return await openBridgeSocket(path);
  } catch (error) {
    const isAbsent = error instanceof BridgeError && error.code === 'DAEMON_NOT_RUNNING';
    if (!isAbsent || values['no-autostart'] === true) throw error;
    const { startDaemon } = await import('../client/start-daemon.ts');
    const { file, origin } = loaded;
    // The daemon is for all of this user's clients: whoever wrote this directory does not configure it.
    const config = file === undefined || origin === 'directory' ? [] : ['--config', file];
    return (await startDaemon({ ...placeOf(host), path, serveArgs: ['--autostarted', ...config] })).socket;
  }
}
