// Turns places into entries: decides which of alternative places is used and which files several clients share, and has
// each file read once, for the first client that it belongs to. Definitions given by the caller come last.

import { refuseAsKilo } from './client-switches.ts';
import { traitsOf } from './client-traits.ts';
import type { PlacedEntry } from './definition.ts';
import { diagnostic, type Report } from './diagnostic.ts';
import type { DefinitionOrigin } from './discovered-server.ts';
import type { Document, DocumentReading, Syntax } from './document.ts';
import { type Entry, entriesOfMap, FORMATS, type Format, type ParsedFile } from './formats.ts';
import type { Location } from './locations.ts';
import { type Machine, pathKey } from './machine.ts';
import type { FoundFile, SourceReader } from './source-reader.ts';
import { fillFiles, fillTexts, hasTextVariables, namesFile } from './text-variables.ts';
import { isTree } from './tree.ts';

export interface Gathering {
  readonly reader: SourceReader;
  readonly machine: Machine;
  readonly report: Report;
  isProject(dir: string): boolean;
}

interface ReadFile extends FoundFile {
  readonly realpath: string;
  readonly document: Document;
  readonly companion: unknown;
  /** True for a file that was replaced by another one. */
  readonly isStale: boolean;
}

/** The entries of all these places, in order. */
export async function gather(locations: readonly Location[], gathering: Gathering): Promise<PlacedEntry[]> {
  const { reader, report } = gathering;
  const found = (await Promise.all(locations.map((location) => reader.find(location)))).flat();
  // A file that belongs to the user stays the user's, whoever else reads it.
  const ofUser = new Set(found.filter(({ location }) => location.project === undefined).map(({ path }) => path));
  const readings = await Promise.all(found.map((file) => readingOf(file, reader, !ofUser.has(file.path))));
  const usable = await withoutForeign(current(found, readings, report), gathering);
  const files = await Promise.all(usable.map((file) => withCompanion(file, gathering)));
  const owners = ownersOf(files, gathering.machine);
  const all = files.flatMap((file) => {
    const sharers = owners.get(file);
    return sharers === undefined ? [] : entriesOf(file, sharers, gathering);
  });
  const numbered = fewOfProject(all, report).map((entry, order) => ({ ...entry, order }));
  return (await Promise.all(numbered.map((entry) => withTexts(entry, gathering)))).flat();
}

const MOST_PROJECT_ENTRIES = 1000;

/**
 * Limits the entries of a project's file: a small file can define tens of thousands, and nobody could check them all.
 */
function fewOfProject(entries: readonly Unordered[], report: Report): readonly Unordered[] {
  let count = 0;
  return entries.filter(({ location, path }) => {
    if (location.project === undefined || ++count <= MOST_PROJECT_ENTRIES) return true;
    if (count > MOST_PROJECT_ENTRIES + 1) return false;
    const message = `${path}: the project has more than ${MOST_PROJECT_ENTRIES} definitions. The others are not looked at.`;
    report(diagnostic('too-large', message, { path }));
    return false;
  });
}

function syntaxOf({ syntax }: Format, path: string): Syntax {
  if (syntax !== 'by-ending') return syntax;
  if (/\.ya?ml$/i.test(path)) return 'yaml';
  return /\.toml$/i.test(path) ? 'toml' : 'json';
}

function readingOf(
  { location, path }: FoundFile,
  reader: SourceReader,
  isOfProject: boolean,
): Promise<DocumentReading> {
  const syntax = syntaxOf(FORMATS[location.format], path);
  return location.text === undefined
    ? reader.read(path, syntax, isOfProject)
    : reader.parse(location.text, path, syntax);
}

type Current = Omit<ReadFile, 'companion'>;

/** The first existing place among alternatives, broken or not. */
function current(found: readonly FoundFile[], readings: readonly DocumentReading[], report: Report): Current[] {
  const taken = new Map<string, string>();
  return found.flatMap((file, i) => {
    const reading = readings[i];
    if (reading === undefined || reading.kind === 'absent') return [];
    const { instead } = file.location;
    const winner = instead === undefined ? undefined : taken.get(instead);
    if (instead !== undefined && winner === undefined) taken.set(instead, file.path);
    if (winner !== undefined) {
      const message = `${file.path} is not read by its client any more: ${winner} has taken its place.`;
      report(diagnostic('stale-config', message, { path: file.path }));
    }
    if (reading.kind !== 'document') return [];
    return [{ ...file, realpath: reading.realpath, document: reading.document, isStale: winner !== undefined }];
  });
}

/**
 * Drops registries that others could have written. Many programs write a user's registry, and its servers need no
 * approval.
 */
async function withoutForeign(files: readonly Current[], { reader, report }: Gathering): Promise<Current[]> {
  const needsPrivacy = ({ location }: Current): boolean =>
    location.format === 'registry' && location.project === undefined;
  const isUsable = await Promise.all(files.map((file) => !needsPrivacy(file) || reader.isPrivate(file.path)));
  return files.filter(({ path }, i) => {
    if (isUsable[i] !== true) {
      const message = `${path} belongs to another user, or others may write it. Nothing of it is used: chmod 600 it, if it is yours.`;
      report(diagnostic('not-private', message, { path }));
    }
    return isUsable[i] === true;
  });
}

async function withCompanion(file: Current, { reader, machine }: Gathering): Promise<ReadFile> {
  const path = FORMATS[file.location.format].companion?.(file.path, machine);
  const reading = path === undefined ? undefined : await reader.read(path, 'json', file.location.project !== undefined);
  return { ...file, companion: reading?.kind === 'document' ? reading.document.value : undefined };
}

