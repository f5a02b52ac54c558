// Hints to other hosts, for commands that find no server: which host is silent, and where to look. It asks only a
// daemon that runs, and says nothing if the config has no section `federation`.

import type { FederationReport } from '../model/federation-report.ts';
import { BridgeError } from '../util/bridge-error.ts';
import type { CliHost } from './host.ts';
import { locate, type WhereValues } from './locate.ts';
import { askIfRunning } from './running-daemon.ts';

const SEE = 'See: mcp-bridge hosts';

/** Asks the daemon about other hosts; null if it meets none, or does not answer. */
export async function hostsHere(values: WhereValues, host: CliHost): Promise<FederationReport | null> {
  const { path } = await locate(values, host);
  try {
    return (await askIfRunning(path, host, (client) => client.call('bridge/hosts'))) ?? null;
  } catch (error) {
    if (error instanceof BridgeError) return null;
    throw error;
  }
}

/** Returns a hint for a list without servers; '' if there are no other hosts to look at. */
export async function hostsLine(values: WhereValues, host: CliHost): Promise<string> {
  return (await hostsHere(values, host)) === null ? '' : 'Servers of other hosts: mcp-bridge hosts\n';
}

/** Returns the hint for a name with a host, which no server has; undefined for any other name. */
export function elsewhereHint(
  name: string,
  report: Pick<FederationReport, 'hosts'> | null,
): { readonly hint: string; readonly isAway: boolean } | undefined {
  const at = name.lastIndexOf('@');
  if (at <= 0 || report === null) return undefined;
  const [server, named] = [name.slice(0, at), name.slice(at + 1)];
  const known = report.hosts.find(({ host, servers }) => host === named && servers.includes(server));
  if (known === undefined || known.unreachable === null) return { hint: SEE, isAway: false };
  return { hint: `Host ${named} cannot be reached: ${known.unreachable}. ${SEE}`, isAway: true };
}
