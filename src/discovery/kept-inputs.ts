// Values that a person has given for the inputs of definitions (`${input:api-key}`), in a file for this user alone. Several
// processes may write; a file that cannot be understood is never taken for an empty one, nor written over.

import { join } from 'node:path';
import { inTurn } from '../local/lock-turn.ts';
import { ensurePrivateTree, readPrivate, writePrivate } from '../local/private-file.ts';
import { stateDir } from '../local/state-dir.ts';
import { BridgeError } from '../util/bridge-error.ts';
import { isTree, treeAt } from './tree.ts';

const VERSION = 1;

export class KeptInputs {
  readonly path: string;
  readonly #dir: string;

  constructor(environment: Parameters<typeof stateDir>[0], homedir: string) {
    this.#dir = stateDir(environment, homedir);
    this.path = join(this.#dir, 'inputs.json');
  }

  /** By the names of inputs. */
  read(): ReadonlyMap<string, string> {
    const text = readPrivate(this.path);
    return text === undefined ? new Map() : this.#valuesIn(text);
  }

  set(name: string, value: string): Promise<void> {
    return this.#change((values) => void values.set(name, value));
  }

  /** Whether there was one. */
  async remove(name: string): Promise<boolean> {
    let wasThere = false;
    await this.#change((values) => {
      wasThere = values.delete(name);
    });
    return wasThere;
  }

  async #change(change: (values: Map<string, string>) => void): Promise<void> {
    ensurePrivateTree(this.#dir);
    await inTurn(this.path, () => {
      const values = new Map(this.read());
      change(values);
      const inputs = Object.fromEntries(values);
      writePrivate(this.path, `${JSON.stringify({ version: VERSION, inputs }, undefined, 1)}\n`);
    });
  }

  #valuesIn(text: string): Map<string, string> {
    const content = parsed(text);
    const inputs = isTree(content) && content.version === VERSION ? treeAt(content, 'inputs') : undefined;
    const entries = Object.entries(inputs ?? {});
    const isSound = inputs !== undefined && entries.every(([, value]) => typeof value === 'string');
    if (isSound) return new Map(entries as [string, string][]);
    throw new BridgeError('FILE_UNUSABLE', `${this.path} does not hold inputs of a kind that this version knows`, {
      hint: 'Put it back, or remove it: then values have to be given again, with mcp-bridge input set NAME.',
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
