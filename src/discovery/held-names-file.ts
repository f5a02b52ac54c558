// The ids of definitions, kept from one look to the next in the state directory. Several processes may give ids at once;
// a file that cannot be understood is never taken for an empty one, nor written over.

import { join } from 'node:path';
import { inTurn } from '../local/lock-turn.ts';
import { ensurePrivateTree, readPrivate, writePrivate } from '../local/private-file.ts';
import { stateDir } from '../local/state-dir.ts';
import { BridgeError } from '../util/bridge-error.ts';
import { type HeldNames, holdersOf } from './held-names.ts';
import { isTree, treeAt } from './tree.ts';

const VERSION = 1;
/** The oldest go first; their definitions get another one if somebody else has taken it meanwhile. */
const MOST_HELD = 10_000;

export class HeldNamesFile {
  readonly path: string;
  readonly #dir: string;

  constructor(environment: Parameters<typeof stateDir>[0], homedir: string) {
    this.#dir = stateDir(environment, homedir);
    this.path = join(this.#dir, 'names.json');
  }

  read(): HeldNames {
    const text = readPrivate(this.path);
    return text === undefined ? new Map() : this.#namesIn(text);
  }

  /** Keeps these too; false if one of them, or its key, is somebody else's by now. */
  async add(young: HeldNames): Promise<boolean> {
    ensurePrivateTree(this.#dir);
    return inTurn(this.path, () => {
      const held = this.read();
      const holders = holdersOf(held);
      const isFree = ([key, id]: readonly [string, string]): boolean =>
        (held.get(key) ?? id) === id && (holders.get(id) ?? key) === key;
      if (![...young].every(isFree)) return false;
      const names = [...new Map([...held, ...young])].slice(-MOST_HELD);
      writePrivate(this.path, `${JSON.stringify({ version: VERSION, names }, undefined, 1)}\n`);
      return true;
    });
  }

  #namesIn(text: string): HeldNames {
    const content = parsed(text);
    const listed = treeAt(content)?.version === VERSION && isTree(content) ? content.names : undefined;
    const names = Array.isArray(listed) && listed.every(isPair) ? new Map(listed) : undefined;
    if (names !== undefined && holdersOf(names).size === names.size) return names;
    throw new BridgeError('FILE_UNUSABLE', `${this.path} does not hold names of a kind that this version knows`, {
      hint: 'Put it back, or remove it: then servers of one name in several clients may change names.',
    });
  }
}

function isPair(value: unknown): value is readonly [string, string] {
  return Array.isArray(value) && value.length === 2 && value.every((item) => typeof item === 'string');
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined; // Told by whoever looks for the version in it.
  }
}
