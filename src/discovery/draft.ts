// A definition on its way through the stages of discovery. Each stage takes drafts and gives new ones.

import type { DiscoveredServer, ServerState } from './discovered-server.ts';

export interface Draft extends Omit<DiscoveredServer, 'id' | 'alias'> {
  /** How early its place comes in the list; smaller is earlier. */
  readonly order: number;
  /** Whether it stands where the author of a project may have written it, and nobody has agreed to it yet. */
  readonly awaitsApproval: boolean;
  /** Where its client's user trusts the project, if they do. */
  readonly trustedDir: string | undefined;
  /** The same name of its client in another file is another server. */
  readonly isListedPerFile: boolean;
}

export function withState(draft: Draft, state: ServerState, reason: string): Draft {
  return { ...draft, state, reason };
}

/** From the weakest to the strongest. A scope that is not here ranks as the user's. */
const SCOPES = [
  'hosted',
  'plugin',
  'extension',
  'system',
  'user-legacy',
  'user',
  'project',
  'local',
  'dynamic',
  'enterprise',
];

export function rankOf(scope: string): number {
  const rank = SCOPES.indexOf(scope === 'workspace' ? 'project' : scope);
  return rank < 0 ? SCOPES.indexOf('user') : rank;
}

/** Sorts what takes precedence first. */
export function byPrecedence(a: Draft, b: Draft): number {
  return rankOf(b.scope) - rankOf(a.scope) || a.order - b.order;
}

export function byOrder(a: Draft, b: Draft): number {
  return a.order - b.order;
}

/** How a server is named in groups and conflicts. */
export function memberName({ client, name }: Pick<Draft, 'client' | 'name'>): string {
  return `${client}:${name}`;
}
