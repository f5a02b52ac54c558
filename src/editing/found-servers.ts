// The servers that discovery finds for the bridge that reads this config, under its policy and with its approvals.
// Servers of the config itself are looked for separately, so that they hide no others.

import { type LoadedConfig, loadConfig, NO_CONFIG } from '../config/load.ts';
import type { DiscoveredServer } from '../discovery/discovered-server.ts';
import { ApprovalFile, ClientApprovalFile, type DiscoveringProcess, discoverHere } from '../discovery/own-discovery.ts';
import { REGISTRY } from '../discovery/places.ts';
import { socketPath } from '../local/socket-path.ts';
import { httpOrigin } from '../model/http-settings.ts';
import type { EditingHost } from './editing-host.ts';
import type { OpenOwnConfig } from './own-config.ts';

export interface ServersToMove {
  /**
   * Servers of other programs, as if the bridge had none of its own. Leaves out running servers: they need no
   * definition.
   */
  readonly others: readonly DiscoveredServer[];
  /** Servers of the bridge's own config. */
  readonly own: readonly DiscoveredServer[];
  /** All servers as the daemon finds them, with the ids that people and rules use. */
  readonly all: readonly DiscoveredServer[];
}

export interface ServerLook {
  /** The directory of the project to look at. */
  readonly cwd: string;
  /** True to store the ids that servers get, as before a change. */
  readonly keepsNames: boolean;
}

export async function foundServers(
  own: OpenOwnConfig,
  { cwd, keepsNames }: ServerLook,
  host: EditingHost,
): Promise<ServersToMove> {
  const { environment, homedir } = host;
  const config = await loadedConfig(own, host);
  const approvals = new ApprovalFile(environment, homedir).read();
  const seenApprovals = new ClientApprovalFile(environment, homedir).read();
  const process = processOf(config, host);
  const looking = { cwd, approvals, seenApprovals, isToBeWritten: true };
  const [alone, all] = [
    await discoverHere(process, { ...looking, config: { ...config, servers: undefined } }),
    await discoverHere(process, { ...looking, config, keepsNames }),
  ];
  const isOwn = ({ client, scope }: DiscoveredServer): boolean => client === 'bridge' && scope === 'dynamic';
  return {
    others: alone.servers.filter(({ client }) => client !== REGISTRY),
    own: all.servers.filter(isOwn),
    all: all.servers,
  };
}

/** Loads the config as the daemon would; a missing file counts as empty. */
async function loadedConfig({ file }: OpenOwnConfig, { cwd, homedir }: EditingHost): Promise<LoadedConfig> {
  return file.bytes === undefined ? NO_CONFIG : loadConfig({ named: file.path, cwd, homedir });
}

function processOf(
  { config }: LoadedConfig,
  { platform, environment, homedir, program, cwd }: EditingHost,
): DiscoveringProcess {
  const user = { environment, homedir };
  const wishes = { environment: environment.MCP_BRIDGE_SOCKET, config: config.socketPath, cwd, user };
  const own = { platform, environment, homedir, program, socketPath: socketPath(wishes).path };
  return { ...own, httpOrigin: httpOrigin(config.http) };
}
