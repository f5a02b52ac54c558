// Files that are written whole or not at all: the steps of that which are easy to get wrong, once. Who calls makes the new
// file beside the old one, and gives it its name.

import { closeSync, constants, fsyncSync, openSync, writeSync } from 'node:fs';
import { BridgeError, systemCode } from '../util/bridge-error.ts';

/** Flushed when it returns. */
export function writeAll(fd: number, bytes: Buffer): void {
  writeUnsynced(fd, bytes);
  fsyncSync(fd);
}

export function writeUnsynced(fd: number, bytes: Buffer): void {
  // A full disk may take a part of it, and say so only the next time.
  for (let at = 0; at < bytes.length; ) at += writeSync(fd, bytes, at);
}

/** So that the new name outlives a loss of power too. */
export function syncDir(dir: string): void {
  const fd = openSync(dir, constants.O_RDONLY);
  try {
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
}

const REASONS: Readonly<Record<string, string>> = {
  EACCES: 'permission denied',
  EPERM: 'not permitted',
  EROFS: 'the file system is read-only',
  ENOSPC: 'the disk is full',
  ENOTDIR: 'something on the way to it is no directory',
  ELOOP: 'its links lead back to themselves',
};

/** Runs a task. An error of the system becomes one in words, with the hint. */
export function tryingFile<Result>(failure: string, task: () => Result, hint?: string): Result {
  try {
    return task();
  } catch (error) {
    throw fileFailure(failure, error, hint);
  }
}

/** The error for a thrown value, in words. */
export function fileFailure(failure: string, thrown: unknown, hint?: string): BridgeError {
  if (thrown instanceof BridgeError) return thrown;
  const code = systemCode(thrown) ?? 'unknown error';
  return new BridgeError('FILE_UNUSABLE', `${failure}: ${REASONS[code] ?? code}`, {
    cause: thrown,
    ...(hint === undefined ? {} : { hint }),
  });
}
