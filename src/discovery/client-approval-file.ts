// What other clients' approvals stood for when the bridge saw them first, in a file that no project can reach. What is
// in it is never replaced: an approval that is withdrawn and given again covers what it covered before. A file that
// cannot be understood covers nothing, and is not written over.

import { join } from 'node:path';
import { inTurn } from '../local/lock-turn.ts';
import { ensurePrivateTree, readPrivate, writePrivate } from '../local/private-file.ts';
import { stateDir } from '../local/state-dir.ts';
import { BridgeError } from '../util/bridge-error.ts';
import {
  approvalKey,
  type CoveredDefinition,
  type FirstSeen,
  type StoredApproval,
  StoredClientApprovals,
} from './client-approvals.ts';
import { isRememberedLaunch, rememberedLaunch } from './remembered-launch.ts';
import { isTree, textAt, treeAt } from './tree.ts';

const VERSION = 1;
/** The oldest go first, and then count as never seen. */
const MOST_KEPT = 10_000;

export class ClientApprovalFile {
  readonly path: string;
  readonly #dir: string;

  constructor(environment: Parameters<typeof stateDir>[0], homedir: string) {
    this.#dir = stateDir(environment, homedir);
    this.path = join(this.#dir, 'client-approvals.json');
  }

  read(): StoredClientApprovals {
    const text = readPrivate(this.path);
    return new StoredClientApprovals(text === undefined ? [] : this.#approvalsIn(text));
  }

  /** Keeps what approvals stood for that were never seen before; of those that somebody else has kept first, nothing. */
  async keep(seen: readonly FirstSeen[], now: Date): Promise<void> {
    if (seen.length === 0) return;
    ensurePrivateTree(this.#dir);
    await inTurn(this.path, () => {
      const known = this.read();
      const young = grouped(
        seen.filter(({ approval }) => known.covered(approval) === undefined),
        now,
      );
      if (young.length === 0) return;
      const approvals = [...known.approvals, ...young].slice(-MOST_KEPT);
      writePrivate(this.path, `${JSON.stringify({ version: VERSION, approvals }, undefined, 1)}\n`);
    });
  }

  #approvalsIn(text: string): StoredApproval[] {
    const content = parsed(text);
    if (treeAt(content)?.version !== VERSION)
      throw this.#unusable(isTree(content) ? 'is not of a kind that this version knows' : 'is not JSON');
    const listed = treeAt(content)?.approvals;
    const approvals = Array.isArray(listed) ? listed.map(approvalIn) : [undefined];
    if (approvals.includes(undefined)) throw this.#unusable('does not hold approvals');
    return approvals.filter((approval) => approval !== undefined);
  }

  #unusable(problem: string): BridgeError {
    return new BridgeError('FILE_UNUSABLE', `${this.path} ${problem}`, {
      hint: 'Put it back, or remove it: then what other clients have approved counts as it stands now.',
    });
  }
}

function grouped(seen: readonly FirstSeen[], now: Date): StoredApproval[] {
  const found = new Map<string, { approval: FirstSeen['approval']; definitions: CoveredDefinition[] }>();
  for (const { approval, hash, server } of seen) {
    const key = approvalKey(approval);
    const group = found.get(key) ?? { approval, definitions: [] };
    found.set(key, group);
    const { client, name, file } = server;
    group.definitions.push({ client, name, file, hash, at: now.toISOString(), launch: rememberedLaunch(server) });
  }
  return [...found.values()].map(({ approval, definitions }) => ({ ...approval, definitions }));
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined; // Told by whoever looks for the version in it.
  }
}

function approvalIn(value: unknown): StoredApproval | undefined {
  const [client, by, dir, name] = ['client', 'by', 'dir', 'name'].map((key) => textAt(value, key));
  const listed = treeAt(value)?.definitions;
  if (client === undefined || dir === undefined || !Array.isArray(listed)) return undefined;
  if (by !== 'user' && by !== 'project') return undefined;
  const definitions = listed.map(definitionIn).filter((definition) => definition !== undefined);
  return definitions.length === listed.length ? { client, by, dir, name, definitions } : undefined;
}

function definitionIn(value: unknown): CoveredDefinition | undefined {
  const [client, name, file, hash, at] = ['client', 'name', 'file', 'hash', 'at'].map((key) => textAt(value, key));
  const launch: unknown = treeAt(value)?.launch;
  if (client === undefined || name === undefined || file === undefined) return undefined;
  if (hash === undefined || at === undefined || !isRememberedLaunch(launch)) return undefined;
  return { client, name, file, hash, at, launch };
}
