// What `doctor` looks at besides the socket and the daemon: the directories, the log, processes that a daemon has left behind,
// clients that go past the bridge, and whether each server starts.

import { accessSync, constants, statSync } from 'node:fs';
import { join } from 'node:path';
import type { ControlClient, RefreshReport } from '../client/control-client.ts';
import { fileOf, readClientConfig } from '../editing/client-config.ts';
import { CLIENT_TARGETS } from '../editing/client-targets.ts';
import { DEPTH_VARIABLE } from '../local/bridge-depth.ts';
import { xdgCacheDir, xdgConfigDir } from '../local/home-dir.ts';
import { ownUid, statOf } from '../local/owned-path.ts';
import { commandLineOf, ownerOf, type RunningProcess, runningProcesses, variableOf } from '../local/process-table.ts';
import { stateDir } from '../local/state-dir.ts';
import { BridgeError, messageOf } from '../util/bridge-error.ts';
import { editingHostOf } from './editing.ts';
import type { CliHost } from './host.ts';

export interface Finding {
  readonly check: string;
  readonly level: 'ok' | 'note' | 'wrong';
  readonly message: string;
  /** What to do about it; null if nothing need be done. */
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

const LARGE_LOG_BYTES = 64 * 1024 * 1024;
const START_MS = 40_000;
/** For all servers together; what is not looked at by then is told. */
const STARTS_MS = 300_000;

export function directoryFindings({ environment, homedir }: CliHost): Finding[] {
  const places = [
    ['state', stateDir(environment, homedir)],
    ['cache', join(xdgCacheDir(environment.XDG_CACHE_HOME, homedir), 'mcp-bridge')],
    ['config', join(xdgConfigDir(environment.XDG_CONFIG_HOME, homedir), 'mcp-bridge')],
  ] as const;
  return places.flatMap(([what, dir]) => directoryFinding(`${what} directory`, dir));
}

function directoryFinding(check: string, dir: string): Finding[] {
  const stat = statOf(dir);
  if (stat === undefined) return [];
  const mode = (stat.mode & 0o777).toString(8).padStart(3, '0');
  if (!stat.isDirectory() && !stat.isSymbolicLink()) return [wrong(check, `${dir} is no directory`, 'Move it away')];
  const { uid, mode: real } = statSync(dir, { throwIfNoEntry: false }) ?? stat;
  if (uid !== ownUid())
    return [wrong(check, `${dir} belongs to uid ${uid}`, 'Have it given back to you, or move it away')];
  if ((real & 0o022) !== 0) return [wrong(check, `Others may write to ${dir} (mode ${mode})`, `chmod go-w ${dir}`)];
  try {
    accessSync(dir, constants.R_OK | constants.W_OK | constants.X_OK);
  } catch {
    return [wrong(check, `${dir} cannot be written`, `chmod u+rwx ${dir}`)];
  }
  return [ok(check, `${dir} is yours, with mode ${mode}`)];
}

export function logFindings({ environment, homedir }: CliHost): Finding[] {
  const file = join(stateDir(environment, homedir), 'daemon.log');
  const size = statOf(file)?.size;
  if (size === undefined) return [];
  const shown = `${file} has ${(size / 1024 / 1024).toFixed(1)} MB`;
  if (size <= LARGE_LOG_BYTES) return [ok('log', shown)];
  return [note('log', shown, `Read what it is full of, then empty it: truncate -s 0 ${file}`)];
}

/** Processes that some daemon has started as servers, and that no daemon is there for any more. Linux only. */
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

/** Clients that start servers by themselves which the bridge offers too. */
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
        return [note('clients', `${target.title}: ${error.message}`, error.hint ?? 'Mend its config.')];
      }
    }),
  );
  const flat = findings.flat();
  return flat.length === 0 ? [ok('clients', 'No client starts servers that the bridge offers')] : flat;
}

/** Each is had started and asked for what it has, one after the other. */
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
      const report = await client.call<RefreshReport>('bridge/refresh', { servers: [name], cwd }, START_MS);
      const error = report.servers[0]?.error ?? null;
      const { tools } = report.servers[0] ?? { tools: null };
      findings.push(
        error === null
          ? ok(check, `It starts, and has ${tools ?? 0} tools`)
          : wrong(check, error.message, error.hint || 'See its log.'),
      );
    } catch (error) {
      findings.push(wrong(check, messageOf(error), `Look closer: mcp-bridge refresh ${name}`));
    }
  }
  return findings;
}
