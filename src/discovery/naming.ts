// Gives each definition a unique name. Usable definitions are named first, then those that wait for approval, then the
// rest; among usable ones the user's come before a project's. So neither a project nor an unusable definition can take
// the name by which a user knows a server.

import { aliasesOf } from '../model/aliases.ts';
import type { DiscoveredServer, Draft, ServerState } from './discovered-server.ts';
import { type HeldNames, holderKey, holdersOf, NO_HELD_NAMES } from './held-names.ts';

const HOLDING = new Set<ServerState>(['ready', 'needs-input', 'disabled', 'duplicate']);

export interface Named {
  readonly servers: DiscoveredServer[];
  /** Ids given for the first time, to be kept from now on. */
  readonly given: HeldNames;
}

/** Takes and keeps the drafts' order of precedence. A held id is given only to its holder. */
export function named(drafts: readonly Draft[], held: HeldNames = NO_HELD_NAMES): Named {
  const inTurn = [0, 1, 2, 3].flatMap((turn) => drafts.filter((draft) => turnOf(draft) === turn));
  const { ids, given } = idsOf(inTurn, held);
  const aliases = aliasesFor(inTurn, ids);
  const servers = drafts.map((draft) => serverOf(draft, ids.get(draft) ?? draft.name, aliases.get(draft) ?? ''));
  return { servers, given };
}

/** Builds the server member by member, without the draft's own ones: there are thousands of these. */
function serverOf(draft: Draft, id: string, alias: string): DiscoveredServer {
  return {
    id,
    name: draft.name,
    alias,
    client: draft.client,
    scope: draft.scope,
    file: draft.file,
    realpath: draft.realpath,
    pointer: draft.pointer,
    sources: draft.sources,
    transport: draft.transport,
    command: draft.command,
    args: draft.args,
    env: draft.env,
    cwd: draft.cwd,
    url: draft.url,
    headers: draft.headers,
    headersHelper: draft.headersHelper,
    oauth: draft.oauth,
    timeoutMs: draft.timeoutMs,
    startupTimeoutMs: draft.startupTimeoutMs,
    tools: draft.tools,
    inputs: draft.inputs,
    ...(draft.envFile === undefined ? {} : { envFile: draft.envFile }),
    ignored: draft.ignored,
    description: draft.description,
    state: draft.state,
    reason: draft.reason,
    raw: draft.raw,
  };
}

function turnOf(draft: Draft): number {
  if (HOLDING.has(draft.state)) return isOfProject(draft) ? 1 : 0;
  return draft.state === 'pending-approval' ? 2 : 3;
}

/** True if a project's author has written it. Claude Code keeps the user's own servers for each project elsewhere. */
export function isOfProject({ scope, client }: Pick<DiscoveredServer, 'scope' | 'client'>): boolean {
  return scope === 'project' || scope === 'workspace' || (scope === 'local' && client !== 'claude-code');
}

/** True for servers of the bridge's own config, which come first and keep their names. */
export function isOwn({ client, scope }: Pick<DiscoveredServer, 'scope' | 'client'>): boolean {
  return client === 'bridge' && scope === 'dynamic';
}

/**
 * True if its id may be kept. Otherwise a repository could reserve any name, and fill the file with unapproved servers.
 */
function mayHold({ state, awaitsApproval }: Draft): boolean {
  return HOLDING.has(state) && !awaitsApproval;
}

interface Ids {
  readonly ids: Map<Draft, string>;
  readonly given: Map<string, string>;
}

function idsOf(drafts: readonly Draft[], held: HeldNames): Ids {
  const taken = new Set<string>();
  const holders = holdersOf(held);
  const ids = new Map<Draft, string>();
  const given = new Map<string, string>();
  for (const draft of drafts) {
    const key = isOwn(draft) ? undefined : holderKey(draft);
    const known = key === undefined ? undefined : held.get(key);
    const isFree = (id: string): boolean => !taken.has(id) && (key === undefined || (holders.get(id) ?? key) === key);
    const id = known !== undefined && isFree(known) ? known : newId(draft, isFree);
    taken.add(id);
    ids.set(draft, id);
    if (key === undefined || held.has(key) || given.has(key) || !mayHold(draft)) continue;
    given.set(key, id);
    holders.set(id, key);
  }
  return { ids, given };
}

function newId({ name, client, scope }: Draft, isFree: (id: string) => boolean): string {
  const last = `${name}-${client}-${scope}`;
  const wanted = [name, `${name}-${client}`, last].find(isFree);
  if (wanted !== undefined) return wanted;
  let n = 2;
  while (!isFree(`${last}-${n}`)) n++;
  return `${last}-${n}`;
}

/** Aliases, made from the ids in serving order, as in the view of all servers. */
function aliasesFor(inTurn: readonly Draft[], ids: ReadonlyMap<Draft, string>): Map<Draft, string> {
  const rankOf = (draft: Draft): number => (isOwn(draft) ? 0 : draft.state === 'ready' ? 1 : 2);
  const served = [0, 1, 2].flatMap((rank) => inTurn.filter((draft) => rankOf(draft) === rank));
  const idOf = (draft: Draft): string => ids.get(draft) ?? draft.name;
  const aliases = aliasesOf(served.map(idOf));
  return new Map(served.map((draft) => [draft, aliases.get(idOf(draft)) ?? '']));
}
