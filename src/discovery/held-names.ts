// Ids that definitions have been given, so that each keeps its own while others come and go, and the file that holds them
// from one look to the next. A definition is known by its client and its name there: its place and its command may change.

import { type StateEnvironment, StateFile } from '../local/state-file.ts';
import type { Draft } from './discovered-server.ts';

/** Ids by the keys of the definitions that hold them. No two keys hold one id. */
export type HeldNames = ReadonlyMap<string, string>;

export const NO_HELD_NAMES: HeldNames = new Map();

type Keyed = Pick<Draft, 'client' | 'name' | 'scope' | 'file' | 'isListedPerFile'>;

/** The key of a definition. Clients with a list for each file never read the same place of two projects together. */
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

/** The oldest go first; their definitions get another one if somebody else has taken it meanwhile. */
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

  /** Keeps these too; false if one of them, or its key, is somebody else's by now. */
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
