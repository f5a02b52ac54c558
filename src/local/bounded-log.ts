// The log of daemons in the background: one file for all daemons of a user, put aside as FILE.1 beyond its bound (rotated-file). A daemon
// writes to the file that has the name, so it opens it again when another one has put it aside. Only what Node itself writes when it dies
// goes to the file that the daemon began with.

import { closeSync, fstatSync, truncateSync, writeSync } from 'node:fs';
import { BridgeError, systemCode } from '../util/bridge-error.ts';
import { isForeign, statOf } from './owned-path.ts';
import { openPrivateLog } from './private-file.ts';
import { putAside } from './rotated-file.ts';

export const MOST_LOG_BYTES = 10 * 1024 * 1024;
/** A process looks at the file whenever it has written so much. */
const LOOK_BYTES = 64 * 1024;

/** Writes to the log if that is what this descriptor is. What somebody has redirected is theirs to keep small: then `write` does. */
export function boundedWriter(path: string, fd: number, write: (line: string) => void): (line: string) => void {
  if (!isOpenAs(fd, path)) return write;
  const log = new BoundedLog(path, fd);
  return (line) => log.write(line);
}

class BoundedLog {
  readonly #path: string;
  /** The descriptor of stderr, until the file has been put aside. */
  #fd: number;
  #isOwn = false;
  #unseen = LOOK_BYTES;
  #isPuttingAside = false;

  constructor(path: string, fd: number) {
    this.#path = path;
    this.#fd = fd;
  }

  /** A line that cannot be written is lost, and nothing else. */
  write(line: string): void {
    try {
      writeSync(this.#fd, line);
    } catch (error) {
      if (systemCode(error) === undefined) throw error;
    }
    this.#unseen += line.length;
    if (this.#unseen < LOOK_BYTES) return;
    this.#unseen = 0;
    this.#look();
  }

  #look(): void {
    if (!isOpenAs(this.#fd, this.#path)) this.#reopen();
    if (this.#isPuttingAside || !isTooLarge(this.#path, MOST_LOG_BYTES)) return;
    this.#isPuttingAside = true;
    void putAsideLog(this.#path).then(() => {
      this.#isPuttingAside = false;
      if (!isOpenAs(this.#fd, this.#path)) this.#reopen();
    });
  }

  #reopen(): void {
    try {
      const fd = openPrivateLog(this.#path);
      if (this.#isOwn) closeSync(this.#fd);
      this.#fd = fd;
      this.#isOwn = true;
    } catch (error) {
      if (!(error instanceof BridgeError)) throw error; // it goes on in the old file
    }
  }
}

/** Tells whether this descriptor is of that file. */
export function isOpenAs(fd: number, path: string): boolean {
  try {
    const [own, named] = [fstatSync(fd), statOf(path)];
    return own.isFile() && own.ino === named?.ino && own.dev === named.dev;
  } catch (error) {
    if (systemCode(error) === undefined) throw error;
    return false; // A descriptor that is closed, or a place that cannot be looked at.
  }
}

/** Renames the log to FILE.1 if it is too large. A log that cannot be renamed is emptied: it is no reason not to serve. */
export async function putAsideLog(path: string, most: number = MOST_LOG_BYTES): Promise<void> {
  if (!isTooLarge(path, most)) return;
  try {
    await putAside(path, 1, () => isTooLarge(path, most));
  } catch (error) {
    if (systemCode(error) === undefined && !(error instanceof BridgeError)) throw error;
    empty(path);
  }
}

function isTooLarge(path: string, most: number): boolean {
  try {
    const stat = statOf(path);
    return stat?.isFile() === true && stat.size > most && !isForeign(path);
  } catch (error) {
    if (systemCode(error) === undefined) throw error;
    return false; // a place that cannot be looked at
  }
}

function empty(path: string): void {
  try {
    truncateSync(path);
  } catch (error) {
    if (systemCode(error) === undefined) throw error;
  }
}
