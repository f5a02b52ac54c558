// The files in which a plugin of any client has its servers: those that it has by convention, its manifest, and those that
// the manifest names.

import type { Location, Plugin } from './locations.ts';
import type { Machine } from './machine.ts';
import type { SourceReader } from './source-reader.ts';
import { member, textAt, treeAt } from './tree.ts';

export interface FoundPlugin {
  readonly client: string;
  readonly root: string;
  /** The directory of the project that brings it. */
  readonly project: string | undefined;
  /** Below its root; the first manifest that is there counts. */
  readonly manifests: readonly string[];
  /** Below its root. */
  readonly files: readonly string[];
  about(manifest: unknown): Plugin;
}

export async function pluginFiles(reader: SourceReader, machine: Machine, found: FoundPlugin): Promise<Location[]> {
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

/** A plugin brings its own files, and names nobody else's. */
export function isInside({ path }: Machine, root: string, file: string): boolean {
  const relative = path.relative(root, file);
  return relative !== '' && !relative.startsWith('..') && !path.isAbsolute(relative);
}

/** Of Codex: those that its user's config names, in the version that is installed. */
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

/** What its author works on comes before every release. */
function newest(versions: readonly string[]): string | undefined {
  if (versions.includes('local')) return 'local';
  return versions.toSorted((a, b) => a.localeCompare(b, 'en', { numeric: true })).at(-1);
}

const COPILOT_MANIFESTS = ['', '.plugin/', '.github/plugin/', '.claude-plugin/'].map((dir) => `${dir}plugin.json`);

/** Of Copilot CLI: `installed-plugins/MARKETPLACE/PLUGIN`, and `_direct` for those of no marketplace. */
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
