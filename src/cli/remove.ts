// `mcp-bridge remove`: a server out of the bridge's own config.

import { removeServer } from '../editing/own-servers.ts';
import { editingHostOf, tell } from './editing.ts';
import type { CliHost } from './host.ts';

export interface RemoveValues {
  readonly name: string;
  readonly config?: string | undefined;
}

export async function remove({ name, config }: RemoveValues, host: CliHost): Promise<number> {
  const done = await removeServer(name, { config }, editingHostOf(host));
  return tell({ lines: [done], diff: '' }, host);
}
