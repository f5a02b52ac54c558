// Where the plugins of Claude Code keep their servers: those that are installed, and those in a directory of skills.

import type { ClaudeSettings } from './claude-settings.ts';
import type { Location, Plugin } from './locations.ts';
import { type Machine, pathKey } from './machine.ts';
import { basesOf } from './places/bases.ts';
import { pluginFiles } from './plugins.ts';
import type { SourceReader } from './source-reader.ts';
import { isTree, member, textAt, treeAt } from './tree.ts';
import { mainCheckoutOf } from './worktree.ts';

const MANIFEST = '.claude-plugin/plugin.json';

interface Found {
  /** What settings know it by, such as `name@marketplace`. */
  readonly id: string;
  readonly name: string;
  readonly root: string;
  /** The directory of the project that brings it. */
  readonly project: string | undefined;
  /** Whether it is for this project only. */
  readonly isOfProject: boolean;
}

interface Finding {
  readonly reader: SourceReader;
  readonly machine: Machine;
  readonly settings: ClaudeSettings;
  /** Where plugins have what they need. */
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

/** Without a word in any settings, the manifest says whether it is on. */
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

/** What its user has chosen, and what it has for the rest. */
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
