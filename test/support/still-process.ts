// A process that stands still. The kernel tells its threads one after the other, so it may work on for a moment after the signal.

import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';

/** Stops a process; resolves when none of its threads runs any more. */
export async function standStill(pid: number): Promise<void> {
  process.kill(pid, 'SIGSTOP');
  const tasks = `/proc/${pid}/task`;
  const stateOf = (task: string): string | undefined =>
    /\) (\w) /.exec(readFileSync(`${tasks}/${task}/stat`, 'utf8'))?.[1];
  while (existsSync(tasks) && readdirSync(tasks).some((task) => stateOf(task) !== 'T')) await delay(1);
}
