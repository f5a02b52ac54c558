// Takes away the files of servers that nobody has used for long, once a day and when nothing else is under way. A file
// counts as used when a daemon reads it, and each day that a daemon has it in use, so daemons that share a directory
// leave each other's alone.

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
  /** How long a file stays that nobody uses. */
  readonly keptMs: number;
  /** The paths of those that are in use. */
  readonly inUse: () => ReadonlySet<string>;
}

export interface SweeperOptions {
  readonly directories: readonly SweptDirectory[];
  /** Whether nobody waits for anything. */
  readonly isQuiet: () => boolean;
  readonly clock: Clock;
  /** The time of day, in milliseconds. */
  readonly date: () => number;
  readonly logger: Logger;
}

/** When clients have had their first lists; and how long a busy daemon is left alone. */
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
      if (removed > 0) logger.info('files of servers were removed that nobody has used for long', { dir, removed });
      if (failures.length > 0) logger.warn('files cannot be swept', { dir, reason: failures[0] });
    }
  }
}

// When a file was last used, kept as the time at which it was changed: see sweeper.ts.

/** A later time within the same day tells nobody anything. */
const STEP_MS = 24 * 3_600_000;

/** A file that cannot be marked is one that cannot be removed either. */
export function noteUse(path: string, nowMs: number): void {
  try {
    if (nowMs - statSync(path).mtimeMs > STEP_MS) utimesSync(path, nowMs / 1000, nowMs / 1000);
  } catch (error) {
    expectSystemError(error);
    // It is read all the same.
  }
}

/** The files of what somebody still has. */
export class FilesInUse {
  readonly #uses = new Set<{ readonly path: string; readonly by: WeakRef<object> }>();

  /** As long as this is in use, so is its file. */
  add(path: string, by: object): void {
    this.#uses.add({ path, by: new WeakRef(by) });
  }

  get paths(): ReadonlySet<string> {
    for (const use of this.#uses) if (use.by.deref() === undefined) this.#uses.delete(use);
    return new Set([...this.#uses].map(({ path }) => path));
  }
}

// One sweep of a directory that holds a file for each server. It removes what the bridge itself has written there, of this
// user's own, and nothing else.

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
