// The places to look at on one machine: paths from the tables of places, and places named in clients' own settings. The
// reader matches patterns. Files that define servers by running something are reported and not read.

import { type Base, basesOf } from './bases.ts';
import { diagnostic } from './diagnostic.ts';
import type { FormatName } from './formats.ts';
import type { Gathering } from './gathering.ts';
import { type Machine, projectDirs } from './machine.ts';
import {
  AGENT_PLACES,
  CLAUDE_PLACES,
  type ClientPlace,
  EDITOR_PLACES,
  FIRST_PLACES,
  LAYERED_PLACES,
  MANAGED_SERVERS,
  REGISTRY,
  REGISTRY_PLACES,
} from './places.ts';
import { textAt } from './tree.ts';

export interface Location {
  readonly client: string;
  readonly scope: string;
  readonly format: FormatName;
  /** A file; or, with a pattern, the directory where the pattern begins. */
  readonly path: string;
  /** Names below it, one per level; a star matches anything. */
  readonly pattern: readonly string[];
  /** The directory of the project that it belongs to. */
  readonly project: string | undefined;
  readonly instead: string | undefined;
  /** True if the servers of a registry may be on other machines. */
  readonly mayBeRemote?: boolean;
  /** The content, if there is no file. */
  readonly text?: string;
  /** The plugin that brings it. */
  readonly plugin?: Plugin;
}

export interface Plugin {
  readonly name: string;
  readonly root: string;
  readonly isOff: boolean;
  /** Values that only its own entries define; some are lists. */
  readonly variables: ReadonlyMap<string, string | readonly string[]>;
  /** Variables that its client adds to its servers' environment. */
  readonly given: Readonly<Record<string, string>>;
}

const ALL_PLACES = [
  ...FIRST_PLACES,
  ...CLAUDE_PLACES,
  ...EDITOR_PLACES,
  ...LAYERED_PLACES,
  ...AGENT_PLACES,
  ...REGISTRY_PLACES,
];
const INLINE = 'OPENCODE_CONFIG_CONTENT';

/** All places, highest precedence first. */
export function locationsOf(machine: Machine): Location[] {
  return locationsAt(machine, ALL_PLACES);
}

/**
 * All places, given that the bridge's config was read already: any further config of the bridge belongs to a project.
 */
export function locationsBeside(ownConfig: { readonly file: string | undefined } | undefined, machine: Machine) {
  const locations = locationsOf(machine);
  if (ownConfig === undefined) return locations;
  return locations.flatMap((location) => {
    if (location.client !== 'bridge') return [location];
    if (location.project === undefined || location.path === ownConfig.file) return [];
    return [{ ...location, scope: 'project' }];
  });
}

/** The administrator's files, which always apply. */
export function managedLocations(machine: Machine): Location[] {
  return locationsAt(
    machine,
    ALL_PLACES.filter(({ at }) => at === MANAGED_SERVERS),
  );
}

function locationsAt(machine: Machine, places: readonly ClientPlace[]): Location[] {
  const bases = basesOf(machine);
  return places
    .filter(({ on }) => on?.includes(machine.platform) ?? true)
    .flatMap((place) => (place.at === INLINE ? inlineLocation(machine, place) : everyLocation(machine, bases, place)));
}

function locationsIn(machine: Machine, bases: ReadonlyMap<string, Base>, place: ClientPlace): Location[] {
  const [name = '', ...rest] = place.at.split('/');
  const { dirs, isProject = false } = bases.get(name) ?? { dirs: [] };
  const star = rest.findIndex((segment) => segment.includes('*'));
  const fixed = star < 0 ? rest : rest.slice(0, star);
  return dirs.map((dir) => ({
    client: place.client,
    scope: place.scope ?? (isProject ? 'project' : 'user'),
    format: place.format,
    path: machine.path.join(dir, ...fixed),
    pattern: star < 0 ? [] : rest.slice(star),
    project: isProject ? dir : undefined,
    instead: place.instead,
  }));
}

/** The places directory by directory, and within each in the order of names. */
function everyLocation(machine: Machine, bases: ReadonlyMap<string, Base>, place: ClientPlace): Location[] {
  const [name = ''] = place.at.split('/');
  const names = place.at.slice(name.length + 1).split('|');
  const { dirs = [], isProject = false } = bases.get(name) ?? {};
  return inOrder(place, dirs).flatMap((dir) => {
    const base = new Map([[name, { dirs: [dir], isProject }]]);
    return names.flatMap((at) => locationsIn(machine, base, { ...place, at: [name, at].join(at === '' ? '' : '/') }));
  });
}

