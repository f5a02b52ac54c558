// Has a daemon that runs take in what a command has changed, before the command is over: what is asked next finds it.

import { BridgeError } from '../util/bridge-error.ts';
import { lineFor } from './exit-code.ts';
import type { CliHost } from './host.ts';
import { locate, type WhereValues } from './locate.ts';
import { askIfRunning } from './running-daemon.ts';

/** The change is kept in any case: a daemon that does not look gets a line on stderr, and is no failure. */
export async function haveDaemonLook(
  values: WhereValues,
  host: CliHost,
): Promise<'has looked' | 'does not run' | 'has not looked'> {
  try {
    const { path } = await locate(values, host);
    const answer = await askIfRunning(path, host, (client) => client.call('bridge/reload'));
    return answer === undefined ? 'does not run' : 'has looked';
  } catch (error) {
    if (!(error instanceof BridgeError)) throw error;
    const { code, message, hint } = error;
    const told = `It is done, but the daemon has not looked yet: ${message}`;
    host.stderr.write(lineFor(new BridgeError(code, told, hint === undefined ? {} : { hint })));
    return 'has not looked';
  }
}
