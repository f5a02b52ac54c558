// Finds the bridge for a command, from its options and the process that it runs in.

import { type LoadedSettings, type Located, type LocateOptions, locateReading } from '../client/locate.ts';
import { type LoadedConfig, loadConfig, NO_CONFIG } from '../config/load.ts';
import { refuseBelowBridge } from '../local/bridge-depth.ts';
import { BridgeError } from '../util/bridge-error.ts';
import { lineFor } from './exit-code.ts';
import type { CliHost } from './host.ts';

export interface WhereValues {
  readonly 'mcp-bridge-socket'?: string | undefined;
  readonly 'mcp-client-id'?: string | undefined;
  readonly config?: string | undefined;
}

/** The bridge, with all that its config file says. */
export type LocatedConfig = Located<LoadedConfig>;

/** `startsHere`: the command makes a daemon of what is configured in the working directory. */
export function locate(values: WhereValues, host: CliHost, startsHere = false): Promise<LocatedConfig> {
  return locateWhole(locateOptions(values, host, startsHere));
}

export function locateWhole(options: LocateOptions): Promise<LocatedConfig> {
  return locateReading(options, { load: loadConfig, none: NO_CONFIG });
}

export function locateOptions(values: WhereValues, host: CliHost, startsHere = false): LocateOptions {
  return {
    socketFlag: values['mcp-bridge-socket'],
    clientIdFlag: values['mcp-client-id'],
    configFile: values.config,
    runsPrograms: startsHere,
    ...placeOf(host),
  };
}

/** What of a process says where things are. */
export function placeOf({
  environment,
  cwd,
  homedir,
  program,
}: CliHost): Pick<CliHost, 'environment' | 'cwd' | 'homedir' | 'program'> {
  return { environment, cwd, homedir, program };
}

/** What is wrong where a config that cannot be read may name another socket than the one that was found without it. */
export function doubtOf({ path, source, configError }: Located): BridgeError | undefined {
  if (configError === undefined || source === 'flag' || source === 'environment') return undefined;
  const fault = configError.message.replace(/[.]$/, '');
  return new BridgeError(configError.code, `${fault}. Whether it names another socket than ${path} is not known`, {
    hint: 'Mend the file, or name the socket with --mcp-bridge-socket.',
    cause: configError,
  });
}

/** What is to be said of a config that cannot be read by who goes on without it. */
export function goingOn({ code, message, hint, cause }: BridgeError): BridgeError {
  const told = `${hint ?? 'Mend the file.'} A daemon goes on with what it said when it was last good, if it ever was.`;
  return new BridgeError(code, message, { hint: told, cause });
}

/** For a command that goes on without a config that cannot be read, which is told; no bridge is used below another one. */
export function locateToUse(values: WhereValues, host: CliHost): Promise<LocatedConfig> {
  return useLocated(() => locate(values, host), host);
}

/** The same, by a search that reads as much of the config as its caller wants. */
export async function useLocated<Loaded extends LoadedSettings>(
  find: () => Promise<Located<Loaded>>,
  host: CliHost,
): Promise<Located<Loaded>> {
  refuseBelowBridge(host.environment);
  const located = await find();
  if (located.configError !== undefined) host.stderr.write(lineFor(goingOn(located.configError)));
  return located;
}
