// Decides which servers of a client's file can move behind the bridge, and with which entry. Discovery judges them by
// that file alone: other places that define the same names are no reason to leave a server.

import type { DiscoveredServer } from '../discovery/discovered-server.ts';
import { discoverServers } from '../discovery/discovery.ts';
import type { DiscoveryHost } from '../discovery/host.ts';
import { KeptInputs, referenceTo } from '../discovery/inputs.ts';
import { type Location, locationsOf } from '../discovery/locations.ts';
import { nodeDiscoveryHost } from '../discovery/node-host.ts';
import type { Tree } from '../discovery/tree.ts';
import { BridgeError } from '../util/bridge-error.ts';
import type { ClientTarget } from './client-targets.ts';
import type { ConfigDocument } from './config-document.ts';
import type { ConfigFile } from './config-file.ts';
import { type EditingHost, machineOfHost } from './editing-host.ts';
import { ownEntryOf } from './own-entry.ts';

export interface Movable {
  readonly name: string;
  /** The entry in the client's file; `server` is the same entry as discovery sees it. */
  readonly entry: unknown;
  readonly server: DiscoveredServer;
  readonly own: Tree;
  /** The variables that were replaced by their current values. */
  readonly filled: readonly string[];
}

export interface Staying {
  readonly name: string;
  readonly reason: string;
}

export interface Sorted {
  readonly movable: readonly Movable[];
  readonly staying: readonly Staying[];
}

export interface SortedFile {
  readonly target: ClientTarget;
  readonly file: ConfigFile;
  readonly document: ConfigDocument;
}

/** Sorts the client's servers, without the bridge itself. */
export async function sortServers(names: readonly string[], from: SortedFile, host: EditingHost): Promise<Sorted> {
  if (names.length === 0) return { movable: [], staying: [] };
  const servers = await serversOf(from, host);
  const movable: Movable[] = [];
  const staying: Staying[] = [];
  for (const name of names) {
    const found = judged(servers.get(name));
    if (typeof found === 'string') staying.push({ name, reason: found });
    else movable.push({ name, entry: from.document.entries.get(name), ...found });
  }
  return { movable, staying };
}

function judged(server: DiscoveredServer | undefined): Omit<Movable, 'name' | 'entry'> | string {
  if (server === undefined) return 'it is none that others could start';
  const isUsable = server.state === 'ready' || server.state === 'duplicate';
  if (!isUsable) return server.reason ?? `it is ${server.state}`;
  const own = ownEntryOf(server, true);
  return own.kind === 'entry' ? { server, own: own.entry, filled: own.filled } : own.reason;
}

async function serversOf(from: SortedFile, host: EditingHost): Promise<Map<string, DiscoveredServer>> {
  const { target, file } = from;
  const input = referenceTo(keptInputs(host));
  const { servers } = await discoverServers(discoveryHostOf(host, file.path), { input, isToBeWritten: true });
  const own = servers.filter(({ client, realpath }) => client === target.client && realpath === file.realpath);
  return new Map(own.map((server) => [server.name, server]));
}

/** The kept inputs. A file that cannot be read counts as empty, as in discovery. */
function keptInputs({ environment, homedir }: EditingHost): ReadonlyMap<string, string> {
  try {
    return new KeptInputs(environment, homedir).read();
  } catch (error) {
    if (error instanceof BridgeError) return new Map();
    throw error;
  }
}

/** The host as discovery sees it from the home directory, if only one file had servers. */
function discoveryHostOf(host: EditingHost, path: string): DiscoveryHost {
  const { MCP_SERVERS_CONFIG: _, ...env } = host.environment;
  const atHome = { ...host, cwd: host.homedir, environment: env };
  const plain = discoveryHost(atHome);
  const locations = locationsOf(machineOfHost(atHome));
  const isRead = ({ format, scope, path: at }: Location): boolean =>
    format === 'claude-settings' || scope === 'enterprise' || at === path;
  // Another client may use the same file.
  const kept = new Set(locations.filter(isRead).map((location) => location.path));
  const others = new Set(locations.map((location) => location.path).filter((at) => !kept.has(at)));
  const read = (asked: string) => (others.has(asked) ? Promise.resolve(undefined) : plain.files.read(asked));
  return { ...plain, files: { ...plain.files, read } };
}

function discoveryHost({ platform, homedir, cwd, environment, program, endpoints = [] }: EditingHost): DiscoveryHost {
  const self = { bins: ['mcp-bridge', program], packages: ['mcp-bridge'], endpoints };
  return nodeDiscoveryHost({ platform, homedir, cwd, env: environment, self });
}
