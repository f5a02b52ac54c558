// Whether there are descriptors to start a process with. Node opens the pipes of a child first, and where one more cannot be
// had it says so and never closes those that it has got: so one looks before.

import { closeSync, openSync } from 'node:fs';
import { systemCode } from '../util/bridge-error.ts';

/** Three pipes, each with two ends, the one by which a child says that it runs, and those of the guard that is told of it. */
const OF_A_CHILD = 12;

/** Throws as the system does. */
export function checkDescriptors(): void {
  const taken: number[] = [];
  try {
    while (taken.length < OF_A_CHILD) taken.push(openSync('/dev/null', 'r'));
  } catch (error) {
    const code = systemCode(error);
    if (code === undefined || code === 'EMFILE' || code === 'ENFILE') throw error; // others say nothing of descriptors
  } finally {
    for (const fd of taken) closeSync(fd);
  }
}
