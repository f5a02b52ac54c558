// Finds the bridge from a command's options and process. `connect` loads this file and reads only the settings that a
// client needs; commands that need the whole config use locate.ts.

import type { LoadedSettings, Located, LocateOptions } from '../client/locate.ts';
import { refuseBelowBridge } from '../local/bridge-depth.ts';
import { BridgeError } from '../util/bridge-error.ts';
import { lineFor } from './exit-code.ts';
import type { CliHost } from './host.ts';

export interface WhereValues {
  readonly 'mcp-bridge-socket'?: string | undefined;
  readonly 'mcp-client-id'?: string | undefined;
  readonly config?: string | undefined;
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

/** The parts of a process that determine paths. */
export function placeOf({
  environment,
  cwd,
  homedir,
  program,
}: CliHost): Pick<CliHost, 'environment' | 'cwd' | 'homedir' | 'program'> {
  return { environment, cwd, homedir, program };
}

/** The error for an unreadable config, for commands that continue without it. */
export function configWarning({ code, message, hint, cause }: BridgeError): BridgeError {
  const told = `${hint ?? 'Correct the file.'} A daemon goes on with what it said when it was last good, if it ever was.`;
  return new BridgeError(code, message, { hint: told, cause });
}

/** Finds the bridge and reports an unreadable config. Refuses to use a bridge below another bridge. */
export async function useLocated<Loaded extends LoadedSettings>(
  find: () => Promise<Located<Loaded>>,
  host: CliHost,
): Promise<Located<Loaded>> {
  refuseBelowBridge(host.environment);
  const located = await find();
  if (located.configError !== undefined) host.stderr.write(lineFor(configWarning(located.configError)));
  return located;
}
