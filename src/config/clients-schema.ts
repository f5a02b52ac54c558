// `clients`: reads settings for some clients only. A fault makes it stricter: an unreadable match fits every client,
// and an unreadable list allows nothing.

import type { ToolRule } from '../model/tool-rules.ts';
import { isViewName, VIEW_NAMES } from '../model/view-name.ts';
import type { Reader } from './reader.ts';
import { NO_TOOL, type PatternBudget, toolRulesOf } from './tool-rules.ts';

/** An entry of the list. The first entry that matches a client applies. */
export interface ClientEntry {
  /** Globs for each property; undefined matches any value. */
  readonly match: Readonly<Record<MatchKey, readonly string[] | undefined>>;
  readonly view: string | undefined;
  /** Globs over the servers that the client sees; undefined for all. */
  readonly servers: readonly string[] | undefined;
  /** Servers, by the client's names for them. */
  readonly names: Readonly<Record<string, string>>;
  readonly toolRules: readonly ToolRule[];
}

const MATCH_KEYS = ['name', 'client', 'token', 'directory'] as const;
type MatchKey = (typeof MATCH_KEYS)[number];
const KEYS = ['match', 'view', 'servers', 'names', 'toolRules'];
const NOTHING: ClientEntry = {
  match: { name: undefined, client: undefined, token: undefined, directory: undefined },
  view: undefined,
  servers: [],
  names: {},
  toolRules: [NO_TOOL],
};

export function clientsOf(
  reader: Reader,
  value: unknown,
  { resolvePath, budget }: Omit<At, 'place'>,
): readonly ClientEntry[] {
  if (value === undefined) return [];
  if (Array.isArray(value))
    return value.map((entry: unknown, i) => entryOf(reader, entry, { place: `clients[${i}]`, resolvePath, budget }));
  reader.fault('clients', 'must be a list of entries');
  return [NOTHING];
}

interface At {
  readonly place: string;
  /** Makes a path absolute. */
  readonly resolvePath: (path: string) => string;
  readonly budget: PatternBudget | undefined;
}

function entryOf(reader: Reader, value: unknown, { place, resolvePath, budget }: At): ClientEntry {
  const before = reader.errors;
  const section = reader.section(value, place);
  if (reader.errors > before) return NOTHING;
  reader.keys(section, place, KEYS);
  const fields = reader.meant(section, place, KEYS);
  const names = reader.textMap(fields.names, `${place}.names`);
  return {
    match: matchOf(reader, fields.match, { place: `${place}.match`, resolvePath, budget }),
    view: viewOf(reader, fields.view, `${place}.view`),
    servers: globsOf(reader, fields.servers, { place: `${place}.servers`, budget, otherwise: [] }),
    names: Object.fromEntries(Object.entries(names).filter(([, id]) => typeof id === 'string')),
    toolRules: toolRulesOf(reader, fields.toolRules, `${place}.toolRules`, budget),
  };
}

function matchOf(reader: Reader, value: unknown, { place, resolvePath, budget }: At): ClientEntry['match'] {
  if (value === undefined) reader.fault(place, 'is missing', 'such as {"name": "cursor*"}');
  const section = reader.section(value, place);
  reader.keys(section, place, MATCH_KEYS);
  const fields = reader.meant(section, place, MATCH_KEYS);
  const globs = (key: MatchKey): readonly string[] | undefined =>
    globsOf(reader, fields[key], { place: `${place}.${key}`, budget, otherwise: undefined });
  const match = {
    ...{ name: globs('name'), client: globs('client'), token: globs('token') },
    directory: globs('directory')?.map((path) => withoutSlash(resolvePath(path))),
  };
  if (value !== undefined && MATCH_KEYS.every((key) => match[key] === undefined))
    reader.fault(place, 'needs a name, a client, a token, or a directory', 'such as {"name": "cursor*"}');
  return match;
}

/** Removes a slash at the end of a directory's name. */
function withoutSlash(path: string): string {
  return path.length > 1 && path.endsWith('/') ? path.slice(0, -1) : path;
}

interface Globs extends Omit<At, 'resolvePath'> {
  /** The patterns to use if the list cannot be read. */
  readonly otherwise: readonly string[] | undefined;
}

function globsOf(reader: Reader, value: unknown, { place, budget, otherwise }: Globs): readonly string[] | undefined {
  if (value === undefined) return undefined;
  const before = reader.errors;
  const globs = typeof value === 'string' && value !== '' ? [value] : reader.texts(value, place);
  const problems = reader.errors > before ? [] : globs.flatMap((glob) => budget?.problemWith(glob) ?? []);
  for (const problem of problems) reader.fault(place, problem);
  return reader.errors > before ? otherwise : globs;
}

function viewOf(reader: Reader, value: unknown, place: string): string | undefined {
  const view = reader.text(value, place);
  if (view === undefined || isViewName(view)) return view;
  reader.fault(place, `is ${VIEW_NAMES}`);
  return undefined;
}
