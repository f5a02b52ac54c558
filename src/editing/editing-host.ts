// This room's view of its process, and the room's two directories: records of installations, and copies of old files.
// Only this user can read them.

import { join } from 'node:path';
import { type Machine, machineAt } from '../discovery/machine.ts';
import { LockFile } from '../local/lock-file.ts';
import { ensurePrivateTree } from '../local/private-file.ts';
import { stateDir } from '../local/state-dir.ts';
import { BridgeError } from '../util/bridge-error.ts';
import { type ConfigFile, replaceConfigFile } from './config-file.ts';

/** The step that comes right after the call of `before`. */
type Step = 'record' | 'replace' | 'rename' | 'run';

export interface EditingHost {
  readonly platform: string;
  readonly homedir: string;
  readonly cwd: string;
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** The Node that runs this program, and the program's file: a client's entry starts these. */
  readonly node: string;
  readonly program: string;
  now(): Date;
  /** URLs at which this bridge takes clients over HTTP. */
  readonly endpoints?: readonly string[];
  /** The time limit of a client's own command; tests set a shorter one. */
  readonly timeoutMs?: number;
  /** Called before each step. Tests stop here, or act as somebody else would at that moment. */
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

/** Runs one editing command at a time: two at once would undo each other's changes. */
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

/** Replaces the file. Returns the directories that it had to make. */
export function replace(file: ConfigFile, bytes: Buffer | undefined, host: EditingHost): string[] {
  host.before?.('replace', file.path);
  return replaceConfigFile(file, bytes, () => host.before?.('rename', file.path));
}
