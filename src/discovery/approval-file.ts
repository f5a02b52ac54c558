// What this user has decided about definitions of projects, in a file that no project can reach. Several processes may
// decide at once; a file that cannot be understood is never taken for an empty one, nor written over.

import { join } from 'node:path';
import { inTurn } from '../local/lock-turn.ts';
import { ensurePrivateTree, readPrivate, writePrivate } from '../local/private-file.ts';
import { stateDir } from '../local/state-dir.ts';
import { BridgeError } from '../util/bridge-error.ts';
import { type Approval, definitionHash } from './approval.ts';
import type { DiscoveredServer } from './discovered-server.ts';
import { isRememberedLaunch, rememberedLaunch } from './remembered-launch.ts';
import { isAt, StoredApprovals, type StoredDecision } from './stored-approvals.ts';
import { isTree, treeAt } from './tree.ts';

const VERSION = 1;
/** The oldest go first, and then ask again. */
const MOST_KEPT = 1000;

export class ApprovalFile {
  readonly path: string;
  readonly #dir: string;

  constructor(environment: Parameters<typeof stateDir>[0], homedir: string) {
    this.#dir = stateDir(environment, homedir);
    this.path = join(this.#dir, 'approvals.json');
  }

  read(): StoredApprovals {
    const text = readPrivate(this.path);
    return new StoredApprovals(text === undefined ? [] : this.#decisionsIn(text));
  }

  /** Keeps what was decided about all of these, or about none. */
  async decide(servers: readonly DiscoveredServer[], decision: Approval, now: Date): Promise<void> {
    ensurePrivateTree(this.#dir);
    await inTurn(this.path, () => {
      const young = servers.map((server) => decisionOn(server, decision, now));
      const kept = this.read().decisions.filter((old) => !young.some((other) => isReplaced(old, other)));
      const decisions = [...kept, ...young].slice(-MOST_KEPT);
      writePrivate(this.path, `${JSON.stringify({ version: VERSION, decisions }, undefined, 1)}\n`);
    });
  }

  #decisionsIn(text: string): StoredDecision[] {
    const content = parsed(text);
    if (treeAt(content)?.version !== VERSION)
      throw this.#unusable(isTree(content) ? 'is not of a kind that this version knows' : 'is not JSON');
    const listed = treeAt(content)?.decisions;
    const decisions = Array.isArray(listed) ? listed.map(decisionIn) : [undefined];
    if (decisions.includes(undefined)) throw this.#unusable('does not hold decisions');
    return decisions.filter((decision) => decision !== undefined);
  }

  #unusable(problem: string): BridgeError {
    return new BridgeError('FILE_UNUSABLE', `${this.path} ${problem}`, {
      hint: 'Put it back, or remove it: then everything that came with a project has to be approved again.',
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

function decisionOn(server: DiscoveredServer, decision: Approval, now: Date): StoredDecision {
  const { client, name, scope, file, pointer } = server;
  const at = now.toISOString();
  return {
    hash: definitionHash(server),
    decision,
    at,
    client,
    name,
    scope,
    file,
    pointer,
    launch: rememberedLaunch(server),
  };
}

/** Of one definition at one place there is one decision, the last one. */
function isReplaced(old: StoredDecision, young: StoredDecision): boolean {
  return old.hash === young.hash && isAt(old, young);
}

function decisionIn(value: unknown): StoredDecision | undefined {
  const texts = ['hash', 'decision', 'at', 'client', 'name', 'scope', 'file', 'pointer'];
  if (!isTree(value) || !texts.every((key) => typeof value[key] === 'string')) return undefined;
  if (value.decision !== 'approved' && value.decision !== 'rejected') return undefined;
  return isRememberedLaunch(value.launch) ? (value as unknown as StoredDecision) : undefined;
}
