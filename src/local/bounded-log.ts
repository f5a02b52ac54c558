// The log of a daemon in the background, which whoever has started it has opened as its stderr. Others hold it open too, and
// what kills a process is written there by Node itself. So it is never renamed, or they would write on into the old one: it is copied to
// FILE.1 and emptied. As all of them append, the next line of each stands at the new beginning.

import {
  closeSync,
  constants,
  fstatSync,
  ftruncateSync,
  openSync,
  readSync,
  renameSync,
  rmSync,
  writeSync,
} from 'node:fs';
import { systemCode } from '../util/bridge-error.ts';
import { LockFile } from './lock-file.ts';
import { isForeign, statOf } from './owned-path.ts';

export const MOST_LOG_BYTES = 10 * 1024 * 1024;
/** A process looks how large the file is whenever it has written so much. */
const LOOK_BYTES = 64 * 1024;
const COPY_BYTES = 1024 * 1024;
const OPEN = constants.O_RDWR | constants.O_NOFOLLOW;
const CREATE = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;

/** Keeps the file small if that is what this descriptor is; what somebody has redirected is theirs to keep small. */
export function boundedWriter(path: string, fd: number, write: (line: string) => void): (line: string) => void {
  if (!isOpenAs(fd, path)) return write;
  let unseen = LOOK_BYTES;
  return (line) => {
    write(line);
    unseen += line.length;
    if (unseen < LOOK_BYTES) return;
    unseen = 0;
    putAsideLog(path);
  };
}

/** This descriptor is that file. */
export function isOpenAs(fd: number, path: string): boolean {
  try {
    const [own, named] = [fstatSync(fd), statOf(path)];
    return own.isFile() && own.ino === named?.ino && own.dev === named.dev;
  } catch (error) {
    if (systemCode(error) === undefined) throw error;
    return false; // A descriptor that is closed, or a place that cannot be looked at.
  }
}

/** Copies it to FILE.1 and empties it if it is too large. A log that cannot be is no reason not to serve. */
export function putAsideLog(path: string, most: number = MOST_LOG_BYTES): void {
  try {
    if ((statOf(path)?.size ?? 0) <= most || isForeign(path)) return;
    const lock = LockFile.take(`${path}.lock`);
    if (lock === undefined) return; // somebody else does it
    try {
      closing(openSync(path, OPEN), (log) => {
        // Another one may have done it before the lock was ours.
        if (fstatSync(log).size > most) empty(log, `${path}.1`);
      });
    } finally {
      lock.release();
    }
  } catch (error) {
    if (systemCode(error) === undefined) throw error;
  }
}

function closing(fd: number, task: (fd: number) => void): void {
  try {
    task(fd);
  } finally {
    closeSync(fd);
  }
}

/** Who is killed on the way leaves some lines in both files, and loses none. */
function empty(log: number, old: string): void {
  const temporary = `${old}.new`;
  try {
    rmSync(temporary, { force: true });
    closing(openSync(temporary, CREATE, 0o600), (copy) => {
      const copied = copyFrom(log, 0, copy);
      renameSync(temporary, old);
      // What others have written meanwhile. Only a line within the microseconds that follow would be lost.
      copyFrom(log, copied, copy);
    });
  } catch (error) {
    if (systemCode(error) === undefined) throw error;
    rmSync(temporary, { force: true }); // The disk is full: what was logged is given up, which makes room.
  }
  ftruncateSync(log);
}

/** Where it has ended. Not flushed: the daemon serves nobody meanwhile. */
function copyFrom(from: number, position: number, to: number): number {
  const piece = Buffer.alloc(COPY_BYTES);
  for (let at = position; ; ) {
    const count = readSync(from, piece, 0, piece.length, at);
    if (count === 0) return at;
    for (let done = 0; done < count; ) done += writeSync(to, piece, done, count - done);
    at += count;
  }
}
