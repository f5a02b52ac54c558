// Approvals that the user of another client has given there. Each covers the definitions that it stood for when the
// bridge saw it first, and no other: a client approves a name or a directory, and the project's author can change what
// stands there without anybody looking.

import type { DiscoveredServer } from './discovered-server.ts';
import type { RememberedLaunch } from './remembered-launch.ts';

/** One approval: of a server by its name, or of all that a project brings. */
export interface ClientApproval {
  readonly client: string;
  /** Whose file says so: one that the project's author may have written counts only once for all that is in it. */
  readonly by: 'user' | 'project';
  /** The project that it is for. */
  readonly dir: string;
  /** Undefined for all of its servers. */
  readonly name: string | undefined;
}

/** A definition that such an approval stood for, as it was. */
export interface CoveredDefinition extends Pick<DiscoveredServer, 'client' | 'name' | 'file'> {
  readonly hash: string;
  /** When the bridge saw it, as in ISO 8601. */
  readonly at: string;
  readonly launch: RememberedLaunch;
}

/** A server that runs because another client's approval was seen for the first time. */
export interface FirstSeen {
  readonly approval: ClientApproval;
  readonly hash: string;
  readonly server: Omit<DiscoveredServer, 'id' | 'alias'>;
}

export interface SeenApprovals {
  /** Hashes of the definitions that it covers; undefined if it was never seen. */
  covered(approval: ClientApproval): ReadonlySet<string> | undefined;
}

/** Every approval is seen for the first time. */
export const NOTHING_SEEN: SeenApprovals = { covered: () => undefined };

/** No approval of another client covers anything: what was seen before is not known. */
export const NOTHING_COVERED: SeenApprovals = { covered: () => new Set() };

export interface StoredApproval extends ClientApproval {
  readonly definitions: readonly CoveredDefinition[];
}

export class StoredClientApprovals implements SeenApprovals {
  /** Those that were seen first come first. */
  readonly approvals: readonly StoredApproval[];
  readonly #hashes: ReadonlyMap<string, ReadonlySet<string>>;
  readonly #projects: ReadonlySet<string>;

  constructor(approvals: readonly StoredApproval[]) {
    this.approvals = approvals;
    this.#hashes = new Map(
      approvals.map((approval) => [approvalKey(approval), new Set(approval.definitions.map(({ hash }) => hash))]),
    );
    this.#projects = new Set(approvals.map(projectKey));
  }

  /** Of a project where something was approved before, its own files cannot approve anything more. */
  covered(approval: ClientApproval): ReadonlySet<string> | undefined {
    const hashes = this.#hashes.get(approvalKey(approval));
    if (hashes !== undefined || approval.by === 'user') return hashes;
    return this.#projects.has(projectKey(approval)) ? new Set() : undefined;
  }

  /** The definition at this place that a client's approval covers. */
  definitionAt({
    client,
    name,
    file,
  }: Pick<DiscoveredServer, 'client' | 'name' | 'file'>): CoveredDefinition | undefined {
    return this.approvals
      .flatMap(({ definitions }) => definitions)
      .findLast((known) => known.client === client && known.name === name && known.file === file);
  }
}

function projectKey({ client, dir }: ClientApproval): string {
  return JSON.stringify([client, dir]);
}

export function approvalKey({ client, by, dir, name }: ClientApproval): string {
  return JSON.stringify([client, by, dir, name ?? null]);
}
