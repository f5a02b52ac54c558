// When a file was last used, kept as the time at which it was changed: see sweeper.ts.

import { statSync, utimesSync } from 'node:fs';
import { expectSystemError } from '../util/expected-error.ts';

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
