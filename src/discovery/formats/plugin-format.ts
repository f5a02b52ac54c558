// The servers of a Claude Code plugin, in its .mcp.json or in its manifest. They are named after the plugin.

import { isTree, member, type Tree, treeAt } from '../tree.ts';
import { type Entry, entriesIn, entriesOfMap, type Format, type ParsedFile } from './format.ts';

export const CLAUDE_PLUGIN: Format = {
  syntax: 'json',
  read: (file) => {
    const { plugin } = file.location;
    if (plugin === undefined) return [];
    const variables = new Map([
      ['CLAUDE_PLUGIN_ROOT', plugin.root],
      ['CLAUDE_PLUGIN_DATA', plugin.data],
      ['CLAUDE_PROJECT_DIR', file.machine.cwd],
    ]);
    return serversIn(file).map((entry) => ({
      ...entry,
      name: `plugin:${plugin.name}:${entry.name}`,
      variables,
      dir: plugin.root,
      isOff: plugin.isOff,
    }));
  },
};

/** The manifest may name files instead, which are read as files of their own. */
function serversIn(file: ParsedFile): Entry[] {
  const servers = member(file.value, 'mcpServers');
  if (isTree(servers)) return entriesIn(file, ['mcpServers']);
  const isManifest = file.machine.path.basename(file.path) === 'plugin.json';
  if (isManifest || servers !== undefined) return [];
  return isTree(file.value) ? entriesOfMap(file, mapOfServers(file.value), []) : [];
}

function mapOfServers(value: Tree): Tree {
  const isServer = (name: string): boolean => treeAt(value, name) !== undefined;
  return Object.fromEntries(Object.entries(value).filter(([name]) => isServer(name)));
}
