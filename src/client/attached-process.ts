// The process of a server that is offered to the bridge, and all that it starts: a group of its own, which ends with us.

import { spawn } from 'node:child_process';
import type { Readable, Writable } from 'node:stream';
import { BridgeError, systemCode } from '../util/bridge-error.ts';

const INPUT_GRACE_MS = 500;
const TERM_GRACE_MS = 3000;

export interface AttachedProcess {
  readonly stdin: Writable;
  readonly stdout: Readable;
  /** A sentence on how it ended, and whether that was well. Rejects if it could not be started. */
  readonly ended: Promise<{ readonly how: string; readonly isWell: boolean }>;
  stop(): Promise<void>;
}

export function attachProcess(
  [command = '', ...args]: readonly string[],
  options: { readonly cwd: string; readonly environment: Readonly<Record<string, string | undefined>> },
): AttachedProcess {
  const child = spawn(command, args, {
    cwd: options.cwd,
    env: { ...options.environment },
    stdio: ['pipe', 'pipe', 'inherit'],
    detached: true,
  });
  const ended = new Promise<{ how: string; isWell: boolean }>((resolve, reject) => {
    child.once('error', (error) => {
      const why = systemCode(error) === 'ENOENT' ? 'there is no such program' : (systemCode(error) ?? error.message);
      reject(new BridgeError('SERVER_START_FAILED', `${command} could not be started: ${why}`, { cause: error }));
    });
    child.once('close', (code, signal) => {
      signal === null
        ? resolve({ how: `exited with code ${code}`, isWell: code === 0 })
        : resolve({ how: `was ended by ${signal}`, isWell: false });
    });
  });
  ended.catch(() => undefined); // whoever waits for it hears of it
  const signalAll = (signal: NodeJS.Signals): void => {
    try {
      if (child.pid !== undefined) process.kill(-child.pid, signal);
    } catch (error) {
      if (systemCode(error) !== 'ESRCH') throw error;
    }
  };
  const stop = async (): Promise<void> => {
    child.stdin.end();
    const timers = [
      setTimeout(() => signalAll('SIGTERM'), INPUT_GRACE_MS),
      setTimeout(() => signalAll('SIGKILL'), INPUT_GRACE_MS + TERM_GRACE_MS),
    ];
    await ended.catch(() => undefined);
    for (const timer of timers) clearTimeout(timer);
    signalAll('SIGTERM'); // what it has left behind
  };
  return { stdin: child.stdin, stdout: child.stdout, ended, stop };
}
