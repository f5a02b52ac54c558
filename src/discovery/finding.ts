// Answers a daemon's question which servers there are for some directories. Each file is read once for all of them.
// Approvals are read too; while they cannot be read, the last ones count.

import type { ProcessIdentity } from '../local/process-identity.ts';
import type { ServerDefinition } from '../model/server-definition.ts';
import { BridgeError, messageOf } from '../util/bridge-error.ts';
import {
  type Approval,
  type Approvals,
  type FirstSeen,
  NOTHING_COVERED,
  NOTHING_SEEN,
  type SeenApprovals,
} from './approval.ts';
import { ApprovalFile, ClientApprovalFile } from './approval-file.ts';
import type { Discovery } from './discovery.ts';
import { KeptInputs } from './inputs.ts';
import type { KeptSources } from './kept-sources.ts';
import { type ConfigForDiscovery, type DiscoveringProcess, discoverHere, type OwnFindings } from './own-discovery.ts';
import type { Policy } from './policy.ts';
import { servedServers } from './served-servers.ts';
import { SourceMemory } from './source-memory.ts';
import { SwitchedServers } from './switched-servers.ts';

export { KeptSources } from './kept-sources.ts';

/** Everything that an answer depends on, except files. It is sent as JSON. */
export interface FindRequest {
  readonly dir: string;
  readonly own: DiscoveringProcess;
  readonly config: ConfigForDiscovery;
  /** True to ignore all other clients' definitions. */
  readonly isOwnOnly: boolean;
}

export interface FindAnswer {
  /** The servers to serve, in order. */
  readonly servers: readonly ServerDefinition[];
  /** Faults of files and entries, in words for people. */
  readonly faults: readonly string[];
  /** The number of definitions that wait for approval. */
  readonly pending: number;
  /** The policies that apply to every client's servers. */
  readonly policies: readonly Policy[];
  /** The missing inputs, by the servers that need them. */
  readonly missing?: Readonly<Record<string, readonly string[]>>;
  /** Processes of servers that are running already. */
  readonly processes: readonly ProcessIdentity[];
}

export interface FindingOptions {
  /** Called before a path is read for the first time; the reading waits for it. */
  readonly asked: (path: string) => Promise<void> | void;
  readonly kept: KeptSources;
}

const APPROVALS = 'approvals';

interface ReadApprovals {
  readonly approvals: Approvals;
  readonly fault: string | undefined;
}

export class ServerSearch {
  readonly #asked: FindingOptions['asked'];
  readonly #kept: KeptSources;
  readonly #memory: SourceMemory;
  #approvals: Promise<ReadApprovals> | undefined;
  #approvalFile: string | undefined;
  /** Files with the user's other decisions, read every time. */
  readonly #choices = new Set<string>();

  constructor({ asked, kept }: FindingOptions) {
    this.#asked = asked;
    this.#kept = kept;
    // The caller drops directories one by one.
    this.#memory = new SourceMemory({ asked, keeper: kept, mostDirectories: Number.POSITIVE_INFINITY });
  }

  async find({ dir, own, config, isOwnOnly }: FindRequest): Promise<FindAnswer> {
    const { approvals, fault } = isOwnOnly ? NOTHING_APPROVED : await this.#readApprovals(own);
    const faults = fault === undefined ? [] : [fault];
    await this.#watchChoices(own);
    const looking = { cwd: dir, config, approvals, memory: this.#memory, isOwnOnly, keepsNames: true };
    const discover = (seenApprovals: SeenApprovals): Promise<OwnFindings> =>
      discoverHere(own, { ...looking, seenApprovals });
    const found = isOwnOnly ? await discover(NOTHING_SEEN) : await this.#findKept(own, discover, faults);
    const errors = found.diagnostics.filter(({ level }) => level === 'error').map(({ message }) => message);
    return {
      servers: [...servedServers(found.servers, config.config, { home: own.homedir, values: found.values }).values()],
      faults: [...faults, ...errors],
      pending: found.servers.filter(({ state }) => state === 'pending-approval').length,
      policies: found.policies.everybody,
      missing: missingIn(found.servers),
      processes: found.processes,
    };
  }

  /** The paths that the last answer for this directory depends on. */
  pathsOf(dir: string): string[] {
    const approvals = this.#approvalFile === undefined ? [] : [this.#approvalFile];
    return [...approvals, ...this.#choices, ...this.#memory.pathsOf(dir)];
  }

  async #watchChoices({ environment, homedir }: DiscoveringProcess): Promise<void> {
    for (const { path } of [new KeptInputs(environment, homedir), new SwitchedServers(environment, homedir)]) {
      if (this.#choices.has(path)) continue;
      this.#choices.add(path);
      await this.#asked(path);
    }
  }

  /** Finds servers. A server that another client approved for the first time is served only after that was saved. */
  async #findKept(
    { environment, homedir }: DiscoveringProcess,
    discover: (seen: SeenApprovals) => Promise<OwnFindings>,
    faults: string[],
  ): Promise<OwnFindings> {
    const file = new ClientApprovalFile(environment, homedir);
    try {
      const found = await discover(file.read());
      if (found.firstSeen.length === 0) return found;
      await file.keep(found.firstSeen, new Date());
      const seen = file.read();
      // Another daemon may have seen one first, with another definition.
      const isKept = ({ approval, hash }: FirstSeen): boolean => seen.covered(approval)?.has(hash) === true;
      return found.firstSeen.every(isKept) ? found : await discover(seen);
    } catch (error) {
      if (!(error instanceof BridgeError)) throw error;
      faults.push(`${toldOf(error)} What other clients have approved in projects waits until then.`);
      return await discover(NOTHING_COVERED);
    }
  }

  #readApprovals(own: DiscoveringProcess): Promise<ReadApprovals> {
    this.#approvals ??= this.#approvalsOf(own);
    return this.#approvals;
  }

  async #approvalsOf({ environment, homedir }: DiscoveringProcess): Promise<ReadApprovals> {
    const file = new ApprovalFile(environment, homedir);
    this.#approvalFile = file.path;
    await this.#asked(file.path);
    try {
      const decisions = file.read().decisions.map(({ hash, decision }) => [hash, decision] as const);
      this.#kept.keepAs(APPROVALS, decisions);
      return { approvals: new Map(decisions), fault: undefined };
    } catch (error) {
      const kept = (this.#kept.keptAs(APPROVALS) ?? []) as readonly (readonly [string, Approval])[];
      return { approvals: new Map(kept), fault: stillCounts(error) };
    }
  }
}

function missingIn(servers: Discovery['servers']): Record<string, readonly string[]> {
  const asking = servers.filter(({ state }) => state === 'needs-input');
  return Object.fromEntries(asking.map(({ id, inputs }) => [id, inputs]));
}

const NOTHING_APPROVED: ReadApprovals = { approvals: new Map(), fault: undefined };

function stillCounts(error: unknown): string {
  return `${toldOf(error)} What was read of it before is still used.`;
}

function toldOf(error: unknown): string {
  const hint = error instanceof BridgeError && error.hint !== undefined ? ` ${error.hint}` : '';
  return `${messageOf(error)}.${hint}`;
}