/** The places of each file. A user's file stays the user's, even if a project leads to it too. */
function ownersOf(files: readonly ReadFile[], machine: Machine): Map<ReadFile, ReadFile[]> {
  const isProject = ({ location }: ReadFile): boolean => location.project !== undefined;
  const inTurn = [...files.filter((file) => !isProject(file)), ...files.filter(isProject)];
  const byPath = new Map<string, ReadFile[]>();
  for (const file of inTurn) {
    const key = pathKey(machine, file.realpath);
    byPath.set(key, [...(byPath.get(key) ?? []), file]);
  }
  return new Map([...byPath.values()].flatMap((sharers) => (sharers[0] ? [[sharers[0], sharers]] : [])));
}

type Unordered = Omit<PlacedEntry, 'order'>;

function entriesOf(file: ReadFile, sharers: readonly ReadFile[], gathering: Gathering): Unordered[] {
  const { location, path, document, companion, matched } = file;
  const { machine, report, isProject } = gathering;
  const parsed: ParsedFile = { value: document.value, location, path, machine, report, companion, isProject };
  const read = FORMATS[location.format].read(parsed);
  const isOfKiloProject =
    location.client === 'kilo' && location.project !== undefined && location.format === 'opencode';
  const entries = isOfKiloProject ? refuseAsKilo(read, parsed) : read;
  if (entries.length > 0 && document.hasComments && traitsOf(location.client).isStrict) {
    const message = `${path} has comments or trailing commas, which its client does not take. Remove them.`;
    report(diagnostic('comments', message, { path }));
  }
  const scope = location.scope.replace('*', matched[0] ?? '');
  return entries.map((entry) => placed(entry, { file, sharers, scope }));
}

interface Placing {
  readonly file: ReadFile;
  readonly sharers: readonly ReadFile[];
  readonly scope: string;
}

function placed(entry: Entry, { file, sharers, scope: usualScope }: Placing): Unordered {
  const { location, path, realpath, isStale } = file;
  const client = entry.client ?? location.client;
  const scope = entry.scope ?? usualScope;
  const project = entry.project ?? location.project;
  return {
    ...entry,
    client,
    scope,
    location,
    path,
    realpath,
    isStale,
    sources: sourcesOf(entry.name, { client, scope }, sharers),
    // Servers that speak to the bridge itself were written for it.
    awaitsApproval: location.project !== undefined && location.scope !== 'dynamic',
    ...(project === undefined ? {} : { project }),
  };
}

function sourcesOf(
  name: string,
  own: Pick<DefinitionOrigin, 'client' | 'scope'>,
  sharers: readonly ReadFile[],
): DefinitionOrigin[] {
  const [first, ...others] = sharers;
  const seen = new Set([own.client]);
  return [
    { ...own, name, file: first?.path ?? '' },
    ...others.flatMap(({ location: { client, scope }, path: file }) => {
      if (seen.has(client)) return [];
      seen.add(client);
      return [{ client, scope, name, file }];
    }),
  ];
}

const FILLED_AS_TEXT = new Set(['opencode', 'kilo']);
/** The client whose files may name other files, but no variables, before they are filled in. */
const FILES_ONLY = 'windsurf';

async function withTexts(entry: PlacedEntry, gathering: Gathering): Promise<PlacedEntry[]> {
  const { reader, machine, report } = gathering;
  const { client, fields, path, name } = entry;
  if (client === FILES_ONLY && namesFile(fields)) {
    const readText = (file: string): Promise<string | undefined> => reader.readText(file);
    return [{ ...entry, fields: await fillFiles(fields, path, { machine, report, readText }), unfilled: fields }];
  }
  if (!FILLED_AS_TEXT.has(client) || entry.refusal !== undefined || !hasTextVariables(fields)) return [entry];
  const fill = { machine, report, readText: (file: string) => reader.readText(file, entry.awaitsApproval) };
  return [{ ...entry, fields: await fillTexts(fields, path, name, fill), unfilled: fields }];
}

export interface GivenServers {
  /** `bridge` for the bridge's own definitions. */
  readonly client: string;
  /** `dynamic` for flags and the bridge's own config, `hosted` for connectors. */
  readonly scope: string;
  /** The source, in words for people. */
  readonly file: string;
  readonly servers: unknown;
}

type Surroundings = Pick<ParsedFile, 'machine' | 'report' | 'isProject'>;

/** Makes entries of given definitions, which come before all found ones. */
export function givenEntries(given: readonly GivenServers[], surroundings: Surroundings): PlacedEntry[] {
  const entries = given.flatMap(({ client, scope, file: path, servers }) => {
    const location: Location = {
      client,
      scope,
      format: 'bridge',
      path,
      pattern: [],
      project: undefined,
      instead: undefined,
    };
    const parsed: ParsedFile = { ...surroundings, value: servers, location, path, companion: undefined };
    const place = client === 'bridge' ? ['mcpServers'] : [];
    return (isTree(servers) ? entriesOfMap(parsed, servers, place) : []).map((entry) => ({
      ...entry,
      ...{ client, scope, location, path, realpath: path },
      sources: [{ client, scope, name: entry.name, file: path }],
      awaitsApproval: false,
      isStale: false,
    }));
  });
  return entries.map((entry, i) => ({ ...entry, order: i - entries.length }));
}
