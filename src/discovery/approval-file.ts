// What this user has decided about definitions of projects, in a file that no project can reach.

import { type StateEnvironment, StateFile } from '../local/state-file.ts';
import { type Approval, definitionHash } from './approval.ts';
import type { DiscoveredServer } from './discovered-server.ts';
import { isRememberedLaunch, rememberedLaunch } from './remembered-launch.ts';
import { isAt, StoredApprovals, type StoredDecision } from './stored-approvals.ts';
import { isTree } from './tree.ts';

/** The oldest go first, and then ask again. */
const MOST_KEPT = 1000;

export class ApprovalFile extends StateFile<StoredApprovals> {
  constructor(environment: StateEnvironment, homedir: string) {
    const kind = {
      name: 'approvals.json',
      member: 'decisions',
      empty: () => new StoredApprovals([]),
      parse: decisionsIn,
      format: ({ decisions }: StoredApprovals) => decisions.slice(-MOST_KEPT),
      ifRemoved: 'everything that came with a project has to be approved again',
    };
    super(kind, environment, homedir);
  }

  /** Keeps what was decided about all of these, or about none. */
  async decide(servers: readonly DiscoveredServer[], decision: Approval, now: Date): Promise<void> {
    await this.change(({ decisions }) => {
      const young = servers.map((server) => decisionOn(server, decision, now));
      const kept = decisions.filter((old) => !young.some((other) => isReplaced(old, other)));
      return new StoredApprovals([...kept, ...young]);
    });
  }
}

function decisionsIn(value: unknown): StoredApprovals | undefined {
  const decisions = Array.isArray(value) ? value.map(decisionIn) : [undefined];
  const known = decisions.filter((decision) => decision !== undefined);
  return known.length === decisions.length ? new StoredApprovals(known) : undefined;
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
