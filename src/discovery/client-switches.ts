// Servers that a client switches off or forbids elsewhere than in their entry: they are off here too. A project's own
// files can only switch off. For Kilo, project files that would read variables are refused here.

import { basesOf } from './bases.ts';
import type { PlacedEntry } from './definition.ts';
import { diagnostic } from './diagnostic.ts';
import type { Entry, ParsedFile } from './formats.ts';
import type { Gathering } from './gathering.ts';
import { type Location, locationsOf } from './locations.ts';
import type { Machine } from './machine.ts';
import { isInside } from './plugins.ts';
import { filesNamedIn, namesEnvironment, namesFile } from './text-variables.ts';
import { isTree, member, type Tree, textsAt, treeAt, treeOf } from './tree.ts';
import { fitsGlob } from './url-pattern.ts';

type IsOff = (entry: PlacedEntry) => boolean;

export async function switchOff(entries: readonly PlacedEntry[], gathering: Gathering): Promise<PlacedEntry[]> {
  const clients = new Set(entries.map(({ client }) => client));
  const switches = Object.entries(SWITCHES).filter(([client]) => clients.has(client));
  const found = await Promise.all(switches.map(async ([client, read]) => [client, await read(gathering)] as const));
  const byClient = new Map<string, IsOff>(found);
  return entries.map((entry) => (byClient.get(entry.client)?.(entry) === true ? { ...entry, isOff: true } : entry));
}

const SWITCHES: Readonly<Record<string, (gathering: Gathering) => Promise<IsOff>>> = {
  'claude-code': claudeSwitches,
  'copilot-cli': copilotSwitches,
  'gemini-cli': geminiSwitches,
  qwen: async (gathering) => listsOf(await layersOf('qwen', gathering), fitsGlob),
};

/** Checks servers of every origin, for one project. */
async function claudeSwitches(gathering: Gathering): Promise<IsOff> {
  const [file = ''] = basesOf(gathering.machine).get('CLAUDE_FILE')?.dirs ?? [];
  const value = await treeIn(file, gathering);
  const projects = Object.keys(treeAt(value, 'projects') ?? {}).filter((dir) => gathering.isProject(dir));
  const off = new Set(projects.flatMap((dir) => textsAt(value, 'projects', dir, 'disabledMcpServers')));
  return ({ name }) => off.has(name);
}

async function copilotSwitches(gathering: Gathering): Promise<IsOff> {
  const { machine } = gathering;
  const files = (base: string, ...names: string[]): string[] =>
    (basesOf(machine).get(base)?.dirs ?? []).map((dir) => machine.path.join(dir, ...names));
  const values = await Promise.all([
    ...files('COPILOT', 'settings.json').map((file) => treeIn(file, gathering)),
    ...projectFiles(machine, files('P', '.github', 'copilot', 'settings.json')).map((file) =>
      treeIn(file, gathering, true),
    ),
  ]);
  const off = new Set(values.flatMap((value) => textsAt(value, 'disabledMcpServers')));
  return ({ name }) => off.has(name);
}

function projectFiles({ hasProject }: Machine, files: readonly string[]): readonly string[] {
  return hasProject ? files : [];
}

async function geminiSwitches(gathering: Gathering): Promise<IsOff> {
  const { machine } = gathering;
  const [dir = ''] = basesOf(machine).get('GEMINI')?.dirs ?? [];
  const [layers, servers, extensions] = await Promise.all([
    layersOf('gemini-cli', gathering),
    treeIn(machine.path.join(dir, 'mcp-server-enablement.json'), gathering),
    treeIn(machine.path.join(dir, 'extensions', 'extension-enablement.json'), gathering),
  ]);
  const isListedOff = listsOf(layers, (text, pattern) => text === pattern);
  return (entry) =>
    isListedOff(entry) ||
    idsOf(entry).some((id) => member(servers, id, 'enabled') === false) ||
    (entry.extension !== undefined && isExtensionOff(textsAt(extensions, entry.extension, 'overrides'), machine));
}

