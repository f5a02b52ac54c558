// Servers that a person has switched off in the bridge, by their ids: `mcp-bridge disable NAME`. They stay defined where
// they are. A file that cannot be understood is never taken for an empty one, nor written over.

import { join } from 'node:path';
import { inTurn } from '../local/lock-turn.ts';
import { ensurePrivateTree, readPrivate, writePrivate } from '../local/private-file.ts';
import { stateDir } from '../local/state-dir.ts';
import { BridgeError } from '../util/bridge-error.ts';
import { isTree } from './tree.ts';

const VERSION = 1;
/** Why such a server is not used. */
export const SWITCHED_OFF = 'it is switched off: mcp-bridge enable';

export class SwitchedServers {
  readonly path: string;
  readonly #dir: string;

  constructor(environment: Parameters<typeof stateDir>[0], homedir: string) {
    this.#dir = stateDir(environment, homedir);
    this.path = join(this.#dir, 'disabled.json');
  }

  /** The ids of those that are off. */
  read(): ReadonlySet<string> {
    const text = readPrivate(this.path);
    return text === undefined ? new Set() : this.#idsIn(text);
  }

  /** The ids of which this is new. */
  async switch(ids: readonly string[], isOff: boolean): Promise<string[]> {
    let changed: string[] = [];
    ensurePrivateTree(this.#dir);
    await inTurn(this.path, () => {
      const off = new Set(this.read());
      changed = ids.filter((id) => off.has(id) !== isOff);
      for (const id of changed)
        if (isOff) off.add(id);
        else off.delete(id);
      writePrivate(this.path, `${JSON.stringify({ version: VERSION, disabled: [...off] }, undefined, 1)}\n`);
    });
    return changed;
  }

  #idsIn(text: string): Set<string> {
    const content = parsed(text);
    const ids = isTree(content) && content.version === VERSION ? content.disabled : undefined;
    if (Array.isArray(ids) && ids.every((id) => typeof id === 'string')) return new Set(ids);
    throw new BridgeError('FILE_UNUSABLE', `${this.path} does not hold switches of a kind that this version knows`, {
      hint: 'Put it back, or remove it: then what was switched off has to be switched off again.',
    });
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined; // Told by whoever looks for the version in it.
  }
}
