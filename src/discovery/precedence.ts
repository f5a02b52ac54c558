// Decides which of several definitions with one name is used. Within a client the stronger scope wins. Definitions of
// different clients are all kept, unless the flat order is wanted. The bridge's own definitions replace all others of
// their name, except those that have another id already.

import { traitsOf } from './client-traits.ts';
import {
  byOrder,
  byPrecedence,
  type DiscoveredServer,
  type Draft,
  memberName,
  rankOf,
  withState,
} from './discovered-server.ts';
import { type HeldNames, heldOrOwnName, holdersOf, NO_HELD_NAMES } from './held-names.ts';

/** `scope`: by scope within each client. `first-wins`: the first in the list of places wins over all others. */
export type Precedence = 'scope' | 'first-wins';

const COUNTING = new Set(['ready', 'disabled', 'needs-input']);
const HIDDEN = new Set([...COUNTING, 'pending-approval']);

export function shadow(drafts: readonly Draft[], precedence: Precedence, held: HeldNames = NO_HELD_NAMES): Draft[] {
  const holders = holdersOf(held);
  const nameOf = (draft: Draft): string | undefined =>
    isOwn(draft) ? draft.name : heldOrOwnName(draft, held, holders);
  const sorted = [...drafts].sort(precedence === 'first-wins' ? byOrder : byPrecedence);
  const winners = new Map<string, Draft>();
  return sorted.map((draft) => {
    const keys = precedence === 'first-wins' ? [draft.name] : keysOf(draft, nameOf(draft));
    const winner = keys.map((key) => winners.get(key)).find((found) => found !== undefined);
    if (winner !== undefined && HIDDEN.has(draft.state))
      return withState(draft, 'shadowed', `${memberName(winner)} in ${winner.file} comes first`);
    if (winner === undefined && COUNTING.has(draft.state))
      for (const key of ownKeysOf(draft, precedence)) winners.set(key, draft);
    return draft;
  });
}

const everybody = (name: string): string => JSON.stringify([name]);

/** `id` is undefined if the name already means another definition. */
function keysOf({ client, name, file, isListedPerFile }: Draft, id: string | undefined): string[] {
  const own = JSON.stringify([client, name, ...(isListedPerFile ? [file] : [])]);
  return id === undefined ? [own] : [everybody(id), own];
}

function ownKeysOf(draft: Draft, precedence: Precedence): string[] {
  if (precedence === 'first-wins') return [draft.name];
  return isOwn(draft) ? [everybody(draft.name)] : keysOf(draft, undefined);
}

function isOwn({ client, scope }: Draft): boolean {
  return client === 'bridge' && scope === 'dynamic';
}

const REPLACED = new Set([...COUNTING, 'duplicate', 'shadowed']);

/** The user's own definitions that this project's definition replaces, or would replace once approved. */
export function replacedBy(server: DiscoveredServer, servers: readonly DiscoveredServer[]): DiscoveredServer[] {
  const { client, name, file, scope, state } = server;
  const isOfProject = scope === 'project' || scope === 'workspace';
  const counts = COUNTING.has(state) || state === 'pending-approval';
  if (!isOfProject || !counts || traitsOf(client).isListedPerFile) return [];
  return servers.filter(
    (other) =>
      other.client === client &&
      other.name === name &&
      other.file !== file &&
      rankOf(other.scope) < rankOf(scope) &&
      REPLACED.has(other.state),
  );
}
