// Values that a person has given for the inputs of definitions (`${input:api-key}`), by the names of the inputs.

import { type StateEnvironment, StateFile } from '../local/state-file.ts';
import { isTree } from './tree.ts';

export class KeptInputs extends StateFile<ReadonlyMap<string, string>> {
  constructor(environment: StateEnvironment, homedir: string) {
    const kind = {
      name: 'inputs.json',
      member: 'inputs',
      empty: () => new Map(),
      parse: valuesIn,
      format: (values: ReadonlyMap<string, string>) => Object.fromEntries(values),
      ifRemoved: 'values have to be given again, with mcp-bridge input set NAME',
    };
    super(kind, environment, homedir);
  }

  set(name: string, value: string): Promise<void> {
    return this.change((values) => new Map(values).set(name, value));
  }

  /** Whether there was one. */
  async remove(name: string): Promise<boolean> {
    let wasThere = false;
    await this.change((values) => {
      const others = new Map(values);
      wasThere = others.delete(name);
      return others;
    });
    return wasThere;
  }
}

function valuesIn(value: unknown): Map<string, string> | undefined {
  if (!isTree(value)) return undefined;
  const entries = Object.entries(value);
  return entries.every(isPair) ? new Map(entries) : undefined;
}

function isPair(entry: [string, unknown]): entry is [string, string] {
  return typeof entry[1] === 'string';
}
