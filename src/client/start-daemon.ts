// Starts a daemon in the background and waits until it takes connections. However many do this at once, the path's
// lock lets one of their daemons live, and all of them wait for that one.

import { spawn } from 'node:child_process';
import { closeSync, mkdirSync, openSync, readSync, statSync } from 'node:fs';
import type { Socket } from 'node:net';
import { dirname, join } from 'node:path';
import pRetry from 'p-retry';
import { BridgeError } from '../util/bridge-error.ts';
import { openBridgeSocket } from './bridge-socket.ts';

export interface StartOptions {
  readonly path: string;
  /** The command that runs `mcp-bridge`, and what to pass on to `serve`. */
  readonly program: string;
  readonly serveArgs: readonly string[];
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly homedir: string;
}

/** Some 10 s in all, beginning with steps of 20 ms. */
const RETRIES = 24;
const FIRST_WAIT_MS = 20;
const LONGEST_WAIT_MS = 1000;
const TAIL_BYTES = 2000;

function stateDir(options: Pick<StartOptions, 'environment' | 'homedir'>): string {
  return join(options.environment.XDG_STATE_HOME || join(options.homedir, '.local', 'state'), 'mcp-bridge');
}

/** A connection to the daemon that now runs, and where that one logs. */
export async function startDaemon(options: StartOptions): Promise<{ socket: Socket; logFile: string }> {
  const logFile = join(stateDir(options), 'daemon.log');
  mkdirSync(dirname(logFile), { recursive: true, mode: 0o700 });
  const log = openSync(logFile, 'a', 0o600);
  const sizeBefore = statSync(logFile).size;
  let hasExited = false;
  // Nothing of ours stays open in it, or `$(mcp-bridge start)` would wait for the daemon's end.
  const child = spawn(
    process.execPath,
    [options.program, 'serve', '--mcp-bridge-socket', options.path, ...options.serveArgs],
    { detached: true, stdio: ['ignore', 'ignore', log], env: { ...options.environment }, cwd: process.cwd() },
  );
  closeSync(log);
  child.once('exit', () => {
    hasExited = true;
  });
  child.unref();
  try {
    const socket = await pRetry(() => openBridgeSocket(options.path), {
      retries: RETRIES,
      minTimeout: FIRST_WAIT_MS,
      maxTimeout: LONGEST_WAIT_MS,
      factor: 1.5,
      // A daemon of ours that exited has lost to another one, which may still be on its way, or has failed for good.
      shouldRetry: ({ error, attemptNumber }) =>
        error instanceof BridgeError && error.code === 'DAEMON_NOT_RUNNING' && (!hasExited || attemptNumber < 8),
    });
    return { socket, logFile };
  } catch (error) {
    if (error instanceof BridgeError && error.code !== 'DAEMON_NOT_RUNNING') throw error;
    const said = tailOf(logFile, sizeBefore);
    throw new BridgeError('DAEMON_START_FAILED', `The daemon did not start${said === '' ? '' : `: ${said}`}`, {
      cause: error,
      hint: `Try it in the foreground with: mcp-bridge serve. Its log is ${logFile}`,
    });
  }
}

/** What was logged since: its last line, as that is where a start that fails ends. */
function tailOf(file: string, from: number): string {
  const fd = openSync(file, 'r');
  const size = statSync(file).size;
  const start = Math.max(from, size - TAIL_BYTES);
  const tail = Buffer.alloc(Math.max(0, size - start));
  readSync(fd, tail, 0, tail.length, start);
  closeSync(fd);
  const lines = tail.toString().trim().split('\n');
  return lines.find((line) => line.startsWith('mcp-bridge:'))?.replace('mcp-bridge: ', '') ?? lines.at(-1) ?? '';
}
