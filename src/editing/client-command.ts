// Runs a client's own command for changing its config. The bridge prefers that command, because a running client would
// write back the old file. The command runs without a shell and without stdin, within a time limit.

import { type ChildProcess, spawn } from 'node:child_process';
import { accessSync, constants, statSync } from 'node:fs';
import { delimiter, isAbsolute, join } from 'node:path';
import { expectSystemError } from '../util/expected-error.ts';
import type { EditingHost } from './editing-host.ts';

const TIMEOUT_MS = 30_000;

export type CommandOutcome =
  | { readonly kind: 'done' }
  /** The reason, without the command's output: that may hold anything. */
  | { readonly kind: 'failed'; readonly reason: string };

/** Finds a program on the PATH; undefined if it is not there. */
export function findProgram(program: string, { environment }: EditingHost): string | undefined {
  const dirs = (environment.PATH ?? '').split(delimiter).filter(isAbsolute);
  return dirs.map((dir) => join(dir, program)).find(isExecutable);
}

export function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch (error) {
    expectSystemError(error);
    return false; // A missing file and an unreadable one count the same.
  }
}

export function runClient(path: string, args: readonly string[], host: EditingHost): Promise<CommandOutcome> {
  host.before?.('run', path);
  return new Promise((resolve) => {
    const { homedir: cwd, timeoutMs = TIMEOUT_MS } = host;
    // Such a command is often a script, so it runs in its own process group: its children end with it.
    const isGroup = host.platform !== 'win32';
    const child = spawn(path, args, { stdio: 'ignore', cwd, env: { ...host.environment }, detached: isGroup });
    const timer = setTimeout(() => end(child, isGroup), timeoutMs);
    child.once('error', () => {
      clearTimeout(timer);
      resolve({ kind: 'failed', reason: 'it could not be started' });
    });
    child.once('exit', (code, signal) => {
      clearTimeout(timer);
      if (code === 0) resolve({ kind: 'done' });
      else resolve({ kind: 'failed', reason: signal === null ? `it ended with ${code}` : `it was ended by ${signal}` });
    });
  });
}

function end(child: ChildProcess, isGroup: boolean): void {
  if (!isGroup || child.pid === undefined) {
    child.kill('SIGKILL');
    return;
  }
  try {
    process.kill(-child.pid, 'SIGKILL');
  } catch (error) {
    expectSystemError(error);
    child.kill('SIGKILL'); // The process has left the group, or is gone.
  }
}
