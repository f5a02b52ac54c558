// The record of what `install` did to a client, so that `uninstall` can undo it. Each changed config file has one
// private record file, and copies of its old content. Both may hold secrets.

import { createHash } from 'node:crypto';
import { existsSync, readdirSync } from 'node:fs';
import { basename, join } from 'node:path';
import { ensurePrivateTree, readPrivate, removePrivate, writePrivate } from '../local/private-file.ts';
import { BridgeError } from '../util/bridge-error.ts';
import { expectSyntaxError } from '../util/expected-error.ts';
import { isRecord } from '../util/json-value.ts';
import { type ConfigFile, digestOf } from './config-file.ts';
import { backupsDir, type EditingHost, recordsDir } from './editing-host.ts';

const VERSION = 1;
/** The maximum number of copies of one file. */
const MOST_BACKUPS = 10;

/** The means to restore a file byte for byte. */
export interface Original {
  /** The copy; null if there was no file. */
  readonly backup: string | null;
  /** The digest of what we wrote: while the file matches it, nobody else has changed the file. */
  readonly left: string;
  /** The directories that were made for the file. */
  readonly dirs: readonly string[];
  /** The file's old permissions, if a token in the file has narrowed them. */
  readonly mode?: number | undefined;
}

/** A server that was moved behind the bridge. */
export interface Moved {
  readonly name: string;
  /** The entry that stood in the client's file. */
  readonly entry: unknown;
  /** Its name in the bridge's own config, and the entry written there; null if the config had that entry already. */
  readonly as: string;
  readonly own: unknown;
}

export interface InstallRecord {
  readonly file: string;
  /** Null if the old bytes cannot be restored. */
  readonly original: Original | null;
  readonly moved: readonly Moved[];
  /** The bridge's own config, if servers were moved there. */
  readonly ownFile: string | null;
  readonly ownOriginal: Original | null;
  /** The directories made for that config, if this installation or an earlier one has made it. */
  readonly ownMade?: readonly string[] | null;
  /** The name of the token that was made for the client. */
  readonly token?: string | null;
  /** The entry for the client in `clients` of the bridge's own config. */
  readonly clients?: unknown;
}

/** A record, and the client that it belongs to. */
export interface ClientRecord {
  readonly client: string;
  readonly record: InstallRecord;
}

function pathOf(client: string, file: string, host: EditingHost): string {
  const key = createHash('sha256').update(file).digest('hex').slice(0, 12);
  return join(recordsDir(host), `${client}-${key}.json`);
}

export function readRecord(client: string, file: string, host: EditingHost): InstallRecord | undefined {
  const path = pathOf(client, file, host);
  const record = recordAt(path, host);
  if (record === undefined || record.file === file) return record;
  throw unusable(path, host);
}

/** The records of all clients, in the order of their names. */
function allRecords(host: EditingHost): ClientRecord[] {
  const dir = recordsDir(host);
  if (!existsSync(dir)) return [];
  return readdirSync(dir)
    .sort()
    .flatMap((name) => {
      const [, client] = /^(.+)-[0-9a-f]{12}\.json$/.exec(name) ?? [];
      const record = client === undefined ? undefined : recordAt(join(dir, name), host);
      return client === undefined || record === undefined ? [] : [{ client, record }];
    });
}

/** The records of other files that have moved servers to the same config of the bridge. */
export function recordsBeside(ownFile: string, file: string, host: EditingHost): ClientRecord[] {
  return allRecords(host).filter(({ record }) => record.ownFile === ownFile && record.file !== file);
}

function recordAt(path: string, host: EditingHost): InstallRecord | undefined {
  const text = readPrivate(path);
  if (text === undefined) return undefined;
  const value = parsed(text);
  if (isRecord(value) && value.version === VERSION && typeof value.file === 'string' && Array.isArray(value.moved))
    return value as unknown as InstallRecord;
  throw unusable(path, host);
}

function unusable(path: string, host: EditingHost): BridgeError {
  return new BridgeError('FILE_UNUSABLE', `${path} is not a record of this version`, {
    hint: `Look at it, and remove it. Copies of what was there are in ${backupsDir(host)}.`,
  });
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    expectSyntaxError(error);
    return undefined; // The record counts as one that cannot be used.
  }
}

export function writeRecord(client: string, record: InstallRecord, host: EditingHost): void {
  const path = pathOf(client, record.file, host);
  host.before?.('record', path);
  ensurePrivateTree(recordsDir(host));
  writePrivate(path, `${JSON.stringify({ version: VERSION, ...record }, undefined, 2)}\n`);
}

export function removeRecord(client: string, file: string, host: EditingHost): void {
  removePrivate(pathOf(client, file, host));
}

/** Copies the file as it is; null if there is none. */
export function backUp(file: ConfigFile, client: string, host: EditingHost): string | null {
  if (file.bytes === undefined) return null;
  const dir = backupsDir(host);
  ensurePrivateTree(dir);
  const stamp = host.now().toISOString().replace(/[:.]/g, '-');
  const path = join(dir, `${client}-${stamp}-${digestOf(file.bytes).slice(0, 8)}-${basename(file.path)}`);
  writePrivate(path, file.text);
  removeOldBackups(dir, path, { client, file, host });
  return path;
}

/**
 * Removes old copies of a file. Keeps the last ones, the newest (even if the clock is wrong), and those that an
 * `uninstall` would restore.
 */
function removeOldBackups(
  dir: string,
  newest: string,
  { client, file, host }: { client: string; file: ConfigFile; host: EditingHost },
) {
  const needed = new Set([
    newest,
    ...allRecords(host).flatMap(({ record }) => [record.original?.backup, record.ownOriginal?.backup]),
  ]);
  const isOfFile = (name: string): boolean =>
    name.startsWith(`${client}-`) &&
    /^\d{4}-[\dTZ-]+-[0-9a-f]{8}-$/.test(name.slice(client.length + 1, -basename(file.path).length)) &&
    name.endsWith(basename(file.path));
  const copies = readdirSync(dir).filter(isOfFile).sort();
  const old = copies.slice(0, -MOST_BACKUPS).map((name) => join(dir, name));
  for (const path of old) if (!needed.has(path)) removePrivate(path);
}

/** The bytes of the copy; undefined if the copy is gone. */
export function backedUp({ backup }: Original): Buffer | undefined {
  const text = backup === null ? undefined : readPrivate(backup);
  return text === undefined ? undefined : Buffer.from(text);
}

export function removeBackup(original: Original | null): void {
  if (original !== null && original.backup !== null) removePrivate(original.backup);
}
