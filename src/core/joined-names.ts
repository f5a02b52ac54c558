// The names of the view `all`: a server's alias, two underscores, and the tool's own name. An alias has no two
// underscores in a row and does not end with one, so the first two underscores end the alias and no two tools get the
// same name. A name that is too long or has other characters is shortened with a hash.

import { shortened } from '../model/aliases.ts';

const SEPARATOR = '__';

/** The joined name, unless it is too long or has other characters. */
export function plainJoinedName(alias: string, own: string): string {
  return `${alias}${SEPARATOR}${own}`;
}

/** The joined name of a server's tool or prompt, with at most `longest` characters. */
export function joinedName(alias: string, own: string, longest: number): string {
  const name = plainJoinedName(alias, own);
  if (name.length <= longest && /^[A-Za-z0-9_-]*$/.test(own)) return name;
  return shortened(name.replace(/[^A-Za-z0-9_-]/g, '_'), own, longest);
}

/** The joined id of a server's task. It is never shortened, so that it always shows the server and the task. */
export function joinedTaskId(alias: string, own: string): string {
  return `${alias}${SEPARATOR}${own}`;
}

/** The alias at the beginning of a joined name; undefined if there is none. */
export function aliasIn(name: string): string | undefined {
  const at = name.indexOf(SEPARATOR);
  return at < 0 ? undefined : name.slice(0, at);
}
