// What a person has decided about servers that connect by themselves: under which names programs may be seen. There is
// nothing else to be sure of, since the bridge starts none of them (docs/adr/0020). In a file that no project can reach.

import { join } from 'node:path';
import { BridgeError } from '../util/bridge-error.ts';
import { isRecord } from '../util/json-value.ts';
import { inTurn } from './lock-turn.ts';
import { ensurePrivateTree, readPrivate, writePrivate } from './private-file.ts';
import { stateDir } from './state-dir.ts';

export type DialInDecision = 'approved' | 'rejected';

const VERSION = 1;

export class DialInDecisions {
  readonly path: string;
  readonly #dir: string;

  constructor(environment: Parameters<typeof stateDir>[0], homedir: string) {
    this.#dir = stateDir(environment, homedir);
    this.path = join(this.#dir, 'dial-ins.json');
  }

  /** By the server's name. Throws if the file is no such file: it is never taken for an empty one. */
  read(): ReadonlyMap<string, DialInDecision> {
    const text = readPrivate(this.path);
    return text === undefined ? new Map() : this.#decisionsIn(text);
  }

  async decide(names: readonly string[], decision: DialInDecision): Promise<void> {
    ensurePrivateTree(this.#dir);
    await inTurn(this.path, () => {
      const decisions = { ...Object.fromEntries(this.read()), ...Object.fromEntries(names.map((n) => [n, decision])) };
      writePrivate(this.path, `${JSON.stringify({ version: VERSION, decisions }, undefined, 1)}\n`);
    });
  }

  #decisionsIn(text: string): Map<string, DialInDecision> {
    const content = parsed(text);
    const decisions = isRecord(content) && content.version === VERSION ? content.decisions : undefined;
    const entries = isRecord(decisions) ? Object.entries(decisions) : undefined;
    const isSound = entries?.every(([, decision]) => decision === 'approved' || decision === 'rejected');
    if (isSound === true) return new Map(entries as [string, DialInDecision][]);
    throw new BridgeError('FILE_UNUSABLE', `${this.path} does not hold decisions of a kind that this version knows`, {
      hint: 'Put it back, or remove it: then servers that connect by themselves have to be approved again.',
    });
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined; // told by whoever looks for the version in it
  }
}
