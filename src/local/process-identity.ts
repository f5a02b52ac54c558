// Identifies a process, and tells if it still runs. A pid is reused; a pid with its boot and the start time of its
// process is not.

import { readFileSync, readlinkSync } from 'node:fs';
import { systemCode } from '../util/bridge-error.ts';
import { expectSystemError } from '../util/expected-error.ts';

export interface ProcessIdentity {
  readonly pid: number;
  /** The id of the boot in which the pid was given. */
  readonly bootId?: string | undefined;
  /** The start of the process, in ticks of the kernel since that boot. */
  readonly processStartTime?: number | undefined;
  /** The pid namespace: in a container pids are counted from the start. */
  readonly pidNamespace?: string | undefined;
}

/** The state of a process. `elsewhere`: its pid belongs to another namespace, and means nothing here. */
export type Liveness = 'alive' | 'gone' | 'elsewhere';

/** Everything known about a process; on macOS that is only its pid. */
export function identityOf(pid: number): ProcessIdentity {
  const processStartTime = statusOf(pid)?.startTime;
  if (processStartTime === undefined) return { pid };
  return { pid, bootId: bootId(), processStartTime, pidNamespace: ownNamespace() };
}

export function livenessOf({ pid, bootId: boot, processStartTime, pidNamespace }: ProcessIdentity): Liveness {
  if (boot !== undefined && bootId() !== undefined && boot !== bootId()) return 'gone';
  if (pidNamespace !== undefined && ownNamespace() !== undefined && pidNamespace !== ownNamespace()) return 'elsewhere';
  const status = statusOf(pid);
  if (status === undefined) return isThere(pid) ? 'alive' : 'gone';
  if (status.hasEnded) return 'gone';
  return processStartTime === undefined || processStartTime === status.startTime ? 'alive' : 'gone';
}

interface ProcessStatus {
  /** True for a zombie: it waits until its parent collects it. */
  readonly hasEnded: boolean;
  readonly startTime: number;
}

/** The status of a process; undefined if there is none, or without /proc. */
function statusOf(pid: number): ProcessStatus | undefined {
  const text = unlessAbsent(() => readFileSync(`/proc/${pid}/stat`, 'latin1'));
  if (text === undefined) return undefined;
  // The program's name is in parentheses, and may contain any character.
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  return { hasEnded: /^[ZXx]/.test(fields[0] ?? ''), startTime: Number(fields[19]) };
}

/** True if the process exists; another user's process counts too. */
function isThere(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return systemCode(error) === 'EPERM';
  }
}

const bootId = once(() => unlessAbsent(() => readFileSync('/proc/sys/kernel/random/boot_id', 'latin1').trim()));
const ownNamespace = once(() => unlessAbsent(() => readlinkSync('/proc/self/ns/pid')));

function once<Value>(find: () => Value): () => Value {
  let found: { readonly value: Value } | undefined;
  return () => {
    found ??= { value: find() };
    return found.value;
  };
}

/** Reads; undefined if the file is absent or may not be read. */
function unlessAbsent(read: () => string): string | undefined {
  try {
    return read();
  } catch (error) {
    expectSystemError(error);
    return undefined;
  }
}
