// The settings of each client, made from the config. There is one object for each entry and program, so that similar
// clients share what is computed for one of them.

import type { ClientEntry } from '../config/clients-schema.ts';
import {
  type ClientIdentity,
  type ClientSettings,
  type ClientSettingsSource,
  programNamed,
} from '../model/client-settings.ts';
import { serversOf, type Toolset } from '../model/toolset.ts';
import { anyOf, problemIn } from '../util/glob.ts';

type Matches = (text: string) => boolean;

interface Entry {
  readonly matchesName: Matches;
  readonly matchesProgram: Matches;
  /** Undefined for an entry without tokens. */
  readonly matchesToken: Matches | undefined;
  readonly matchesDirectory: (cwd: string | undefined) => boolean;
  readonly byProgram: Map<string, ClientSettings>;
  readonly settingsFor: (program: string | undefined) => ClientSettings;
}

export class ConfiguredClients implements ClientSettingsSource {
  #settings = '[[],[]]';
  #entries: readonly Entry[] = [];
  #plain = new Map<string, ClientSettings>();
  #toolsets: readonly Toolset[] = [];
  /** The settings combined with a tool set. */
  #inToolsets = new WeakMap<ClientSettings, Map<string, ClientSettings>>();

  /** Takes a new config. Returns true if it differs from the one before. */
  prepare(clients: readonly ClientEntry[], toolsets: readonly Toolset[] = []): boolean {
    const settings = JSON.stringify([clients, toolsets]);
    if (settings === this.#settings) return false;
    this.#settings = settings;
    this.#toolsets = toolsets;
    this.#inToolsets = new WeakMap();
    this.#entries = clients.map((entry, i) => entryOf(entry, `clients[${i}]`));
    this.#plain = new Map();
    return true;
  }

  of({ name, program: stated, token, cwd }: ClientIdentity): ClientSettings {
    const program = stated ?? programNamed(name);
    const fits = (one: Entry): boolean =>
      one.matchesName(name) && one.matchesProgram(program ?? '') && one.matchesDirectory(cwd);
    // Entries with the client's token come first, because a client may choose any name.
    const byToken = this.#entries.find((one) => token !== undefined && one.matchesToken?.(token) === true && fits(one));
    const entry = byToken ?? this.#entries.find((one) => one.matchesToken === undefined && fits(one));
    const byProgram = entry?.byProgram ?? this.#plain;
    const known = byProgram.get(program ?? '');
    if (known !== undefined) return known;
    const settings = entry?.settingsFor(program) ?? settingsOf(NO_ENTRY, { program, place: '', sees: () => true });
    byProgram.set(program ?? '', settings);
    return settings;
  }

  inToolset(settings: ClientSettings, toolset: string): ClientSettings {
    const bySet = this.#inToolsets.get(settings) ?? new Map<string, ClientSettings>();
    const known = bySet.get(toolset);
    if (known !== undefined) return known;
    const own = settingsIn(settings, toolset, this.#toolsets);
    // Clients may ask for any number of tool sets that do not exist.
    if (own.toolset?.exists === true) this.#inToolsets.set(settings, bySet.set(toolset, own));
    return own;
  }
}

/** The settings of a client that asked for a tool set, on top of its own settings. */
function settingsIn(settings: ClientSettings, name: string, toolsets: readonly Toolset[]): ClientSettings {
  const toolset = toolsets.find((one) => one.name === name);
  const known = toolsets.map((one) => one.name);
  const wanted: Toolset = toolset ?? { name, tools: [], view: 'all' };
  const mayHave = matching(serversOf(wanted), true);
  return {
    ...settings,
    toolset: { ...wanted, exists: toolset !== undefined, known },
    sees: (id) => settings.sees(id) && (mayHave(id) || mayHave(settings.nameOf(id))),
  };
}

const NO_ENTRY = { view: undefined, names: {}, toolRules: [] };

function entryOf(entry: ClientEntry, place: string): Entry {
  const { match, servers } = entry;
  const sees = matching(servers, false);
  return {
    matchesName: matching(match.name, true),
    matchesProgram: matching(match.client, true),
    matchesDirectory: directoryMatcher(match.directory),
    matchesToken: match.token === undefined ? undefined : matching(match.token, true),
    byProgram: new Map(),
    settingsFor: (program) => settingsOf(entry, { program, place, sees }),
  };
}

/** The maximum number of parent directories that are compared. */
const MOST_LEVELS = 64;

/** Matches a directory and everything inside it. */
function directoryMatcher(patterns: readonly string[] | undefined): Entry['matchesDirectory'] {
  if (patterns === undefined) return () => true;
  const matches = matching(patterns, true);
  return (cwd) => {
    if (cwd === undefined) return problemIn(patterns) !== undefined;
    let end = 0;
    for (let level = 0; end >= 0 && level < MOST_LEVELS; level++) {
      end = cwd.indexOf('/', end + 1);
      if (matches(end < 0 ? cwd : cwd.slice(0, end))) return true;
    }
    return matches('/') || matches(cwd);
  };
}

/** Patterns that cannot be read must not open anything: the entry applies to every client, and shows no server. */
function matching(patterns: readonly string[] | undefined, otherwise: boolean): Matches {
  if (patterns === undefined) return () => true;
  return problemIn(patterns) === undefined ? anyOf(patterns) : () => otherwise;
}

interface Profiling {
  readonly program: string | undefined;
  readonly place: string;
  readonly sees: Matches;
}

function settingsOf(
  { view, names, toolRules }: Pick<ClientEntry, 'view' | 'names' | 'toolRules'>,
  { program, place, sees }: Profiling,
): ClientSettings {
  const ids = new Map(Object.entries(names));
  const outward = new Map([...ids].map(([name, id]) => [id, name]));
  return {
    program,
    view,
    toolRules,
    place: `${place}.toolRules`,
    toolset: undefined,
    // A server cannot be named if its id is the client's name for another server and it has no other name.
    sees: (id) => sees(id) && (outward.has(id) || !ids.has(id)),
    idOf: (name) => ids.get(name) ?? name,
    nameOf: (id) => outward.get(id) ?? id,
  };
}
