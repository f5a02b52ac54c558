// A config file on the disk, as it was when it was read. It is replaced whole or not at all, with its mode and owner.
// The replacement follows links, and happens only if nobody has changed the file meanwhile.

import { isUtf8 } from 'node:buffer';
import { createHash, randomBytes } from 'node:crypto';
import {
  accessSync,
  closeSync,
  constants,
  fchmodSync,
  fchownSync,
  fstatSync,
  lstatSync,
  openSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  renameSync,
  rmdirSync,
  rmSync,
  type Stats,
  statSync,
} from 'node:fs';
import { dirname, resolve } from 'node:path';
import { makeTree } from '../local/private-file.ts';
import { syncDir, tryingFile, writeAll } from '../local/whole-write.ts';
import { BridgeError, systemCode } from '../util/bridge-error.ts';
import { expectSystemError } from '../util/expected-error.ts';

/** Large, because a client may keep its history in the same file. */
const MOST_BYTES = 64 * 1024 * 1024;
const MOST_LINKS = 40;
const CREATE = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | (constants.O_NOFOLLOW ?? 0);
/** Private, because a file that we make may get keys later. */
const NEW_FILE_MODE = 0o600;
const NEW_DIR_MODE = 0o700;

export interface ConfigFile {
  /** The path as it is named; `realpath` is the file that is really read and replaced. */
  readonly path: string;
  readonly realpath: string;
  /** Undefined if the file does not exist. */
  readonly bytes: Buffer | undefined;
  readonly text: string;
  /** The permissions; the new file keeps them. Undefined if the file does not exist. */
  readonly mode: number | undefined;
  /** The number of names that the file has; the new file has only one. */
  readonly links: number;
}

export function readConfigFile(path: string): ConfigFile {
  const realpath = followed(path);
  const bytes = trying(`Cannot read ${path}`, () => bytesAt(path, realpath));
  if (bytes !== undefined && (!isUtf8(bytes) || bytes.includes(0)))
    throw new BridgeError('FILE_UNUSABLE', `${path} is not UTF-8`, { hint: 'Save it as UTF-8: nothing was changed.' });
  const stat = bytes === undefined ? undefined : statSync(realpath);
  const mode = stat === undefined ? undefined : stat.mode & 0o7777;
  return { path, realpath, bytes, text: bytes?.toString('utf8') ?? '', mode, links: stat?.nlink ?? 0 };
}

/** Warns that the file to be replaced has other names too. */
export function linkLines({ path, links }: ConfigFile): string[] {
  if (links < 2) return [];
  const others = links === 2 ? 'another name' : `${links - 1} other names`;
  return [`${path} has ${others} by hard links, which keep what was in it before`];
}

/** A digest of the content, to compare contents without keeping them. */
export function digestOf(bytes: Buffer): string {
  return createHash('sha256').update(bytes).digest('hex');
}

/** Writes these bytes in place of the file, or removes it. Returns the directories that it had to make. */
export function replaceConfigFile(file: ConfigFile, bytes: Buffer | undefined, beforeRename?: () => void): string[] {
  return trying(`Cannot write ${file.path}`, () => {
    // A rename would also replace a file that its owner has made read-only, so check first.
    if (file.bytes !== undefined) accessSync(file.realpath, constants.W_OK);
    if (bytes === undefined) {
      refuseIfChanged(file);
      rmSync(file.realpath);
      return [];
    }
    const dir = dirname(file.realpath);
    const made = madeDirs(dir);
    const temporary = `${file.realpath}.${randomBytes(6).toString('hex')}.tmp`;
    try {
      writeLike(temporary, bytes, modelOf(file));
      beforeRename?.();
      refuseIfChanged(file);
      renameSync(temporary, file.realpath);
      syncDir(dir);
    } finally {
      rmSync(temporary, { force: true });
    }
    return made;
  });
}

/** Removes those directories that are empty by now, the innermost first. */
export function removeMadeDirs(dirs: readonly string[]): void {
  for (const dir of [...dirs].reverse()) {
    try {
      rmdirSync(dir);
    } catch (error) {
      expectSystemError(error);
      return; // The directory holds somebody's files, so it is theirs now.
    }
  }
}

/** Throws if somebody else has changed the file since it was read. */
function refuseIfChanged({ path, realpath, bytes }: ConfigFile): void {
  const now = followed(path) === realpath ? bytesAt(path, realpath) : undefined;
  const isSame = bytes === undefined || now === undefined ? bytes === now : bytes.equals(now);
  if (isSame) return;
  throw new BridgeError(
    'FILE_CHANGED',
    `${path} was changed by somebody else just now, and was left as they wrote it`,
    {
      hint: 'Try again.',
    },
  );
}

/** Follows a chain of links to its end, even if nothing is there yet. */
function followed(path: string): string {
  let at = path;
  for (let n = 0; n < MOST_LINKS; n++) {
    const stat = trying(`Cannot look at ${path}`, () => statAt(at));
    if (stat === undefined) return at;
    if (!stat.isSymbolicLink()) return trying(`Cannot look at ${path}`, () => realpathSync(at));
    at = resolve(dirname(at), readlinkSync(at));
  }
  throw new BridgeError('FILE_UNUSABLE', `${path} is a link that leads back to itself`, { hint: 'Correct the link.' });
}

function statAt(path: string): Stats | undefined {
  try {
    return lstatSync(path);
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return undefined;
    throw error;
  }
}

function bytesAt(path: string, realpath: string): Buffer | undefined {
  const stat = statAt(realpath);
  if (stat === undefined) return undefined;
  if (!stat.isFile()) throw new BridgeError('FILE_UNUSABLE', `${path} is not a file`, { hint: 'Move it away.' });
  if (stat.size > MOST_BYTES) throw new BridgeError('FILE_UNUSABLE', `${path} is larger than 64 MB`);
  return readFileSync(realpath);
}

function madeDirs(dir: string): string[] {
  const first = makeTree(dir, NEW_DIR_MODE);
  if (first === undefined) return [];
  const made = [];
  for (let at = dir; at.length >= first.length; at = dirname(at)) made.unshift(at);
  return made;
}

type Model = Pick<Stats, 'uid' | 'gid' | 'mode'>;

function modelOf({ realpath, bytes, mode }: ConfigFile): Model | undefined {
  if (bytes === undefined || mode === undefined) return undefined;
  const { uid, gid } = statSync(realpath);
  return { uid, gid, mode };
}

function writeLike(path: string, bytes: Buffer, model: Model | undefined): void {
  const fd = openSync(path, CREATE, NEW_FILE_MODE);
  try {
    if (model !== undefined) keepOwnerAndMode(fd, model);
    writeAll(fd, bytes);
  } finally {
    closeSync(fd);
  }
}

function keepOwnerAndMode(fd: number, { uid, gid, mode }: Model): void {
  const own = fstatSync(fd);
  if (own.uid !== uid || own.gid !== gid) fchownSync(fd, uid, gid);
  fchmodSync(fd, mode);
}

function trying<Result>(failure: string, task: () => Result): Result {
  return tryingFile(failure, task, 'Nothing was changed in it.');
}
