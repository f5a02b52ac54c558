// Writes files a moment after they have changed, so that many changes at once cause one write. The daemon serves its
// clients meanwhile: it writes one file after another, and nobody waits for a disk. It never writes the same file twice
// at a time.

import { dirname } from 'node:path';
import {
  ensurePrivateTree,
  type WriteUnderWay,
  writePrivate,
  writePrivateCache,
  writePrivateLater,
} from '../local/private-file.ts';
import { messageOf } from '../util/bridge-error.ts';
import type { Clock, Timer } from '../util/clock.ts';

export interface SettledWritesOptions {
  readonly clock: Clock;
  /** True for data that can be learnt again: a power failure may lose it. */
  readonly isCache: boolean;
  readonly failed: (path: string, reason: string) => void;
}

const SETTLE_MS = 250;
/** The least time between two files. */
const PAUSE_MS = 1;

interface UnderWay {
  readonly path: string;
  readonly content: () => string;
  readonly write: WriteUnderWay;
}

interface Due {
  readonly content: () => string;
  readonly dueMs: number;
}

export class SettledWrites {
  readonly #options: SettledWritesOptions;
  /** The pending files, in the order of their times. */
  readonly #due = new Map<string, Due>();
  /** The files that could not be written; the next change tries them again. */
  readonly #failed = new Map<string, () => string>();
  #underWay: UnderWay | undefined;
  #timer: Timer | undefined;
  /** Nothing is written before this time. */
  #pauseUntilMs = 0;

  constructor(options: SettledWritesOptions) {
    this.#options = options;
  }

  /** Schedules a write. `content` is called when the file is written. */
  add(path: string, content: () => string): void {
    this.#want(path, content);
    for (const [failed, its] of this.#failed) this.#want(failed, its);
    this.#failed.clear();
    this.#goOn();
  }

  #want(path: string, content: () => string): void {
    const dueMs = this.#due.get(path)?.dueMs ?? this.#options.clock.now() + SETTLE_MS;
    this.#due.set(path, { content, dueMs });
  }

  #goOn(): void {
    const [first] = this.#due.values();
    if (this.#underWay !== undefined || first === undefined) return;
    const { clock } = this.#options;
    const delayMs = Math.max(first.dueMs, this.#pauseUntilMs) - clock.now();
    this.#timer ??= clock.after(Math.max(0, delayMs), () => this.#writeNext());
  }

  #writeNext(): void {
    this.#timer = undefined;
    const [next] = this.#due;
    if (next === undefined) return;
    const { clock, isCache } = this.#options;
    const beganMs = clock.now();
    const [path, { content }] = next;
    if (isCache) this.#writeNow(path, content);
    else this.#writeLater(path, content);
    // Clients get at least half of the time.
    const nowMs = clock.now();
    this.#pauseUntilMs = nowMs + Math.max(PAUSE_MS, nowMs - beganMs);
    this.#goOn();
  }

  #writeLater(path: string, content: () => string): void {
    this.#due.delete(path);
    try {
      ensurePrivateTree(dirname(path));
      const done = (error?: unknown): void => {
        this.#underWay = undefined;
        if (error !== undefined) this.#onFailed(path, content, error);
        this.#goOn();
      };
      this.#underWay = { path, content, write: writePrivateLater(path, content(), done) };
    } catch (error) {
      this.#onFailed(path, content, error);
    }
  }

  /** Writes a file; false if that failed. */
  #writeNow(path: string, content: () => string): boolean {
    this.#due.delete(path);
    try {
      ensurePrivateTree(dirname(path));
      if (this.#options.isCache) writePrivateCache(path, content());
      else writePrivate(path, content());
      return true;
    } catch (error) {
      this.#onFailed(path, content, error);
      return false;
    }
  }

  #onFailed(path: string, content: () => string, error: unknown): void {
    if (!this.#due.has(path)) this.#failed.set(path, content);
    this.#options.failed(path, messageOf(error));
  }

  /** Writes one pending file now, before it is read. */
  settle(path: string): void {
    const content = this.#takenBack(path) ?? this.#due.get(path)?.content;
    if (content !== undefined) this.#writeNow(path, content);
    this.#goOn();
  }

  /**
   * Gives up the write that is under way, and returns its content; undefined if there is none, or if it is another file
   * than the one asked for.
   */
  #takenBack(path = this.#underWay?.path): (() => string) | undefined {
    const underWay = this.#underWay;
    if (underWay === undefined || underWay.path !== path) return undefined;
    underWay.write.drop();
    this.#underWay = undefined;
    return underWay.content;
  }

  /** Writes all pending files now; false if one failed. */
  flush(): boolean {
    this.#timer?.cancel();
    this.#timer = undefined;
    const path = this.#underWay?.path;
    const content = this.#takenBack();
    const due = new Map(this.#failed);
    if (path !== undefined && content !== undefined) due.set(path, content);
    for (const [one, wanted] of this.#due) due.set(one, wanted.content);
    this.#failed.clear();
    let isWritten = true;
    for (const [one, its] of due) if (!this.#writeNow(one, its)) isWritten = false;
    return isWritten;
  }
}
