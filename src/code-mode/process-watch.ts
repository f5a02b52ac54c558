// The memory and processor time of a process and its descendants, as the kernel counts them. Linux only.

import { readFileSync } from 'node:fs';
import { expectSystemError } from '../util/expected-error.ts';

const PAGE = 4096;
const MOST_PROCESSES = 64;
/** The kernel counts in hundredths of a second on every machine. */
const TICK_MS = 10;
/** The positions of the times in `stat`, after the program's name. */
const [USER, SYSTEM] = [11, 12];

/** The resident bytes of a process and its descendants; 0 if it has gone. */
export function residentBytes(pid: number): number {
  let bytes = 0;
  for (const one of withThoseBelow(pid)) bytes += Number(textAt(`/proc/${one}/statm`).split(' ')[1] ?? 0) * PAGE;
  return bytes;
}

/** The processor time of a process and its descendants; 0 if unknown. */
export function processorMs(pid: number): number {
  let ticks = 0;
  for (const one of withThoseBelow(pid)) {
    const stat = textAt(`/proc/${one}/stat`);
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    ticks += Number(fields[USER] ?? 0) + Number(fields[SYSTEM] ?? 0);
  }
  return ticks * TICK_MS;
}

function withThoseBelow(pid: number): readonly number[] {
  const pids = [pid];
  for (let i = 0; i < pids.length && i < MOST_PROCESSES; i++)
    for (const child of textAt(`/proc/${pids[i]}/task/${pids[i]}/children`).split(' '))
      if (child !== '') pids.push(Number(child));
  return pids;
}

function textAt(path: string): string {
  try {
    return readFileSync(path, 'latin1').trim();
  } catch (error) {
    expectSystemError(error); // it has ended meanwhile
    return '';
  }
}
