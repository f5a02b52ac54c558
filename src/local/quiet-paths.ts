// Gathers paths until there is quiet, and tells them at once. What never gets quiet is told all the same.

import type { Clock, Timer } from '../util/clock.ts';

export interface QuietPathsOptions {
  readonly clock: Clock;
  /** They are told when none has come for this long, */
  readonly quietMs: number;
  /** or this long after the first: what is written all the time must not put it off for ever. */
  readonly mostQuietMs: number;
  readonly changed: (paths: ReadonlySet<string>) => void;
}

export class QuietPaths {
  readonly #options: QuietPathsOptions;
  #paths = new Set<string>();
  #firstAtMs = 0;
  #lastAtMs = 0;
  #timer: Timer | undefined;

  constructor(options: QuietPathsOptions) {
    this.#options = options;
  }

  /** One timer for all that comes until it rings: setting it again for each would cost more than all else. */
  add(path: string): void {
    this.#paths.add(path);
    this.#lastAtMs = this.#options.clock.now();
    if (this.#timer !== undefined) return;
    this.#firstAtMs = this.#lastAtMs;
    this.#wait();
  }

  clear(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
    this.#paths.clear();
  }

  #wait(): void {
    const { clock, quietMs, mostQuietMs } = this.#options;
    const dueAtMs = Math.min(this.#lastAtMs + quietMs, this.#firstAtMs + mostQuietMs);
    const leftMs = dueAtMs - clock.now();
    if (leftMs > 0) this.#timer = clock.after(leftMs, () => this.#wait());
    else this.#tell();
  }

  #tell(): void {
    const paths = this.#paths;
    this.#paths = new Set();
    this.#timer = undefined;
    this.#options.changed(paths);
  }
}
