// The home of a demonstration: a directory with its configs, its sockets, and everything that its daemons store.

import { mkdtempSync, realpathSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { BridgeError, systemCode } from '../../../util/bridge-error.ts';
import type { CliHost } from '../../host.ts';

/** The variables that programs need from this process. None concern a bridge above us. */
const PASSED_ON = ['PATH', 'LANG', 'LC_ALL', 'NODE_OPTIONS', 'TMPDIR'];

export function freshDir(): string {
  try {
    return realpathSync(mkdtempSync(join(tmpdir(), 'mcp-bridge-demo-')));
  } catch (error) {
    throw new BridgeError('FILE_UNUSABLE', `No directory can be made in ${tmpdir()}: ${systemCode(error)}`, {
      hint: 'Set TMPDIR to a directory that is there and that you may write to.',
      cause: error,
    });
  }
}

/** The environment that keeps all files in this directory. */
export function environmentIn(dir: string, environment: CliHost['environment']): Record<string, string> {
  const passed = PASSED_ON.flatMap((name) => {
    const value = environment[name];
    return value === undefined ? [] : [[name, value] as const];
  });
  return {
    ...Object.fromEntries(passed),
    ...{ HOME: dir, XDG_CONFIG_HOME: join(dir, 'config'), XDG_STATE_HOME: join(dir, 'state') },
    ...{ XDG_CACHE_HOME: join(dir, 'cache'), XDG_DATA_HOME: join(dir, 'data'), XDG_RUNTIME_DIR: dir },
  };
}
