// Removes the files of long-unused servers, once a day and only while the daemon is quiet. A file's change time is its
// last use: a daemon sets it when it reads the file, and each day while the file is in use. So daemons that share a
// directory spare each other's files.

import { statSync, utimesSync } from 'node:fs';
import { lstat, opendir, utimes } from 'node:fs/promises';
import { join } from 'node:path';
import { removePrivate } from '../local/private-file.ts';
import { messageOf, systemCode } from '../util/bridge-error.ts';
import type { Clock } from '../util/clock.ts';
import { expectSystemError } from '../util/expected-error.ts';
import type { Logger } from '../util/logger.ts';

export interface SweptDirectory {
  readonly dir: string;
  /** The time for which an unused file is kept. */
  readonly keptMs: number;
  /** Paths of files in use. */
  readonly inUse: () => ReadonlySet<string>;
}

export interface SweeperOptions {
  readonly directories: readonly SweptDirectory[];
  /** True while nobody waits for anything. */
  readonly isQuiet: () => boolean;
  readonly clock: Clock;
  /** The time of day, in milliseconds. */
  readonly date: () => number;
  readonly logger: Logger;
}

/** The delay after the start, until clients have their first lists, and between looks at a busy daemon. */
const PATIENCE_MS = 60_000;
const PERIOD_MS = 24 * 3_600_000;

export class Sweeper {
  readonly #options: SweeperOptions;

  constructor(options: SweeperOptions) {
    this.#options = options;
  }

  start(): void {
    if (this.#options.directories.length > 0) this.#after(PATIENCE_MS);
  }

  #after(delayMs: number): void {
    const { clock, isQuiet } = this.#options;
    clock.after(delayMs, () => {
      if (!isQuiet()) return this.#after(PATIENCE_MS);
      void this.#sweep().then(() => this.#after(PERIOD_MS));
    });
  }

  async #sweep(): Promise<void> {
    const { directories, date, logger } = this.#options;
    for (const directory of directories) {
      const { removed, failures } = await sweepDirectory(directory, date());
      const { dir } = directory;
      if (removed > 0) logger.info('unused files of servers were removed', { dir, removed });
      if (failures.length > 0) logger.warn('unused files of servers cannot be removed', { dir, reason: failures[0] });
    }
  }
}

// --- use ---

/** A mark is renewed at most once a day. */
const STEP_MS = 24 * 3_600_000;

/** Marks a file as used. A failure does no harm: a file that cannot be marked cannot be removed either. */
export function noteUse(path: string, nowMs: number): void {
  try {
    if (nowMs - statSync(path).mtimeMs > STEP_MS) utimesSync(path, nowMs / 1000, nowMs / 1000);
  } catch (error) {
    expectSystemError(error);
  }
}

/** Files in use: each belongs to an object that is still referenced. */
export class FilesInUse {
  readonly #uses = new Set<{ readonly path: string; readonly by: WeakRef<object> }>();

  /** Counts a file as used while `by` is referenced. */
  add(path: string, by: object): void {
    this.#uses.add({ path, by: new WeakRef(by) });
  }

  get paths(): ReadonlySet<string> {
    for (const use of this.#uses) if (use.by.deref() === undefined) this.#uses.delete(use);
    return new Set([...this.#uses].map(({ path }) => path));
  }
}

// --- one sweep ---

/** Names of servers' files, and of temporary files that a killed daemon left. */
const OURS = /^[0-9a-f]{32}\.json(?:\.[0-9a-f]{12})?$/;
/** The maximum number of files in one sweep; the rest waits for the next one. */
const MOST_REMOVED = 1000;

interface Swept {
  readonly removed: number;
  readonly failures: readonly string[];
}

/** Removes old files that the bridge itself has written for this user, and nothing else. */
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
