// Works out what `install` will change, before it changes anything: the client's file with the bridge in it, and the
// bridge's own config with the servers that move there.

import { isDeepStrictEqual } from 'node:util';
import type { DiscoveredServer } from '../discovery/discovered-server.ts';
import { natureOf } from '../discovery/server-natures.ts';
import { isTree } from '../discovery/tree.ts';
import type { ServerNature } from '../model/server-definition.ts';
import { BridgeError } from '../util/bridge-error.ts';
import { namesDirectory } from '../util/directory-variables.ts';
import { bridgeLaunch, type LaunchOptions } from './bridge-entry.ts';
import type { ClientConfig } from './client-config.ts';
import { clientRulesOf, type RulesOfClient } from './client-entry.ts';
import { permissionsOf } from './client-permissions.ts';
import { type BridgeLaunch, ENTRY_NAME } from './client-targets.ts';
import type { ConfigDocument } from './config-document.ts';
import type { EditingHost } from './editing-host.ts';
import { foundServers } from './found-servers.ts';
import type { InstallRecord, Moved } from './install-record.ts';
import { type Movable, type Staying, sortServers } from './movable-servers.ts';
import { entryInTheWay, hasClientEntry, type OwnClientEntry, withClientEntry } from './own-clients.ts';
import { type OpenOwnConfig, openOwnConfig } from './own-config.ts';
import { OwnNames } from './own-names.ts';
import type { UrlForClient } from './url-install.ts';

export interface InstallPlan {
  readonly config: ClientConfig;
  /** The URL for the client; undefined if the client starts the bridge, or has the URL already. */
  readonly at: UrlForClient | undefined;
  /** The new content of the client's file. */
  readonly document: ConfigDocument;
  /** The bridge's own config, if servers move there. */
  readonly own: OpenOwnConfig | undefined;
  readonly ownDocument: ConfigDocument | undefined;
  readonly moved: readonly Moved[];
  /** The client's rules for the tools of those servers, in the bridge's words. */
  readonly rules: RulesOfClient;
  readonly staying: readonly Staying[];
  /** The number of the client's servers that nobody asked to move. */
  readonly beside: number;
  /** The variables of each server that were replaced by their current values. */
  readonly filled: ReadonlyMap<string, readonly string[]>;
  /** The reasons why some of the moved servers are not shared like others, by name. */
  readonly natures: ReadonlyMap<string, ServerNature>;
  /** The names of the servers at a URL; those have no process. */
  readonly remotes: ReadonlySet<string>;
  /** The names of the servers that depend on the client's working directory. */
  readonly ofDirectory: ReadonlySet<string>;
  /** The reasons why servers get other names behind the bridge, by the client's names. */
  readonly renamings: ReadonlyMap<string, string>;
}

/**
 * The options of a plan. `config` is the file that servers move to, and that the client's bridge reads; undefined for
 * the user's.
 */
export interface PlanOptions extends LaunchOptions {
  readonly replace: boolean;
  readonly dryRun: boolean;
}

/** Plans an installation. `at` is the URL that the client gets instead of a program. */
export async function planInstall(
  config: ClientConfig,
  options: PlanOptions,
  { host, at }: { readonly host: EditingHost; readonly at: UrlForClient | undefined },
): Promise<InstallPlan> {
  const { target, ours, stale, document } = config;
  if (ours.length + stale.length === 0 && document.entries.has(ENTRY_NAME)) {
    throw new BridgeError('SERVER_EXISTS', `${config.file.path} has a server ${ENTRY_NAME} that is something else`, {
      hint: 'Give it another name first.',
    });
  }
  const theirs = [...document.entries.keys()].filter((name) => !ours.includes(name) && !stale.includes(name));
  const wanted = at === undefined ? target.entry(bridgeLaunch(host, options)) : target.byUrl?.entry(at);
  const withBridge = ours.length === 0 ? await document.with(ENTRY_NAME, wanted) : document;
  const bare = {
    ...{ config, at },
    document: withBridge,
    own: undefined,
    ownDocument: undefined,
    moved: [],
    staying: [],
    beside: 0,
    filled: new Map<string, readonly string[]>(),
    natures: new Map<string, ServerNature>(),
    remotes: new Set<string>(),
    ofDirectory: new Set<string>(),
    renamings: new Map<string, string>(),
    rules: { entry: undefined, kept: [], lost: [] },
  };
  if (!options.replace) return { ...bare, beside: theirs.length };
  const { movable, staying } = await sortServers(theirs, config, host);
  const own = await openOwnConfig(options.config, host);
  const filled = new Map(movable.map((server) => [server.name, server.filled]));
  const natures = new Map(movable.flatMap(({ name, server: { command = '', args } }) => named(name, command, args)));
  const remotes = new Set(movable.filter(({ server }) => server.transport !== 'stdio').map(({ name }) => name));
  const ofDirectory = new Set(
    movable.filter(({ own: entry }) => namesDirectory(JSON.stringify(entry))).map(({ name }) => name),
  );
  const found = await foundServers(own, { cwd: host.homedir, keepsNames: !options.dryRun }, host);
  const names = new OwnNames(found);
  const moving = await moveAll(movable, { document: withBridge, own, config, names });
  const ruled = await withRules({ ...moving, own, config, movable, offered: found.all }, options, host);
  return {
    ...bare,
    own,
    filled,
    natures,
    remotes,
    ofDirectory,
    ...moving,
    ...ruled,
    staying: [...staying, ...moving.staying],
  };
}

