// Where this user's programs keep what is neither a setting nor a cache.

import { homedir } from 'node:os';
import { join } from 'node:path';

export function stateDir(environment: Readonly<Record<string, string | undefined>>, home: string = homedir()): string {
  return join(environment.XDG_STATE_HOME || join(home, '.local', 'state'), 'mcp-bridge');
}
