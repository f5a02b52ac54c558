// Definitions that a project brings wait until somebody approves them, here or in their own client. An approval is for a
// hash of what would be started, so a change asks again. An approval of another client covers the definitions that the
// bridge saw it for first, and no other: a client approves a name, and the project's author can change what has it.

import { createHash } from 'node:crypto';
import type { ClaudeSettings } from './claude-settings.ts';
import { type DiscoveredServer, type Draft, withState } from './discovered-server.ts';
import type { PathRules } from './machine.ts';
import type { RememberedLaunch } from './remembered-launch.ts';
import { withoutGiven } from './shown-launch.ts';
import { asWritten } from './text-variables.ts';

export type Approval = 'approved' | 'rejected';

export interface Approvals {
  get(hash: string): Approval | undefined;
}

/**
 * Over the client and the name, which decide whose place it takes, and over what is started, with variables filled in;
 * but variables and headers count as they are written, so that a token that is renewed in the environment asks nobody
 * again. What a file adds is written by whoever wrote that, and counts. So does the filter over its tools, if it has one.
 */
export function definitionHash(server: Omit<DiscoveredServer, 'id' | 'alias'>): string {
  const { client, name, transport, command, args, cwd, url, headersHelper, oauth, env, headers, raw, tools } = server;
  const added = Object.fromEntries(Object.entries(env).filter(([variable]) => !Object.hasOwn(raw.env, variable)));
  const launch = [transport, command, args, cwd, url, headersHelper];
  const parts = [
    ...launch,
    sorted(asWritten(withoutGiven(raw.env, raw.env), env)),
    sorted(asWritten(raw.headers, headers)),
    sorted(added),
  ];
  const all = [client, name, ...parts, oauth, ...filterOf(tools)];
  return createHash('sha256')
    .update(JSON.stringify(all.map((part) => part ?? null)))
    .digest('hex');
}

/** Nothing without a filter, so that approvals of such definitions stay what they were. */
function filterOf({ allow, deny }: DiscoveredServer['tools']): DiscoveredServer['tools'][] {
  return allow === undefined && deny.length === 0 ? [] : [{ allow, deny }];
}

function sorted(map: Readonly<Record<string, string>>): [string, string][] {
  return Object.entries(map).sort(([a], [b]) => (a < b ? -1 : 1));
}

const WAITING = new Set(['ready', 'needs-input', 'disabled']);

export interface Consent {
  /** Decisions of this user. */
  readonly approvals: Approvals;
  readonly claude: ClaudeSettings['decide'];
  /** Definitions that other clients' approvals covered before. */
  readonly seen: SeenApprovals;
  /** The directory of the project. */
  readonly root: string;
  readonly path: Pick<PathRules, 'relative' | 'isAbsolute'>;
  /** Hears of each definition that runs because its client's approval was never seen before. */
  readonly firstSeen: (first: FirstSeen) => void;
}

export function decideApproval(draft: Draft, consent: Consent): Draft {
  if (!draft.awaitsApproval || !WAITING.has(draft.state)) return draft;
  const own = consent.approvals.get(definitionHash(draft));
  const theirs = draft.client === 'claude-code' ? consent.claude(draft.name) : trustIn(draft);
  if (own === 'rejected' || theirs === 'rejected') return withState(draft, 'rejected', 'somebody has rejected it');
  if (own === 'approved' || isCovered(draft, theirs, consent)) return { ...draft, awaitsApproval: false };
  if (draft.state === 'disabled') return draft;
  const why =
    theirs.length === 0
      ? 'it comes with the project, and nobody has approved it yet'
      : `it is not what ${draft.client} approved: it has changed since, or came later`;
  return withState(draft, 'pending-approval', why);
}

function trustIn({ client, trustedDir }: Draft): readonly ClientApproval[] {
  return trustedDir === undefined ? [] : [{ client, by: 'user', dir: trustedDir, name: undefined }];
}

/** An approval that was seen before covers what it stood for then; one that is new covers what is there now. */
function isCovered(draft: Draft, theirs: readonly ClientApproval[], consent: Consent): boolean {
  const hash = placedHash(draft, consent);
  const known = theirs.map((approval) => consent.seen.covered(approval));
  if (known.some((hashes) => hashes?.has(hash) === true)) return true;
  const young = theirs.filter((_, i) => known[i] === undefined);
  for (const approval of young) consent.firstSeen({ approval, hash, server: draft });
  return young.length > 0;
}

/** The same in every checkout of a project: an approval may be for more than one of them. */
function placedHash(draft: Draft, { root, path }: Consent): string {
  const inside = draft.cwd === undefined ? '' : path.relative(root, draft.cwd);
  const isInside = !inside.startsWith('..') && !path.isAbsolute(inside);
  return definitionHash(draft.cwd !== undefined && isInside ? { ...draft, cwd: `./${inside}` } : draft);
}

/** One approval: of a server by its name, or of all that a project brings. */
export interface ClientApproval {
  readonly client: string;
  /** The owner of the file: one that the author of the project may have written approves once, for all that is in it then. */
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
  /** The decisions, those that were seen first before the others. */
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

  /**
   * The definitions that an approval covers. In a project where something was approved before, its own files approve
   * nothing more.
   */
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