interface Ruling {
  readonly document: ConfigDocument;
  readonly ownDocument: ConfigDocument;
  readonly moved: readonly Moved[];
  readonly own: OpenOwnConfig;
  readonly config: ClientConfig;
  readonly movable: readonly Movable[];
  readonly offered: readonly DiscoveredServer[];
}

/**
 * Returns the documents with the client's rules in the bridge's config, and with a client entry that names the client.
 */
async function withRules(moving: Ruling, options: PlanOptions, host: EditingHost) {
  const { moved, own, config, movable, offered, ownDocument } = moving;
  const { target, record } = config;
  const going = moved.flatMap(({ name, as, entry }) => {
    const server = movable.find((one) => one.name === name)?.server;
    return server === undefined ? [] : [{ name, as, entry, server }];
  });
  const before = hasClientEntry(ownDocument, record?.clients) ? (record?.clients as OwnClientEntry) : undefined;
  const rules = clientRulesOf(going, {
    client: target.client,
    permissions: await permissionsOf(
      target,
      going.map(({ name }) => name),
      host,
    ),
    offered,
    obstacle: entryInTheWay(ownDocument, target.client, before),
  });
  if (rules.entry === undefined) return { rules, ownDocument, document: moving.document };
  const entry = joined(before, rules.entry);
  const named = await namingClient(moving.document, config, bridgeLaunch(host, { ...options, client: target.client }));
  return {
    rules: { ...rules, entry },
    ownDocument: await withClientEntry({ file: own.file, document: ownDocument }, before, entry),
    document: named,
  };
}

function joined(before: OwnClientEntry | undefined, entry: OwnClientEntry): OwnClientEntry {
  const rules = before?.toolRules ?? [];
  const young = (entry.toolRules ?? []).filter((rule) => !rules.some((old) => isDeepStrictEqual(old, rule)));
  const names = { ...before?.names, ...entry.names };
  return {
    match: entry.match,
    ...(Object.keys(names).length === 0 ? {} : { names }),
    ...(rules.length + young.length === 0 ? {} : { toolRules: [...rules, ...young] }),
  };
}

/** Makes the client's entry name its client. An entry that a person has written keeps all its other members. */
async function namingClient(document: ConfigDocument, { target, ours }: ClientConfig, launch: BridgeLaunch) {
  const [name = ENTRY_NAME] = ours;
  const written = ours.length === 0 ? target.entry(launch) : document.entries.get(name);
  if (!isTree(written)) return document;
  const flag = launch.args.slice(-2);
  const key = ['args', 'command'].find((one) => Array.isArray(written[one]));
  const words = key === undefined ? [] : (written[key] as readonly unknown[]);
  if (ours.length === 0) return document.with(name, written);
  return key === undefined || words.includes('--client')
    ? document
    : document.with(name, { ...written, [key]: [...words, ...flag] });
}

function named(name: string, command: string, args: readonly string[]): [string, ServerNature][] {
  const nature = natureOf(command, args);
  return nature === undefined ? [] : [[name, nature]];
}

interface Moving {
  readonly document: ConfigDocument;
  readonly own: OpenOwnConfig;
  readonly config: ClientConfig;
  readonly names: OwnNames;
}

async function moveAll(movable: readonly Movable[], { document, own, config, names }: Moving) {
  let [client, bridge] = [document, own.document];
  const moved: Moved[] = [];
  const staying: Staying[] = [];
  const renamings = new Map<string, string>();
  for (const { name, entry, server, own: wanted } of movable) {
    const without = await unlessRefused(client.without(name));
    if (without === undefined) {
      staying.push({ name, reason: 'it cannot be taken out without changing more than that' });
      continue;
    }
    const naming = names.take(server, wanted, bridge);
    if (naming.kind === 'new' && naming.why !== undefined) renamings.set(name, naming.why);
    if (naming.kind === 'new') bridge = await bridge.with(naming.name, wanted);
    client = without;
    const isOurs = naming.kind === 'new' || wasMovedBefore(config.record, naming.name, own);
    const written = naming.kind === 'new' ? wanted : bridge.entries.get(naming.name);
    moved.push({ name, entry, as: naming.name, own: isOurs ? written : null });
  }
  return { document: client, ownDocument: bridge, moved, staying, renamings };
}

async function unlessRefused(change: Promise<ConfigDocument>): Promise<ConfigDocument | undefined> {
  try {
    return await change;
  } catch (error) {
    if (error instanceof BridgeError && error.code === 'CONFIG_INVALID') return undefined;
    throw error;
  }
}

/** True if an earlier installation stopped between its two files, and the server is there already. */
function wasMovedBefore(record: InstallRecord | undefined, name: string, own: OpenOwnConfig): boolean {
  return record?.ownFile === own.file.path && record.moved.some(({ as, own: entry }) => as === name && entry !== null);
}
