// Definitions that a project brings wait until somebody agrees to them, here or in their own client. What is agreed to
// is a hash of what would be started: whoever changes that asks again.

import { createHash } from 'node:crypto';
import type { ClaudeSettings } from './claude-settings.ts';
import type { ClientApproval, FirstSeen, SeenApprovals } from './client-approvals.ts';
import type { DiscoveredServer } from './discovered-server.ts';
import { type Draft, withState } from './draft.ts';
import { withoutGiven } from './given-variables.ts';
import type { PathRules } from './machine.ts';
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
  /** What was decided here. */
  readonly approvals: Approvals;
  readonly claude: ClaudeSettings['decide'];
  /** What other clients' approvals stood for before. */
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
