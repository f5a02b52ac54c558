// Servers of plugins and extensions: the files in which plugins define them, the plugins and skills of Claude Code, and
// linked extensions of the Gemini CLI with the user's changes to them.

import { basesOf } from './bases.ts';
import type { ClaudeSettings } from './claude-settings.ts';
import type { PlacedEntry } from './definition.ts';
import type { Location, Plugin } from './locations.ts';
import { type Machine, pathKey } from './machine.ts';
import { mainCheckoutOf } from './project-trust.ts';
import type { SourceReader } from './source-reader.ts';
import { isTree, member, type Tree, textAt, textsAt, treeAt, treeOf } from './tree.ts';

interface FoundPlugin {
  readonly client: string;
  readonly root: string;
  /** The directory of the project that brings it. */
  readonly project: string | undefined;
  /** Relative to its root; the first existing manifest is used. */
  readonly manifests: readonly string[];
  /** Relative to its root. */
  readonly files: readonly string[];
  about(manifest: unknown): Plugin;
}

async function pluginFiles(reader: SourceReader, machine: Machine, found: FoundPlugin): Promise<Location[]> {
  const { path } = machine;
  const { client, root, project } = found;
  const isOfProject = project !== undefined;
  const { file, value } = await manifestOf(reader, machine, found);
  const named = [member(value, 'mcpServers')].flat().filter((name) => typeof name === 'string');
  const inside = named.map((name) => path.resolve(root, name)).filter((other) => isInside(machine, root, other));
  const own = found.files.map((name) => path.join(root, ...name.split('/')));
  const plugin = found.about(value);
  const distinct = [...new Set([...own, ...file, ...inside])];
  return reader.fewOf(distinct, root, isOfProject).map((other) => ({
    client,
    scope: 'plugin',
    format: 'plugin',
    path: other,
    pattern: [],
    project,
    instead: undefined,
    plugin,
  }));
}

async function manifestOf(
  reader: SourceReader,
  { path }: Machine,
  { root, project, manifests }: FoundPlugin,
): Promise<{ file: string[]; value: unknown }> {
  for (const name of manifests) {
    const file = path.join(root, ...name.split('/'));
    const reading = await reader.read(file, 'json', project !== undefined);
    if (reading.kind === 'document') return { file: [file], value: reading.document.value };
  }
  return { file: [], value: undefined };
}

/** True if the file is inside the plugin: a plugin may not name other files. */
export function isInside({ path }: Machine, root: string, file: string): boolean {
  const relative = path.relative(root, file);
  return relative !== '' && !relative.startsWith('..') && !path.isAbsolute(relative);
}

/** Plugins of Codex: those in the user's config, in the installed version. */
export async function codexPlugins(reader: SourceReader, machine: Machine, dir: string): Promise<Location[]> {
  const { path } = machine;
  const config = await reader.read(path.join(dir, 'config.toml'), 'toml');
  const plugins = config.kind === 'document' ? treeAt(config.document.value, 'plugins') : undefined;
  const found = await Promise.all(
    Object.keys(plugins ?? {}).map(async (id) => {
      const [name = '', market = ''] = id.split('@');
      if (![name, market].every(isPlainName)) return [];
      const cache = path.join(dir, 'plugins', 'cache', market, name);
      const version = newest(await reader.list(cache));
      if (version === undefined) return [];
      const isOff = member(plugins, id, 'enabled') === false;
      const root = path.join(cache, version);
      return pluginFiles(reader, machine, {
        client: 'codex',
        root,
        project: undefined,
        manifests: ['.codex-plugin/plugin.json'],
        files: ['.mcp.json'],
        about: () => ({ name, root, isOff, variables: new Map(), given: {} }),
      });
    }),
  );
  return found.flat();
}

function isPlainName(name: string): boolean {
  return /^[\w.-]+$/.test(name) && !/^\.+$/.test(name);
}

/** The newest version. A working copy of its author comes before every release. */
function newest(versions: readonly string[]): string | undefined {
  if (versions.includes('local')) return 'local';
  return versions.toSorted((a, b) => a.localeCompare(b, 'en', { numeric: true })).at(-1);
}

const COPILOT_MANIFESTS = ['', '.plugin/', '.github/plugin/', '.claude-plugin/'].map((dir) => `${dir}plugin.json`);

