// Adds and removes servers in the bridge's own config: by hand, or from the servers that discovery finds in other
// programs' configs.

import type { DiscoveredServer, ServerState } from '../discovery/discovered-server.ts';
import { locationsOf } from '../discovery/locations.ts';
import type { Tree } from '../discovery/tree.ts';
import { isServerName, SERVER_NAME_RULE } from '../protocol/inbound-server.ts';
import { BridgeError } from '../util/bridge-error.ts';
import { nearest, suggestion } from '../util/nearest.ts';
import type { ConfigDocument } from './config-document.ts';
import { diffOf, type EditReport } from './edit-report.ts';
import { alone, type EditingHost, machineOfHost } from './editing-host.ts';
import { foundServers, type ServersToMove } from './found-servers.ts';
import { backUp } from './install-record.ts';
import { isNarrowed, narrowedLine, type OpenOwnConfig, openOwnConfig, replaceOwn } from './own-config.ts';
import { faultOf, filledWords, ownEntryOf } from './own-entry.ts';
import { OwnNames } from './own-names.ts';

/** The name for copies of the bridge's own config. */
const OWN = 'bridge';

export interface OwnOptions {
  readonly config: string | undefined;
}

export async function addServer(name: string, entry: Tree, options: OwnOptions, host: EditingHost): Promise<string[]> {
  const fault = faultOf(name, entry);
  if (fault !== undefined) throw new BridgeError('USAGE', fault, { hint: 'See: mcp-bridge add --help' });
  return alone(host, async () => {
    const own = await openOwnConfig(options.config, host);
    if (own.document.entries.has(name)) {
      throw new BridgeError('SERVER_EXISTS', `There is a server ${name} in ${own.file.path} already`, {
        hint: `Remove it first: mcp-bridge remove ${name}`,
      });
    }
    write(own, { document: await own.document.with(name, entry), entries: [entry] }, host);
    return [`"${name}" was added to ${own.file.path}`, ...nameLines(name), ...narrowing(own, [entry], 'did')];
  });
}

/** Warns about an unusual name; the config takes any. */
function nameLines(name: string): string[] {
  return isServerName(name) ? [] : [`A name is better made of ${SERVER_NAME_RULE}: \`attach\` takes no other`];
}

/** Removes all of these servers, or none if one of them is missing. */
export function removeServers(wanted: readonly string[], options: OwnOptions, host: EditingHost): Promise<string[]> {
  return alone(host, async () => {
    const own = await openOwnConfig(options.config, host);
    const names = [...own.document.entries.keys()];
    let { document } = own;
    const gone = new Set(wanted);
    for (const name of gone) {
      if (!names.includes(name)) {
        const hint = (await hintElsewhere(name, own, host)) ?? hintHere(name, names);
        throw new BridgeError('SERVER_NOT_FOUND', `There is no server ${name} in ${own.file.path}`, { hint });
      }
      document = await document.without(name);
    }
    write(own, { document, entries: [] }, host);
    return [...gone].map((name) => `"${name}" was removed from ${own.file.path}`);
  });
}

function hintHere(name: string, names: readonly string[]): string {
  const near = nearest(name, names);
  return names.length === 0 ? 'It has none.' : `There are: ${(near.length > 0 ? near : names).join(', ')}`;
}

/** A hint that names other programs' files that define the server. */
async function hintElsewhere(name: string, own: OpenOwnConfig, host: EditingHost): Promise<string | undefined> {
  const { others } = await foundServers(own, { cwd: host.cwd, keepsNames: false }, host);
  const places = others
    .filter((server) => server.name === name)
    .map(({ client, file }) => `${atHome(file, host)} (${client})`);
  return places.length === 0 ? undefined : `It is defined in ${[...new Set(places)].join(', ')}: remove it there.`;
}

function atHome(path: string, { homedir }: EditingHost): string {
  return path.startsWith(`${homedir}/`) ? `~${path.slice(homedir.length)}` : path;
}

