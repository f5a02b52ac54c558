// The names of the view `all`: a server's alias, two underscores, and the tool's own name. An alias has no two underscores
// in a row and does not end with one, so the first two underscores of a name always end the alias, and no two tools get
// the same name. What is too long or has other characters gets a hash instead of what it loses.

import { createHash } from 'node:crypto';

const SEPARATOR = '__';
/** What all clients take. */
const LONGEST = 64;
/** An alias leaves room for a name. */
const LONGEST_ALIAS = 32;
const HASH_LETTERS = 8;

/**
 * An alias for each server, in their order: one that wants a name that is taken gets a number. Those that have one keep it,
 * since clients know their tools by it.
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

/** What comes of a server's name for one of its tools or prompts. */
export function joinedName(alias: string, own: string): string {
  const name = `${alias}${SEPARATOR}${own}`;
  if (name.length <= LONGEST && /^[A-Za-z0-9_-]*$/.test(own)) return name;
  return shortened(name.replace(/[^A-Za-z0-9_-]/g, '_'), own, LONGEST);
}

/** The alias that a joined name begins with; undefined if it is none. */
export function aliasIn(name: string): string | undefined {
  const at = name.indexOf(SEPARATOR);
  return at < 0 ? undefined : name.slice(0, at);
}

function shortened(name: string, whole: string, longest: number): string {
  const hash = createHash('sha256').update(whole).digest('hex').slice(0, HASH_LETTERS);
  return `${name.slice(0, longest - HASH_LETTERS - 1).replace(/_$/, '')}_${hash}`;
}
