// Names that tell all definitions apart. What holds is named before what waits for approval, and that before the rest:
// the name that a user knows a server by is not for a project to take, nor for what cannot be used.

import { aliasesOf } from '../core/joined-names.ts';
import type { DiscoveredServer, ServerState } from './discovered-server.ts';
import type { Draft } from './draft.ts';

const HOLDING = new Set<ServerState>(['ready', 'needs-input', 'disabled', 'duplicate']);

/** Takes the drafts in their order of precedence, and keeps it. */
export function named(drafts: readonly Draft[]): DiscoveredServer[] {
  const inTurn = [0, 1, 2].flatMap((turn) => drafts.filter(({ state }) => turnOf(state) === turn));
  const ids = idsOf(inTurn);
  const aliases = aliasesFor(inTurn);
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

function turnOf(state: ServerState): number {
  if (HOLDING.has(state)) return 0;
  return state === 'pending-approval' ? 1 : 2;
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

/** Equal names get numbered aliases. They are told apart by zeros behind them, which no name has and no alias shows. */
function aliasesFor(drafts: readonly Draft[]): Map<Draft, string> {
  const times = new Map<string, number>();
  const keys = drafts.map(({ name }) => {
    const before = times.get(name) ?? 0;
    times.set(name, before + 1);
    return `${name}${'\0'.repeat(before)}`;
  });
  const aliases = aliasesOf(keys);
  return new Map(drafts.map((draft, i) => [draft, aliases.get(keys[i] ?? '') ?? '']));
}
