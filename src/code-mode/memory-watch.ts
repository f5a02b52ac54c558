// The memory of a process and of all below it, as the kernel counts it. Linux only.

import { readFileSync } from 'node:fs';
import { expectSystemError } from '../util/expected-error.ts';

const PAGE = 4096;
const MOST_PROCESSES = 64;

/** Bytes that a process and those below it have in memory; 0 for one that has gone. */
export function residentBytes(pid: number): number {
  let bytes = 0;
  const pids = [pid];
  for (let i = 0; i < pids.length && i < MOST_PROCESSES; i++) {
    const one = pids[i];
    bytes += Number(textAt(`/proc/${one}/statm`).split(' ')[1] ?? 0) * PAGE;
    for (const child of textAt(`/proc/${one}/task/${one}/children`).split(' '))
      if (child !== '') pids.push(Number(child));
  }
  return bytes;
}

function textAt(path: string): string {
  try {
    return readFileSync(path, 'latin1').trim();
  } catch (error) {
    expectSystemError(error); // it has ended meanwhile
    return '';
  }
}
