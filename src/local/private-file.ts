// Small files that nobody else may read, such as tokens. They are written whole or not at all. It never reads, follows
// or replaces a link, or anything of another user.

import {
  closeSync,
  constants,
  existsSync,
  fstatSync,
  fsync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  type Stats,
} from 'node:fs';
import { dirname } from 'node:path';
import { BridgeError, systemCode } from '../util/bridge-error.ts';
import { randomName } from '../util/random-name.ts';
import { ownUid, statOf } from './owned-path.ts';
import { fileFailure, syncDir, tryingFile, writeAll, writeUnsynced } from './whole-write.ts';

const READ = constants.O_RDONLY | constants.O_NOFOLLOW;
const APPEND =
  constants.O_RDWR | constants.O_APPEND | constants.O_CREAT | constants.O_NOFOLLOW | (constants.O_NONBLOCK ?? 0);
const CREATE = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;

/** Reads the file; undefined if there is none. A file larger than `mostBytes` is not read. */
export function readPrivate(path: string, mostBytes = Number.POSITIVE_INFINITY): string | undefined {
  if (!isOurs(path)) return undefined;
  return tryingFile(`Cannot read ${path}`, () => {
    const fd = openSync(path, READ);
    try {
      const stat = fstatSync(fd);
      refuseUnless(isPrivateFile(stat), path); // the file may have been replaced since the check
      if (stat.size > mostBytes) throw tooLarge(path, stat.size, mostBytes);
      return readFileSync(fd, 'utf8');
    } finally {
      closeSync(fd);
    }
  });
}

export function writePrivate(path: string, text: string): void {
  replace(path, text, true);
}

/**
 * Writes a file that may be lost in a power failure, without waiting for the disk. Afterwards the file is whole, or the
 * old one, or unreadable.
 */
export function writePrivateCache(path: string, text: string): void {
  replace(path, text, false);
}

function replace(path: string, text: string, isSynced: boolean): void {
  isOurs(path);
  const temporary = `${path}.${randomName(6)}`;
  tryingFile(`Cannot write ${path}`, () => {
    try {
      writeNew(temporary, text, isSynced ? writeAll : writeUnsynced);
      renameSync(temporary, path);
      if (isSynced) syncDir(dirname(path));
    } finally {
      rmSync(temporary, { force: true });
    }
  });
}

/** A file on its way to the disk; it has another name until it is there. */
export interface WriteUnderWay {
  /** Gives up the write; its `done` is not called. */
  drop(): void;
}

/** Writes a file whole in the background. Calls `done` later, with the error if there was one. */
export function writePrivateLater(path: string, text: string, done: (error?: BridgeError) => void): WriteUnderWay {
  isOurs(path);
  const failure = `Cannot write ${path}`;
  const temporary = `${path}.${randomName(6)}`;
  let isDropped = false;
  const removed = (): void => rmSync(temporary, { force: true });
  const ended = (thrown: unknown): void => {
    removed();
    if (!isDropped) done(thrown === null ? undefined : fileFailure(failure, thrown));
  };
  const named = (thrown: unknown): void => {
    if (thrown !== null || isDropped) return ended(thrown);
    try {
      renameSync(temporary, path);
      synced(openSync(dirname(path), constants.O_RDONLY), ended);
    } catch (error) {
      ended(error);
    }
  };
  try {
    const fd = openSync(temporary, CREATE, 0o600);
    try {
      writeUnsynced(fd, Buffer.from(text));
    } catch (error) {
      closeSync(fd);
      throw error;
    }
    synced(fd, named);
  } catch (error) {
    removed();
    throw fileFailure(failure, error);
  }
  return {
    drop: () => {
      isDropped = true;
      removed();
    },
  };
}

/** Closes a file once it is on the disk. */
function synced(fd: number, done: (thrown: unknown) => void): void {
  fsync(fd, (thrown) => {
    closeSync(fd);
    done(thrown);
  });
}

/** Removes a file. Returns true if there was one. */
export function removePrivate(path: string): boolean {
  if (!isOurs(path)) return false;
  tryingFile(`Cannot remove ${path}`, () => {
    rmSync(path);
    syncDir(dirname(path));
  });
  return true;
}

/** Makes the directory with its parents, or checks that the existing one is this user's alone. */
export function ensurePrivateTree(dir: string): void {
  tryingFile(`Cannot make the directory ${dir}`, () => makeTree(dir, 0o700));
  const stat = statOf(dir);
  refuseUnless(stat?.isDirectory() === true && isPrivate(stat), dir);
}

/** Opens a file to append to; makes it, and its directory, if needed. The directory may be open to others. */
export function openPrivateLog(path: string): number {
  const failure = `Cannot write ${path}`;
  tryingFile(failure, () => makeTree(dirname(path), 0o700));
  isOurs(path); // first, because opening a pipe or a device may have effects
  const fd = tryingFile(failure, () => openSync(path, APPEND, 0o600));
  try {
    refuseUnless(isPrivateFile(fstatSync(fd)), path);
    return fd;
  } catch (error) {
    closeSync(fd);
    throw error;
  }
}

/** True if the file exists. Throws if others may read or write it. */
function isOurs(path: string): boolean {
  const stat = statOf(path);
  if (stat === undefined) return false;
  refuseUnless(isPrivateFile(stat), path);
  return true;
}

const isPrivate = ({ uid, mode }: Stats): boolean => uid === ownUid() && (mode & 0o077) === 0;
const isPrivateFile = (stat: Stats): boolean => stat.isFile() && isPrivate(stat);

function refuseUnless(holds: boolean, path: string): void {
  if (holds) return;
  throw new BridgeError('FILE_UNUSABLE', `${path} is not this user's alone, or is a link`, {
    hint: 'Look at it, and remove it.',
  });
}

function tooLarge(path: string, bytes: number, mostBytes: number): BridgeError {
  return new BridgeError('FILE_UNUSABLE', `${path} has ${bytes} bytes, and may have ${mostBytes}`, {
    hint: 'Look at it, and remove it.',
  });
}

function writeNew(path: string, text: string, write: (fd: number, bytes: Buffer) => void): void {
  const fd = openSync(path, CREATE, 0o600);
  try {
    write(fd, Buffer.from(text));
  } finally {
    closeSync(fd);
  }
}

/**
 * Makes a directory with its parents. Returns the topmost one that it made; undefined if all existed. Node's own way
 * never ends where the kernel denies the place, for instance below /proc.
 */
export function makeTree(dir: string, mode: number): string | undefined {
  const parent = dirname(dir);
  const first = existsSync(parent) || parent === dir ? undefined : makeTree(parent, mode);
  try {
    mkdirSync(dir, mode);
    return first ?? dir;
  } catch (error) {
    if (systemCode(error) === 'EEXIST') return first; // a caller that needs a directory checks what is there
    throw error;
  }
}
