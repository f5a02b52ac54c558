// The definitions that a person means by a name.

import { BridgeError } from '../util/bridge-error.ts';
import { nearest, suggestion } from '../util/nearest.ts';
import type { DiscoveredServer } from './discovered-server.ts';

/** `text` is a name, an id, an alias, or one of them behind a client, such as `cursor:github`. */
export function isNamed({ id, name, alias, client }: DiscoveredServer, text: string): boolean {
  return [name, id, alias].some((known) => text === known || text === `${client}:${known}`);
}

/** Throws when nothing is called so. */
export function named(servers: readonly DiscoveredServer[], text: string): DiscoveredServer[] {
  const found = servers.filter((server) => isNamed(server, text));
  if (found.length > 0) return found;
  const near = nearest(text, new Set(servers.flatMap(({ id, name, client }) => [id, name, `${client}:${name}`])));
  throw new BridgeError('SERVER_NOT_FOUND', `No file defines a server ${text}`, {
    hint: suggestion(near) ?? 'See: mcp-bridge discover --all',
  });
}

/** The part that tells it apart from the others. */
export function handleOf(server: DiscoveredServer, among: readonly DiscoveredServer[]): string {
  const handle = `${server.client}:${server.name}`;
  return among.filter((other) => isNamed(other, handle)).length > 1 ? `${server.client}:${server.id}` : handle;
}