/** The ids in lower case. An extension's server has two. */
function idsOf({ name, extension }: PlacedEntry): string[] {
  const ids = [name, ...(extension === undefined ? [] : [`ext:${extension}:${name}`])];
  return ids.map((id) => id.toLowerCase().trim());
}

/** True if the last rule that matches the working directory switches the extension off. */
function isExtensionOff(rules: readonly string[], { cwd }: Machine): boolean {
  const here = `/${cwd.replace(/\\/g, '/')}/`.replace(/\/{2,}/g, '/');
  const last = rules.findLast((rule) => fitsGlob(here, rule.replace(/^!/, '')));
  return last?.startsWith('!') === true;
}

/** True if any layer excludes the server, or a layer has an allow list without it. */
function listsOf(layers: readonly Tree[], fits: (text: string, pattern: string) => boolean): IsOff {
  const lists = (key: string): string[][] =>
    layers.map((layer) => textsAt(layer, 'mcp', key).map((text) => text.toLowerCase().trim()));
  const excluded = lists('excluded').flat();
  const allowed = lists('allowed').filter((list) => list.length > 0);
  const isIn = (list: readonly string[], entry: PlacedEntry): boolean =>
    idsOf(entry).some((id) => list.some((pattern) => fits(id, pattern)));
  return (entry) => isIn(excluded, entry) || !allowed.every((list) => isIn(list, entry));
}

async function layersOf(client: string, gathering: Gathering): Promise<Tree[]> {
  const isLayer = (location: Location): boolean => location.client === client && location.format === 'settings';
  const found = locationsOf(gathering.machine).filter(isLayer);
  const layers = await Promise.all(
    found.map(({ path, project }) => treeIn(path, gathering, project !== undefined && !isShared(found, path))),
  );
  return layers.filter((layer) => layer !== undefined);
}

/** True for the user's file if the home directory is also the project. */
function isShared(locations: readonly Location[], path: string): boolean {
  return locations.some((location) => location.path === path && location.project === undefined);
}

async function treeIn(path: string, { reader }: Gathering, isOfProject = false): Promise<Tree | undefined> {
  const reading = await reader.read(path, 'json', isOfProject);
  return reading.kind === 'document' && isTree(reading.document.value) ? reading.document.value : undefined;
}

export function refuseAsKilo(entries: readonly Entry[], file: ParsedFile): Entry[] {
  const { value, path, report } = file;
  if (namesEnvironment(withoutHeaders(value))) {
    const message = `${path} names variables of the environment, so Kilo takes nothing of it. Nothing of it is used.`;
    report(diagnostic('ignored-location', message, { path }));
    return entries.map((entry) => ({ ...entry, refusal: 'Kilo drops a project’s file that names variables' }));
  }
  return entries.map((entry) => {
    const refusal = refusalOf(entry, file);
    if (refusal === undefined) return entry;
    const message = `${path}: "${entry.name}" is dropped by Kilo: ${refusal}. It is not used.`;
    report(diagnostic('ignored-location', message, { path, server: entry.name }));
    return { ...entry, refusal };
  });
}

function refusalOf({ fields }: Entry, { path, machine }: ParsedFile): string | undefined {
  const headers = isTree(fields) ? fields.headers : undefined;
  if (namesEnvironment(headers) || namesFile(headers)) return 'a project’s headers may not name variables or files';
  const dir = machine.path.dirname(path);
  const isOutside = (name: string): boolean =>
    name.startsWith('~') || !isInside(machine, machine.root, machine.path.resolve(dir, name));
  return filesNamedIn(fields).some(isOutside) ? 'it names a file outside the project' : undefined;
}

function withoutHeaders(value: unknown): unknown {
  if (!isTree(value)) return value;
  const servers = treeAt(value, 'mcp');
  return servers === undefined ? value : { ...value, mcp: mapTrees(servers) };
}

function mapTrees(servers: Tree): Tree {
  return treeOf(
    Object.entries(servers).map(([name, fields]) => [
      name,
      isTree(fields) ? treeOf(Object.entries(fields).filter(([key]) => key !== 'headers')) : fields,
    ]),
  );
}