/** Directories in reading order: if the last one wins, the nearest comes last. */
function inOrder({ client }: ClientPlace, dirs: readonly string[]): readonly string[] {
  return LAYERED_PLACES.some((layered) => layered.client === client) ? [...dirs].reverse() : dirs;
}

function inlineLocation(machine: Machine, { client, format }: ClientPlace): Location[] {
  const text = machine.env(INLINE);
  if (!text) return [];
  return [
    {
      client,
      scope: 'dynamic',
      format,
      path: machine.path.join(machine.cwd, INLINE),
      pattern: [],
      project: undefined,
      instead: undefined,
      text,
    },
  ];
}

/** Agent Plugins have no fixed place; the user says where they are. */
export function agentPluginLocations({ path, cwd }: Machine, dirs: readonly string[]): Location[] {
  return dirs.map((dir) => ({
    client: 'agent-plugin',
    scope: 'plugin',
    format: 'agent-plugin',
    path: path.resolve(cwd, dir, 'mcp.json'),
    pattern: [],
    project: undefined,
    instead: undefined,
  }));
}

/** Registries that the bridge's own config names. Whoever wrote the config trusts them. */
export function registryLocations(files: readonly string[]): Location[] {
  return files.map((path) => ({
    client: REGISTRY,
    scope: 'user',
    format: 'registry',
    path,
    pattern: [],
    project: undefined,
    instead: undefined,
  }));
}

/** Places that MCP_SERVERS_CONFIG names; undefined if it is not set. If it is set, no other place is searched. */
export interface Override {
  readonly locations: readonly Location[];
  /** Relative names: they would mean another file in each directory, with whatever its author wrote. */
  readonly refused: readonly string[];
}

export function overrideOf({ path, home, env }: Machine): Override | undefined {
  const named = (env('MCP_SERVERS_CONFIG') ?? '').split(path.delimiter).filter((name) => name.trim() !== '');
  if (named.length === 0) return undefined;
  const files = named.map((name) => (/^~(?=$|[\\/])/.test(name) ? path.join(home, name.slice(1)) : name));
  return {
    locations: files
      .filter((file) => path.isAbsolute(file))
      .map((file) => namedLocation('override', path.resolve(file))),
    refused: files.filter((file) => !path.isAbsolute(file)),
  };
}

/** More files and directories of definitions, named in the bridge's own config. */
export function sourceLocations(files: readonly string[]): Location[] {
  return files.map((file) => ({ ...namedLocation('source', file), scope: 'user' }));
}

function namedLocation(client: string, path: string): Location {
  return {
    client,
    scope: 'dynamic',
    format: 'definitions',
    path,
    pattern: [],
    project: undefined,
    instead: undefined,
  };
}

/** The locations, each preceded by the places that have replaced it. */
export async function withMoved(locations: readonly Location[], { reader, machine }: Gathering): Promise<Location[]> {
  const { path } = machine;
  const [data = ''] = basesOf(machine).get('DATA')?.dirs ?? [];
  const reading = await reader.read(path.join(data, 'Jan', 'settings.json'), 'json');
  const folder = reading.kind === 'document' ? textAt(reading.document.value, 'data_folder') : undefined;
  if (folder === undefined || !path.isAbsolute(folder)) return [...locations];
  const moved = path.join(folder, 'mcp_config.json');
  return locations.flatMap((location) =>
    location.client === 'jan' && location.path !== moved ? [{ ...location, path: moved }, location] : [location],
  );
}

/** Reports shell files: Crush runs them and uses what they set. */
export async function tellShellFiles({ reader, machine, report }: Gathering): Promise<void> {
  const config = (basesOf(machine).get('XC')?.dirs ?? []).map((dir) => machine.path.join(dir, 'crush'));
  const dirs = [...config, ...(machine.hasProject ? projectDirs(machine) : [])];
  await Promise.all(
    dirs.map(async (dir) => {
      const path = machine.path.join(dir, 'crushrc');
      if ((await reader.peek(path, machine.hasProject)) === undefined) return;
      const message = `${path} is a shell file, which Crush runs. It is not run here: put its servers into crush.json.`;
      report(diagnostic('executes', message, { path }));
    }),
  );
}
