// Whether there are descriptors to start a process with. Node opens the pipes of a child first, and where one more cannot be
// had it says so and never closes those that it has got: so one looks before.

import { closeSync, openSync } from 'node:fs';
import { systemCode } from '../util/bridge-error.ts';

/** Three pipes, each with two ends, and the one by which a child says that it runs. */
const OF_A_CHILD = 8;

export function hasDescriptorsForChild(): boolean {
  const taken: number[] = [];
  try {
    while (taken.length < OF_A_CHILD) taken.push(openSync('/dev/null', 'r'));
    return true;
  } catch (error) {
    if (systemCode(error) === undefined) throw error;
    return false;
  } finally {
    for (const fd of taken) closeSync(fd);
  }
}
