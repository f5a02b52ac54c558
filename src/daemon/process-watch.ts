// Sees when one of the processes ends that registered servers live in. It asks from time to time, and only while there
// are any: the kernel tells nobody but a process' parent.

import type { ProcessIdentity } from '../local/process-identity.ts';
import type { Clock, Timer } from '../util/clock.ts';

export interface ProcessWatchOptions {
  readonly clock: Clock;
  readonly isAlive: (process: ProcessIdentity) => boolean;
  /** One or more have ended. */
  readonly ended: () => void;
}

const PERIOD_MS = 2_000;

export class ProcessWatch {
  readonly #options: ProcessWatchOptions;
  /** Those of the servers that were found for each directory. */
  readonly #byDir = new Map<string, readonly ProcessIdentity[]>();
  #timer: Timer | undefined;

  constructor(options: ProcessWatchOptions) {
    this.#options = options;
  }

  /** These and no others, for this directory. */
  watch(dir: string, processes: readonly ProcessIdentity[]): void {
    if (processes.length === 0) this.#byDir.delete(dir);
    else this.#byDir.set(dir, processes);
    if (this.#byDir.size === 0) return this.close();
    this.#timer ??= this.#options.clock.every(PERIOD_MS, () => this.#look());
  }

  close(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
  }

  /** Each is told once: whoever is told looks for servers anew, and watches what there is then. */
  #look(): void {
    const { isAlive, ended } = this.#options;
    let hasEnded = false;
    for (const [dir, processes] of this.#byDir) {
      const alive = processes.filter(isAlive);
      hasEnded ||= alive.length < processes.length;
      this.watch(dir, alive);
    }
    if (hasEnded) ended();
  }
}
