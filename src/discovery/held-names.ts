// Ids that definitions have been given, so that each keeps its own while others come and go. A definition is known by its
// client and its name there: where it stands and what it starts may change, and it is still what its user means.

import type { Draft } from './draft.ts';

/** Ids by the keys of the definitions that hold them. No two keys hold one id. */
export type HeldNames = ReadonlyMap<string, string>;

export const NO_HELD_NAMES: HeldNames = new Map();

type Keyed = Pick<Draft, 'client' | 'name' | 'scope' | 'file' | 'isListedPerFile'>;

/** Of clients that keep one list for each file, files at the same place of two projects are never read together. */
export function holderKey({ client, name, scope, file, isListedPerFile }: Keyed): string {
  if (!isListedPerFile) return JSON.stringify([client, name]);
  const isOfProject = scope === 'project' || scope === 'workspace';
  return JSON.stringify([client, name, isOfProject ? file.split(/[\\/]/).slice(-2).join('/') : file]);
}

/** The id that a definition has, or would get if nobody else holds its name; undefined if somebody does. */
export function heldOrOwnName(draft: Keyed, held: HeldNames, holders: ReadonlyMap<string, string>): string | undefined {
  const key = holderKey(draft);
  const known = held.get(key);
  if (known !== undefined) return known;
  const holder = holders.get(draft.name);
  return holder === undefined || holder === key ? draft.name : undefined;
}

/** The keys by the ids that they hold. */
export function holdersOf(held: HeldNames): Map<string, string> {
  return new Map([...held].map(([key, id]) => [id, key]));
}
