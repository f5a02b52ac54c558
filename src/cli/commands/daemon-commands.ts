// `start`, `stop`, `reload`, `status`, `clients`: manage the background daemon and report on it.

import { resolve } from 'node:path';
import {
  type ControlAnswer,
  ControlClient,
  type ControlMethod,
  type ControlParams,
} from '../../client/control-client.ts';
import type { Located } from '../../client/locate.ts';
import { startDaemon } from '../../client/start-daemon.ts';
import { LastGoodConfigs } from '../../config/last-good.ts';
import { stateDir } from '../../local/state-dir.ts';
import { BridgeError } from '../../util/bridge-error.ts';
import { membersOf } from '../../util/json-value.ts';
import { DONE, lineFor } from '../exit-code.ts';
import type { CliHost } from '../host.ts';
import { configWarning, doubtOf, locate, placeOf, type WhereValues } from '../locate.ts';
import { otherConfig, otherOverride, tellOtherConfig } from '../other-config.ts';
import { clientTable, statusText } from '../render/status-view.ts';
import { printable, printJson } from '../render/table.ts';
import { tableStyle, widthOf, wrappedLines } from '../render/terminal.ts';
import { askIfRunning, daemonPid, endDaemon } from '../running-daemon.ts';
import { agreedConfig, isAtHome, ownConfigDir } from './directory-config.ts';

export type ListingValues = WhereValues & { readonly json?: boolean | undefined };

export interface StartValues extends ListingValues {
  readonly 'log-level'?: string | undefined;
  readonly http?: string | undefined;
}

export async function start(values: StartValues, host: CliHost): Promise<number> {
  const located = await locate(values, host, values.config !== undefined || isAtHome(host));
  const { path, loaded, configError } = located;
  const running = await askIfRunning(path, host, (client) => client.call('bridge/status'));
  if (running !== undefined) {
    const other = otherConfig(values, running, host);
    if (other !== undefined) throw other;
    if (values.http !== undefined && running.httpFlag !== httpArgument(values.http, host))
      throw runsOtherwise(values.http);
    if (configError !== undefined) host.stderr.write(lineFor(configWarning(configError)));
    const { pid } = running;
    if (values.json === true) return printJson({ socketPath: path, pid, logFile: null, ranAlready: true }, host);
    host.stdout.write(`mcp-bridge runs already at ${path} (pid ${pid})\n`);
    return DONE;
  }
  const agreed = await agreedConfig('start', values, host);
  if (agreed !== undefined) return start({ ...values, config: agreed }, host);
  const isSetAside = loaded.origin === 'directory' && !isAtHome(host);
  if (configError !== undefined && !isSetAside) goOnWithLastGood(located, configError, host);
  const config = givenConfig(values, located, host);
  const level = values['log-level'] === undefined ? [] : ['--log-level', values['log-level']];
  const { socket, logFile } = await startDaemon({
    ...placeOf(host),
    path,
    serveArgs: [...config, ...level, ...httpArguments(values.http, host)],
  });
  socket.destroy();
  const pid = await daemonPid(path, host);
  if (values.json === true) return printJson({ socketPath: path, pid, logFile, ranAlready: false }, host);
  host.stdout.write(`mcp-bridge runs at ${path} (pid ${pid}); its log is ${logFile}\n`);
  return DONE;
}

function runsOtherwise(address: string): BridgeError {
  return new BridgeError('REQUEST_REFUSED', `mcp-bridge runs already, and was not started with --http ${address}`, {
    hint: `To have it listen there: mcp-bridge restart --http ${address}`,
  });
}

/** The same address made absolute, because the daemon works in another directory. */
function httpArgument(address: string, { cwd }: CliHost): string {
  return address.startsWith(UNIX) ? UNIX + resolve(cwd, address.slice(UNIX.length)) : address;
}

const UNIX = 'unix:';

export function httpArguments(address: string | null | undefined, host: CliHost): string[] {
  return address === undefined || address === null ? [] : ['--http', httpArgument(address, host)];
}

/**
 * Continues with the last valid config, as a daemon would. Throws if that config named a socket, because this may be
 * another bridge.
 */
function goOnWithLastGood(located: Located, configError: BridgeError, host: CliHost): void {
  const { file } = located.loaded;
  const lastGood = new LastGoodConfigs(stateDir(host.environment, host.homedir), () => undefined);
  const kept = file === undefined ? undefined : lastGood.kept(file);
  const doubt = doubtOf(located);
  const named = membersOf(membersOf(kept?.content).mcpBridge).socketPath;
  if (kept === undefined || (doubt !== undefined && named !== undefined)) throw doubt ?? configError;
  host.stderr.write(lineFor(configWarning(configError)));
}

