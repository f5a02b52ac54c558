// Decisions about definitions, in files of the state directory that no project can reach: which definitions this user
// has approved and rejected here, and which ones the approvals of other clients covered when the bridge first saw them.
// A file that cannot be parsed approves nothing and covers nothing.

import { type StateEnvironment, StateFile } from '../local/state-file.ts';
import {
  type Approval,
  type Approvals,
  approvalKey,
  type CoveredDefinition,
  definitionHash,
  type FirstSeen,
  type StoredApproval,
  StoredClientApprovals,
} from './approval.ts';
import type { DiscoveredServer } from './discovered-server.ts';
import { isRememberedLaunch, type RememberedLaunch, rememberedLaunch } from './remembered-launch.ts';
import { isTree, textAt, treeAt } from './tree.ts';

/** The oldest are dropped first; those definitions need a decision again. */
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

  /** Saves a decision about all of these, or about none. */
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

/** True if the new decision is about the same definition at the same place: only the last decision counts. */
function isReplaced(old: StoredDecision, young: StoredDecision): boolean {
  return old.hash === young.hash && isAt(old, young);
}

function decisionIn(value: unknown): StoredDecision | undefined {
  const texts = ['hash', 'decision', 'at', 'client', 'name', 'scope', 'file', 'pointer'];
  if (!isTree(value) || !texts.every((key) => typeof value[key] === 'string')) return undefined;
  if (value.decision !== 'approved' && value.decision !== 'rejected') return undefined;
  return isRememberedLaunch(value.launch) ? (value as unknown as StoredDecision) : undefined;
}

export type DecidedPlace = Pick<DiscoveredServer, 'client' | 'name' | 'file'>;

export interface StoredDecision extends DecidedPlace {
  readonly hash: string;
  readonly decision: Approval;
  /** The time, in ISO 8601. */
  readonly at: string;
  readonly scope: string;
  readonly pointer: string;
  readonly launch: RememberedLaunch;
}

export class StoredApprovals implements Approvals {
  /** Oldest first. */
  readonly decisions: readonly StoredDecision[];
  readonly #byHash: ReadonlyMap<string, StoredDecision>;

  constructor(decisions: readonly StoredDecision[]) {
    this.decisions = decisions;
    this.#byHash = new Map(decisions.map((decision) => [decision.hash, decision]));
  }

  get(hash: string): Approval | undefined {
    return this.#byHash.get(hash)?.decision;
  }

  decisionOn(hash: string): StoredDecision | undefined {
    return this.#byHash.get(hash);
  }

  /** The last decision about another definition at the same place. */
  lastBefore(hash: string, place: DecidedPlace): StoredDecision | undefined {
    return this.decisions.findLast((decision) => decision.hash !== hash && isAt(decision, place));
  }
}

function isAt(decision: DecidedPlace, { client, name, file }: DecidedPlace): boolean {
  return decision.client === client && decision.name === name && decision.file === file;
}

// An entry is never replaced: an approval that is withdrawn and given again covers the same as before.
/** The oldest are dropped first, and then count as never seen. */
const MOST_CLIENT_APPROVALS = 10_000;

export class ClientApprovalFile extends StateFile<StoredClientApprovals> {
  constructor(environment: StateEnvironment, homedir: string) {
    const kind = {
      name: 'client-approvals.json',
      member: 'approvals',
      empty: () => new StoredClientApprovals([]),
      parse: approvalsIn,
      format: ({ approvals }: StoredClientApprovals) => approvals.slice(-MOST_CLIENT_APPROVALS),
      ifRemoved: 'what other clients have approved is taken as it is now',
    };
    super(kind, environment, homedir);
  }

  /** Saves what new approvals cover. If another process has saved some of them first, those stay as they are. */
  async keep(seen: readonly FirstSeen[], now: Date): Promise<void> {
    if (seen.length === 0) return;
    await this.change((known) => {
      const isFirst = ({ approval }: FirstSeen): boolean => known.covered(approval) === undefined;
      const young = grouped(seen.filter(isFirst), now);
      return young.length === 0 ? undefined : new StoredClientApprovals([...known.approvals, ...young]);
    });
  }
}

function approvalsIn(value: unknown): StoredClientApprovals | undefined {
  const approvals = Array.isArray(value) ? value.map(approvalIn) : [undefined];
  const known = approvals.filter((approval) => approval !== undefined);
  return known.length === approvals.length ? new StoredClientApprovals(known) : undefined;
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
