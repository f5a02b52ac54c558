// Definitions from a project wait until somebody approves them, here or in their own client. An approval is for a hash
// of everything that would be started, so a change asks again. Another client's approval covers the definitions that
// the bridge first saw it for, and no others: a client approves a name, and the project's author can change the
// definition behind it.

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
 * Hashes the client and name, which decide what the definition replaces, and everything that is started, with variables
 * filled in. Environment variables and headers count as written, so that a renewed token needs no new approval. Content
 * of files counts, because the project's author may have written them. A tool filter counts too.
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

/** Undefined without a filter, so that approvals of such definitions stay valid. */
function filterOf({ allow, deny }: DiscoveredServer['tools']): DiscoveredServer['tools'][] {
  return allow === undefined && deny.length === 0 ? [] : [{ allow, deny }];
}

function sorted(map: Readonly<Record<string, string>>): [string, string][] {
  return Object.entries(map).sort(([a], [b]) => (a < b ? -1 : 1));
}

const WAITING = new Set(['ready', 'needs-input', 'disabled']);

export interface Consent {
  /** The decisions of this user. */
  readonly approvals: Approvals;
  readonly claude: ClaudeSettings['decide'];
  /** Definitions that other clients' approvals covered before. */
  readonly seen: SeenApprovals;
  /** The directory of the project. */
  readonly root: string;
  readonly path: Pick<PathRules, 'relative' | 'isAbsolute'>;
  /** Called for each definition that runs because its client's approval was seen for the first time. */
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

/** A known approval covers what it covered when first seen; a new one covers what is there now. */
function isCovered(draft: Draft, theirs: readonly ClientApproval[], consent: Consent): boolean {
  const hash = placedHash(draft, consent);
  const known = theirs.map((approval) => consent.seen.covered(approval));
  if (known.some((hashes) => hashes?.has(hash) === true)) return true;
  const young = theirs.filter((_, i) => known[i] === undefined);
  for (const approval of young) consent.firstSeen({ approval, hash, server: draft });
  return young.length > 0;
}

/** Equal in every checkout of a project, because an approval may be for several of them. */
function placedHash(draft: Draft, { root, path }: Consent): string {
  const inside = draft.cwd === undefined ? '' : path.relative(root, draft.cwd);
  const isInside = !inside.startsWith('..') && !path.isAbsolute(inside);
  return definitionHash(draft.cwd !== undefined && isInside ? { ...draft, cwd: `./${inside}` } : draft);
}

/** One approval: of a server by name, or of everything that a project brings. */
export interface ClientApproval {
  readonly client: string;
  /**
   * The owner of the file. A file that the project's author may have written approves once, for everything in it then.
   */
  readonly by: 'user' | 'project';
  /** The project that it applies to. */
  readonly dir: string;
  /** Undefined for all of its servers. */
  readonly name: string | undefined;
}

/** A definition that such an approval covered, as it was then. */
export interface CoveredDefinition extends Pick<DiscoveredServer, 'client' | 'name' | 'file'> {
  readonly hash: string;
  /** The time when the bridge saw it, in ISO 8601. */
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
  /** Hashes of the definitions that it covers; undefined if it is new. */
  covered(approval: ClientApproval): ReadonlySet<string> | undefined;
}

/** Treats every approval as new. */
export const NOTHING_SEEN: SeenApprovals = { covered: () => undefined };

/** Covers nothing, because it is unknown what was seen before. */
export const NOTHING_COVERED: SeenApprovals = { covered: () => new Set() };

export interface StoredApproval extends ClientApproval {
  readonly definitions: readonly CoveredDefinition[];
}

export class StoredClientApprovals implements SeenApprovals {
  /** The approvals, first seen first. */
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
   * The definitions that an approval covers. Once something in a project was approved, the project's own files approve
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
