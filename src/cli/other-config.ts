// Settings of a command that a running daemon ignores because it was started with others: `--config` and
// MCP_SERVERS_CONFIG. The command says so.

import { realpathSync } from 'node:fs';
import { resolve } from 'node:path';
import type { StatusReport } from '../client/control-client.ts';
import { BridgeError } from '../util/bridge-error.ts';
import { expectSystemError } from '../util/expected-error.ts';
import { lineFor } from './exit-code.ts';
import type { CliHost } from './host.ts';
import type { WhereValues } from './locate.ts';
import { askIfRunning } from './running-daemon.ts';

/** The error for `--config`; undefined if the daemon uses that config, or none is named. */
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

/** For commands that work with the running daemon anyway. */
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

const NAME = 'MCP_SERVERS_CONFIG';

/** The warning about MCP_SERVERS_CONFIG; undefined if both are the same, or an older daemon does not report it. */
export function otherOverride(
  { serversConfig }: Partial<Pick<StatusReport, 'serversConfig'>>,
  { environment }: Pick<CliHost, 'environment'>,
): string | undefined {
  const own = environment[NAME] || null;
  if (serversConfig === undefined || own === serversConfig) return undefined;
  const its = serversConfig === null ? 'does not have it' : `has another value, ${serversConfig}`;
  if (own !== null)
    return `${NAME} is set here, and the daemon that runs ${its}: it goes on without this one. To have it read ${own}: mcp-bridge stop, then mcp-bridge start in this shell.`;
  return `The daemon that runs reads only ${serversConfig}, which ${NAME} named where it was started. To have it read all files: mcp-bridge stop, then mcp-bridge start in this shell.`;
}
