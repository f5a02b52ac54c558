// Finds the bridge for a command, from the command's options and process.

import { type Located, type LocateOptions, locateReading } from '../client/locate.ts';
import { type LoadedConfig, loadConfig, NO_CONFIG } from '../config/load.ts';
import { BridgeError } from '../util/bridge-error.ts';
import type { CliHost } from './host.ts';
import { locateOptions, useLocated, type WhereValues } from './where.ts';

export { configWarning, locateOptions, placeOf, type WhereValues } from './where.ts';

/** The bridge, with everything in its config file. */
export type LocatedConfig = Located<LoadedConfig>;

/** Finds the bridge. `startsHere`: the command starts a daemon with the config of the working directory. */
export function locate(values: WhereValues, host: CliHost, startsHere = false): Promise<LocatedConfig> {
  return locateWhole(locateOptions(values, host, startsHere));
}

export function locateWhole(options: LocateOptions): Promise<LocatedConfig> {
  return locateReading(options, { load: loadConfig, none: NO_CONFIG });
}

/** The error for an unreadable config that may name another socket; undefined if it cannot matter. */
export function doubtOf({ path, source, configError }: Located): BridgeError | undefined {
  if (configError === undefined || source === 'flag' || source === 'environment') return undefined;
  const fault = configError.message.replace(/[.]$/, '');
  return new BridgeError(configError.code, `${fault}. Whether it names another socket than ${path} is not known`, {
    hint: 'Correct the file, or name the socket with --mcp-bridge-socket.',
    cause: configError,
  });
}

/**
 * For a command that continues despite an unreadable config, which is reported. Refuses to use a bridge below another
 * bridge.
 */
export function locateToUse(values: WhereValues, host: CliHost): Promise<LocatedConfig> {
  return useLocated(() => locate(values, host), host);
}
