// How a client finds its bridge: by flag, environment, config file or default, just as the daemon does.

import { type LoadedConfig, loadConfig } from '../config/load.ts';
import { type SocketPath, socketPath } from '../local/socket-path.ts';

export interface LocateOptions {
  readonly socketFlag?: string | undefined;
  readonly configFile?: string | undefined;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  readonly homedir: string;
}

export interface Located extends SocketPath {
  readonly loaded: LoadedConfig;
}

export async function locateBridge(options: LocateOptions): Promise<Located> {
  const { socketFlag, configFile, environment, cwd, homedir } = options;
  const loaded = await loadConfig({ named: configFile, cwd, homedir, xdgConfigHome: environment.XDG_CONFIG_HOME });
  const found = socketPath({
    flag: socketFlag,
    environment: environment.MCP_BRIDGE_SOCKET,
    config: loaded.config.socketPath,
    cwd,
  });
  return { ...found, loaded };
}
