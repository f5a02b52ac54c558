// Where the plugins of Claude Code keep their servers: those that are installed, and those in a directory of skills.

import type { ClaudeSettings } from './claude-settings.ts';
import type { Location, Plugin } from './locations.ts';
import { type Machine, pathKey } from './machine.ts';
import { basesOf } from './places/bases.ts';
import type { SourceReader } from './source-reader.ts';
import { member, textAt, treeAt } from './tree.ts';

const MANIFEST = ['.claude-plugin', 'plugin.json'];

interface Installed {
  readonly plugin: Plugin;
  /** The project that it belongs to, where it came with one. */
  readonly project: string | undefined;
}

export async function pluginLocations(
  reader: SourceReader,
  machine: Machine,
  settings: ClaudeSettings,
): Promise<Location[]> {
  const [dir = ''] = basesOf(machine).get('CLAUDE')?.dirs ?? [];
  const installed = await installedPlugins(reader, machine, dir, settings);
  const skills = [
    ...(await skillPlugins(reader, machine, dir, undefined)),
    ...(machine.hasProject
      ? await skillPlugins(reader, machine, machine.path.join(machine.cwd, '.claude'), machine.cwd)
      : []),
  ];
  const locations = await Promise.all([...installed, ...skills].map((found) => locationsOf(reader, machine, found)));
  return locations.flat();
}

async function installedPlugins(
  reader: SourceReader,
  machine: Machine,
  dir: string,
  settings: ClaudeSettings,
): Promise<Installed[]> {
  const { path } = machine;
  const reading = await reader.read(path.join(dir, 'plugins', 'installed_plugins.json'), 'json');
  const plugins = reading.kind === 'document' ? treeAt(reading.document.value, 'plugins') : undefined;
  return Object.entries(plugins ?? {}).flatMap(([id, installs]) =>
    (Array.isArray(installs) ? installs : [installs]).flatMap((install: unknown) => {
      const root = textAt(install, 'installPath');
      const project = textAt(install, 'projectPath');
      if (root === undefined || !path.isAbsolute(root)) return [];
      if (project !== undefined && !isOurs(machine, project)) return [];
      const data = path.join(dir, 'plugins', 'data', id.replace(/[^A-Za-z0-9_-]/g, '-'));
      const isOff = settings.enabledPlugins.get(id) !== true;
      return [{ plugin: { name: id.split('@')[0] ?? id, root, data, isOff }, project: undefined }];
    }),
  );
}

function isOurs(machine: Machine, project: string): boolean {
  return [machine.cwd, machine.root].some((dir) => pathKey(machine, dir) === pathKey(machine, project));
}

async function skillPlugins(
  reader: SourceReader,
  machine: Machine,
  dir: string,
  project: string | undefined,
): Promise<Installed[]> {
  const { path } = machine;
  const skills = path.join(dir, 'skills');
  const names = reader.fewOf([...(await reader.list(skills))].sort(), skills, project !== undefined);
  const found = await Promise.all(
    names.map(async (name) => {
      const root = path.join(skills, name);
      const reading = await reader.read(path.join(root, ...MANIFEST), 'json', project !== undefined);
      if (reading.kind !== 'document') return [];
      const data = path.join(dir, 'plugins', 'data', name.replace(/[^A-Za-z0-9_-]/g, '-'));
      const own = textAt(reading.document.value, 'name') ?? name;
      return [{ plugin: { name: own, root, data, isOff: false }, project }];
    }),
  );
  return found.flat();
}

async function locationsOf(reader: SourceReader, machine: Machine, found: Installed): Promise<Location[]> {
  const { path } = machine;
  const { plugin, project } = found;
  const manifest = path.join(plugin.root, ...MANIFEST);
  const reading = await reader.read(manifest, 'json', project !== undefined);
  const named = reading.kind === 'document' ? member(reading.document.value, 'mcpServers') : undefined;
  const files = [named].flat().filter((name) => typeof name === 'string');
  const own = path.join(plugin.root, '.mcp.json');
  const inside = files
    .map((name) => path.resolve(plugin.root, name))
    .filter((file) => isInside(machine, plugin.root, file));
  const distinct = [...new Set([own, manifest, ...inside])];
  return reader.fewOf(distinct, plugin.root, project !== undefined).map((file) => ({
    client: 'claude-code',
    scope: 'plugin',
    format: 'claude-plugin',
    path: file,
    pattern: [],
    project,
    instead: undefined,
    plugin,
  }));
}

/** A plugin brings its own files, and names nobody else's. */
function isInside({ path }: Machine, root: string, file: string): boolean {
  const relative = path.relative(root, file);
  return relative !== '' && !relative.startsWith('..') && !path.isAbsolute(relative);
}
