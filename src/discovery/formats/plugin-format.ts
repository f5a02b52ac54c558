// The servers of plugins: those of several clients, in .mcp.json or in the manifest, and Agent Plugins, in mcp.json beside
// plugin.json. They are named after the plugin.

import { createHash } from 'node:crypto';
import type { Machine } from '../machine.ts';
import { basesOf } from '../places/bases.ts';
import { isTree, member, type Tree, textAt, treeAt } from '../tree.ts';
import { agentPluginFault } from './agent-plugin-entry.ts';
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
    const root = machine.path.dirname(path);
    const name = textAt(companion, 'name') ?? machine.path.basename(root);
    const dirs = { root, data: pluginDataDir(name, root, machine) };
    const given = { PLUGIN_ROOT: root, PLUGIN_DATA: dirs.data };
    const variables = new Map(Object.entries(given));
    const entries = entriesIn(file, ['mcpServers']).map((entry) => {
      const fault = agentPluginFault(entry.fields, dirs, machine);
      return fault === undefined ? { ...entry, fields: atRoot(entry.fields, root, machine) } : { ...entry, fault };
    });
    return ofPlugin(entries, name, { variables, given, dir: root });
  },
};

/** Wherever it runs: its command is relative to the plugin. */
function atRoot(fields: unknown, root: string, { path }: Machine): unknown {
  const command = textAt(fields, 'command');
  return isTree(fields) && command?.startsWith('./') ? { ...fields, command: path.resolve(root, command) } : fields;
}

/** One for each plugin that is installed, which stays when the plugin is another version. */
function pluginDataDir(name: string, root: string, machine: Machine): string {
  const [data = ''] = basesOf(machine).get('DATA')?.dirs ?? [];
  const which = createHash('sha256').update(root).digest('hex').slice(0, 8);
  return machine.path.join(data, 'mcp-bridge', 'plugin-data', `${name.replace(/[^A-Za-z0-9_-]/g, '-')}-${which}`);
}

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
