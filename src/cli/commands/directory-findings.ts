// The findings of `doctor` on the bridge's own directories and on the log: whether they are this
// user's alone, and can be written. Makes none of them.

import { accessSync, constants, type Stats, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { xdgCacheDir, xdgConfigDir } from '../../local/home-dir.ts';
import { ownUid } from '../../local/owned-path.ts';
import { daemonLogFile, stateDir } from '../../local/state-dir.ts';
import { systemCode } from '../../util/bridge-error.ts';
import type { CliHost } from '../host.ts';
import { type Finding, note, ok, wrong } from './doctor-findings.ts';

const LARGE_LOG_BYTES = 64 * 1024 * 1024;

interface OwnDirectory {
  readonly check: string;
  readonly dir: string;
  /** By which it can be put elsewhere. */
  readonly variable: string;
}

export function directoryFindings({ environment, homedir }: CliHost): Finding[] {
  const { XDG_CACHE_HOME: caches, XDG_CONFIG_HOME: configs } = environment;
  const places: readonly OwnDirectory[] = [
    { check: 'state directory', dir: stateDir(environment, homedir), variable: 'XDG_STATE_HOME' },
    {
      check: 'cache directory',
      dir: join(xdgCacheDir(caches, homedir), 'mcp-bridge'),
      variable: 'XDG_CACHE_HOME',
    },
    {
      check: 'config directory',
      dir: join(xdgConfigDir(configs, homedir), 'mcp-bridge'),
      variable: 'XDG_CONFIG_HOME',
    },
  ];
  return places.flatMap(directoryFinding);
}

const elsewhere = (variable: string): string => `Set ${variable} to a directory of yours`;

function directoryFinding(place: OwnDirectory): Finding[] {
  const { check, dir, variable } = place;
  const stat = lookAt(dir);
  if (stat === 'absent') return absentFinding(place);
  if (typeof stat === 'string') return [wrong(check, `${dir} cannot be looked at: ${stat}`, elsewhere(variable))];
  const mode = (stat.mode & 0o777).toString(8).padStart(3, '0');
  if (!stat.isDirectory()) return [wrong(check, `${dir} is no directory`, 'Move it away')];
  if (stat.uid !== ownUid()) {
    const remedy = `Have it given back to you, or move it away. Or: ${elsewhere(variable)}`;
    return [wrong(check, `${dir} belongs to uid ${stat.uid}`, remedy)];
  }
  if ((stat.mode & 0o022) !== 0)
    return [wrong(check, `Others may write to ${dir} (mode ${mode})`, `chmod go-w ${dir}`)];
  const refusal = refusalOf(dir);
  if (refusal === undefined) return [ok(check, `${dir} is yours, with mode ${mode}`)];
  // What is yours and is refused all the same can be allowed, unless the disk is for reading only.
  const remedy = refusal === 'EACCES' ? `chmod u+rwx ${dir}` : elsewhere(variable);
  return [wrong(check, `${dir} cannot be written: ${refusal}`, remedy)];
}

/** It is made when it is needed, if there is a place for it. */
function absentFinding({ check, dir, variable }: OwnDirectory): Finding[] {
  let parent = dirname(dir);
  let stat = lookAt(parent);
  while (stat === 'absent' && parent !== dirname(parent)) {
    parent = dirname(parent);
    stat = lookAt(parent);
  }
  const why =
    typeof stat === 'string'
      ? `${parent} cannot be looked at: ${stat}`
      : stat.isDirectory()
        ? withRefusal(parent, refusalOf(parent))
        : `${parent} is no directory`;
  return why === undefined ? [] : [wrong(check, `${dir} cannot be made: ${why}`, elsewhere(variable))];
}

function withRefusal(parent: string, refusal: string | undefined): string | undefined {
  return refusal && `${parent} cannot be written: ${refusal}`;
}

/** The file that is there, a link followed; or why that cannot be told. */
function lookAt(path: string): Stats | string {
  try {
    return statSync(path);
  } catch (error) {
    const code = systemCode(error);
    if (code === undefined) throw error;
    return code === 'ENOENT' || code === 'ENOTDIR' ? 'absent' : code;
  }
}

/** Why nothing can be put there. */
function refusalOf(path: string, mode = constants.R_OK | constants.W_OK | constants.X_OK): string | undefined {
  try {
    accessSync(path, mode);
    return undefined;
  } catch (error) {
    const code = systemCode(error);
    if (code === undefined) throw error;
    return code;
  }
}

export function logFindings({ environment, homedir }: CliHost): Finding[] {
  const file = daemonLogFile(environment, homedir);
  const stat = lookAt(file);
  if (typeof stat === 'string') return []; // its directory says why
  const refusal = refusalOf(file, constants.W_OK);
  if (refusal !== undefined)
    return [wrong('log', `${file} cannot be written: ${refusal}`, 'Move it away, or have it given back to you')];
  const shown = `${file} has ${(stat.size / 1024 / 1024).toFixed(1)} MB`;
  if (stat.size <= LARGE_LOG_BYTES) return [ok('log', shown)];
  return [note('log', shown, `Read what it is full of (mcp-bridge logs), then empty it: truncate -s 0 ${file}`)];
}