interface Change {
  readonly document: ConfigDocument;
  /** The entries that are added to the file. */
  readonly entries: readonly unknown[];
}

function write({ file }: OpenOwnConfig, { document, entries }: Change, host: EditingHost): void {
  backUp(file, OWN, host);
  replaceOwn(file, { bytes: Buffer.from(document.text), entries }, host);
}

function narrowing({ file }: OpenOwnConfig, entries: readonly unknown[], mood: 'did' | 'would'): string[] {
  return isNarrowed(file, entries) ? [narrowedLine(file, mood)] : [];
}

export interface ImportOptions extends OwnOptions {
  readonly dryRun: boolean;
}

/** Imports servers from these clients, or from all. */
export function importServers(
  clients: readonly string[] | 'all',
  options: ImportOptions,
  host: EditingHost,
): Promise<EditReport> {
  if (clients !== 'all') for (const client of clients) refuseUnknown(client, host);
  const task = async (): Promise<EditReport> => {
    const own = await openOwnConfig(options.config, host);
    const found = await foundServers(own, { cwd: host.cwd, keepsNames: !options.dryRun }, host);
    const { document, entries, ...imported } = await importedInto(own, clients, { ...found, dryRun: options.dryRun });
    const lines = [...imported.lines, ...narrowing(own, entries, options.dryRun ? 'would' : 'did')];
    const edit = {
      file: own.file,
      syntax: 'json',
      after: document === own.document ? own.file.bytes && own.file.text : document.text,
    } as const;
    if (options.dryRun) return { lines, diff: await diffOf([edit]) };
    if (document !== own.document) write(own, { document, entries }, host);
    return { lines, diff: '' };
  };
  return options.dryRun ? task() : alone(host, task);
}

function refuseUnknown(client: string, host: EditingHost): void {
  const names = new Set(locationsOf(machineOfHost(host)).map((location) => location.client));
  names.delete(OWN);
  if (names.has(client)) return;
  const near = nearest(client, names);
  throw new BridgeError('USAGE', `There is no client ${client} to import from`, {
    hint: suggestion(near) ?? 'Which clients have servers here: mcp-bridge discover --all',
  });
}

/** States of servers that can be imported. A duplicate also belongs to its own client. */
const IMPORTABLE = new Set<ServerState>(['ready', 'duplicate']);

type Importing = ServersToMove & Pick<ImportOptions, 'dryRun'>;

async function importedInto(own: OpenOwnConfig, clients: readonly string[] | 'all', { dryRun, ...found }: Importing) {
  let { document } = own;
  const lines: string[] = [];
  const entries: unknown[] = [];
  const isWanted = ({ client }: DiscoveredServer) => client !== OWN && (clients === 'all' || clients.includes(client));
  const names = new OwnNames(found);
  for (const server of found.others.filter(isWanted)) {
    const { name, client } = server;
    const called = `"${name}" of ${client}`;
    const judged = IMPORTABLE.has(server.state) ? ownEntryOf(server) : undefined;
    if (judged?.kind !== 'entry') {
      lines.push(`${called} is left out: ${judged?.reason ?? server.reason ?? `it is ${server.state}`}`);
      continue;
    }
    const naming = names.take(server, judged.entry, document);
    const as = naming.name === name ? '' : ` as "${naming.name}"`;
    if (naming.kind === 'same') {
      lines.push(`${called} is there already${as}`);
      continue;
    }
    const why = naming.why === undefined ? '' : `, because ${naming.why}`;
    entries.push(judged.entry);
    document = await document.with(naming.name, judged.entry);
    lines.push(`${called} ${dryRun ? 'would go' : 'went'} to ${own.file.path}${as}${why}${filledWords(judged.filled)}`);
  }
  return { document, entries, lines: lines.length === 0 ? ['No servers were found there'] : lines };
}
