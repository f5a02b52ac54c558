// The ids given to definitions, so that each keeps its own while others come and go, and the file that saves them. A
// definition is identified by its client and its name there; its place and its command may change.

import { type StateEnvironment, StateFile } from '../local/state-file.ts';
import type { Draft } from './discovered-server.ts';

/** Ids by the key of the definition that holds them. No two keys share an id. */
export type HeldNames = ReadonlyMap<string, string>;

export const NO_HELD_NAMES: HeldNames = new Map();

type Keyed = Pick<Draft, 'client' | 'name' | 'scope' | 'file' | 'isListedPerFile'>;

/** The key of a definition. Clients with separate lists per file never read the same place of two projects at once. */
export function holderKey({ client, name, scope, file, isListedPerFile }: Keyed): string {
  if (!isListedPerFile) return JSON.stringify([client, name]);
  const isOfProject = scope === 'project' || scope === 'workspace';
  return JSON.stringify([client, name, isOfProject ? file.split(/[\\/]/).slice(-2).join('/') : file]);
}

/** The id that a definition has, or would get if its name is free; undefined if another definition holds it. */
export function heldOrOwnName(draft: Keyed, held: HeldNames, holders: ReadonlyMap<string, string>): string | undefined {
  const key = holderKey(draft);
  const known = held.get(key);
  if (known !== undefined) return known;
  const holder = holders.get(draft.name);
  return holder === undefined || holder === key ? draft.name : undefined;
}

/** The keys by id. */
export function holdersOf(held: HeldNames): Map<string, string> {
  return new Map([...held].map(([key, id]) => [id, key]));
}

/** The oldest are dropped first; those definitions get another id if theirs was taken meanwhile. */
const MOST_HELD = 10_000;

export class HeldNamesFile extends StateFile<HeldNames> {
  constructor(environment: StateEnvironment, homedir: string) {
    const kind = {
      name: 'names.json',
      member: 'names',
      empty: () => new Map(),
      parse: namesIn,
      format: (names: HeldNames) => [...names].slice(-MOST_HELD),
      ifRemoved: 'servers of one name in several clients may change names',
    };
    super(kind, environment, homedir);
  }

  /** Saves these too; false if another process has taken one of the ids or keys. */
  async add(young: HeldNames): Promise<boolean> {
    let isAdded = false;
    await this.change((held) => {
      const holders = holdersOf(held);
      const isFree = ([key, id]: readonly [string, string]): boolean =>
        (held.get(key) ?? id) === id && (holders.get(id) ?? key) === key;
      isAdded = [...young].every(isFree);
      return isAdded ? new Map([...held, ...young]) : undefined;
    });
    return isAdded;
  }
}

function namesIn(value: unknown): HeldNames | undefined {
  const names = Array.isArray(value) && value.every(isPair) ? new Map(value) : undefined;
  return names !== undefined && holdersOf(names).size === names.size ? names : undefined;
}

function isPair(value: unknown): value is readonly [string, string] {
  return Array.isArray(value) && value.length === 2 && value.every((item) => typeof item === 'string');
}
