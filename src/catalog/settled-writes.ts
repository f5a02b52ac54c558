// Writes files a moment after they have changed: many changes come at once, and are written once.

import { dirname } from 'node:path';
import { ensurePrivateTree, writePrivate } from '../local/private-file.ts';
import { messageOf } from '../util/bridge-error.ts';
import type { Clock, Timer } from '../util/clock.ts';

export interface SettledWritesOptions {
  readonly clock: Clock;
  readonly failed: (path: string, reason: string) => void;
}

const SETTLE_MS = 250;

export class SettledWrites {
  readonly #options: SettledWritesOptions;
  readonly #due = new Map<string, () => string>();
  #timer: Timer | undefined;

  constructor(options: SettledWritesOptions) {
    this.#options = options;
  }

  /** Schedules a write. `content` is called when the file is written. */
  add(path: string, content: () => string): void {
    this.#due.set(path, content);
    this.#timer ??= this.#options.clock.after(SETTLE_MS, () => this.flush());
  }

  /** Writes all pending files now. False if one failed. */
  flush(): boolean {
    this.#timer?.cancel();
    this.#timer = undefined;
    const due = [...this.#due];
    this.#due.clear();
    let isWritten = true;
    for (const [path, content] of due) {
      try {
        ensurePrivateTree(dirname(path));
        writePrivate(path, content());
      } catch (error) {
        this.#options.failed(path, messageOf(error));
        isWritten = false;
        if (!this.#due.has(path)) this.#due.set(path, content); // tried again with the next write
      }
    }
    return isWritten;
  }
}
