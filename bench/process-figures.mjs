// What the kernel says of a process: CPU time on the scheduler's clock, memory, and what it started.
// Linux only; elsewhere the figures are undefined, and the bench says so instead of guessing.
import { readdirSync, readFileSync } from 'node:fs';

const NS_PER_TICK = 10_000_000; // USER_HZ is 100 on every Linux that Node runs on

function contentsOf(file) {
  try {
    return readFileSync(file, 'latin1');
  } catch {
    return undefined; // No /proc, or the process is gone.
  }
}

/** CPU time of all threads of a process that live, in ns; undefined if there is no telling. */
export function cpuNs(pid) {
  return cpuNsOfThreads(pid) ?? cpuNsInTicks(pid);
}

function cpuNsOfThreads(pid) {
  try {
    const threads = readdirSync(`/proc/${pid}/task`);
    const each = threads.map((thread) => Number(contentsOf(`/proc/${pid}/task/${thread}/schedstat`)?.split(' ')[0]));
    const sum = each.reduce((total, ns) => total + ns, 0);
    return Number.isFinite(sum) && sum > 0 ? sum : undefined;
  } catch {
    return undefined; // No /proc, or the process is gone.
  }
}

function cpuNsInTicks(pid) {
  const stat = contentsOf(`/proc/${pid}/stat`);
  if (stat === undefined) return undefined;
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11]) + Number(fields[12])) * NS_PER_TICK;
}

/** Resident memory, and the share of it that counts when pages are shared, in KiB. */
export function memoryKib(pid) {
  const rollup = contentsOf(`/proc/${pid}/smaps_rollup`);
  return { rss: kibOf(rollup, 'Rss'), pss: kibOf(rollup, 'Pss') };
}

/** The most that was ever resident, in KiB. */
export function peakRssKib(pid) {
  return kibOf(contentsOf(`/proc/${pid}/status`), 'VmHWM');
}

/** Memory that this process alone has and no file backs, in KiB: a further one of the same program costs this much more. */
export const privateKib = (pid) => kibOf(contentsOf(`/proc/${pid}/status`), 'RssAnon') ?? Number.NaN;

export function openDescriptorLimit() {
  const line = /^Max open files\s+(\d+)/m.exec(contentsOf('/proc/self/limits') ?? '');
  return line === null ? undefined : Number(line[1]);
}

/** A process and all that it started, directly or not. */
export function treeOf(root) {
  const childrenOf = childrenByParent();
  const tree = [root];
  for (const pid of tree) tree.push(...(childrenOf.get(pid) ?? []));
  return tree;
}

function childrenByParent() {
  const children = new Map();
  for (const pid of runningPids()) {
    const parent = parentOf(pid);
    children.set(parent, [...(children.get(parent) ?? []), pid]);
  }
  return children;
}

const runningPids = () => readdirSync('/proc').map(Number).filter(Number.isInteger);

function parentOf(pid) {
  const stat = contentsOf(`/proc/${pid}/stat`) ?? '';
  return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]);
}

/** The program that Node, or another interpreter, was started with. */
export const programOf = (pid) => argumentsOf(pid)[1];

/** The command line of a process; empty if it has gone. */
export const argumentsOf = (pid) => contentsOf(`/proc/${pid}/cmdline`)?.split('\0') ?? [];

/** Those that are the bench's server themselves, and not a shell that has it as a child. */
export const echoServersAmong = (pids) => pids.filter((pid) => programOf(pid)?.endsWith('echo-server.mjs') === true);

/** The proportional memory of all of them, in MiB. */
export const pssMib = (pids) => pids.reduce((sum, pid) => sum + (memoryKib(pid).pss ?? Number.NaN), 0) / 1024;

function kibOf(text, key) {
  const line = new RegExp(`^${key}:\\s+(\\d+)`, 'm').exec(text ?? '');
  return line === null ? undefined : Number(line[1]);
}
