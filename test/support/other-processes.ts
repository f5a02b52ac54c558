// Processes of a test's own, which run, have ended, or have ended without anybody having heard of it.

import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { onTestFinished } from 'vitest';

/** One that does nothing until the test is over. */
export function idleProcess(): ChildProcess & { readonly pid: number } {
  const child = spawn('sleep', ['600'], { stdio: 'ignore' });
  onTestFinished(() => void child.kill('SIGKILL'));
  return child as ChildProcess & { readonly pid: number };
}

export function deadPid(): number {
  return spawnSync('true').pid;
}

/** Of one that has ended, and whose parent does not ask for it. */
export async function zombiePid(): Promise<number> {
  const parent = spawn('sh', ['-c', 'sleep 0.1 & echo $!; exec sleep 600'], { stdio: ['ignore', 'pipe', 'ignore'] });
  onTestFinished(() => void parent.kill('SIGKILL'));
  const [line] = (await parent.stdout.setEncoding('utf8').take(1).toArray()) as string[];
  return Number(line);
}
