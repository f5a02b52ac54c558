// The aliases of servers: each is the beginning of the names of a server's tools in the view `all`. An alias has no two
// underscores in a row and does not end with one (core/joined-names.ts relies on that).

import { createHash } from 'node:crypto';

/** An alias leaves room for a name. */
const LONGEST_ALIAS = 32;
const HASH_LETTERS = 8;

/**
 * An alias for each server, in order. If the wanted name is taken, a number is added. Servers that have an alias keep
 * it, because clients know their tools by it.
 */
export function aliasesOf(
  servers: readonly string[],
  known: ReadonlyMap<string, string> = new Map(),
): Map<string, string> {
  const aliases = new Map(servers.flatMap((server) => (known.has(server) ? [[server, known.get(server) ?? '']] : [])));
  const taken = new Set(aliases.values());
  for (const server of servers) {
    if (aliases.has(server)) continue;
    const base = aliasOf(server);
    let alias = base;
    for (let n = 2; taken.has(alias); n++) alias = `${base}_${n}`;
    taken.add(alias);
    aliases.set(server, alias);
  }
  return aliases;
}

function aliasOf(server: string): string {
  const plain = server
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '_')
    .replace(/_$/, '');
  const word = plain === '' ? 'server' : plain;
  const alias = /^\d/.test(word) ? `_${word}` : word;
  return alias.length <= LONGEST_ALIAS ? alias : shortened(alias, server, LONGEST_ALIAS);
}

/** A shortened name, with a hash of the whole name in place of the rest. */
export function shortened(name: string, whole: string, longest: number): string {
  const hash = createHash('sha256').update(whole).digest('hex').slice(0, HASH_LETTERS);
  return `${name.slice(0, longest - HASH_LETTERS - 1).replace(/_$/, '')}_${hash}`;
}
