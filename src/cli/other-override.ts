// MCP_SERVERS_CONFIG counts in the environment of the daemon. Set beside one that runs, it changes nothing, and that is said.

import type { StatusReport } from '../client/control-client.ts';
import type { CliHost } from './host.ts';

const NAME = 'MCP_SERVERS_CONFIG';

/** Undefined if both have the same, or a daemon of an earlier build does not say. */
export function otherOverride(
  { serversConfig }: Partial<Pick<StatusReport, 'serversConfig'>>,
  { environment }: Pick<CliHost, 'environment'>,
): string | undefined {
  const own = environment[NAME] || null;
  if (serversConfig === undefined || own === serversConfig) return undefined;
  const its = serversConfig === null ? 'does not have it' : `has another value, ${serversConfig}`;
  if (own !== null)
    return `${NAME} is set here, and the daemon that runs ${its}: it goes on without this one. To have it read ${own}: mcp-bridge stop, then mcp-bridge start in this shell.`;
  return `The daemon that runs reads only ${serversConfig}, which ${NAME} named where it was started. To have it read all files: mcp-bridge stop, then mcp-bridge start in this shell.`;
}
