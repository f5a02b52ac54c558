// `start`, `stop`, `reload`, `status`, `clients`: the daemon in the background, and what it says of itself.

import { existsSync } from 'node:fs';
import {
  type ClientReport,
  ControlClient,
  type ReloadReport,
  type StatusReport,
  type StopReport,
} from '../client/control-client.ts';
import { startDaemon } from '../client/start-daemon.ts';
import { LockFile, notedPid } from '../local/lock-file.ts';
import { lockPathOf } from '../local/socket-path.ts';
import { BridgeError } from '../util/bridge-error.ts';
import { DONE, lineFor } from './exit-code.ts';
import type { CliHost } from './host.ts';
import { locate, placeOf, type WhereValues } from './locate.ts';
import { statusText } from './status-view.ts';
import { printable, table } from './table.ts';

const POLL_MS = 20;
const STOP_TIMEOUT_MS = 30_000;

export async function start(
  values: WhereValues & { 'log-level'?: string | undefined },
  host: CliHost,
): Promise<number> {
  const { path, loaded, configError } = await locate(values, host, true);
  const running = await askIfRunning(path, host, (client) => client.call<StatusReport>('bridge/status'));
  if (running !== undefined) {
    if (configError !== undefined) host.stderr.write(lineFor(configError));
    host.stdout.write(`mcp-bridge runs already at ${path} (pid ${running.pid})\n`);
    return DONE;
  }
  if (configError !== undefined) throw configError;
  const config = loaded.file === undefined ? [] : ['--config', loaded.file];
  const level = values['log-level'] === undefined ? [] : ['--log-level', values['log-level']];
  const { socket, logFile } = await startDaemon({ ...placeOf(host), path, serveArgs: [...config, ...level] });
  socket.destroy();
  host.stdout.write(`mcp-bridge runs at ${path}; its log is ${logFile}\n`);
  return DONE;
}

export async function stop(values: WhereValues, host: CliHost): Promise<number> {
  const { path } = await locateAnyway(values, host);
  const pid = await askIfRunning(path, host, async (client) => {
    const { pid, openCalls } = await client.call<StopReport>('bridge/stop');
    if (openCalls > 0) host.stderr.write(`mcp-bridge: calls that are still to be answered: ${openCalls}\n`);
    await client.untilClosed();
    return pid;
  });
  const holder = pid ?? stoppingPid(path);
  if (holder === undefined) {
    host.stdout.write(`No mcp-bridge runs at ${path}\n`);
    return DONE;
  }
  await untilGone(path, holder);
  host.stdout.write(`mcp-bridge at ${path} has stopped (pid ${holder})\n`);
  return DONE;
}

/** The pid of the daemon that has this path, if there is one. */
export async function daemonPid(path: string, host: CliHost): Promise<number | undefined> {
  const running = await askIfRunning(path, host, (client) => client.call<StatusReport>('bridge/status'));
  return running?.pid ?? stoppingPid(path);
}

export async function status(values: WhereValues & { json?: boolean | undefined }, host: CliHost): Promise<number> {
  const report = await ask<StatusReport>(values, host, 'bridge/status');
  if (values.json === true) return printJson(report, host);
  host.stdout.write(statusText(report));
  return DONE;
}

export async function clients(values: WhereValues & { json?: boolean | undefined }, host: CliHost): Promise<number> {
  const list = await ask<ClientReport[]>(values, host, 'bridge/connections');
  if (values.json === true) return printJson(list, host);
  const rows = list.map((c) => [
    c.clientId,
    `${c.name} ${c.version}`.trim(),
    c.view,
    c.state,
    c.connectedAt,
    `${c.inFlight}`,
    acceptedBy(c),
  ]);
  host.stdout.write(table(['CLIENT', 'PROGRAM', 'VIEW', 'STATE', 'CONNECTED', 'IN FLIGHT', 'ACCEPTS'], rows));
  return DONE;
}

/** What other clients may say to it. */
function acceptedBy({ accepts, mailbox }: ClientReport): string {
  const methods = typeof accepts === 'boolean' ? (accepts ? ['everything'] : []) : accepts;
  return [...methods, ...(mailbox ? ['messages'] : [])].join(', ') || '-';
}

export async function reload(values: WhereValues & { json?: boolean | undefined }, host: CliHost): Promise<number> {
  const report = await ask<ReloadReport>(values, host, 'bridge/reload');
  if (values.json === true) return printJson(report, host);
  const { added, changed, removed, faults } = report;
  const changes = [
    ...added.map((name) => `+ ${name}`),
    ...changed.map((name) => `~ ${name}`),
    ...removed.map((name) => `- ${name}`),
    ...faults.map((fault) => `! ${fault}`),
  ];
  host.stdout.write(
    changes.length === 0 ? 'Nothing has changed\n' : changes.map((line) => `${printable(line)}\n`).join(''),
  );
  return DONE;
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

/** A daemon that takes no connections any more, but still has its lock, is on its way out. */
function stoppingPid(path: string): number | undefined {
  return isLocked(path) ? (notedPid(lockPathOf(path)) ?? 0) : undefined;
}

/** The daemon has ended when the kernel has given its lock back, or another one has it. */
async function untilGone(path: string, pid: number): Promise<void> {
  const deadline = performance.now() + STOP_TIMEOUT_MS;
  while (isLocked(path) && notedPid(lockPathOf(path)) === pid) {
    if (performance.now() > deadline) {
      throw new BridgeError('DAEMON_UNRESPONSIVE', `The daemon at ${path} (pid ${pid}) is still stopping`, {
        hint: 'Its log says more.',
      });
    }
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
}

function isLocked(path: string): boolean {
  if (!existsSync(lockPathOf(path))) return false;
  const lock = LockFile.take(lockPathOf(path));
  lock?.release();
  return lock === undefined;
}

function printJson(value: unknown, host: CliHost): number {
  host.stdout.write(`${JSON.stringify(value, undefined, 2)}\n`);
  return DONE;
}
