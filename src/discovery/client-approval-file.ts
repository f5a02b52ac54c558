// What other clients' approvals stood for when the bridge saw them first, in a file that no project can reach. What is
// in it is never replaced: an approval that is withdrawn and given again covers what it covered before. A file that
// cannot be understood covers nothing.

import { type StateEnvironment, StateFile } from '../local/state-file.ts';
import {
  approvalKey,
  type CoveredDefinition,
  type FirstSeen,
  type StoredApproval,
  StoredClientApprovals,
} from './client-approvals.ts';
import { isRememberedLaunch, rememberedLaunch } from './remembered-launch.ts';
import { textAt, treeAt } from './tree.ts';

/** The oldest go first, and then count as never seen. */
const MOST_CLIENT_APPROVALS = 10_000;

export class ClientApprovalFile extends StateFile<StoredClientApprovals> {
  constructor(environment: StateEnvironment, homedir: string) {
    const kind = {
      name: 'client-approvals.json',
      member: 'approvals',
      empty: () => new StoredClientApprovals([]),
      parse: approvalsIn,
      format: ({ approvals }: StoredClientApprovals) => approvals.slice(-MOST_CLIENT_APPROVALS),
      ifRemoved: 'what other clients have approved counts as it stands now',
    };
    super(kind, environment, homedir);
  }

  /** Keeps what approvals stood for that were never seen before; of those that somebody else has kept first, nothing. */
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
