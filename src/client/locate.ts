// How a client finds its bridge: by flag, environment, config file or default, just as the daemon does.

import { findConfigFile, type LoadedConfig, loadConfig, NO_CONFIG } from '../config/load.ts';
import { type SocketPath, socketPath } from '../local/socket-path.ts';
import { BridgeError } from '../util/bridge-error.ts';

export interface LocateOptions {
  readonly socketFlag?: string | undefined;
  readonly configFile?: string | undefined;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  readonly homedir: string;
  /** Whether a config that is a program counts in the working directory. */
  readonly runsPrograms?: boolean | undefined;
}

export interface Located extends SocketPath {
  readonly loaded: LoadedConfig;
  /** A config file that cannot be read: whoever needs nothing else of it goes on without it. */
  readonly configError: BridgeError | undefined;
}

export async function locateBridge(options: LocateOptions): Promise<Located> {
  const { socketFlag, environment, cwd } = options;
  const { loaded, configError } = await tryConfig(options);
  const found = socketPath({
    flag: socketFlag,
    environment: environment.MCP_BRIDGE_SOCKET,
    config: loaded.config.socketPath,
    cwd,
  });
  return { ...found, loaded, configError };
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
