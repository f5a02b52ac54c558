// `mcp-bridge uninstall`: removes the bridge from a client's config, and restores what was there before.

import { targetNamed } from '../../editing/client-config.ts';
import { uninstall } from '../../editing/uninstall.ts';
import { BridgeError } from '../../util/bridge-error.ts';
import { editingHostOf, tell } from '../editing.ts';
import { DONE } from '../exit-code.ts';
import type { CliHost } from '../host.ts';
import { endpointsHere } from '../http-place.ts';
import { reloadIfRunning } from '../running-daemon.ts';

export interface UninstallValues {
  readonly client?: readonly string[] | undefined;
  readonly 'dry-run'?: boolean | undefined;
  readonly 'no-client-cli'?: boolean | undefined;
}

export async function uninstallBridge(values: UninstallValues, host: CliHost): Promise<number> {
  const { client = [], 'dry-run': dryRun = false, 'no-client-cli': direct = false } = values;
  if (client.length === 0) {
    throw new BridgeError('USAGE', 'Name a client, such as: mcp-bridge uninstall cursor', {
      hint: 'Which have the bridge: mcp-bridge install',
    });
  }
  const editing = { ...editingHostOf(host), endpoints: await endpointsHere({}, host) };
  const targets = [...new Set(client.map(targetNamed))];
  for (const target of targets) tell(await uninstall(target, { dryRun, clientCommand: !direct }, editing), host);
  if (!dryRun) await reloadIfRunning({}, host);
  return DONE;
}
