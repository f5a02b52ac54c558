// `start`, `stop`, `status`, `clients`: the daemon in the background, and what it says of itself.

import { ControlClient } from '../client/control-client.ts';
import { locateBridge } from '../client/locate.ts';
import { startDaemon } from '../client/start-daemon.ts';
import { LockFile } from '../local/lock-file.ts';
import { lockPathOf } from '../local/socket-path.ts';
import { BridgeError } from '../util/bridge-error.ts';
import { DONE, lineFor } from './exit-code.ts';
import type { CliHost } from './host.ts';
import { duration, printable, table } from './table.ts';

export interface WhereValues {
  readonly 'mcp-bridge-socket'?: string | undefined;
  readonly config?: string | undefined;
}

interface Status {
  readonly pid: number;
  readonly version: string;
  readonly socketPath: string;
  readonly uptimeMs: number;
  readonly clients: number;
  readonly configFile: string | null;
  readonly configFaults: readonly string[];
  readonly instances: readonly {
    server: string;
    pid: number | null;
    state: string;
    sessions: number;
    restarts: number;
    calls: number;
    lastError: string | null;
  }[];
}

interface Client {
  readonly clientId: string;
  readonly name: string;
  readonly version: string;
  readonly view: string;
  readonly state: string;
  readonly connectedAt: string;
  readonly inFlight: number;
}

const POLL_MS = 20;
const STOP_TIMEOUT_MS = 30_000;

export async function start(
  values: WhereValues & { 'log-level'?: string | undefined },
  host: CliHost,
): Promise<number> {
  const { path, loaded, configError } = await locate(values, host);
  if (configError !== undefined) throw configError;
  const running = await askIfRunning(path, host, (client) => client.call<Status>('bridge/status'));
  if (running !== undefined) {
    host.stdout.write(`mcp-bridge runs already at ${path} (pid ${running.pid})\n`);
    return DONE;
  }
  const config = loaded.file === undefined ? [] : ['--config', loaded.file];
  const level = values['log-level'] === undefined ? [] : ['--log-level', values['log-level']];
  const { socket, logFile } = await startDaemon({ ...host, path, serveArgs: [...config, ...level] });
  socket.destroy();
  host.stdout.write(`mcp-bridge runs at ${path}; its log is ${logFile}\n`);
  return DONE;
}

export async function stop(values: WhereValues, host: CliHost): Promise<number> {
  const { path } = await locateAnyway(values, host);
  const pid = await askIfRunning(path, host, async (client) => {
    const { pid, openCalls } = await client.call<{ pid: number; openCalls: number }>('bridge/stop');
    if (openCalls > 0) host.stderr.write(`mcp-bridge: calls that are still to be answered: ${openCalls}\n`);
    await client.untilClosed();
    return pid;
  });
  if (pid === undefined) {
    host.stdout.write(`No mcp-bridge runs at ${path}\n`);
    return DONE;
  }
  await untilLockIsFree(path);
  host.stdout.write(`mcp-bridge at ${path} has stopped (pid ${pid})\n`);
  return DONE;
}

export async function status(values: WhereValues & { json?: boolean | undefined }, host: CliHost): Promise<number> {
  const report = await ask<Status>(values, host, 'bridge/status');
  if (values.json === true) return printJson(report, host);
  const { pid, version, socketPath, uptimeMs, clients, configFile, configFaults, instances } = report;
  host.stdout.write(
    `mcp-bridge ${version} at ${socketPath}, pid ${pid}, up ${duration(uptimeMs)}, clients: ${clients}\n`,
  );
  host.stdout.write(`config: ${configFile ?? 'none'}\n\n`);
  const rows = instances.map((i) => [
    i.server,
    i.state,
    `${i.pid ?? '-'}`,
    `${i.sessions}`,
    `${i.calls}`,
    `${i.restarts}`,
  ]);
  host.stdout.write(table(['SERVER', 'STATE', 'PID', 'SESSIONS', 'CALLS', 'RESTARTS'], rows));
  const failures = instances.flatMap(({ state, lastError }) => (state === 'idle' && lastError ? [lastError] : []));
  for (const note of [...configFaults, ...failures]) host.stdout.write(`! ${printable(note)}\n`);
  return DONE;
}

export async function clients(values: WhereValues & { json?: boolean | undefined }, host: CliHost): Promise<number> {
  const list = await ask<Client[]>(values, host, 'bridge/connections');
  if (values.json === true) return printJson(list, host);
  const rows = list.map((c) => [
    c.clientId,
    `${c.name} ${c.version}`.trim(),
    c.view,
    c.state,
    c.connectedAt,
    `${c.inFlight}`,
  ]);
  host.stdout.write(table(['CLIENT', 'PROGRAM', 'VIEW', 'STATE', 'CONNECTED', 'IN FLIGHT'], rows));
  return DONE;
}

function locate(values: WhereValues, { environment, cwd, homedir }: CliHost) {
  return locateBridge({
    socketFlag: values['mcp-bridge-socket'],
    configFile: values.config,
    environment,
    cwd,
    homedir,
  });
}

/** For those who need no more of the config than where the socket is: a broken one is told, and left alone. */
async function locateAnyway(values: WhereValues, host: CliHost) {
  const located = await locate(values, host);
  if (located.configError !== undefined && located.source !== 'flag' && located.source !== 'environment')
    host.stderr.write(lineFor(located.configError));
  return located;
}

async function ask<Result>(values: WhereValues, host: CliHost, method: string): Promise<Result> {
  const { path } = await locateAnyway(values, host);
  const client = await ControlClient.open(path, host.version);
  try {
    return await client.call<Result>(method);
  } finally {
    client.close();
  }
}

/** Undefined if there is no daemon to ask. */
async function askIfRunning<Result>(
  path: string,
  host: CliHost,
  question: (client: ControlClient) => Promise<Result>,
): Promise<Result | undefined> {
  let client: ControlClient;
  try {
    client = await ControlClient.open(path, host.version);
  } catch (error) {
    if (error instanceof BridgeError && error.code === 'DAEMON_NOT_RUNNING') return undefined;
    throw error;
  }
  try {
    return await question(client);
  } finally {
    client.close();
  }
}

/** The daemon has ended when the kernel has given its lock back. */
async function untilLockIsFree(path: string): Promise<void> {
  const deadline = performance.now() + STOP_TIMEOUT_MS;
  while (performance.now() < deadline) {
    const lock = LockFile.take(lockPathOf(path));
    if (lock !== undefined) return lock.release();
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
  throw new BridgeError('DAEMON_UNRESPONSIVE', `The daemon at ${path} is still stopping`, {
    hint: 'Its log says more.',
  });
}

function printJson(value: unknown, host: CliHost): number {
  host.stdout.write(`${JSON.stringify(value, undefined, 2)}\n`);
  return DONE;
}
