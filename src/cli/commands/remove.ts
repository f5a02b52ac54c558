// `mcp-bridge remove`: removes servers from the bridge's own config.

import { removeServers } from '../../editing/own-servers.ts';
import { BridgeError } from '../../util/bridge-error.ts';
import { editingHostOf, tell } from '../editing.ts';
import type { CliHost } from '../host.ts';
import { reloadIfRunning } from '../running-daemon.ts';

export interface RemoveValues {
  readonly names?: readonly string[] | undefined;
  readonly config?: string | undefined;
}

export async function remove({ names = [], config }: RemoveValues, host: CliHost): Promise<number> {
  if (names.length === 0) {
    throw new BridgeError('USAGE', 'Name a server, such as: mcp-bridge remove memory', {
      hint: 'See: mcp-bridge remove --help',
    });
  }
  const lines = await removeServers(names, { config }, editingHostOf(host));
  await reloadIfRunning({}, host);
  return tell({ lines, diff: '' }, host);
}
