// The entries of Agent Plugins (specification 1.0.0, section 7.2.1): each is of one of two kinds, and leads nowhere but into
// its plugin, or to an address that nobody can listen in on.

import { isLoopback } from '../../local/registered-server.ts';
import type { Machine } from '../machine.ts';
import { isTree, type Tree, textAt, treeAt } from '../tree.ts';

const KINDS: Readonly<Record<string, readonly string[]>> = {
  stdio: ['type', 'command', 'args', 'env', 'cwd'],
  'streamable-http': ['type', 'url', 'headers'],
  sse: ['type', 'url', 'headers'],
};

export interface PluginDirs {
  readonly root: string;
  readonly data: string;
}

/** Why it is invalid; undefined if it is not. */
export function agentPluginFault(entry: unknown, dirs: PluginDirs, machine: Machine): string | undefined {
  if (!isTree(entry)) return 'it must be an object';
  const type = textAt(entry, 'type') ?? '';
  const known = Object.hasOwn(KINDS, type) ? KINDS[type] : undefined;
  if (known === undefined) return 'its type is one of stdio, streamable-http, sse';
  const foreign = Object.keys(entry).find((key) => !known.includes(key));
  if (foreign !== undefined) return `an entry of type ${type} has no ${JSON.stringify(foreign)}`;
  return type === 'stdio' ? processFault(entry, dirs, machine) : urlFault(textAt(entry, 'url') ?? '');
}

function processFault(entry: Tree, { root, data }: PluginDirs, machine: Machine): string | undefined {
  const command = textAt(entry, 'command');
  if (command !== undefined && !isBare(command) && !isWithin(machine, root, command))
    return 'its command is a name, or a path within the plugin that begins with ./';
  const own = Object.keys(treeAt(entry, 'env') ?? {}).find((name) => ['PLUGIN_ROOT', 'PLUGIN_DATA'].includes(name));
  if (own !== undefined) return `${own} is not its own to set`;
  const cwd = textAt(entry, 'cwd');
  if (cwd === undefined) return undefined;
  const [, base, rest = ''] = /^\$\{(PLUGIN_ROOT|PLUGIN_DATA)\}(?:\/(.*))?$/s.exec(cwd) ?? [];
  const isInside =
    base === undefined
      ? isWithin(machine, root, cwd)
      : isWithin(machine, base === 'PLUGIN_ROOT' ? root : data, `./${rest}`);
  return isInside ? undefined : 'its working directory is within the plugin or its data';
}

function isBare(command: string): boolean {
  return !/[\\/]/.test(command) && command !== '.' && command !== '..';
}

/** The directory itself is within. */
function isWithin({ path }: Machine, dir: string, text: string): boolean {
  if (!text.startsWith('./')) return false;
  const relative = path.relative(dir, path.resolve(dir, text));
  return relative !== '..' && !/^\.\.[\\/]/.test(relative) && !path.isAbsolute(relative);
}

function urlFault(url: string): string | undefined {
  if (!URL.canParse(url)) return 'its URL cannot be understood';
  const { protocol, username, password, hash } = new URL(url);
  if (username !== '' || password !== '' || hash !== '') return 'its URL has a user, a password or a fragment';
  if (protocol === 'https:' || (protocol === 'http:' && isLoopback(url))) return undefined;
  return 'its URL must begin with https:// unless it is on this machine';
}
