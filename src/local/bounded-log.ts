// The log of background daemons: one file for all daemons of a user, renamed to FILE.1 at its limit (rotated-file). A
// daemon writes to the file that has the name now, so it reopens the file after another daemon has renamed it. Only
// Node's own last words go to the file that the daemon began with.

import { closeSync, fstatSync, truncateSync, writeSync } from 'node:fs';
import { BridgeError, systemCode } from '../util/bridge-error.ts';
import { expectSystemError } from '../util/expected-error.ts';
import { isForeign, statOf } from './owned-path.ts';
import { openPrivateLog } from './private-file.ts';
import { putAside } from './rotated-file.ts';

export const MOST_LOG_BYTES = 10 * 1024 * 1024;

/**
 * Returns a function that writes to the log, if this descriptor is the log. If the user has redirected stderr, `write`
 * is used instead, and the user keeps that file small.
 */
export function boundedWriter(path: string, fd: number, write: (line: string) => void): (line: string) => void {
  if (!isOpenAs(fd, path)) return write;
  const log = new BoundedLog(path, fd);
  return (line) => log.write(line);
}

class BoundedLog {
  readonly #path: string;
  /** The descriptor of stderr, until the file has been renamed. */
  #fd: number;
  #ino: number;
  #isOwn = false;

  constructor(path: string, fd: number) {
    this.#path = path;
    this.#fd = fd;
    this.#ino = fstatSync(fd).ino;
  }

  /**
   * Writes to the file that has the name now, so that a reader who follows the log misses no line. A line that cannot
   * be written is lost, and nothing else.
   */
  write(line: string): void {
    const stat = statIn(this.#path);
    if (stat?.ino !== this.#ino) this.#reopen();
    try {
      writeSync(this.#fd, line);
    } catch (error) {
      expectSystemError(error);
    }
    if (stat === undefined || stat.size <= MOST_LOG_BYTES) return;
    putAsideLog(this.#path);
    if (statIn(this.#path)?.ino !== this.#ino) this.#reopen(); // so that a reader finds the file
  }

  #reopen(): void {
    try {
      const fd = openPrivateLog(this.#path);
      if (this.#isOwn) closeSync(this.#fd);
      this.#fd = fd;
      this.#ino = fstatSync(fd).ino;
      this.#isOwn = true;
    } catch (error) {
      if (!(error instanceof BridgeError)) throw error; // it goes on in the old file
    }
  }
}

/** True if this descriptor is that file. */
export function isOpenAs(fd: number, path: string): boolean {
  try {
    const [own, named] = [fstatSync(fd), statOf(path)];
    return own.isFile() && own.ino === named?.ino && own.dev === named.dev;
  } catch (error) {
    expectSystemError(error);
    return false; // The descriptor is closed, or the place cannot be inspected.
  }
}

/**
 * Renames the log to FILE.1 if it is too large. A log that cannot be renamed is emptied: the daemon must serve anyway.
 */
export function putAsideLog(path: string, most: number = MOST_LOG_BYTES): void {
  if (!isTooLarge(path, most)) return;
  try {
    putAside(path, 1, () => isTooLarge(path, most));
  } catch (error) {
    if (systemCode(error) === undefined && !(error instanceof BridgeError)) throw error;
    empty(path);
  }
}

function isTooLarge(path: string, most: number): boolean {
  const stat = statIn(path);
  return stat?.isFile() === true && stat.size > most && !isForeign(path);
}

/** The stat of a place; undefined if it cannot be inspected. */
function statIn(path: string): ReturnType<typeof statOf> {
  try {
    return statOf(path);
  } catch (error) {
    expectSystemError(error);
    return undefined;
  }
}

function empty(path: string): void {
  try {
    truncateSync(path);
  } catch (error) {
    expectSystemError(error);
  }
}
