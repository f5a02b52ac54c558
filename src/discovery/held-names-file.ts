// The ids of definitions, kept from one look to the next in the state directory. Several processes may give ids at once.

import { type StateEnvironment, StateFile } from '../local/state-file.ts';
import { type HeldNames, holdersOf } from './held-names.ts';

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
