// A file of lines that only grows, for this user alone, until it is renamed: FILE, FILE.1 (the previous one), FILE.2, …
// A crash at any step loses no written line; at most it breaks the last one, and a new line begins behind that. Several
// processes may write to the file.

import { close, closeSync, constants, fstatSync, openSync, readSync, renameSync, write, writeSync } from 'node:fs';
import { promisify } from 'node:util';
import { BridgeError } from '../util/bridge-error.ts';
import { expectSystemError } from '../util/expected-error.ts';
import { LockFile } from './lock-file.ts';
import { isForeign, statOf } from './owned-path.ts';
import { openPrivateLog } from './private-file.ts';
import { fileFailure } from './whole-write.ts';

export interface RotatedFileOptions {
  readonly path: string;
  /** The size limit: the file is renamed rather than grow beyond it. */
  readonly maxBytes: number;
  /** The number of old files to keep. */
  readonly keep: number;
}

/** Whole lines on their way into the file. */
export interface LineBatch {
  readonly bytes: Buffer;
  /** The number of its bytes that are in the file. */
  done: number;
}

const NEWLINE = 0x0a;
const writeSome = promisify(write);
const lastByte = Buffer.alloc(1);

export class RotatedFile {
  readonly #options: RotatedFileOptions;
  #fd: number | undefined;
  #ino = 0;
  /** The end of our last write; another process has written anything behind it. */
  #end = -1;

  constructor(options: RotatedFileOptions) {
    this.#options = options;
  }

  get path(): string {
    return this.#options.path;
  }

  /** Writes the rest of the batch. On failure it throws a BridgeError; the caller may try again with the same batch. */
  async append(batch: LineBatch): Promise<void> {
    try {
      const fd = this.#prepare(batch);
      while (batch.done < batch.bytes.length) {
        const { bytesWritten } = await writeSome(fd, batch.bytes, batch.done);
        batch.done += bytesWritten;
        this.#end += bytesWritten;
      }
    } catch (error) {
      throw fileFailure(`Cannot write ${this.path}`, error);
    }
  }

  /** Opens the file so that the rest of the batch can go to its end. */
  #prepare(batch: LineBatch): number {
    let { fd, size } = this.#current();
    const isWithinLine = batch.done > 0 && size === this.#end;
    if (!isWithinLine) {
      // A line that was begun is broken, or in another file: write it again.
      batch.done = batch.bytes.subarray(0, batch.done).lastIndexOf(NEWLINE) + 1;
      const toCome = batch.bytes.length - batch.done;
      if (size > 0 && size + toCome > this.#options.maxBytes && toCome > 0 && this.#putAside())
        ({ fd, size } = this.#current());
      if (size !== this.#end && size > 0) size += endLine(fd, size);
    }
    this.#end = size;
    return fd;
  }

  /** Opens the file that has the name now: another process may have renamed the old one, or removed it. */
  #current(): { fd: number; size: number } {
    const stat = statOf(this.path);
    if (this.#fd !== undefined && stat?.ino === this.#ino) return { fd: this.#fd, size: stat.size };
    this.close();
    const fd = openPrivateLog(this.path);
    const { ino, size } = fstatSync(fd);
    this.#fd = fd;
    this.#ino = ino;
    return { fd, size };
  }

  #putAside(): boolean {
    const { path, keep } = this.#options;
    return putAside(path, keep, () => statOf(path)?.ino === this.#ino);
  }

  close(): void {
    if (this.#fd !== undefined) closeSync(this.#fd);
    this.#fd = undefined;
    this.#end = -1;
  }
}

/**
 * Renames FILE to FILE.1, FILE.1 to FILE.2 and so on, and drops the oldest. `isStillDue` is called under the lock,
 * because another process may have done it. Returns false while another process does it.
 */
export function putAside(path: string, keep: number, isStillDue: () => boolean): boolean {
  const lock = LockFile.take(`${path}.lock`);
  if (lock === undefined) return false;
  try {
    if (isStillDue()) rotate(path, keep);
    return true;
  } finally {
    lock.release();
  }
}

function rotate(path: string, keep: number): void {
  // The oldest is dropped only if there is no gap before it; a crash here leaves a gap.
  let last = 1;
  while (last < keep && statOf(`${path}.${last}`) !== undefined) last++;
  const letGo = held(`${path}.${last}`);
  try {
    for (let n = last; n > 1; n--) renameOwn(`${path}.${n - 1}`, `${path}.${n}`);
    renameOwn(path, `${path}.1`);
  } finally {
    letGo();
  }
}

/**
 * Keeps a file open until the returned function is called. The disk takes time to delete a large file; closing it moves
 * that wait to a thread.
 */
function held(path: string): () => void {
  try {
    const fd = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    return () => close(fd, () => undefined);
  } catch (error) {
    expectSystemError(error); // There is no file, or none that can be read.
    return () => undefined;
  }
}

/** Ends a line that a process has left broken. Returns the number of bytes that it wrote. */
function endLine(fd: number, size: number): number {
  const count = readSync(fd, lastByte, 0, 1, size - 1);
  return count === 0 || lastByte[0] === NEWLINE ? 0 : writeSync(fd, '\n');
}

function renameOwn(from: string, to: string): void {
  if (isForeign(to)) throw new BridgeError('FILE_UNUSABLE', `${to} belongs to another user`, { hint: 'Look at it.' });
  renameSync(from, to);
}
