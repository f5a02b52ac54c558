// How a client finds its bridge: by flag, environment, config file or default, just as the daemon does; and by which id
// and how it goes there. The library, `connect` and all verbs ask here.

import { dirname } from 'node:path';
import { findConfigFile, type LoadedConfig, loadConfig, NO_CONFIG } from '../config/load.ts';
import { type SocketPath, socketPath } from '../local/socket-path.ts';
import type { ReconnectSettings } from '../util/backoff.ts';
import { BridgeError } from '../util/bridge-error.ts';

export interface LocateOptions {
  readonly socketFlag?: string | undefined;
  readonly clientIdFlag?: string | undefined;
  readonly configFile?: string | undefined;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  readonly homedir: string;
  /** Whether a config that is a program counts in the working directory. */
  readonly runsPrograms?: boolean | undefined;
}

export interface Located extends SocketPath {
  /** Looks again: the default is another one while another user holds its name. */
  readonly where: () => string;
  /** Undefined leaves it to the daemon. */
  readonly clientId: string | undefined;
  /** Where it was chosen, for messages. */
  readonly clientIdSource: string;
  /** Whether a daemon is started where none runs. */
  readonly autoConnect: boolean;
  readonly reconnect: ReconnectSettings;
  readonly loaded: LoadedConfig;
  /** A config file that cannot be read: whoever needs nothing else of it goes on without it. */
  readonly configError: BridgeError | undefined;
}

export async function locateBridge(options: LocateOptions): Promise<Located> {
  const { socketFlag, clientIdFlag, environment, cwd, homedir } = options;
  const { loaded, configError } = await tryConfig(options);
  const { config } = loaded;
  const user = { environment, homedir };
  const named = { flag: socketFlag, environment: environment.MCP_BRIDGE_SOCKET, config: config.socketPath };
  const wishes = { ...named, cwd, user };
  return {
    ...socketPath(wishes),
    where: () => socketPath(wishes).path,
    clientId: clientIdFlag || environment.MCP_CLIENT_ID || config.clientId,
    clientIdSource: clientIdFlag
      ? '--mcp-client-id'
      : environment.MCP_CLIENT_ID
        ? 'MCP_CLIENT_ID'
        : `client.id of ${loaded.file}`,
    autoConnect: config.autoConnect,
    reconnect: config.reconnect,
    loaded,
    configError,
  };
}

/**
 * The config that a daemon started here is given. It is for all of this user's clients, so no directory configures it;
 * this user's own it finds itself, and goes on finding it.
 */
export function serveArgsOf({ loaded: { file, origin } }: Located): string[] {
  if (file === undefined || origin === 'directory') return [];
  return origin === 'named' ? ['--config', file] : ['--config-dir', dirname(file)];
}

async function tryConfig({ configFile, environment, cwd, homedir, runsPrograms }: LocateOptions): Promise<{
  readonly loaded: LoadedConfig;
  readonly configError: BridgeError | undefined;
}> {
  const place = { named: configFile, cwd, homedir, xdgConfigHome: environment.XDG_CONFIG_HOME, runsPrograms };
  try {
    return { loaded: await loadConfig(place), configError: undefined };
  } catch (error) {
    if (!(error instanceof BridgeError) || error.code !== 'CONFIG_INVALID') throw error;
    return { loaded: { ...NO_CONFIG, ...findConfigFile(place) }, configError: error };
  }
}