/** Plugins of Copilot CLI: `installed-plugins/MARKETPLACE/PLUGIN`, or `_direct` for those without a marketplace. */
export async function copilotPlugins(reader: SourceReader, machine: Machine, dir: string): Promise<Location[]> {
  const { path } = machine;
  const settings = await reader.read(path.join(dir, 'settings.json'), 'json');
  const enabled = settings.kind === 'document' ? treeAt(settings.document.value, 'enabledPlugins') : undefined;
  const installed = path.join(dir, 'installed-plugins');
  const listed = async (below: string): Promise<readonly string[]> =>
    reader.fewOf([...(await reader.list(below))].sort(), below, false);
  const found = await Promise.all(
    (await listed(installed)).map(async (market) => {
      const names = await listed(path.join(installed, market));
      return Promise.all(
        names.map((name) => {
          const root = path.join(installed, market, name);
          return pluginFiles(reader, machine, {
            client: 'copilot-cli',
            root,
            project: undefined,
            manifests: COPILOT_MANIFESTS,
            files: ['.mcp.json', '.github/mcp.json'],
            about: (manifest) => {
              const own = textAt(manifest, 'name') ?? name;
              const isOff = [name, own].some((word) => enabled?.[`${word}@${market}`] === false);
              const variables = new Map([
                ['PLUGIN_ROOT', root],
                ['CLAUDE_PLUGIN_ROOT', root],
              ]);
              return { name: own, root, isOff, variables, given: {} };
            },
          });
        }),
      );
    }),
  );
  return found.flat(2);
}

const MANIFEST = '.claude-plugin/plugin.json';

interface Found {
  /** Its name in settings, such as `name@marketplace`. */
  readonly id: string;
  readonly name: string;
  readonly root: string;
  /** The directory of the project that brings it. */
  readonly project: string | undefined;
  /** True if it belongs only to this project. */
  readonly isOfProject: boolean;
}

interface Finding {
  readonly reader: SourceReader;
  readonly machine: Machine;
  readonly settings: ClaudeSettings;
  /** The home directory; plugins keep their files below it. */
  readonly home: string;
}

export async function pluginLocations(
  reader: SourceReader,
  machine: Machine,
  settings: ClaudeSettings,
): Promise<Location[]> {
  const { path } = machine;
  const dirsOf = (base: string): string => basesOf(machine).get(base)?.dirs[0] ?? '';
  const finding: Finding = { reader, machine, settings, home: dirsOf('CLAUDE_PLUGINS') };
  const found = [
    ...(await installedPlugins(finding)),
    ...(await skillPlugins(finding, path.join(dirsOf('CLAUDE'), 'skills'), undefined)),
    ...(machine.hasProject
      ? await skillPlugins(finding, path.join(machine.cwd, '.claude', 'skills'), machine.cwd)
      : []),
  ];
  const locations = found.map((plugin) =>
    pluginFiles(reader, machine, {
      client: 'claude-code',
      root: plugin.root,
      project: plugin.project,
      manifests: [MANIFEST],
      files: ['.mcp.json'],
      about: (manifest) => pluginOf(finding, plugin, manifest),
    }),
  );
  return (await Promise.all(locations)).flat();
}

async function installedPlugins({ reader, machine, home }: Finding): Promise<Found[]> {
  const { path, cwd, root: projectRoot } = machine;
  const reading = await reader.read(path.join(home, 'installed_plugins.json'), 'json');
  const plugins = reading.kind === 'document' ? treeAt(reading.document.value, 'plugins') : undefined;
  if (plugins === undefined) return [];
  const dirs = [cwd, projectRoot, (await mainCheckoutOf(reader, machine)) ?? cwd];
  const isOurs = (project: string): boolean => dirs.some((dir) => pathKey(machine, dir) === pathKey(machine, project));
  return Object.entries(plugins).flatMap(([id, installs]) =>
    (Array.isArray(installs) ? installs : [installs]).flatMap((install: unknown) => {
      const root = textAt(install, 'installPath');
      const project = textAt(install, 'projectPath');
      if (root === undefined || !path.isAbsolute(root)) return [];
      if (project !== undefined && !isOurs(project)) return [];
      return [{ id, name: id.split('@')[0] ?? id, root, project: undefined, isOfProject: project !== undefined }];
    }),
  );
}

async function skillPlugins(
  { reader, machine }: Finding,
  skills: string,
  project: string | undefined,
): Promise<Found[]> {
  const { path } = machine;
  const isOfProject = project !== undefined;
  const names = reader.fewOf([...(await reader.list(skills))].sort(), skills, isOfProject);
  const found = await Promise.all(
    names.map(async (dir) => {
      const root = path.join(skills, dir);
      const reading = await reader.read(path.join(root, ...MANIFEST.split('/')), 'json', isOfProject);
      if (reading.kind !== 'document') return [];
      const name = textAt(reading.document.value, 'name') ?? dir;
      return [{ id: `${name}@skills-dir`, name, root, project, isOfProject }];
    }),
  );
  return found.flat();
}

/** Decides if a plugin is on. If no settings mention it, its manifest decides. */
function pluginOf({ machine, settings, home }: Finding, found: Found, manifest: unknown): Plugin {
  const { id, name, root, isOfProject } = found;
  const isOn = settings.enabledPlugins.get(id) ?? member(manifest, 'defaultEnabled') !== false;
  const options = optionsOf(settings.pluginConfigs.get(id), treeAt(manifest, 'userConfig'));
  const data = machine.path.join(home, 'data', id.replace(/[^A-Za-z0-9_-]/g, '-'));
  const own = { CLAUDE_PLUGIN_ROOT: root, CLAUDE_PLUGIN_DATA: data };
  const project = { CLAUDE_PROJECT_DIR: machine.cwd };
  const variables = new Map([...options, ...Object.entries({ ...own, ...project })]);
  return { name, root, isOff: !isOn, variables, given: isOfProject ? { ...own, ...project } : own };
}

