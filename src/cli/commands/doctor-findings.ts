// Findings of `doctor` besides the socket and the daemon: processes that a daemon left behind, clients that bypass the
// bridge, servers that do not start, and directories that are open to others or not writable. It creates no directory.

import { accessSync, constants, type Stats, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { ControlClient, StatusReport } from '../../client/control-client.ts';
import { fileOf, readClientConfig } from '../../editing/client-config.ts';
import { CLIENT_TARGETS } from '../../editing/client-targets.ts';
import { DEPTH_VARIABLE } from '../../local/bridge-depth.ts';
import { xdgCacheDir, xdgConfigDir } from '../../local/home-dir.ts';
import { ownUid } from '../../local/owned-path.ts';
import {
  commandLineOf,
  ownerOf,
  type RunningProcess,
  runningProcesses,
  variableOf,
} from '../../local/process-table.ts';
import { daemonLogFile, stateDir } from '../../local/state-dir.ts';
import { BridgeError, messageOf, systemCode } from '../../util/bridge-error.ts';
import { editingHostOf } from '../editing.ts';
import type { CliHost } from '../host.ts';
import { shownState } from '../render/status-view.ts';
import { counted } from '../render/table.ts';

export interface Finding {
  readonly check: string;
  readonly level: 'ok' | 'note' | 'wrong';
  readonly message: string;
  /** The next step; null if none is needed. */
  readonly remedy: string | null;
}

export const ok = (check: string, message: string): Finding => ({ check, level: 'ok', message, remedy: null });
export const note = (check: string, message: string, remedy: string): Finding => ({
  ...{ check, message, remedy },
  level: 'note',
});
export const wrong = (check: string, message: string, remedy: string | null): Finding => ({
  ...{ check, message, remedy },
  level: 'wrong',
});

const START_MS = 40_000;
/** The time limit for all servers together; servers not checked by then are listed. */
const STARTS_MS = 300_000;

/** Server processes of daemons that no longer run. Linux only. */
export function leftoverFindings({ pid: self }: CliHost): Finding[] {
  const all = new Map(runningProcesses().map((one) => [one.pid, one]));
  const groups = new Map<number, RunningProcess>();
  for (const one of all.values()) {
    if (one.pid === self || ownerOf(one.pid) !== ownUid() || variableOf(one.pid, DEPTH_VARIABLE) === undefined)
      continue;
    if (!isBelowDaemon(one, all)) groups.set(one.group, groups.get(one.group) ?? one);
  }
  if (groups.size === 0) return all.size === 0 ? [] : [ok('leftovers', 'No server has outlived its daemon')];
  return [...groups].map(([group, { pid }]) =>
    note(
      'leftovers',
      `Process ${pid} (${commandLineOf(pid).join(' ').slice(0, 80)}) was started for a bridge that is gone`,
      `If nothing else needs it: kill -- -${group}`,
    ),
  );
}

function isBelowDaemon(one: RunningProcess, all: ReadonlyMap<number, RunningProcess>): boolean {
  const seen = new Set<number>();
  for (let at = all.get(one.parent); at !== undefined && !seen.has(at.pid); at = all.get(at.parent)) {
    seen.add(at.pid);
    if (commandLineOf(at.pid).includes('serve') && variableOf(at.pid, DEPTH_VARIABLE) === undefined) return true;
  }
  return false;
}

/** Clients that start servers themselves although the bridge offers them too. */
export async function bypassFindings(offered: ReadonlySet<string>, host: CliHost): Promise<Finding[]> {
  const editing = editingHostOf(host);
  const findings = await Promise.all(
    CLIENT_TARGETS.map(async (target) => {
      try {
        const { document, ours } = await readClientConfig(target, fileOf(target, editing), editing);
        const own = [...document.entries.keys()].filter((name) => !ours.includes(name) && offered.has(name));
        if (own.length === 0) return [];
        const message = `${target.title} starts servers of its own that the bridge offers too: ${own.join(', ')}`;
        return [note('clients', message, `To have them shared: mcp-bridge install ${target.client} --replace`)];
      } catch (error) {
        if (!(error instanceof BridgeError)) throw error;
        if (error.code === 'USAGE') return []; // it does not exist on this platform
        return [note('clients', `${target.title}: ${error.message}`, error.hint ?? 'Correct its config.')];
      }
    }),
  );
  const flat = findings.flat();
  return flat.length === 0 ? [ok('clients', 'No client starts a server by itself that the bridge offers too')] : flat;
}

/** Findings about servers that the daemon has used. To check the others, they must be started. */
export function failedFindings(instances: StatusReport['instances']): Finding[] {
  const failed = new Map(instances.filter((one) => shownState(one) === 'failed').map((one) => [one.server, one]));
  return [...failed].map(([name, { lastError }]) =>
    note(
      `server ${name}`,
      lastError ?? 'It has failed',
      name.includes('@')
        ? 'It runs on another host. How that host is: mcp-bridge hosts'
        : `See: mcp-bridge logs ${name}. Whether it starts: mcp-bridge doctor --start`,
    ),
  );
}

/** Has each server started and asked for its lists, one after the other. */
export async function startFindings(names: readonly string[], client: ControlClient, cwd: string): Promise<Finding[]> {
  const findings: Finding[] = [];
  const endMs = performance.now() + STARTS_MS;
  for (const name of names) {
    const check = `server ${name}`;
    if (performance.now() > endMs) {
      findings.push(note(check, 'It was not looked at: the others have taken too long', `mcp-bridge refresh ${name}`));
      continue;
    }
    try {
      const report = await client.call('bridge/refresh', { servers: [name], cwd }, START_MS);
      const error = report.servers[0]?.error ?? null;
      const { tools } = report.servers[0] ?? { tools: null };
      findings.push(
        error === null
          ? ok(check, `It starts, and has ${counted(tools ?? 0, 'tool')}`)
          : wrong(check, error.message, error.hint || `See: mcp-bridge logs ${name}`),
      );
    } catch (error) {
      findings.push(wrong(check, messageOf(error), `Look closer: mcp-bridge refresh ${name}`));
    }
  }
  return findings;
}

const LARGE_LOG_BYTES = 64 * 1024 * 1024;

interface OwnDirectory {
  readonly check: string;
  readonly dir: string;
  /** The variable that moves it elsewhere. */
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
  // If you own it, you can grant yourself access, unless the disk is read-only.
  const remedy = refusal === 'EACCES' ? `chmod u+rwx ${dir}` : elsewhere(variable);
  return [wrong(check, `${dir} cannot be written: ${refusal}`, remedy)];
}

/** A missing directory is fine if it can be created when needed. */
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

/** The file's status, following links; or the reason why it cannot be read. */
function lookAt(path: string): Stats | string {
  try {
    return statSync(path);
  } catch (error) {
    const code = systemCode(error);
    if (code === undefined) throw error;
    return code === 'ENOENT' || code === 'ENOTDIR' ? 'absent' : code;
  }
}

/** The reason why nothing can be written there. */
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
  if (typeof stat === 'string') return []; // the finding about its directory says why
  const refusal = refusalOf(file, constants.W_OK);
  if (refusal !== undefined)
    return [wrong('log', `${file} cannot be written: ${refusal}`, 'Move it away, or have it given back to you')];
  const shown = `${file} has ${(stat.size / 1024 / 1024).toFixed(1)} MB`;
  if (stat.size <= LARGE_LOG_BYTES) return [ok('log', shown)];
  return [note('log', shown, `Read what it is full of (mcp-bridge logs), then empty it: truncate -s 0 ${file}`)];
}
