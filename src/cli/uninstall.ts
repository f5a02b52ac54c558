// `mcp-bridge uninstall`: the bridge out of a client's config, and what was there before back into it.

import { targetNamed } from '../editing/client-config.ts';
import { uninstall } from '../editing/uninstall.ts';
import { editingHostOf, tell } from './editing.ts';
import type { CliHost } from './host.ts';

export interface UninstallValues {
  readonly client: string;
  readonly 'dry-run'?: boolean | undefined;
  readonly 'no-client-cli'?: boolean | undefined;
}

export async function uninstallVerb(values: UninstallValues, host: CliHost): Promise<number> {
  const { client, 'dry-run': dryRun = false, 'no-client-cli': direct = false } = values;
  return tell(await uninstall(targetNamed(client), { dryRun, clientCommand: !direct }, editingHostOf(host)), host);
}
