// The daemon that runs at a path: asks it, ends it, and makes it read changes.

import { existsSync } from 'node:fs';
import { ControlClient } from '../client/control-client.ts';
import { LockFile, notedPid } from '../local/lock-file.ts';
import { lockPathOf } from '../local/socket-path.ts';
import { BridgeError } from '../util/bridge-error.ts';
import { lineFor } from './exit-code.ts';
import type { CliHost } from './host.ts';
import { locate, type WhereValues } from './locate.ts';

const POLL_MS = 20;
const STOP_TIMEOUT_MS = 30_000;

/** Asks the daemon; undefined if none runs. */
export async function askIfRunning<Result>(
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

/**
 * Ends the daemon after its open requests are answered, and waits for its end. Returns its pid; undefined if there is
 * none.
 */
export async function endDaemon(path: string, host: CliHost, reason: 'stop' | 'restart'): Promise<number | undefined> {
  const pid = await askIfRunning(path, host, async (client) => {
    const { pid, openCalls } = await client.call('bridge/stop', { reason });
    if (openCalls > 0) host.stderr.write(`mcp-bridge: calls that are still to be answered: ${openCalls}\n`);
    await client.untilClosed();
    return pid;
  });
  const holder = pid ?? stoppingPid(path);
  if (holder !== undefined) await untilGone(path, holder);
  return holder;
}

/** The pid of the daemon that has this path, if there is one. */
export async function daemonPid(path: string, host: CliHost): Promise<number | undefined> {
  const running = await askIfRunning(path, host, (client) => client.call('bridge/status'));
  return running?.pid ?? stoppingPid(path);
}

/** The pid of a daemon that accepts no connections but still holds its lock: it is ending. */
function stoppingPid(path: string): number | undefined {
  return isLocked(path) ? (notedPid(lockPathOf(path)) ?? 0) : undefined;
}

/** Waits until the kernel has released the daemon's lock, or another daemon holds it. */
async function untilGone(path: string, pid: number): Promise<void> {
  const deadline = performance.now() + STOP_TIMEOUT_MS;
  while (isLocked(path) && notedPid(lockPathOf(path)) === pid) {
    if (performance.now() > deadline) {
      throw new BridgeError('DAEMON_UNRESPONSIVE', `The daemon at ${path} (pid ${pid}) is still stopping`, {
        hint: 'See: mcp-bridge logs',
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

/**
 * Makes a running daemon read the changes before the command ends. The changes stay in any case: if the daemon does not
 * answer, a line on stderr says so, and the command does not fail.
 */
export async function reloadIfRunning(
  values: WhereValues,
  host: CliHost,
): Promise<'has looked' | 'does not run' | 'has not looked'> {
  try {
    const { path } = await locate(values, host);
    const answer = await askIfRunning(path, host, (client) => client.call('bridge/reload'));
    return answer === undefined ? 'does not run' : 'has looked';
  } catch (error) {
    if (!(error instanceof BridgeError)) throw error;
    const { code, message, hint } = error;
    const told = `It is done, but the daemon has not looked yet: ${message}`;
    host.stderr.write(lineFor(new BridgeError(code, told, hint === undefined ? {} : { hint })));
    return 'has not looked';
  }
}
