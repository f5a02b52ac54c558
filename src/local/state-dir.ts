// The directory for data of this user's programs that is neither a setting nor a cache.

import { join } from 'node:path';
import { homeDir, xdgDir } from './home-dir.ts';

export function stateDir(
  environment: Readonly<Record<string, string | undefined>>,
  home: string = homeDir(environment),
): string {
  return join(xdgDir(environment.XDG_STATE_HOME, join(home, '.local', 'state')), 'mcp-bridge');
}

/** The log file of all background daemons. */
export function daemonLogFile(environment: Readonly<Record<string, string | undefined>>, home?: string): string {
  return join(stateDir(environment, home), 'daemon.log');
}
