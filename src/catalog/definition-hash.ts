// Hashes of servers' definitions, for the names of their files. A definition holds secrets; a hash over the whole shows
// none.

import { createHash } from 'node:crypto';
import type { ServerDefinition } from '../model/server-definition.ts';

/** Hashes everything that defines a server: with another command, URL or variable nothing is known about it. */
export function hashOfDefinition(definition: ServerDefinition): string {
  if (definition.transport === 'dial-in') return hashOf([definition.transport, definition.name]);
  if (definition.transport === 'bus') return hashOf([definition.transport, definition.name, definition.mark]);
  if (definition.transport !== 'stdio') {
    const { transport, url, headers, headersHelper, oauth } = definition;
    return hashOf([transport, url, sorted(headers), headersHelper, oauth]);
  }
  const { transport, command, args, env, cwd, dir } = definition;
  return hashOf([transport, command, args, sorted(env), cwd ?? dir]);
}

/**
 * Hashes the name and the program or URL. It leaves out variables and headers: a renewed token must not accept the
 * server's changes.
 */
export function hashOfIdentity(definition: ServerDefinition): string {
  const { name } = definition;
  if (definition.transport === 'dial-in' || definition.transport === 'bus') return hashOf([name, definition.transport]);
  if (definition.transport !== 'stdio') return hashOf([name, definition.url]);
  const { command, args, cwd, dir } = definition;
  return hashOf([name, command, args, cwd ?? dir]);
}

/** Cut as bytes: a substring would keep the whole text in memory. */
const HASH_BYTES = 16;

function hashOf(decisive: readonly unknown[]): string {
  return createHash('sha256').update(JSON.stringify(decisive)).digest().toString('hex', 0, HASH_BYTES);
}

function sorted(map: Readonly<Record<string, string>>): [string, string][] {
  return Object.entries(map).sort(([a], [b]) => (a < b ? -1 : 1));
}
