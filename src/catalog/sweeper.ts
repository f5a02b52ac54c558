// Takes away the files of servers that nobody has used for long, once a day and when nothing else is under way. A file
// counts as used when a daemon reads it, and each day that a daemon has it in use, so daemons that share a directory
// leave each other's alone.

import type { Clock } from '../util/clock.ts';
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
    const { sweepDirectory } = await import('./directory-sweep.ts');
    for (const directory of directories) {
      const { removed, failures } = await sweepDirectory(directory, date());
      const { dir } = directory;
      if (removed > 0) logger.info('files of servers were removed that nobody has used for long', { dir, removed });
      if (failures.length > 0) logger.warn('files cannot be swept', { dir, reason: failures[0] });
    }
  }
}
