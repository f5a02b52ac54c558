// Signals to a process of ours and all that it has started.

import { systemCode } from '../util/bridge-error.ts';

/** Whether there was anyone left to get the signal. `leader` leads the group; undefined if it never ran. */
export function signalGroup(leader: number | undefined, signal: NodeJS.Signals): boolean {
  if (leader === undefined) return false;
  try {
    return process.kill(-leader, signal);
  } catch (error) {
    if (systemCode(error) === 'ESRCH' || systemCode(error) === 'EPERM') return false;
    throw error;
  }
}
