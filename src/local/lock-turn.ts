// Takes turns at a file that several processes change: who reads it to write it holds its lock meanwhile, or one of two
// would lose what the other has written.

import { BridgeError } from '../util/bridge-error.ts';
import { LockFile } from './lock-file.ts';

/** The time for one turn: it is short work, or one request over the network. */
const TIMEOUT_MS = 60_000;
const POLL_MS = 25;

/** The directory must be there. The lock stands beside the file. */
export async function inTurn<Result>(
  path: string,
  task: () => Result | Promise<Result>,
  timeoutMs = TIMEOUT_MS,
): Promise<Result> {
  const lock = await taken(path, timeoutMs);
  try {
    return await task();
  } finally {
    lock.release();
  }
}

async function taken(path: string, timeoutMs: number): Promise<LockFile> {
  const deadline = performance.now() + timeoutMs;
  while (performance.now() < deadline) {
    const lock = LockFile.take(`${path}.lock`);
    if (lock !== undefined) return lock;
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
  throw new BridgeError('FILE_UNUSABLE', `${path} is held by another process`, { hint: 'Try it again.' });
}
