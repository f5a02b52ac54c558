// Files whose servers stand in a map, and differ in its name only.

import { diagnostic } from '../diagnostic.ts';
import { KEYRING } from '../dialects.ts';
import { member, textAt, textsAt, treeAt } from '../tree.ts';
import { bareEntries } from './definition-format.ts';
import { entriesIn, entriesInList, type Format, type ParsedFile, warnWrongKey } from './format.ts';

/** Reads the maps of all these names, and those of the others with a warning. */
function keyed(right: readonly string[], wrong: readonly string[] = []): Format['read'] {
  return (file) => [
    ...right.flatMap((key) => entriesIn(file, [key])),
    ...wrong.flatMap((key) => {
      if (member(file.value, key) === undefined) return [];
      warnWrongKey(file, key, right[0] ?? '');
      return entriesIn(file, [key]);
    }),
  ];
}

export const MCP_SERVERS: Format = {
  syntax: 'json',
  read: switched(keyed(['mcpServers'], ['servers', 'mcp_servers'])),
};
/** Copilot's files in a project may be nothing but the map. */
export const COPILOT: Format = {
  syntax: 'json',
  read: (file) => bareEntries(file) ?? MCP_SERVERS.read(file),
};
export const SERVERS: Format = { syntax: 'json', read: keyed(['servers'], ['mcpServers']) };
export const ANY_KEY: Format = { syntax: 'json', read: keyed(['mcpServers', 'mcp_servers', 'servers']) };
/** Files that hold other settings too: what else is in them is no mistake. */
export const SETTINGS: Format = { syntax: 'json', read: switched(keyed(['mcpServers'])) };
export const CRUSH: Format = { syntax: 'json', read: keyed(['mcp']) };
export const LIBRECHAT: Format = { syntax: 'yaml', read: keyed(['mcpServers']) };
export const ZED: Format = { syntax: 'json', read: keyed(['context_servers']) };
/** The key has a dot in it. */
export const AMP: Format = { syntax: 'json', read: keyed(['amp.mcpServers']) };
export const TOML: Format = { syntax: 'toml', read: (file) => entriesInList(file, ['mcp_servers']) };
export const CODEX: Format = { syntax: 'toml', read: keyed(['mcp_servers']) };
export const CONTINUE: Format = { syntax: 'by-ending', read: (file) => entriesInList(file, ['mcpServers']) };

export const VSCODE_SETTINGS: Format = {
  syntax: 'json',
  read: (file) => {
    const entries = entriesIn(file, ['mcp', 'servers']);
    if (entries.length > 0) warnOfMove(file);
    return entries;
  },
};

function warnOfMove({ path, report }: ParsedFile): void {
  const message = `${path} has servers under "mcp", which VS Code keeps in mcp.json now. Move them there.`;
  report(diagnostic('stale-config', message, { path, name: 'mcp' }));
}

export const DEVCONTAINER: Format = {
  syntax: 'json',
  read: (file) => entriesIn(file, ['customizations', 'vscode', 'mcp', 'servers']),
};

/** Its second version has the servers one level deeper, where a first one may have a server of that name. */
export const OPENCODE: Format = {
  syntax: 'json',
  read: (file) => {
    const nested = treeAt(file.value, 'mcp', 'servers');
    const isServer = nested !== undefined && ['type', 'command', 'url', 'enabled'].some((key) => key in nested);
    return entriesIn(file, nested === undefined || isServer ? ['mcp'] : ['mcp', 'servers']);
  },
};

/** What is built into Goose, or comes with it, is not for others to start. */
export const GOOSE: Format = {
  syntax: 'yaml',
  read: (file) =>
    entriesIn(file, ['extensions']).map((entry) => ({
      ...entry,
      variables: gooseVariables(entry.fields),
      ...(isOfGoose(entry.fields) ? { refusal: 'it is a part of Goose, which nobody else can start' } : {}),
    })),
};

function isOfGoose(fields: unknown): boolean {
  const type = textAt(fields, 'type') ?? '';
  return ['builtin', 'platform', 'frontend', 'inline_python'].includes(type) || member(fields, 'bundled') === true;
}

function gooseVariables(fields: unknown): ReadonlyMap<string, string> {
  const envs = Object.entries(treeAt(fields, 'envs') ?? {}).map(([name, value]) => [name, String(value)] as const);
  return new Map([...envs, ...textsAt(fields, 'env_keys').map((name) => [`${KEYRING}${name}`, ''] as const)]);
}

/** A list beside the map says which of its servers are off. */
function switched(read: Format['read']): Format['read'] {
  return (file) => {
    const off = new Set(textsAt(file.value, 'disabledMcpServers'));
    return read(file).map((entry) => (off.has(entry.name) ? { ...entry, isOff: true } : entry));
  };
}
