// Removes the bridge from a client's config, and restores what was there. If nobody has changed the file since, it gets
// its old bytes back; else our entries go and the moved servers return. It writes the client's file first: a crash in
// between leaves a server in both places, never in none.

import { isDeepStrictEqual } from 'node:util';
import { findProgram, runClient } from './client-command.ts';
import { type ClientConfig, openClientConfig, readClientConfig } from './client-config.ts';
import { type ClientTarget, ENTRY_NAME } from './client-targets.ts';
import { ConfigDocument } from './config-document.ts';
import { type ConfigFile, digestOf, removeMadeDirs } from './config-file.ts';
import { diffOf, type EditReport, type FileEdit, isEdit } from './edit-report.ts';
import { alone, type EditingHost, replace } from './editing-host.ts';
import {
  backedUp,
  type ClientRecord,
  type InstallRecord,
  type Moved,
  type Original,
  recordsBeside,
  removeBackup,
  removeRecord,
  writeRecord,
} from './install-record.ts';
import { hasClientEntry, withClientEntry } from './own-clients.ts';
import { openOwnConfig } from './own-config.ts';
import { revokeToken } from './url-install.ts';

export interface UninstallOptions {
  readonly dryRun: boolean;
  readonly clientCommand: boolean;
}

interface Undoing extends FileEdit {
  /** The directories to remove with the file, if they are empty by then. */
  readonly dirs: readonly string[];
  readonly isExact: boolean;
  readonly lines: readonly string[];
  /** The names of servers that return or go. */
  readonly servers: readonly string[];
}

interface OwnUndoing extends Undoing {
  /** The records of other clients that take over some of these servers. */
  readonly heirs: readonly ClientRecord[];
}

interface UninstallPlan {
  readonly config: ClientConfig;
  readonly client: Undoing;
  readonly own: OwnUndoing | undefined;
}

export function uninstall(target: ClientTarget, options: UninstallOptions, host: EditingHost): Promise<EditReport> {
  const task = async (): Promise<EditReport> => {
    const config = await openClientConfig(target, host);
    const plan = { config, client: await undoClient(config), own: await undoOwn(config, host) };
    if (options.dryRun) return { lines: linesOf(plan, 'would'), diff: await diffOf(editsOf(plan)) };
    await carryOut(plan, options, host);
    return { lines: linesOf(plan, 'did'), diff: '' };
  };
  return options.dryRun ? task() : alone(host, task);
}

function editsOf({ client, own }: UninstallPlan): Undoing[] {
  return own === undefined ? [client] : [client, own];
}

/** The old text, if the file is as we left it and the copy still exists. */
function exactly(file: ConfigFile, original: Original | null | undefined): { after: string | undefined } | undefined {
  if (!original || file.bytes === undefined || digestOf(file.bytes) !== original.left) return undefined;
  if (original.backup === null) return { after: undefined };
  const bytes = backedUp(original);
  return bytes === undefined ? undefined : { after: bytes.toString('utf8') };
}

async function undoClient(config: ClientConfig): Promise<Undoing> {
  const { file, target, record } = config;
  const bare = { file, syntax: target.syntax, dirs: record?.original?.dirs ?? [] };
  const exact = exactly(file, record?.original);
  const servers = record?.moved.map(({ name }) => name) ?? [];
  if (exact !== undefined) return { ...bare, ...exact, isExact: true, servers, lines: [] };
  if (file.bytes === undefined) return { ...bare, after: undefined, isExact: false, servers: [], lines: [] };
  let { document } = config;
  for (const name of namesToRemove(config)) document = await document.without(name);
  const missing = record?.moved.filter(({ name }) => !document.entries.has(name)) ?? [];
  const before = await documentBefore(config);
  for (const { name, entry } of missing)
    document = await (before === undefined ? document.with(name, entry) : document.withAsIn(name, entry, before));
  const wasMade = record?.original?.backup === null;
  document = await withoutOurMap(document, config);
  return {
    ...bare,
    after: wasMade && document.isHollow ? undefined : document.text,
    isExact: false,
    servers,
    lines: [],
  };
}

