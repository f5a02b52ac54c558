// Servers that a person switched off in the bridge with `mcp-bridge disable NAME`, by id. Their definitions stay.

import { type StateEnvironment, StateFile } from '../local/state-file.ts';

export class SwitchedServers extends StateFile<ReadonlySet<string>> {
  constructor(environment: StateEnvironment, homedir: string) {
    const kind = {
      name: 'disabled.json',
      member: 'disabled',
      holds: 'switches',
      empty: () => new Set<string>(),
      parse: idsIn,
      format: (ids: ReadonlySet<string>) => [...ids],
      ifRemoved: 'what was switched off has to be switched off again',
    };
    super(kind, environment, homedir);
  }

  /** Switches these servers; returns the ids that changed. */
  async switch(ids: readonly string[], isOff: boolean): Promise<string[]> {
    let changed: string[] = [];
    await this.change((before) => {
      const off = new Set(before);
      changed = ids.filter((id) => off.has(id) !== isOff);
      for (const id of changed)
        if (isOff) off.add(id);
        else off.delete(id);
      return off;
    });
    return changed;
  }
}

function idsIn(value: unknown): Set<string> | undefined {
  return Array.isArray(value) && value.every((id) => typeof id === 'string') ? new Set(value) : undefined;
}
