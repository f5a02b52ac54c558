// `mcp-bridge import`: copies other programs' servers into the bridge's own config.

import { importServers } from '../../editing/own-servers.ts';
import { BridgeError } from '../../util/bridge-error.ts';
import { editingHostOf, tell } from '../editing.ts';
import type { CliHost } from '../host.ts';
import { reloadIfRunning } from '../running-daemon.ts';
import { withLostNames } from './lost-names.ts';

export interface ImportValues {
  readonly client?: readonly string[] | undefined;
  readonly config?: string | undefined;
  readonly all?: boolean | undefined;
  readonly 'dry-run'?: boolean | undefined;
}

export async function importFromClients(values: ImportValues, host: CliHost): Promise<number> {
  const { client = [], config, all = false, 'dry-run': dryRun = false } = values;
  if (all === client.length > 0) {
    throw new BridgeError('USAGE', all ? '--all takes no clients' : 'Name the clients to import from, or --all', {
      hint: 'See: mcp-bridge import --help',
    });
  }
  const task = () => importServers(all ? 'all' : client, { config, dryRun }, editingHostOf(host));
  if (dryRun) return tell(await task(), host);
  const { done, lost } = await withLostNames(task, { config }, host);
  await reloadIfRunning({}, host);
  return tell({ ...done, lines: [...done.lines, ...lost] }, host);
}
