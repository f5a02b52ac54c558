// Names that tell all definitions apart. What holds is named before what waits for approval, and that before the rest; of
// what holds, the user's before a project's: the name that a user knows a server by is not for a project to take, nor for
// what cannot be used.

import { aliasesOf } from '../core/joined-names.ts';
import type { DiscoveredServer, ServerState } from './discovered-server.ts';
import type { Draft } from './draft.ts';

const HOLDING = new Set<ServerState>(['ready', 'needs-input', 'disabled', 'duplicate']);

/** Takes the drafts in their order of precedence, and keeps it. */
export function named(drafts: readonly Draft[]): DiscoveredServer[] {
  const inTurn = [0, 1, 2, 3].flatMap((turn) => drafts.filter((draft) => turnOf(draft) === turn));
  const ids = idsOf(inTurn);
  const aliases = aliasesFor(inTurn, ids);
  return drafts.map((draft) => serverOf(draft, ids.get(draft) ?? draft.name, aliases.get(draft) ?? ''));
}

/** Member by member, without those of a draft: thousands of these are made. */
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

/** Whether the author of a project has written it. Claude Code's user has a file of their own for each project. */
export function isOfProject({ scope, client }: Pick<DiscoveredServer, 'scope' | 'client'>): boolean {
  return scope === 'project' || scope === 'workspace' || (scope === 'local' && client !== 'claude-code');
}

/** What the bridge's own config defines is served first, under its name. */
export function isOwn({ client, scope }: Pick<DiscoveredServer, 'scope' | 'client'>): boolean {
  return client === 'bridge' && scope === 'dynamic';
}

function idsOf(drafts: readonly Draft[]): Map<Draft, string> {
  const taken = new Set<string>();
  const ids = new Map<Draft, string>();
  for (const draft of drafts) {
    const { name, client, scope } = draft;
    const wanted = [name, `${name}-${client}`, `${name}-${client}-${scope}`];
    const id = wanted.find((candidate) => !taken.has(candidate)) ?? numbered(wanted.at(-1) ?? name, taken);
    taken.add(id);
    ids.set(draft, id);
  }
  return ids;
}

function numbered(base: string, taken: ReadonlySet<string>): string {
  let n = 2;
  while (taken.has(`${base}-${n}`)) n++;
  return `${base}-${n}`;
}

/** As the view of all servers makes them: of their ids, in the order in which they are served. */
function aliasesFor(inTurn: readonly Draft[], ids: ReadonlyMap<Draft, string>): Map<Draft, string> {
  const rankOf = (draft: Draft): number => (isOwn(draft) ? 0 : draft.state === 'ready' ? 1 : 2);
  const served = [0, 1, 2].flatMap((rank) => inTurn.filter((draft) => rankOf(draft) === rank));
  const idOf = (draft: Draft): string => ids.get(draft) ?? draft.name;
  const aliases = aliasesOf(served.map(idOf));
  return new Map(served.map((draft) => [draft, aliases.get(idOf(draft)) ?? '']));
}
