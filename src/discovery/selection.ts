// Selects the definitions that a person means: by name or by client, with the faults in their files.

import { BridgeError } from '../util/bridge-error.ts';
import { nearest, suggestion } from '../util/nearest.ts';
import type { DiscoveredServer } from './discovered-server.ts';
import { type LookedAt, placesHere } from './own-discovery.ts';
import type { Survey } from './survey.ts';

/** True if `text` is its name, id or alias, or one of these after a client, as in `cursor:github`. */
export function isNamed({ id, name, alias, client }: DiscoveredServer, text: string): boolean {
  return [name, id, alias].some((known) => text === known || text === `${client}:${known}`);
}

/** The definitions with this name. Throws if there are none. */
export function named(servers: readonly DiscoveredServer[], text: string): DiscoveredServer[] {
  const found = servers.filter((server) => isNamed(server, text));
  if (found.length > 0) return found;
  const near = nearest(text, new Set(servers.flatMap(({ id, name, client }) => [id, name, `${client}:${name}`])));
  throw new BridgeError('SERVER_NOT_FOUND', `No file defines a server ${text}`, {
    hint: suggestion(near) ?? 'See: mcp-bridge discover --all',
  });
}

/** The shortest text that identifies it among the others. */
export function handleOf(server: DiscoveredServer, among: readonly DiscoveredServer[]): string {
  const handle = `${server.client}:${server.name}`;
  return among.filter((other) => isNamed(other, handle)).length > 1 ? `${server.client}:${server.id}` : handle;
}

export interface Narrowed extends Survey {
  /** The files of these clients, existing or not; a star matches any name. */
  readonly files: readonly string[];
}

export async function ofClients(found: Survey, clients: readonly string[]): Promise<Narrowed> {
  const { servers, diagnostics, conflicts, groups } = found.discovery;
  const places = await placesHere(found.own, found.cwd);
  refuseUnknown(clients, new Set([...places, ...servers].map(({ client }) => client)));
  const files = filesOf(places, clients);
  const kept = servers.filter((server) => isOfAny(server, clients));
  const isTheirs = fileTest([...files, ...kept.map(({ file }) => file)]);
  const concerns = ({ members }: { readonly members: readonly string[] }): boolean =>
    members.some((member) => kept.some(({ client, name }) => member === `${client}:${name}`));
  const discovery = {
    ...found.discovery,
    servers: kept,
    diagnostics: diagnostics.filter(({ path }) => path !== undefined && isTheirs(path)),
    conflicts: conflicts.filter(concerns),
    groups: groups.filter(concerns),
  };
  return { ...found, discovery, files };
}

function isOfAny({ client, sources }: DiscoveredServer, clients: readonly string[]): boolean {
  return [client, ...sources.map((source) => source.client)].some((one) => clients.includes(one));
}

function filesOf(places: readonly LookedAt[], clients: readonly string[]): string[] {
  return [...new Set(places.filter(({ client }) => clients.includes(client)).map(({ path }) => path))];
}

function fileTest(patterns: readonly string[]): (path: string) => boolean {
  const texts = patterns.map((pattern) => pattern.split('*').map(escaped).join('[^\\\\/]*'));
  const pattern = new RegExp(`^(?:${texts.join('|')})$`);
  return (path) => pattern.test(path);
}

function refuseUnknown(clients: readonly string[], known: ReadonlySet<string>): void {
  const unknown = clients.find((client) => !known.has(client));
  if (unknown === undefined) return;
  const near = nearest(unknown, known);
  throw new BridgeError('USAGE', `No client is called ${unknown}`, {
    hint: suggestion(near) ?? `There are: ${[...known].sort().join(', ')}`,
  });
}

function escaped(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
}
