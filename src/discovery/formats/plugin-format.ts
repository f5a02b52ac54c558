// The servers of plugins: those of several clients, in .mcp.json or in the manifest, and Agent Plugins, in mcp.json beside
// plugin.json. They are named after the plugin.

import { isTree, member, type Tree, textAt, treeAt } from '../tree.ts';
import { type Entry, entriesIn, entriesOfMap, type Format, type ParsedFile } from './format.ts';

export const PLUGIN: Format = {
  syntax: 'json',
  read: (file) => {
    const { plugin } = file.location;
    if (plugin === undefined) return [];
    const { name, root, isOff, variables, given } = plugin;
    return ofPlugin(serversIn(file), name, { variables, given, dir: root, isOff });
  },
};

export const AGENT_PLUGIN: Format = {
  syntax: 'json',
  companion: (path, { path: paths }) => paths.join(paths.dirname(path), 'plugin.json'),
  read: (file) => {
    const { machine, path, companion } = file;
    const dir = machine.path.dirname(path);
    const variables = new Map([
      ['PLUGIN_ROOT', dir],
      ['PLUGIN_DATA', machine.path.join(dir, 'data')],
    ]);
    const name = textAt(companion, 'name') ?? machine.path.basename(dir);
    return ofPlugin(entriesIn(file, ['mcpServers']), name, { variables, dir });
  },
};

function ofPlugin(
  entries: readonly Entry[],
  plugin: string,
  detail: Pick<Entry, 'variables' | 'given' | 'dir' | 'isOff'>,
): Entry[] {
  return entries.map((entry) => ({ ...entry, ...detail, name: `plugin:${plugin}:${entry.name}` }));
}

/** The manifest may name files instead, which are read as files of their own. */
function serversIn(file: ParsedFile): Entry[] {
  const servers = member(file.value, 'mcpServers');
  if (isTree(servers)) return entriesIn(file, ['mcpServers']);
  if (Array.isArray(servers))
    return servers.flatMap((map: unknown, i) =>
      isTree(map) ? entriesOfMap(file, treeAt(map, 'mcpServers') ?? map, ['mcpServers', String(i)]) : [],
    );
  const isManifest = file.machine.path.basename(file.path) === 'plugin.json';
  if (isManifest || servers !== undefined) return [];
  return isTree(file.value) ? entriesOfMap(file, mapOfServers(file.value), []) : [];
}

function mapOfServers(value: Tree): Tree {
  const isServer = (name: string): boolean => treeAt(value, name) !== undefined;
  return Object.fromEntries(Object.entries(value).filter(([name]) => isServer(name)));
}
