// What this room is told of the process that it runs in, and the two directories of its own: records of what was
// installed, and copies of what was there before. Both are this user's alone.

import { join } from 'node:path';
import { type Machine, machineAt } from '../discovery/machine.ts';
import { LockFile } from '../local/lock-file.ts';
import { ensurePrivateTree } from '../local/private-file.ts';
import { stateDir } from '../local/state-dir.ts';
import { BridgeError } from '../util/bridge-error.ts';
import { type ConfigFile, replaceConfigFile } from './config-file.ts';

/** The step that follows when `before` is called. */
type Step = 'record' | 'replace' | 'rename' | 'run';

export interface EditingHost {
  readonly platform: string;
  readonly homedir: string;
  readonly cwd: string;
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** The Node that runs this program, and the file that it runs: what a client is told to start. */
  readonly node: string;
  readonly program: string;
  now(): Date;
  /** URLs at which this bridge takes clients over HTTP. */
  readonly endpoints?: readonly string[];
  /** The time that a client's own command is given; tests give less. */
  readonly timeoutMs?: number;
  /** Tests stop here, or do what somebody else could do at that moment. */
  before?(step: Step, path: string): void;
}

export function machineOfHost({ platform, homedir, cwd, environment }: EditingHost): Machine {
  const known = platform === 'darwin' || platform === 'win32' ? platform : 'linux';
  return machineAt({ platform: known, homedir, cwd, env: environment }, cwd);
}

function stateOf({ environment, homedir }: EditingHost): string {
  return stateDir(environment, homedir);
}

export function recordsDir(host: EditingHost): string {
  return join(stateOf(host), 'installs');
}

export function backupsDir(host: EditingHost): string {
  return join(stateOf(host), 'backups');
}

/** Two of these commands at once would each write back what the other one has changed. */
export async function alone<Result>(host: EditingHost, task: () => Promise<Result>): Promise<Result> {
  ensurePrivateTree(recordsDir(host));
  const lock = LockFile.take(join(recordsDir(host), 'lock'));
  if (lock === undefined) {
    throw new BridgeError('FILE_UNUSABLE', 'Another mcp-bridge is changing config files', {
      hint: 'Try again when it is done.',
    });
  }
  try {
    return await task();
  } finally {
    lock.release();
  }
}

/** The directories that were made for it. */
export function replace(file: ConfigFile, bytes: Buffer | undefined, host: EditingHost): string[] {
  host.before?.('replace', file.path);
  return replaceConfigFile(file, bytes, () => host.before?.('rename', file.path));
}
