// The settings of each client, made from the config: one object for each entry and program, so that clients that are
// alike share what is worked out for one of them.

import type { ClientEntry } from '../config/clients-schema.ts';
import {
  type ClientIdentity,
  type ClientSettings,
  type ClientSettingsSource,
  programNamed,
} from '../model/client-settings.ts';
import { anyOf, problemIn } from '../util/glob.ts';

type Matches = (text: string) => boolean;

interface Entry {
  readonly matchesName: Matches;
  readonly matchesProgram: Matches;
  /** Undefined for an entry that says nothing of tokens. */
  readonly matchesToken: Matches | undefined;
  readonly byProgram: Map<string, ClientSettings>;
  readonly settingsFor: (program: string | undefined) => ClientSettings;
}

export class ConfiguredClients implements ClientSettingsSource {
  #settings = '[]';
  #entries: readonly Entry[] = [];
  #plain = new Map<string, ClientSettings>();

  /** Takes the config over. True if it says something else than before. */
  prepare(clients: readonly ClientEntry[]): boolean {
    const settings = JSON.stringify(clients);
    if (settings === this.#settings) return false;
    this.#settings = settings;
    this.#entries = clients.map((entry, i) => entryOf(entry, `clients[${i}]`));
    this.#plain = new Map();
    return true;
  }

  of({ name, program: stated, token }: ClientIdentity): ClientSettings {
    const program = stated ?? programNamed(name);
    const fits = (one: Entry): boolean => one.matchesName(name) && one.matchesProgram(program ?? '');
    // What is said of its token goes first: a client may call itself as it likes.
    const byToken = this.#entries.find((one) => token !== undefined && one.matchesToken?.(token) === true && fits(one));
    const entry = byToken ?? this.#entries.find((one) => one.matchesToken === undefined && fits(one));
    const byProgram = entry?.byProgram ?? this.#plain;
    const known = byProgram.get(program ?? '');
    if (known !== undefined) return known;
    const settings = entry?.settingsFor(program) ?? settingsOf(NO_ENTRY, { program, place: '', sees: () => true });
    byProgram.set(program ?? '', settings);
    return settings;
  }
}

const NO_ENTRY = { view: undefined, names: {}, toolRules: [] };

function entryOf(entry: ClientEntry, place: string): Entry {
  const { match, servers } = entry;
  const sees = matching(servers, false);
  return {
    matchesName: matching(match.name, true),
    matchesProgram: matching(match.client, true),
    matchesToken: match.token === undefined ? undefined : matching(match.token, true),
    byProgram: new Map(),
    settingsFor: (program) => settingsOf(entry, { program, place, sees }),
  };
}

/** Patterns that cannot be kept close: an entry is everybody's, and shows no server. */
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
    // One whose id is what the client calls another server, and that has no other name, cannot be named.
    sees: (id) => sees(id) && (outward.has(id) || !ids.has(id)),
    idOf: (name) => ids.get(name) ?? name,
    nameOf: (id) => outward.get(id) ?? id,
  };
}
