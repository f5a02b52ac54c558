// What the config says of clients, made into profiles: one object for each entry and program, so that what is worked out
// for one client holds for all that are like it.

import type { ClientEntry } from '../config/clients-schema.ts';
import type { ClientIdentity, ClientProfile, ClientProfiles } from '../core/client-profile.ts';
import { programNamed } from '../core/client-programs.ts';
import { anyOf, problemIn } from '../util/glob.ts';

type Matches = (text: string) => boolean;

interface Entry {
  readonly matchesName: Matches;
  readonly matchesProgram: Matches;
  readonly profiles: Map<string, ClientProfile>;
  readonly profileFor: (program: string | undefined) => ClientProfile;
}

export class ConfiguredClients implements ClientProfiles {
  #settings = '[]';
  #entries: readonly Entry[] = [];
  #plain = new Map<string, ClientProfile>();

  /** Before profiles are made under these settings; whether they are others than before. */
  prepare(clients: readonly ClientEntry[]): boolean {
    const settings = JSON.stringify(clients);
    if (settings === this.#settings) return false;
    this.#settings = settings;
    this.#entries = clients.map((entry, i) => entryOf(entry, `clients[${i}]`));
    this.#plain = new Map();
    return true;
  }

  of({ name, program: stated }: ClientIdentity): ClientProfile {
    const program = stated ?? programNamed(name);
    const entry = this.#entries.find((one) => one.matchesName(name) && one.matchesProgram(program ?? ''));
    const profiles = entry?.profiles ?? this.#plain;
    const known = profiles.get(program ?? '');
    if (known !== undefined) return known;
    const profile = entry?.profileFor(program) ?? profileOf(NO_ENTRY, { program, place: '', sees: () => true });
    profiles.set(program ?? '', profile);
    return profile;
  }
}

const NO_ENTRY = { view: undefined, names: {}, toolRules: [] };

function entryOf(entry: ClientEntry, place: string): Entry {
  const { match, servers } = entry;
  const sees = matching(servers, false);
  return {
    matchesName: matching(match.name, true),
    matchesProgram: matching(match.client, true),
    profiles: new Map(),
    profileFor: (program) => profileOf(entry, { program, place, sees }),
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

function profileOf(
  { view, names, toolRules }: Pick<ClientEntry, 'view' | 'names' | 'toolRules'>,
  { program, place, sees }: Profiling,
): ClientProfile {
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