/** The old document; undefined without a copy. */
async function documentBefore({ target, record }: ClientConfig): Promise<ConfigDocument | undefined> {
  const bytes = record?.original ? backedUp(record.original) : undefined;
  if (bytes === undefined) return undefined;
  const { syntax, container } = target;
  return ConfigDocument.parse(bytes.toString('utf8'), { path: record?.file ?? '', syntax, container });
}

/** Removes the map of servers too, if it is empty and did not exist before. */
async function withoutOurMap(document: ConfigDocument, { target, record }: ClientConfig): Promise<ConfigDocument> {
  const { container, syntax } = target;
  const before = record?.original ? backedUp(record.original) : undefined;
  const name = container.at(-1);
  if (before === undefined || name === undefined || document.entries.size > 0) return document;
  const outer = { path: record?.file ?? '', syntax, container: container.slice(0, -1) };
  const [was, is] = [
    await ConfigDocument.parse(before.toString('utf8'), outer),
    await ConfigDocument.parse(document.text, outer),
  ];
  const isOurs = is.entries.has(name) && !was.entries.has(name);
  return isOurs ? is.without(name) : document;
}

/**
 * The names to remove. With a record, only the bridge's usual entry, if it is there; else every entry that leads to the
 * bridge.
 */
function namesToRemove({ ours, stale, record }: ClientConfig): readonly string[] {
  const found = [...ours, ...stale];
  return record !== undefined && found.includes(ENTRY_NAME) ? [ENTRY_NAME] : found;
}

/**
 * Plans the undoing in the bridge's own config; undefined if nothing was moved there. A server stays if the user has
 * changed it since, or if another client uses it.
 */
async function undoOwn({ record, file }: ClientConfig, host: EditingHost): Promise<OwnUndoing | undefined> {
  const moved = record?.moved.filter(({ own }) => own !== null) ?? [];
  const clients = record?.clients ?? undefined;
  if (record === undefined || record.ownFile === null) return undefined;
  if (moved.length === 0 && clients === undefined) return undefined;
  const own = await openOwnConfig(record.ownFile, host);
  const dirs = record.ownMade ?? record.ownOriginal?.dirs ?? [];
  const bare = { file: own.file, syntax: 'json', dirs, heirs: [] } as const;
  if (file.bytes === undefined)
    return { ...bare, after: own.file.bytes && own.file.text, isExact: false, servers: [], lines: stayed(record) };
  const beside = recordsBeside(record.ownFile, record.file, host);
  const inherited = moved.filter(({ as }) => beside.some((other) => countsOn(other, as)));
  const exact = inherited.length === 0 ? exactly(own.file, record.ownOriginal) : undefined;
  if (exact !== undefined)
    return {
      ...bare,
      ...exact,
      isExact: true,
      servers: moved.map(({ as }) => as),
      lines: clientsLines(own.file, clients),
    };
  let document: ConfigDocument = own.document;
  const lines: string[] = [];
  const servers: string[] = [];
  for (const server of moved) {
    const { as, own: entry } = server;
    const present = document.entries.get(as);
    const heir = inherited.includes(server) ? beside.find((other) => countsOn(other, as)) : undefined;
    if (heir !== undefined) lines.push(`"${as}" stays in ${own.file.path}: ${heir.client} uses it too`);
    else if (isDeepStrictEqual(present, entry)) {
      document = await document.without(as);
      servers.push(as);
    } else if (present !== undefined) lines.push(`"${as}" stays in ${own.file.path}: it was changed since`);
  }
  if (hasClientEntry(document, clients)) {
    document = await withClientEntry({ file: own.file, document }, clients, undefined);
    lines.push(...clientsLines(own.file, clients));
  } else if (clients !== undefined)
    lines.push(`What "clients" of ${own.file.path} says of it stays: it was changed since`);
  const isGone = own.file.bytes === undefined || (isMadeByUs(record) && isEmptyConfig(document));
  return {
    ...bare,
    after: isGone ? undefined : document.text,
    isExact: false,
    servers,
    lines,
    heirs: heirsOf(inherited, beside),
  };
}

function clientsLines({ path }: ConfigFile, clients: unknown): string[] {
  return clients === undefined ? [] : [`What "clients" of ${path} says of it goes too`];
}

function countsOn({ record }: ClientRecord, name: string): boolean {
  return record.moved.some(({ as }) => as === name);
}

