// One sweep of a directory that holds a file for each server. It removes what the bridge itself has written there, of this
// user's own, and nothing else.

import { lstat, opendir, utimes } from 'node:fs/promises';
import { join } from 'node:path';
import { removePrivate } from '../local/private-file.ts';
import { messageOf, systemCode } from '../util/bridge-error.ts';
import type { SweptDirectory } from './sweeper.ts';

/** A file of a server, or what a daemon has left that was killed while it wrote one. */
const OURS = /^[0-9a-f]{32}\.json(?:\.[0-9a-f]{12})?$/;
/** In one sweep; the others are there tomorrow too. */
const MOST_REMOVED = 1000;

export interface Swept {
  readonly removed: number;
  readonly failures: readonly string[];
}

export async function sweepDirectory({ dir, keptMs, inUse }: SweptDirectory, nowMs: number): Promise<Swept> {
  const failures: string[] = [];
  const trying = async (task: () => Promise<void>): Promise<void> => {
    try {
      await task();
    } catch (error) {
      if (systemCode(error) !== 'ENOENT') failures.push(messageOf(error));
    }
  };
  for (const path of inUse()) await trying(() => utimes(path, nowMs / 1000, nowMs / 1000));
  let removed = 0;
  await trying(async () => {
    for await (const { name } of await opendir(dir)) {
      if (removed >= MOST_REMOVED) return;
      const path = join(dir, name);
      await trying(async () => {
        if (OURS.test(name) && (await isOld(path, nowMs - keptMs)) && !inUse().has(path) && removePrivate(path))
          removed++;
      });
    }
  });
  return { removed, failures };
}

async function isOld(path: string, beforeMs: number): Promise<boolean> {
  const { mtimeMs } = await lstat(path);
  return mtimeMs < beforeMs;
}
