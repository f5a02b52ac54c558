// Definitions that a project brings wait until somebody agrees to them, here or in their own client. What is agreed to
// is a hash of what would be started: whoever changes that asks again.

import { createHash } from 'node:crypto';
import type { ClaudeSettings } from './claude-settings.ts';
import type { DiscoveredServer } from './discovered-server.ts';
import { type Draft, withState } from './draft.ts';
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
  const parts = [...launch, sorted(asWritten(raw.env, env)), sorted(asWritten(raw.headers, headers)), sorted(added)];
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

export function decideApproval(draft: Draft, approvals: Approvals, claude: ClaudeSettings['decide']): Draft {
  if (!draft.awaitsApproval || !WAITING.has(draft.state)) return draft;
  const decisions = [
    approvals.get(definitionHash(draft)),
    draft.client === 'claude-code' ? claude(draft.name) : undefined,
  ];
  if (decisions.includes('rejected')) return withState(draft, 'rejected', 'somebody has rejected it');
  if (decisions.includes('approved')) return { ...draft, awaitsApproval: false };
  if (draft.state === 'disabled') return draft;
  return withState(draft, 'pending-approval', 'it comes with the project, and nobody has approved it yet');
}
