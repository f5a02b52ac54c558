// The processes of this machine, as Linux shows them in /proc; empty elsewhere.

import { readdirSync, readFileSync, statSync } from 'node:fs';
import { systemCode } from '../util/bridge-error.ts';

export interface RunningProcess {
  readonly pid: number;
  readonly parent: number;
  /** The group that signals go to, by the pid of its leader. */
  readonly group: number;
}

/** The processes of this machine, without zombies. */
export function runningProcesses(): RunningProcess[] {
  const names = orNothing(() => readdirSync('/proc')) ?? [];
  return names.filter((name) => /^\d+$/.test(name)).flatMap((name) => processOf(Number(name)) ?? []);
}

function processOf(pid: number): RunningProcess | undefined {
  const text = orNothing(() => readFileSync(`/proc/${pid}/stat`, 'latin1'));
  if (text === undefined) return undefined;
  // The program's name is in parentheses, and may contain any character.
  const [state = '', parent, group] = text.slice(text.lastIndexOf(')') + 2).split(' ');
  return /^[ZXx]/.test(state) ? undefined : { pid, parent: Number(parent), group: Number(group) };
}

/** The resident memory of a process. */
function residentBytesOf(pid: number): number | undefined {
  const text = orNothing(() => readFileSync(`/proc/${pid}/status`, 'latin1'));
  const kilobytes = /^VmRSS:\s+(\d+) kB$/m.exec(text ?? '')?.[1];
  return kilobytes === undefined ? undefined : Number(kilobytes) * 1024;
}

/** The resident memory of each group: a server may be `npx`, and the process that matters is its child. */
export function residentBytesOfGroups(groups: ReadonlySet<number>): Map<number, number> {
  const sums = new Map<number, number>();
  if (groups.size === 0) return sums;
  for (const { pid, group } of runningProcesses()) {
    if (!groups.has(group)) continue;
    sums.set(group, (sums.get(group) ?? 0) + (residentBytesOf(pid) ?? 0));
  }
  return sums;
}

/** A variable from the start of a process of this user. */
export function variableOf(pid: number, name: string): string | undefined {
  const text = orNothing(() => readFileSync(`/proc/${pid}/environ`, 'latin1'));
  const entry = text?.split('\0').find((variable) => variable.startsWith(`${name}=`));
  return entry?.slice(name.length + 1);
}

/** The command line of a process. */
export function commandLineOf(pid: number): readonly string[] {
  return (
    orNothing(() => readFileSync(`/proc/${pid}/cmdline`, 'utf8'))
      ?.split('\0')
      .filter(Boolean) ?? []
  );
}

export function ownerOf(pid: number): number | undefined {
  return orNothing(() => statSync(`/proc/${pid}`).uid);
}

/** Reads; undefined on failure. A process may end at any moment, and another user's process shows little. */
function orNothing<Result>(read: () => Result): Result | undefined {
  try {
    return read();
  } catch (error) {
    if (['ENOENT', 'ESRCH', 'EACCES', 'EPERM'].includes(systemCode(error) ?? '')) return undefined;
    throw error;
  }
}
