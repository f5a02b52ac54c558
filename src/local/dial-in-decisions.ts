// A person's decisions about servers that connect by themselves: the names that programs may use. The bridge starts
// none of these servers, so nothing else needs a decision (docs/adr/0020). No project can reach the file.

import { isRecord } from '../util/json-value.ts';
import { type StateEnvironment, StateFile } from './state-file.ts';

export type DialInDecision = 'approved' | 'rejected';

export class DialInDecisions extends StateFile<ReadonlyMap<string, DialInDecision>> {
  constructor(environment: StateEnvironment, homedir: string) {
    const kind = {
      name: 'dial-ins.json',
      member: 'decisions',
      empty: () => new Map(),
      parse: decisionsIn,
      format: (decisions: ReadonlyMap<string, DialInDecision>) => Object.fromEntries(decisions),
      ifRemoved: 'servers that connect by themselves have to be approved again',
    };
    super(kind, environment, homedir);
  }

  /** Stores the decision for each of these servers. */
  decide(names: readonly string[], decision: DialInDecision): Promise<void> {
    return this.change((before) => new Map([...before, ...names.map((name) => [name, decision] as const)]));
  }
}

function decisionsIn(value: unknown): Map<string, DialInDecision> | undefined {
  const entries = isRecord(value) ? Object.entries(value) : undefined;
  return entries?.every(isDecision) === true ? new Map(entries) : undefined;
}

function isDecision(entry: [string, unknown]): entry is [string, DialInDecision] {
  return entry[1] === 'approved' || entry[1] === 'rejected';
}
