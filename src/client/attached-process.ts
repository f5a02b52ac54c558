// The process of a server that is offered to the bridge, and all that it starts: a group of its own, which ends with us.

import { spawn } from 'node:child_process';
import { constants } from 'node:os';
import type { Readable, Writable } from 'node:stream';
import { BridgeError, systemCode } from '../util/bridge-error.ts';

const INPUT_GRACE_MS = 500;
const TERM_GRACE_MS = 3000;
/** What it has said last is still in its pipe; who holds that open beyond its end is not waited for. */
const OUTPUT_GRACE_MS = 200;
/** As shells say it of what a signal has ended. */
const SIGNALLED = 128;

interface Ending {
  /** A sentence on it, without its subject. */
  readonly how: string;
  /** As a shell would have it. */
  readonly code: number;
}

export interface AttachedProcess {
  readonly stdin: Writable;
  readonly stdout: Readable;
  /** Resolves when it runs. Rejects if it could not be started. */
  readonly started: Promise<void>;
  /** Resolves when it has ended; never if it could not be started. */
  readonly ended: Promise<Ending>;
  hasEnded(): boolean;
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
  const started = new Promise<void>((resolve, reject) => {
    child.once('spawn', resolve);
    child.once('error', (error) => reject(startError(command, error)));
  });
  started.catch(() => undefined); // whoever waits for it hears of it
  const ended = new Promise<Ending>((resolve) => {
    child.once('exit', (code, signal) => {
      const ending = endingOf(code, signal);
      child.once('close', () => resolve(ending));
      setTimeout(() => resolve(ending), OUTPUT_GRACE_MS);
    });
  });
  const signalAll = (signal: NodeJS.Signals): void => {
    try {
      if (child.pid !== undefined) process.kill(-child.pid, signal);
    } catch (error) {
      if (systemCode(error) !== 'ESRCH') throw error;
    }
  };
  const stop = async (): Promise<void> => {
    if (child.pid === undefined) return;
    child.stdin.end();
    const timers = [
      setTimeout(() => signalAll('SIGTERM'), INPUT_GRACE_MS),
      setTimeout(() => signalAll('SIGKILL'), INPUT_GRACE_MS + TERM_GRACE_MS),
    ];
    await ended;
    for (const timer of timers) clearTimeout(timer);
    signalAll('SIGTERM'); // what it has left behind
  };
  const hasEnded = (): boolean => child.exitCode !== null || child.signalCode !== null;
  return { stdin: child.stdin, stdout: child.stdout, started, ended, hasEnded, stop };
}

function endingOf(code: number | null, signal: NodeJS.Signals | null): Ending {
  if (signal !== null) return { how: `was ended by ${signal}`, code: SIGNALLED + constants.signals[signal] };
  return { how: `exited with code ${code}`, code: code ?? 0 };
}

function startError(command: string, error: Error): BridgeError {
  const code = systemCode(error);
  const isAbsent = code === 'ENOENT';
  const why = isAbsent ? 'there is no such program' : (code ?? error.message);
  return new BridgeError('SERVER_START_FAILED', `${command} could not be started: ${why}`, {
    hint: isAbsent ? 'Name it by its path, or see whether it is on the PATH.' : 'Is it a program that you may run?',
    cause: error,
  });
}
