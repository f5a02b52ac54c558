// `mcp-bridge install`: the bridge into a client's config; without a client, which there are.

import { targetNamed } from '../editing/client-config.ts';
import { listClients } from '../editing/client-list.ts';
import { install } from '../editing/install.ts';
import { editingHostOf, tell } from './editing.ts';
import { DONE } from './exit-code.ts';
import type { CliHost } from './host.ts';
import { table } from './table.ts';

export interface InstallValues {
  readonly client?: string | undefined;
  readonly config?: string | undefined;
  readonly replace?: boolean | undefined;
  readonly 'dry-run'?: boolean | undefined;
  readonly 'no-client-cli'?: boolean | undefined;
  readonly json?: boolean | undefined;
}

export async function installVerb(values: InstallValues, host: CliHost): Promise<number> {
  const { client, config, replace = false, 'dry-run': dryRun = false, 'no-client-cli': direct = false } = values;
  if (client === undefined) return list(values, host);
  const options = { config, replace, dryRun, clientCommand: !direct };
  return tell(await install(targetNamed(client), options, editingHostOf(host)), host);
}

async function list({ json }: InstallValues, host: CliHost): Promise<number> {
  const clients = await listClients(editingHostOf(host));
  if (json === true) {
    host.stdout.write(`${JSON.stringify(clients, undefined, 2)}\n`);
    return DONE;
  }
  const rows = clients.map(({ client, title, isHere, state, file }) => [
    client,
    title,
    isHere ? 'yes' : 'no',
    state === 'installed' ? 'yes' : state === 'unusable' ? '?' : 'no',
    file,
  ]);
  host.stdout.write(table(['CLIENT', 'NAME', 'HERE', 'BRIDGE', 'FILE'], rows));
  for (const { problem } of clients) if (problem !== undefined) host.stderr.write(`mcp-bridge: ${problem}\n`);
  return DONE;
}