/** The options chosen by the user, with defaults for the rest. */
function optionsOf(config: unknown, declared: unknown): ReadonlyMap<string, string | readonly string[]> {
  const defaults = Object.entries(isTree(declared) ? declared : {}).map(
    ([key, option]) => [key, member(option, 'default')] as const,
  );
  const chosen = Object.entries(treeAt(config, 'options') ?? {});
  return new Map(
    [...defaults, ...chosen].flatMap(([key, value]) => {
      const texts = [value].flat().map(scalarText);
      const known = texts.filter((text) => text !== undefined);
      if (known.length < texts.length) return [];
      return [[`user_config.${key}`, Array.isArray(value) ? known : (known[0] ?? '')] as const];
    }),
  );
}

function scalarText(value: unknown): string | undefined {
  return ['string', 'number', 'boolean'].includes(typeof value) ? String(value) : undefined;
}

// A linked extension is in its author's working directory.
const INSTALL_FILE = '.gemini-extension-install.json';

export async function linkedExtensions(reader: SourceReader, machine: Machine): Promise<Location[]> {
  const { path } = machine;
  const [dir = ''] = basesOf(machine).get('GEMINI')?.dirs ?? [];
  const extensions = path.join(dir, 'extensions');
  const names = reader.fewOf([...(await reader.list(extensions))].sort(), extensions, false);
  const found = await Promise.all(names.map((name) => linkAt(reader, machine, path.join(extensions, name))));
  return found.flat().map((source) => ({
    client: 'gemini-cli',
    scope: 'extension',
    format: 'gemini-extension',
    path: path.join(source, 'gemini-extension.json'),
    pattern: [],
    project: undefined,
    instead: undefined,
  }));
}

async function linkAt(reader: SourceReader, { path }: Machine, dir: string): Promise<string[]> {
  const reading = await reader.read(path.join(dir, INSTALL_FILE), 'json');
  if (reading.kind !== 'document' || textAt(reading.document.value, 'type') !== 'link') return [];
  const source = textAt(reading.document.value, 'source');
  return source !== undefined && path.isAbsolute(source) ? [path.resolve(source)] : [];
}

const STARTS = ['command', 'url', 'httpUrl', 'tcp', 'type'];

/**
 * Merges user settings into extensions: an entry that starts nothing itself changes the extension's server of that
 * name.
 */
export function mergeExtensions(entries: readonly PlacedEntry[]): PlacedEntry[] {
  const isGemini = ({ client }: PlacedEntry): boolean => client === 'gemini-cli';
  const changes = entries.filter((entry) => isGemini(entry) && isChange(entry));
  if (changes.length === 0) return [...entries];
  const merged = new Set<PlacedEntry>();
  const result = entries.map((entry) => {
    if (!isGemini(entry) || entry.extension === undefined) return entry;
    const own = changes.filter(({ name }) => name === entry.name);
    for (const change of own) merged.add(change);
    // Strongest first.
    return own.reduceRight(withChange, entry);
  });
  return result.filter((entry) => !merged.has(entry));
}

/** True for a change by the user; projects cannot change extensions. */
function isChange({ extension, fields, awaitsApproval }: PlacedEntry): boolean {
  return (
    extension === undefined &&
    !awaitsApproval &&
    isTree(fields) &&
    !STARTS.some((key) => member(fields, key) !== undefined)
  );
}

function withChange(below: PlacedEntry, { fields, sources }: PlacedEntry): PlacedEntry {
  if (!isTree(below.fields) || !isTree(fields)) return below;
  return { ...below, fields: mergedFields(below.fields, fields), sources: [...below.sources, ...sources] };
}

/** Merges tool filters: a tool is used if both allow it and neither excludes it. */
function mergedFields(below: Tree, above: Tree): Tree {
  const lists = [below, above].map((fields) =>
    Array.isArray(fields.includeTools) ? textsAt(fields, 'includeTools') : undefined,
  );
  const allowed = lists.filter((list) => list !== undefined);
  const includeTools = allowed.reduce((all, list) => all.filter((tool) => list.includes(tool)), allowed[0] ?? []);
  const excludeTools = [...textsAt(below, 'excludeTools'), ...textsAt(above, 'excludeTools')];
  return treeOf([
    ...Object.entries({ ...below, ...above }),
    ['env', { ...treeAt(below, 'env'), ...treeAt(above, 'env') }],
    ['excludeTools', [...new Set(excludeTools)]],
    ...(allowed.length === 0 ? [] : [['includeTools', includeTools] as const]),
  ]);
}
