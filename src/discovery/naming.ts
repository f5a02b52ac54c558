// Names that tell all definitions apart. What can be used is named before what cannot, so that nothing useless takes
// the plain name.

import { aliasesOf } from '../core/joined-names.ts';
import type { DiscoveredServer } from './discovered-server.ts';
import type { Draft } from './draft.ts';

const USABLE = new Set(['ready', 'needs-input', 'pending-approval', 'disabled']);

/** Takes the drafts in their order of precedence, and keeps it. */
export function named(drafts: readonly Draft[]): DiscoveredServer[] {
  const inTurn = [...drafts.filter(isUsable), ...drafts.filter((draft) => !isUsable(draft))];
  const ids = idsOf(inTurn);
  const aliases = aliasesFor(inTurn);
  return drafts.map((draft) => {
    const { order: _order, awaitsApproval: _awaits, isListedPerFile: _listed, ...server } = draft;
    return { id: ids.get(draft) ?? draft.name, alias: aliases.get(draft) ?? '', ...server };
  });
}

function isUsable({ state }: Draft): boolean {
  return USABLE.has(state);
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
