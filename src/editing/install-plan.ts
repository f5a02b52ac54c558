// What `install` is going to change, worked out before anything is: the client's file with the bridge in it, and the
// bridge's own config with the servers that move there.

import type { ServerNature } from '../core/server-definition.ts';
import { natureOf } from '../discovery/server-natures.ts';
import { BridgeError } from '../util/bridge-error.ts';
import { bridgeLaunch, type LaunchOptions } from './bridge-entry.ts';
import type { ClientConfig } from './client-config.ts';
import { ENTRY_NAME } from './client-targets.ts';
import type { ConfigDocument } from './config-document.ts';
import type { EditingHost } from './editing-host.ts';
import { foundServers } from './found-servers.ts';
import type { InstallRecord, Moved } from './install-record.ts';
import { type Movable, type Staying, sortServers } from './movable-servers.ts';
import { type OwnConfig, openOwnConfig } from './own-config.ts';
import { OwnNames } from './own-names.ts';

export interface InstallPlan {
  readonly config: ClientConfig;
  /** The client's file as it is to be. */
  readonly document: ConfigDocument;
  /** The bridge's own, where servers move. */
  readonly own: OwnConfig | undefined;
  readonly ownDocument: ConfigDocument | undefined;
  readonly moved: readonly Moved[];
  readonly staying: readonly Staying[];
  /** How many of the client's own were not asked to move. */
  readonly beside: number;
  /** The variables of each that have become the values that they have now. */
  readonly filled: ReadonlyMap<string, readonly string[]>;
  /** Why some of them are not shared as others are, by these names. */
  readonly natures: ReadonlyMap<string, ServerNature>;
  /** For whom the names of servers mean something else, by these names. */
  readonly rivals: ReadonlyMap<string, string>;
}

/** `config` is where servers go, and what the client's bridge reads, if not the user's. */
export interface PlanOptions extends LaunchOptions {
  readonly replace: boolean;
  readonly dryRun: boolean;
}

export async function planInstall(config: ClientConfig, options: PlanOptions, host: EditingHost): Promise<InstallPlan> {
  const { target, ours, stale, document } = config;
  if (ours.length + stale.length === 0 && document.entries.has(ENTRY_NAME)) {
    throw new BridgeError('SERVER_EXISTS', `${config.file.path} has a server ${ENTRY_NAME} that is something else`, {
      hint: 'Give it another name first.',
    });
  }
  const theirs = [...document.entries.keys()].filter((name) => !ours.includes(name) && !stale.includes(name));
  const wanted = target.entry(bridgeLaunch(host, options));
  const withBridge = ours.length === 0 ? await document.with(ENTRY_NAME, wanted) : document;
  const bare = {
    config,
    document: withBridge,
    own: undefined,
    ownDocument: undefined,
    moved: [],
    staying: [],
    beside: 0,
    filled: new Map<string, readonly string[]>(),
    natures: new Map<string, ServerNature>(),
    rivals: new Map<string, string>(),
  };
  if (!options.replace) return { ...bare, beside: theirs.length };
  const { movable, staying } = await sortServers(theirs, config, host);
  const own = await openOwnConfig(options.config, host);
  const filled = new Map(movable.map((server) => [server.name, server.filled]));
  const natures = new Map(movable.flatMap(({ name, server: { command = '', args } }) => named(name, command, args)));
  const found = await foundServers(own, { cwd: host.homedir, keepsNames: !options.dryRun }, host);
  const names = new OwnNames(found);
  const moving = await moveAll(movable, { document: withBridge, own, config, names });
  return { ...bare, own, filled, natures, ...moving, staying: [...staying, ...moving.staying] };
}

function named(name: string, command: string, args: readonly string[]): [string, ServerNature][] {
  const nature = natureOf(command, args);
  return nature === undefined ? [] : [[name, nature]];
}

interface Moving {
  readonly document: ConfigDocument;
  readonly own: OwnConfig;
  readonly config: ClientConfig;
  readonly names: OwnNames;
}

async function moveAll(movable: readonly Movable[], { document, own, config, names }: Moving) {
  let [client, bridge] = [document, own.document];
  const moved: Moved[] = [];
  const staying: Staying[] = [];
  const rivals = new Map<string, string>();
  for (const { name, entry, server, own: wanted } of movable) {
    const without = await unlessRefused(client.without(name));
    if (without === undefined) {
      staying.push({ name, reason: 'it cannot be taken out without changing more than that' });
      continue;
    }
    const naming = names.take(server, wanted, bridge);
    if (naming.kind === 'new' && naming.rival !== undefined) rivals.set(name, naming.rival);
    if (naming.kind === 'new') bridge = await bridge.with(naming.name, wanted);
    client = without;
    const isOurs = naming.kind === 'new' || wasMovedBefore(config.record, naming.name, own);
    const written = naming.kind === 'new' ? wanted : bridge.entries.get(naming.name);
    moved.push({ name, entry, as: naming.name, own: isOurs ? written : null });
  }
  return { document: client, ownDocument: bridge, moved, staying, rivals };
}

async function unlessRefused(change: Promise<ConfigDocument>): Promise<ConfigDocument | undefined> {
  try {
    return await change;
  } catch (error) {
    if (error instanceof BridgeError && error.code === 'CONFIG_INVALID') return undefined;
    throw error;
  }
}

/** It is there already because an installation was cut short between its two files. */
function wasMovedBefore(record: InstallRecord | undefined, name: string, own: OwnConfig): boolean {
  return record?.ownFile === own.file.path && record.moved.some(({ as, own: entry }) => as === name && entry !== null);
}