/**
 * The config to pass to the daemon. A named file is fixed; the user's own config is not passed, because the daemon
 * finds it and keeps looking for it.
 */
function givenConfig({ config }: WhereValues, located: Located, host: CliHost): string[] {
  const { file } = located.loaded;
  if (config !== undefined && file !== undefined) return ['--config', file];
  return ['--config-dir', ownConfigDir(located, host)];
}

export async function stop(values: ListingValues, host: CliHost): Promise<number> {
  const located = await locate(values, host);
  const { path } = located;
  // It must be certain that the right daemon is ended.
  const doubt = doubtOf(located);
  if (doubt !== undefined) throw doubt;
  const running = await askIfRunning(path, host, (client) => client.call('bridge/status'));
  const pid = (await endDaemon(path, host, 'stop')) ?? null;
  const clients = running?.clients ?? 0;
  const servers = new Set(running?.instances.flatMap(({ server, pid }) => (pid === null ? [] : server)) ?? []);
  if (values.json === true)
    return printJson({ socketPath: path, stopped: pid !== null, pid, clients, servers: [...servers] }, host);
  const gone = servers.size === 0 ? '' : `; ended with it: ${[...servers].join(', ')}`;
  const text = pid === null ? `No mcp-bridge runs at ${path}` : `mcp-bridge at ${path} has stopped (pid ${pid})${gone}`;
  host.stdout.write(`${printable(text)}\n`);
  return DONE;
}

export interface StatusValues extends ListingValues {
  readonly watch?: boolean | undefined;
  readonly interval?: string | undefined;
}

export async function status(values: StatusValues, host: CliHost): Promise<number> {
  if (values.interval !== undefined)
    throw new BridgeError('USAGE', '--interval goes with --watch', { hint: 'See: mcp-bridge status --help' });
  const report = await ask(values, host, 'bridge/status', { cwd: host.cwd });
  if (values.json === true) return printJson(report, host);
  host.stdout.write(statusText(report, tableStyle(host, 1)));
  const other = otherOverride(report, host);
  if (other !== undefined) host.stdout.write(`${wrappedLines(`! ${other}`, { width: widthOf(host) })}\n`);
  return DONE;
}

export async function clients(values: ListingValues, host: CliHost): Promise<number> {
  const list = await ask(values, host, 'bridge/connections');
  if (values.json === true) return printJson(list, host);
  if (list.length === 0) {
    host.stdout.write(NO_CLIENT);
    return DONE;
  }
  host.stdout.write(clientTable(list, host));
  return DONE;
}

const NO_CLIENT = 'No client is connected. To put the bridge into one: mcp-bridge install\n';

export async function reload(values: ListingValues, host: CliHost): Promise<number> {
  const report = await ask(values, host, 'bridge/reload');
  if (values.json === true) return printJson(report, host);
  const { added, changed, removed, faults } = report;
  const changes = [
    ...added.map((name) => `+ ${name}`),
    ...changed.map((name) => `~ ${name}`),
    ...removed.map((name) => `- ${name}`),
    ...faults.map((fault) => `! ${fault}`),
  ];
  host.stdout.write(
    changes.length === 0
      ? 'Nothing has changed\n'
      : changes.map((line) => `${wrappedLines(line, { width: widthOf(host) })}\n`).join(''),
  );
  return DONE;
}

export async function ask<Method extends ControlMethod>(
  values: WhereValues,
  host: CliHost,
  method: Method,
  params?: ControlParams<Method>,
): Promise<ControlAnswer<Method>> {
  const client = await openAnyway(values, host);
  try {
    await tellOtherConfig(values, client.path, host);
    return await client.call(method, params);
  } finally {
    client.close();
  }
}

/** For commands that need only the socket's path: a broken config is reported and otherwise ignored. */
async function openAnyway(values: WhereValues, host: CliHost): Promise<ControlClient> {
  const located = await locate(values, host);
  const doubt = doubtOf(located);
  try {
    const client = await ControlClient.open(located.path, host.version);
    if (doubt !== undefined) host.stderr.write(lineFor(doubt));
    return client;
  } catch (error) {
    throw doubt ?? error;
  }
}
