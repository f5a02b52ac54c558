// Writes files whole or not at all: the steps of it that are easy to get wrong. The caller makes the new file beside
// the old one, and renames it.

import { closeSync, constants, fsyncSync, openSync, writeSync } from 'node:fs';
import { BridgeError, systemCode } from '../util/bridge-error.ts';

/** Writes all bytes and flushes them. */
export function writeAll(fd: number, bytes: Buffer): void {
  writeUnsynced(fd, bytes);
  fsyncSync(fd);
}

export function writeUnsynced(fd: number, bytes: Buffer): void {
  // A full disk may take only a part, and report it only the next time.
  for (let at = 0; at < bytes.length; ) at += writeSync(fd, bytes, at);
}

/** Flushes the directory, so that the new name survives a power failure too. */
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

/** Runs a task. Turns an error of the system into one in words, with the hint. */
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
