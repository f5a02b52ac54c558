// Translates a client's own rules into an entry of `clients`, and lists the rules that cannot be translated. Servers
// and tools have other names behind the bridge, so an untranslated rule no longer matches.

import type { DiscoveredServer } from '../discovery/discovered-server.ts';
import { isTree, member } from '../discovery/tree.ts';
import type { Permission } from './client-permissions.ts';
import type { OwnClientEntry } from './own-clients.ts';

/** A server that moves behind the bridge. */
export interface Going {
  /** The client's name for the server, and its name behind the bridge. */
  readonly name: string;
  readonly as: string;
  readonly entry: unknown;
  readonly server: DiscoveredServer;
}

export interface RulesOfClient {
  /** Undefined if the client needs no entry. */
  readonly entry: OwnClientEntry | undefined;
  /** The rules that were kept, in words for people. */
  readonly kept: readonly string[];
  readonly lost: readonly LostRule[];
}

export interface LostRule {
  readonly line: string;
  /** True if the client may now do something that it forbade, or that it asked about first. */
  readonly isDangerous: boolean;
}

interface Making {
  readonly client: string;
  readonly permissions: readonly Permission[];
  /** All servers on offer, by their ids. */
  readonly offered: readonly DiscoveredServer[];
  /** The reason why no entry can be written; undefined if one can. */
  readonly obstacle: string | undefined;
}

type Rule = NonNullable<OwnClientEntry['toolRules']>[number];

export function clientRulesOf(going: readonly Going[], making: Making): RulesOfClient {
  const { client, permissions, offered, obstacle } = making;
  const ids = new Map(going.map(({ name, as }) => [name, as]));
  const names = namesOf(going, offered);
  const denials = permissions.filter((permission) => isTranslated(permission));
  const toolRules = [...going.flatMap(filterRules), ...denials.flatMap((denial) => denialRules(denial, ids))];
  const filtered = going.filter(isFiltered).map(({ name }) => `its list of tools of "${name}"`);
  const renamed = Object.entries(names).filter(([name]) => ids.has(name));
  const all = [
    ...denials.map(({ text, file }) => `${text} in ${file}`),
    ...filtered,
    ...renamed.map(([name, as]) => `its name "${name}" for "${as}"`),
  ];
  const others = permissions.filter((permission) => !isTranslated(permission)).map(lostRule);
  const allowed = going.flatMap(unaskedIn);
  if (obstacle !== undefined) {
    const lost = all.map((what) => ({ line: `${what}: not kept, as ${obstacle}`, isDangerous: true }));
    return { entry: undefined, kept: [], lost: [...lost, ...others, ...allowed] };
  }
  const isNeeded = toolRules.length > 0 || renamed.length > 0;
  const entry = {
    match: { client },
    ...(renamed.length === 0 ? {} : { names }),
    ...(toolRules.length === 0 ? {} : { toolRules }),
  };
  return { entry: isNeeded ? entry : undefined, kept: all, lost: [...others, ...allowed] };
}

function isTranslated({ kind, about, obstacle }: Permission): boolean {
  return kind === 'deny' && about.length > 0 && obstacle === undefined;
}

/**
 * Maps names to ids, so that the client's names still mean its own servers. Another server that has such an id gets a
 * new name.
 */
function namesOf(going: readonly Going[], offered: readonly DiscoveredServer[]): Record<string, string> {
  const names: [string, string][] = going.filter(({ name, as }) => name !== as).map(({ name, as }) => [name, as]);
  const taken = new Set([...offered.map(({ id }) => id), ...going.flatMap(({ name, as }) => [name, as])]);
  for (const [name] of [...names]) {
    const other = offered.find(({ id, state }) => id === name && state === 'ready');
    if (other === undefined || names.some(([, id]) => id === name)) continue;
    const wanted = `${name}-${other.client}`;
    let free = wanted;
    for (let n = 2; taken.has(free); n++) free = `${wanted}-${n}`;
    taken.add(free);
    names.push([free, name]);
  }
  return Object.fromEntries(names);
}

function isFiltered({ server: { tools } }: Going): boolean {
  return tools.deny.length > 0 || (tools.allow !== undefined && !tools.allow.includes('*'));
}

function filterRules(going: Going): Rule[] {
  const { as, server } = going;
  const { allow, deny } = server.tools;
  if (!isFiltered(going)) return [];
  const of = (tools: readonly string[]): string[] => tools.map((tool) => `${literal(as)}:${tool}`);
  const isAll = allow === undefined || allow.includes('*');
  return [
    ...(isAll ? [] : [{ pattern: of(['*']), enabled: false }]),
    ...(isAll || allow.length === 0 ? [] : [{ pattern: of(allow), enabled: true }]),
    ...(deny.length === 0 ? [] : [{ pattern: of(deny), enabled: false }]),
  ];
}

function denialRules({ about }: Permission, ids: ReadonlyMap<string, string>): Rule[] {
  const pattern = about.flatMap(({ server, tools }) => {
    const id = ids.get(server);
    return id === undefined ? [] : [`${literal(id)}:${tools}`];
  });
  return pattern.length === 0 ? [] : [{ pattern, enabled: false }];
}

/** Escapes a name, so that it means itself in a glob. */
function literal(name: string): string {
  return name.replace(/[\\*?[\]{}()!+@|]/g, '\\$&');
}

const LOST: Readonly<Record<Permission['kind'], string>> = {
  deny: 'forbids nothing any more',
  ask: 'asks nobody any more',
  allow: 'allows nothing any more: the client asks',
  hook: 'runs no more',
  unreadable: 'its rules are not known',
};

function lostRule({ kind, text, file, obstacle }: Permission): LostRule {
  if (kind === 'unreadable') return { line: `${file}: ${text}`, isDangerous: true };
  const why = obstacle === undefined ? '' : ` (${obstacle})`;
  return { line: `${text} in ${file} ${LOST[kind]}${why}`, isDangerous: kind !== 'allow' };
}

const UNASKED = ['alwaysAllow', 'autoApprove', 'autoapprove', 'trust'];

/** Finds the fields of the server's own entry that allow its tools without asking. */
function unaskedIn({ name, entry }: Going): LostRule[] {
  return UNASKED.flatMap((key) => {
    const said = isTree(entry) ? member(entry, key) : undefined;
    const isSaid = said === true || (Array.isArray(said) && said.length > 0);
    return isSaid ? [{ line: `${key} of "${name}" ${LOST.allow}`, isDangerous: false }] : [];
  });
}
