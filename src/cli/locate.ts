// Finds the bridge for a verb, from its options and the process that it runs in.

import { type Located, type LocateOptions, locateBridge } from '../client/locate.ts';
import { refuseBelowBridge } from '../local/bridge-depth.ts';
import { lineFor } from './exit-code.ts';
import type { CliHost } from './host.ts';

export interface WhereValues {
  readonly 'mcp-bridge-socket'?: string | undefined;
  readonly 'mcp-client-id'?: string | undefined;
  readonly config?: string | undefined;
}

/** `startsHere`: the verb makes a daemon of what is configured in the working directory. */
export function locate(values: WhereValues, host: CliHost, startsHere = false): Promise<Located> {
  return locateBridge(locateOptions(values, host, startsHere));
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

/** For a verb that goes on without a config that cannot be read, which is told; no bridge is used below another one. */
export async function locateToUse(values: WhereValues, host: CliHost): Promise<Located> {
  refuseBelowBridge(host.environment);
  const located = await locate(values, host);
  if (located.configError !== undefined) host.stderr.write(lineFor(located.configError));
  return located;
}