/**
 * Notes in the other clients' records the servers that this `uninstall` leaves to them. Their `uninstall` removes those
 * servers; their old copies still hold them.
 */
function heirsOf(inherited: readonly Moved[], beside: readonly ClientRecord[]): ClientRecord[] {
  const left = new Map(inherited.map((server) => [server.as, server.own]));
  return beside
    .filter((other) => inherited.some(({ as }) => countsOn(other, as)))
    .map(({ client, record }) => {
      const moved = record.moved.map((server) => ({ ...server, own: server.own ?? left.get(server.as) ?? null }));
      return { client, record: { ...record, moved, ownOriginal: null } };
    });
}

function isMadeByUs({ ownMade, ownOriginal }: InstallRecord): boolean {
  return (ownMade ?? null) !== null || ownOriginal?.backup === null;
}

/** True if the config holds only the map for servers, and no comments. */
function isEmptyConfig({ text }: ConfigDocument): boolean {
  return /^\s*\{\s*(?:"mcpServers"\s*:\s*\{\s*\}\s*)?\}\s*$/.test(text);
}

function stayed({ moved, ownFile }: InstallRecord): string[] {
  return moved.map(({ as }) => `"${as}" stays in ${ownFile}: the client has no file any more`);
}

async function carryOut(plan: UninstallPlan, options: UninstallOptions, host: EditingHost): Promise<void> {
  const { config, client, own } = plan;
  const { target, file, record } = config;
  const isByCommand = options.clientCommand && !client.isExact && (await byClientCommand(config, host));
  if (!isByCommand) undo(withModeOf(client, record), host);
  if (own !== undefined) undo(own, host);
  for (const heir of own?.heirs ?? []) writeRecord(heir.client, heir.record, host);
  if (record === undefined) return;
  await revokeToken(record.token, host);
  removeRecord(target.client, file.path, host);
  if (client.isExact) removeBackup(record.original);
  if (own?.isExact === true) removeBackup(record.ownOriginal);
}

/** Restores the permissions that the file had before it held a token. */
function withModeOf(edit: Undoing, record: InstallRecord | undefined): Undoing {
  const mode = record?.original?.mode;
  return mode === undefined || edit.file.bytes === undefined ? edit : { ...edit, file: { ...edit.file, mode } };
}

function undo(edit: Undoing, host: EditingHost): void {
  if (!isEdit(edit)) return;
  const { file, after, dirs } = edit;
  replace(file, after === undefined ? undefined : Buffer.from(after), host);
  if (after === undefined) removeMadeDirs(dirs);
}

/** True if the client has done it. Its command can only forget one entry, so it is used for nothing else. */
async function byClientCommand(config: ClientConfig, host: EditingHost): Promise<boolean> {
  const { target, file, record, ours } = config;
  const { command } = target;
  const isPlain = ours.length === 1 && ours[0] === ENTRY_NAME && (record?.moved.length ?? 0) === 0;
  const path = command?.remove === undefined || !isPlain ? undefined : findProgram(command.program, host);
  if (command?.remove === undefined || path === undefined) return false;
  await runClient(path, command.remove(ENTRY_NAME), host);
  const now = await readClientConfig(target, file.path, host);
  return now.ours.length === 0 && now.file.text !== file.text;
}

function linesOf({ config, client, own }: UninstallPlan, mood: 'did' | 'would'): string[] {
  const { target, file, ours, stale } = config;
  if (!isEdit(client) && (own === undefined || !isEdit(own)) && ours.length + stale.length === 0)
    return [`The bridge is not in ${file.path}`, ...(own?.lines ?? [])];
  const isDone = mood === 'did';
  const exact = client.after === undefined ? 'is gone again' : 'is as it was';
  const how = client.isExact ? exact : 'has no bridge in it any more';
  const first = `${file.path} ${isDone ? how : `would lose the bridge${client.isExact ? ', and be as it was' : ''}`}`;
  const back = client.servers.map((name) => `"${name}" ${isDone ? 'is' : 'would be'} there again`);
  const gone =
    own?.servers.map((name) => `"${name}" ${isDone ? 'was' : 'would be'} removed from ${own.file.path}`) ?? [];
  return [first, ...back, ...gone, ...(own?.lines ?? []), ...(isDone ? [`Restart ${target.title}.`] : [])];
}
