// Finds the bridge of a client: by flag, environment, config file or default, just as the daemon does. Also finds the
// client's id and how it connects. The library, `connect` and all commands ask here.

import { dirname } from 'node:path';
import { clientSettingsOf, NO_CLIENT_SETTINGS, type OwnClientSettings } from '../config/client-settings.ts';
import { type ConfigPlace, type FoundConfigFile, findConfigFile, pathsIn, readConfig } from '../config/config-file.ts';
import { Reader } from '../config/reader.ts';
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
  /** True if a config in the working directory may be a program. */
  readonly runsPrograms?: boolean | undefined;
}

/** The part of the config file that clients need, and its path. `file` is undefined without one. */
export interface LoadedSettings extends FoundConfigFile {
  readonly config: OwnClientSettings;
}

export interface Located<Loaded extends LoadedSettings = LoadedSettings> extends SocketPath {
  /** Returns the path, looked up again: the default path changes while another user holds its name. */
  readonly where: () => string;
  /** Undefined leaves the choice to the daemon. */
  readonly clientId: string | undefined;
  /** The place where the id was chosen, for messages. */
  readonly clientIdSource: string;
  /** True to start a daemon if none runs. */
  readonly autoConnect: boolean;
  readonly reconnect: ReconnectSettings;
  readonly loaded: Loaded;
  /** The error of an unreadable config file. A program that needs nothing else from the file goes on without it. */
  readonly configError: BridgeError | undefined;
}

/** How much of the config file to read, and what holds without one. */
export interface ConfigReading<Loaded> {
  readonly load: (place: ConfigPlace) => Promise<Loaded>;
  readonly none: Loaded;
}

const NO_SETTINGS: LoadedSettings = { config: NO_CLIENT_SETTINGS, file: undefined, origin: 'none' };

/** Loads the part for clients. The daemon reports faults elsewhere in the file. */
async function loadClientSettings(place: ConfigPlace): Promise<LoadedSettings> {
  const { file, origin } = findConfigFile(place);
  if (file === undefined) return NO_SETTINGS;
  const reader = new Reader(() => []);
  const root = reader.section(await readConfig(file), '');
  return { config: clientSettingsOf(reader, root, pathsIn(file, place.homedir)), file, origin };
}

/** Finds the bridge; reads only the part of the config file that a client needs. */
export function locateBridge(options: LocateOptions): Promise<Located> {
  return locateReading(options, { load: loadClientSettings, none: NO_SETTINGS });
}

/** Finds the bridge; reads as much of the config file as the caller wants. */
export async function locateReading<Loaded extends LoadedSettings>(
  options: LocateOptions,
  reading: ConfigReading<Loaded>,
): Promise<Located<Loaded>> {
  const { socketFlag, clientIdFlag, environment, cwd, homedir } = options;
  const { loaded, configError } = await tryConfig(options, reading);
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
 * Returns the config arguments for a daemon that is started here. It serves all of this user's clients, so no directory
 * configures it. It finds this user's own config by itself, now and later.
 */
export function serveArgsOf({ loaded: { file, origin } }: Pick<Located, 'loaded'>): string[] {
  if (file === undefined || origin === 'directory') return [];
  return origin === 'named' ? ['--config', file] : ['--config-dir', dirname(file)];
}

async function tryConfig<Loaded extends LoadedSettings>(
  { configFile, environment, cwd, homedir, runsPrograms }: LocateOptions,
  { load, none }: ConfigReading<Loaded>,
): Promise<Pick<Located<Loaded>, 'loaded' | 'configError'>> {
  const place = { named: configFile, cwd, homedir, xdgConfigHome: environment.XDG_CONFIG_HOME, runsPrograms };
  try {
    return { loaded: await load(place), configError: undefined };
  } catch (error) {
    if (!(error instanceof BridgeError) || error.code !== 'CONFIG_INVALID') throw error;
    return { loaded: { ...none, ...findConfigFile(place) }, configError: error };
  }
}
