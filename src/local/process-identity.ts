// Which process is meant, and whether it still runs. A pid comes back for other processes: with the boot that it was
// given in, and the moment that its process began, it does not.

import { readFileSync, readlinkSync } from 'node:fs';
import { systemCode } from '../util/bridge-error.ts';
import { expectSystemError } from '../util/expected-error.ts';

export interface ProcessIdentity {
  readonly pid: number;
  /** The id of the boot in which the pid was given. */
  readonly bootId?: string | undefined;
  /** In ticks of the kernel since then. */
  readonly processStartTime?: number | undefined;
  /** In a container pids are counted from the start. */
  readonly pidNamespace?: string | undefined;
}

/** `elsewhere`: its pid is one of another namespace, and says nothing here. */
export type Liveness = 'alive' | 'gone' | 'elsewhere';

/** All that is known of a process; on macOS that is its pid only. */
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
  /** It waits for its parent to hear of it. */
  readonly hasEnded: boolean;
  readonly startTime: number;
}

/** Undefined if there is none, or where there is no /proc. */
function statusOf(pid: number): ProcessStatus | undefined {
  const text = unlessAbsent(() => readFileSync(`/proc/${pid}/stat`, 'latin1'));
  if (text === undefined) return undefined;
  // The program's name is in parentheses, and may have anything in it.
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  return { hasEnded: /^[ZXx]/.test(fields[0] ?? ''), startTime: Number(fields[19]) };
}

/** One that belongs to somebody else is there too. */
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

/** Returns undefined for what may not be read: it is as good as absent. */
function unlessAbsent(read: () => string): string | undefined {
  try {
    return read();
  } catch (error) {
    expectSystemError(error);
    return undefined;
  }
}
