// Packages that bring a server along: extensions of Claude Desktop and of the Gemini CLI.

import type { Machine } from '../machine.ts';
import { isTree, mapTexts, member, textAt, treeAt, treeOf } from '../tree.ts';
import { entriesIn, entriesOfMap, type Format, type ParsedFile } from './format.ts';

export const GEMINI_EXTENSION: Format = {
  syntax: 'json',
  read: (file) => {
    const { machine, path } = file;
    const dir = machine.path.dirname(path);
    const variables = new Map([
      ['extensionPath', dir],
      ['workspacePath', machine.cwd],
      ['/', machine.path.sep],
      ['pathSeparator', machine.path.sep],
    ]);
    const extension = textAt(file.value, 'name') ?? machine.path.basename(dir);
    return entriesIn(file, ['mcpServers'], { variables, dir, extension });
  },
};

export const DESKTOP_EXTENSION: Format = {
  syntax: 'json',
  // "Claude Extensions/<id>/manifest.json" has its settings in "Claude Extensions Settings/<id>.json".
  companion: (path, { path: paths }) => {
    const dir = paths.dirname(path);
    const data = paths.dirname(paths.dirname(dir));
    return paths.join(data, 'Claude Extensions Settings', `${paths.basename(dir)}.json`);
  },
  read: (file) => {
    const config = treeAt(file.value, 'server', 'mcp_config');
    if (config === undefined) return [];
    const { machine, path, value, companion } = file;
    const dir = machine.path.dirname(path);
    const name = textAt(value, 'name') ?? machine.path.basename(dir);
    const platform = treeAt(config, 'platform_overrides', machine.platform);
    const fields = treeOf(Object.entries({ ...config, ...platform }).filter(([key]) => key !== 'platform_overrides'));
    const isOff = member(companion, 'isEnabled') === false || member(companion, 'enabled') === false;
    const description = textAt(value, 'description') ?? '';
    const [entry] = entriesOfMap(file, treeOf([[name, { ...fields, type: 'stdio', description }]]), []);
    if (entry === undefined) return [];
    return [{ ...entry, pointer: '/server/mcp_config', dir, isOff, variables: manifestVariables(file, dir) }];
  },
};

type Variables = Map<string, string | readonly string[]>;

function manifestVariables({ value, companion, machine }: ParsedFile, dir: string): Variables {
  const variables: Variables = new Map([
    ['__dirname', dir],
    ['/', machine.path.sep],
    ['pathSeparator', machine.path.sep],
    ...['HOME', 'DESKTOP', 'DOCUMENTS', 'DOWNLOADS'].map((name) => [name, userDir(name, machine)] as const),
  ]);
  for (const [key, option] of Object.entries(treeAt(value, 'user_config') ?? {})) {
    const chosen = userConfig(companion, key) ?? defaultOf(option, machine);
    const texts = [chosen].flat().map(scalarText);
    if (texts.some((text) => text?.startsWith(ENCRYPTED))) continue;
    if (chosen === undefined && member(option, 'required') !== true) variables.set(`user_config.${key}`, '');
    if (chosen === undefined || texts.includes(undefined)) continue;
    const known = texts.filter((text) => text !== undefined);
    variables.set(`user_config.${key}`, Array.isArray(chosen) ? known : (known[0] ?? ''));
  }
  return variables;
}

/** What Claude Desktop keeps where only it can read it. */
const ENCRYPTED = '__encrypted__:';

function userConfig(companion: unknown, key: string): unknown {
  return member(companion, 'userConfig', key) ?? member(companion, 'user_config', key);
}

const USER_DIR = /\$\{(HOME|DESKTOP|DOCUMENTS|DOWNLOADS)\}/g;

/** A default may be a directory of the user. */
function defaultOf(option: unknown, machine: Machine): unknown {
  const value = isTree(option) ? option.default : undefined;
  return mapTexts(value, (text) => text.replace(USER_DIR, (_, name: string) => userDir(name, machine)));
}

function userDir(name: string, { home, path }: Machine): string {
  return name === 'HOME' ? home : path.join(home, `${name.charAt(0)}${name.slice(1).toLowerCase()}`);
}

function scalarText(value: unknown): string | undefined {
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean'
    ? String(value)
    : undefined;
}
