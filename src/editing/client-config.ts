// A client's config file, opened to be changed. It finds the file on this machine, the servers in it, and the entries
// that are the bridge. It also lists the clients on this machine, and says which of them have the bridge.

import { existsSync } from 'node:fs';
import { isTree, treeAt } from '../discovery/tree.ts';
import { BridgeError } from '../util/bridge-error.ts';
import { nearest, suggestion } from '../util/nearest.ts';
import { kinshipOf } from './bridge-entry.ts';
import { findProgram } from './client-command.ts';
import { CLIENT_TARGETS, type ClientTarget, pathsOf } from './client-targets.ts';
import { ConfigDocument } from './config-document.ts';
import { type ConfigFile, readConfigFile } from './config-file.ts';
import { type EditingHost, machineOfHost } from './editing-host.ts';
import { type InstallRecord, readRecord } from './install-record.ts';

export interface ClientConfig {
  readonly target: ClientTarget;
  readonly file: ConfigFile;
  readonly document: ConfigDocument;
  /** The names of entries that start this bridge; `stale` holds those that start it at an old place. */
  readonly ours: readonly string[];
  readonly stale: readonly string[];
  /** The record of earlier changes to this file. */
  readonly record: InstallRecord | undefined;
  /** True if anything of the client was found on this machine. */
  readonly isHere: boolean;
}

/** Finds a target by its id or its title. */
export function targetNamed(client: string): ClientTarget {
  const wanted = spelling(client);
  const found = CLIENT_TARGETS.find((target) => [target.client, target.title].map(spelling).includes(wanted));
  if (found !== undefined) return found;
  const names = CLIENT_TARGETS.map((target) => target.client);
  const near = nearest(client, names);
  throw new BridgeError('USAGE', `install does not know the client ${client}`, {
    hint: suggestion(near) ?? `It knows: ${names.join(', ')}`,
  });
}

/** The name without case and separators. */
function spelling(name: string): string {
  return name.toLowerCase().replace(/[\s_-]+/g, '');
}

/** Chooses the file that the client reads. If there are several, a file that we have changed before comes first. */
export function fileOf(target: ClientTarget, host: EditingHost): string {
  const paths = pathsOf(target.files, machineOfHost(host));
  const recorded = paths.find((path) => readRecord(target.client, path, host) !== undefined);
  const found = recorded ?? paths.find((path) => existsSync(path)) ?? paths[0];
  if (found !== undefined) return found;
  throw new BridgeError('USAGE', `${target.title} does not exist on this platform`);
}

function isPresent(target: ClientTarget, host: EditingHost): boolean {
  const machine = machineOfHost(host);
  return pathsOf([...target.signs, ...target.files], machine).some((path) => existsSync(path));
}

export async function openClientConfig(target: ClientTarget, host: EditingHost): Promise<ClientConfig> {
  const path = fileOf(target, host);
  const record = readRecord(target.client, path, host);
  const { program } = target.command ?? {};
  const isHere = isPresent(target, host) || (program !== undefined && findProgram(program, host) !== undefined);
  return { ...(await readClientConfig(target, path, host)), record, isHere };
}

/** Reads the file as it is now. */
export async function readClientConfig(
  target: ClientTarget,
  path: string,
  host: EditingHost,
): Promise<Omit<ClientConfig, 'record' | 'isHere'>> {
  const file = readConfigFile(path);
  const place = { path, syntax: target.syntax, container: target.container };
  const outer = await ConfigDocument.parse(file.text, place);
  const deeper = containerIn(outer, target);
  const document =
    deeper === undefined ? outer : await ConfigDocument.parse(file.text, { ...place, container: deeper });
  const kin = [...document.entries].map(([name, fields]) => ({ name, kinship: kinshipOf(name, fields, target, host) }));
  const named = (wanted: string): string[] => kin.filter(({ kinship }) => kinship === wanted).map(({ name }) => name);
  return { target, file, document, ours: named('ours'), stale: named('stale') };
}

/** OpenCode 2 keeps its servers one level deeper; OpenCode 1 may have a server with that name. */
function containerIn({ value }: ConfigDocument, { client, container }: ClientTarget): string[] | undefined {
  const nested = client === 'opencode' ? treeAt(value, ...container, 'servers') : undefined;
  const isServer = nested !== undefined && ['type', 'command', 'url', 'enabled'].some((key) => key in nested);
  return isTree(nested) && !isServer ? [...container, 'servers'] : undefined;
}

export interface ListedClient {
  readonly client: string;
  readonly title: string;
  readonly file: string;
  readonly isHere: boolean;
  readonly state: 'installed' | 'not-installed' | 'unusable';
  /** The reason why its file cannot be used. */
  readonly problem?: string;
}

export function listClients(host: EditingHost): Promise<ListedClient[]> {
  return Promise.all(CLIENT_TARGETS.map((target) => listed(target, host)));
}

async function listed(target: ClientTarget, host: EditingHost): Promise<ListedClient> {
  const [usual = ''] = pathsOf(target.files, machineOfHost(host));
  const common = { client: target.client, title: target.title, isHere: isPresent(target, host) };
  let file = usual;
  try {
    file = fileOf(target, host);
    const { ours } = await readClientConfig(target, file, host);
    return { ...common, file, state: ours.length > 0 ? 'installed' : 'not-installed' };
  } catch (error) {
    if (!(error instanceof BridgeError)) throw error;
    return { ...common, file, state: 'unusable', problem: error.message };
  }
}
