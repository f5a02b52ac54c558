// `mcp-bridge remove`: a server out of the bridge's own config.

import { removeServer } from '../editing/own-servers.ts';
import { BridgeError } from '../util/bridge-error.ts';
import { haveDaemonLook } from './daemon-look.ts';
import { editingHostOf, tell } from './editing.ts';
import type { CliHost } from './host.ts';

export interface RemoveValues {
  readonly name?: string | undefined;
  readonly config?: string | undefined;
}

export async function remove({ name, config }: RemoveValues, host: CliHost): Promise<number> {
  if (name === undefined) {
    throw new BridgeError('USAGE', 'Name a server, such as: mcp-bridge remove memory', {
      hint: 'See: mcp-bridge remove --help',
    });
  }
  const done = await removeServer(name, { config }, editingHostOf(host));
  await haveDaemonLook({}, host);
  return tell({ lines: [done], diff: '' }, host);
}
