// The names of the view `all`: a server's alias, two underscores, and the tool's own name. An alias has no two underscores
// in a row and does not end with one, so the first two underscores of a name always end the alias, and no two tools get
// the same name. What is too long or has other characters gets a hash instead of what it loses.

import { shortened } from '../model/aliases.ts';

const SEPARATOR = '__';
/** What all clients take. */
const LONGEST = 64;

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
