// Starts a daemon in the background and waits until it takes connections. If many programs do this at once, one starts
// the daemon and the others wait for it. If two start one all the same, the path's lock lets only one live.

import { spawn } from 'node:child_process';
import { closeSync, existsSync, openSync, readSync, statSync } from 'node:fs';
import type { Socket } from 'node:net';
import { dirname, join } from 'node:path';
import pRetry from 'p-retry';
import { putAsideLog } from '../local/bounded-log.ts';
import { LockFile } from '../local/lock-file.ts';
import { makeTree } from '../local/private-file.ts';
import { daemonLogFile } from '../local/state-dir.ts';
import { BridgeError, systemCode } from '../util/bridge-error.ts';
import { openBridgeSocket } from './bridge-socket.ts';

export interface StartOptions {
  readonly path: string;
  /** The command that runs `mcp-bridge`, and the arguments for `serve`. */
  readonly program: string;
  readonly serveArgs: readonly string[];
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly homedir: string;
  /** Opens a connection; by default a plain one. */
  readonly open?: ((path: string) => Promise<Socket>) | undefined;
}

/** The retries from spawning a daemon to its first connection: some 10 s in all, beginning with steps of 20 ms. */
const CONNECT_RETRIES = { retries: 24, minTimeout: 20, maxTimeout: 1000, factor: 1.5 };
/** The retries while a daemon is still ending, which may take as long as its calls do. */
const START_RETRIES = { retries: 60, minTimeout: 100, maxTimeout: 500, factor: 1.5, maxRetryTime: 30_000 };
const TAIL_BYTES = 4000;
/** The interval at which waiting programs look for another program's daemon. */
const LOOK_MS = 10;
/** A process that takes longer to start a daemon was stopped halfway: nobody waits for it any more. */
const PATIENCE_MS = 15_000;

/** Returns a connection to the daemon that now runs, and its log file. */
export async function startDaemon(
  options: StartOptions,
  patienceMs: number = PATIENCE_MS,
): Promise<{ socket: Socket; logFile: string }> {
  const logFile = daemonLogFile(options.environment, options.homedir);
  const socket = await pRetry(() => startAlone(options, logFile, patienceMs), {
    ...START_RETRIES,
    shouldRetry: ({ error }) => error instanceof BridgeError && error.code === 'DAEMON_ALREADY_RUNNING',
  });
  return { socket, logFile };
}

/** Starts a daemon alone. The others wait, because each started process costs more than all their waiting. */
async function startAlone(options: StartOptions, logFile: string, patienceMs: number): Promise<Socket> {
  const name = options.path.replace(/[^\w.-]/g, '_').slice(-200);
  makeDir(logFile);
  const lockFile = join(dirname(logFile), `start-${name}.lock`);
  const deadline = performance.now() + patienceMs;
  for (;;) {
    const lock = LockFile.take(lockFile);
    try {
      const running = await openIfRunning(options);
      if (running !== undefined) return running;
      if (lock !== undefined || performance.now() >= deadline) return await startOnce(options, logFile);
    } finally {
      lock?.release();
    }
    await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
  }
}

async function openIfRunning({ path, open = openBridgeSocket }: StartOptions): Promise<Socket | undefined> {
  try {
    return await open(path);
  } catch (error) {
    if (error instanceof BridgeError && error.code === 'DAEMON_NOT_RUNNING') return undefined;
    throw error;
  }
}

async function startOnce(options: StartOptions, logFile: string): Promise<Socket> {
  if (!existsSync(options.program))
    throw new BridgeError('DAEMON_START_FAILED', `The daemon cannot be started: ${options.program} has gone`, {
      hint: 'Is mcp-bridge being installed? Else install it again.',
    });
  putAsideLog(logFile); // daemons that fail too early to rotate it write there too
  const log = openLog(logFile);
  const sizeBefore = statSync(logFile).size;
  let hasExited = false;
  // The child gets none of our open files, or `$(mcp-bridge start)` would wait for the daemon's end.
  const args = [options.program, 'serve', '--mcp-bridge-socket', options.path, ...options.serveArgs];
  const child = spawn(process.execPath, args, {
    detached: true,
    stdio: ['ignore', 'ignore', log],
    env: { ...options.environment },
    cwd: existsSync(options.homedir) ? options.homedir : '/', // no project's directory stays in use
  });
  closeSync(log);
  const exited = (): void => {
    hasExited = true;
  };
  child.once('exit', exited).once('error', exited);
  child.unref();
  try {
    const { path, open = openBridgeSocket } = options;
    return await pRetry(() => open(path), {
      ...CONNECT_RETRIES,
      // If our daemon exited, it has lost to another one, which may not be ready yet, or it has failed for good.
      shouldRetry: ({ error, attemptNumber }) =>
        error instanceof BridgeError && error.code === 'DAEMON_NOT_RUNNING' && (!hasExited || attemptNumber < 6),
    });
  } catch (error) {
    if (error instanceof BridgeError && error.code !== 'DAEMON_NOT_RUNNING') throw error;
    throw startError(tailOf(logFile, sizeBefore), logFile, error);
  }
}

function makeDir(logFile: string): void {
  try {
    makeTree(dirname(logFile), 0o700);
  } catch (error) {
    throw logError(logFile, error);
  }
}

function openLog(logFile: string): number {
  try {
    return openSync(logFile, 'a', 0o600);
  } catch (error) {
    throw logError(logFile, error);
  }
}

function logError(logFile: string, error: unknown): BridgeError {
  const why = systemCode(error) ?? 'unknown error';
  return new BridgeError('DAEMON_START_FAILED', `Cannot write the daemon's log ${logFile}: ${why}`, {
    cause: error,
    hint: 'Set XDG_STATE_HOME to a directory of yours.',
  });
}

function startError(said: string, logFile: string, cause: unknown): BridgeError {
  if (said.includes('Another daemon')) return new BridgeError('DAEMON_ALREADY_RUNNING', said, { cause });
  return new BridgeError('DAEMON_START_FAILED', `The daemon did not start${said === '' ? '' : `: ${said}`}`, {
    cause,
    hint: `Try it in the foreground with: mcp-bridge serve. Its log is ${logFile}`,
  });
}

/** Returns the last error, or the last line, of a log behind `from`: a failed start ends with it. */
function tailOf(file: string, from: number): string {
  const fd = openSync(file, 'r');
  const size = statSync(file).size;
  const start = Math.max(size < from ? 0 : from, size - TAIL_BYTES); // the log may have been put aside meanwhile
  const tail = Buffer.alloc(Math.max(0, size - start));
  readSync(fd, tail, 0, tail.length, start);
  closeSync(fd);
  const lines = tail.toString().trim().split('\n');
  return lines.findLast((line) => line.startsWith('mcp-bridge:'))?.replace('mcp-bridge: ', '') ?? lines.at(-1) ?? '';
}
