// The decisions that were kept, as one asks for them: by what would be started, or by the place that it stands at.

import type { Approval, Approvals } from './approval.ts';
import type { DiscoveredServer } from './discovered-server.ts';
import type { RememberedLaunch } from './remembered-launch.ts';

export type DecidedPlace = Pick<DiscoveredServer, 'client' | 'name' | 'file'>;

export interface StoredDecision extends DecidedPlace {
  readonly hash: string;
  readonly decision: Approval;
  /** When, as in ISO 8601. */
  readonly at: string;
  readonly scope: string;
  readonly pointer: string;
  readonly launch: RememberedLaunch;
}

export class StoredApprovals implements Approvals {
  /** The oldest first. */
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

export function isAt(decision: DecidedPlace, { client, name, file }: DecidedPlace): boolean {
  return decision.client === client && decision.name === name && decision.file === file;
}
