// `--config` beside a daemon that runs with another one: it counts for nothing then, which is said.

import { realpathSync } from 'node:fs';
import { resolve } from 'node:path';
import type { StatusReport } from '../client/control-client.ts';
import { BridgeError } from '../util/bridge-error.ts';
import { expectSystemError } from '../util/expected-error.ts';
import { lineFor } from './exit-code.ts';
import type { CliHost } from './host.ts';
import type { WhereValues } from './locate.ts';
import { askIfRunning } from './running-daemon.ts';

/** Undefined if the daemon runs with the config that is named, or none is. */
export function otherConfig(
  { config }: WhereValues,
  { configFile, socketPath }: Pick<StatusReport, 'configFile' | 'socketPath'>,
  { cwd }: CliHost,
): BridgeError | undefined {
  if (config === undefined) return undefined;
  const named = resolve(cwd, config);
  if (configFile !== null && realPath(configFile) === realPath(named)) return undefined;
  const its = configFile ?? 'no config file';
  return new BridgeError('DAEMON_ALREADY_RUNNING', `mcp-bridge at ${socketPath} runs with ${its}, not with ${named}`, {
    hint: `mcp-bridge restart --config ${config}`,
  });
}

/** For commands that do what they can with the daemon that there is. */
export async function tellOtherConfig(values: WhereValues, path: string, host: CliHost): Promise<void> {
  if (values.config === undefined) return;
  const running = await askIfRunning(path, host, (client) => client.call('bridge/status'));
  const other = running && otherConfig(values, running, host);
  if (other !== undefined) host.stderr.write(lineFor(other));
}

function realPath(file: string): string {
  try {
    return realpathSync(file);
  } catch (error) {
    expectSystemError(error);
    return file;
  }
}
