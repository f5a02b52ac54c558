// Secrets of which a text has only a part, as it begins or ends in the middle of them: what is kept of a stream does.

import type { NamedSecret } from '../util/given-secrets.ts';

/** A shorter part tells nobody anything, and stands in many texts by accident. */
const SHORTEST_PART = 4;

export interface TornSecret {
  readonly name: string;
  /** Where it ends, at the start of a text; where it begins, at the end of one. */
  readonly at: number;
}

/** The end of a secret that the text, which begins with a line, begins with. */
export function secretAtStart(text: string, secrets: readonly NamedSecret[]): TornSecret | undefined {
  const part = longestPart(
    secrets,
    text.length,
    (value, length) => text.startsWith(value.slice(-length)) && /^$|[\r\n]$/.test(value.slice(0, -length)),
  );
  return part && { name: part.name, at: part.length };
}

/** The beginnings of secrets that the text ends with, one behind the other. */
export function secretAtEnd(
  text: string,
  secrets: readonly NamedSecret[],
  least = SHORTEST_PART,
): TornSecret | undefined {
  const part = longestPart(secrets, text.length, (value, length) => text.endsWith(value.slice(0, length)), least);
  if (part === undefined) return undefined;
  const at = text.length - part.length;
  return secretAtEnd(text.slice(0, at), secrets, least) ?? { name: part.name, at };
}

/** All of one is a part too: another one may seem to begin in the middle of it. */
function longestPart(
  secrets: readonly NamedSecret[],
  most: number,
  isThere: (value: string, length: number) => boolean,
  least = SHORTEST_PART,
): { readonly name: string; readonly length: number } | undefined {
  let found: { readonly name: string; readonly length: number } | undefined;
  for (const [name, value] of secrets)
    for (let length = Math.min(value.length, most); length >= least && length > (found?.length ?? 0); length--)
      if (isThere(value, length)) found = { name, length };
  return found;
}
