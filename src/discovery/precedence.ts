// Which of several definitions of one name counts. Within a client the stronger scope does; of different clients both
// are kept, unless the flat order is asked for. The bridge's own definitions stand for everybody's of their name.

import { rulesOf } from './client-rules.ts';
import type { DiscoveredServer } from './discovered-server.ts';
import { byOrder, byPrecedence, type Draft, memberName, rankOf, withState } from './draft.ts';

/** `scope`: by scope within each client. `first-wins`: the first in the list of places, over everything. */
export type Precedence = 'scope' | 'first-wins';

const COUNTING = new Set(['ready', 'disabled', 'needs-input']);
const HIDDEN = new Set([...COUNTING, 'pending-approval']);

export function shadow(drafts: readonly Draft[], precedence: Precedence): Draft[] {
  const sorted = [...drafts].sort(precedence === 'first-wins' ? byOrder : byPrecedence);
  const winners = new Map<string, Draft>();
  return sorted.map((draft) => {
    const keys = precedence === 'first-wins' ? [draft.name] : keysOf(draft);
    const winner = keys.map((key) => winners.get(key)).find((found) => found !== undefined);
    if (winner !== undefined && HIDDEN.has(draft.state))
      return withState(draft, 'shadowed', `${memberName(winner)} in ${winner.file} comes first`);
    if (winner === undefined && COUNTING.has(draft.state))
      for (const key of ownKeysOf(draft, precedence)) winners.set(key, draft);
    return draft;
  });
}

const everybody = (name: string): string => JSON.stringify([name]);

function keysOf({ client, name, file, isListedPerFile }: Draft): string[] {
  return [everybody(name), JSON.stringify([client, name, ...(isListedPerFile ? [file] : [])])];
}

function ownKeysOf(draft: Draft, precedence: Precedence): string[] {
  if (precedence === 'first-wins') return [draft.name];
  const [all = '', ...own] = keysOf(draft);
  return draft.client === 'bridge' && draft.scope === 'dynamic' ? [all] : own;
}

const REPLACED = new Set([...COUNTING, 'duplicate', 'shadowed']);

/** The user's own definitions whose place this one of a project takes, or would take once it is approved. */
export function replacedBy(server: DiscoveredServer, servers: readonly DiscoveredServer[]): DiscoveredServer[] {
  const { client, name, file, scope, state } = server;
  const isOfProject = scope === 'project' || scope === 'workspace';
  const counts = COUNTING.has(state) || state === 'pending-approval';
  if (!isOfProject || !counts || rulesOf(client).isListedPerFile) return [];
  return servers.filter(
    (other) =>
      other.client === client &&
      other.name === name &&
      other.file !== file &&
      rankOf(other.scope) < rankOf(scope) &&
      REPLACED.has(other.state),
  );
}
