// The formats of config files. Each has a reader that takes a parsed file and returns its entries as written: maps of
// servers, files of Claude Code, extensions, plugins, registries, and files of bare definitions. A reader opens no
// file, fills in no variable, and throws nothing.

import { createHash } from 'node:crypto';
import type { ProcessIdentity } from '../local/process-identity.ts';
import { isLoopback, type RegisteredServer, registeredServer } from '../local/registered-server.ts';
import { parseRegistryValue } from '../local/registry-content.ts';
import { LONGEST_NAME } from '../util/longest-name.ts';
import { parsedUrl } from '../util/parsed-url.ts';
import { basesOf } from './bases.ts';
import { diagnostic, type Report } from './diagnostic.ts';
import { KEYRING } from './dialects.ts';
import type { Syntax } from './document.ts';
import type { Location } from './locations.ts';
import type { Machine } from './machine.ts';
import { isTree, mapTexts, member, pointerTo, type Tree, textAt, textsAt, treeAt, treeOf } from './tree.ts';

export type FormatName =
  | 'agent-plugin'
  | 'amp'
  | 'any-key'
  | 'bridge'
  | 'claude-json'
  | 'claude-settings'
  | 'codex'
  | 'continue'
  | 'copilot'
  | 'crush'
  | 'definitions'
  | 'desktop-extension'
  | 'devcontainer'
  | 'gemini-extension'
  | 'goose'
  | 'ignored'
  | 'librechat'
  | 'managed'
  | 'mcp-servers'
  | 'opencode'
  | 'plugin'
  | 'project-mcp-json'
  | 'registry'
  | 'servers'
  | 'settings'
  | 'toml'
  | 'vscode-settings'
  | 'zed';

/** A definition as written. */
export interface Entry {
  readonly name: string;
  readonly pointer: string;
  readonly fields: unknown;
  /** The client, if it differs from that of the whole file. */
  readonly client?: string;
  readonly scope?: string;
  readonly project?: string;
  /** True if it is switched off elsewhere than in the entry itself. */
  readonly isOff?: boolean;
  /** Variables that only this entry defines; a list becomes several arguments. */
  readonly variables?: ReadonlyMap<string, string | readonly string[]>;
  /** The reason why it is never used, whatever else it says. */
  readonly refusal?: string;
  /** The reason why it is invalid, whatever else it says. */
  readonly fault?: string;
  /** The process of the running server. */
  readonly process?: ProcessIdentity;
  /** The name of the extension that brings it. */
  readonly extension?: string;
  /** Variables that its client always sets for it. */
  readonly given?: Readonly<Record<string, string>>;
  /** The directory that it runs in, unless it names one. */
  readonly dir?: string;
}

export interface ParsedFile {
  readonly value: unknown;
  readonly location: Location;
  readonly path: string;
  readonly machine: Machine;
  readonly report: Report;
  /** The content of the companion file, for formats that have one. */
  readonly companion: unknown;
  isProject(dir: string): boolean;
}

export interface Format {
  readonly syntax: Syntax | 'by-ending';
  /** The path of the companion file. */
  readonly companion?: (path: string, machine: Machine) => string;
  readonly read: (file: ParsedFile) => Entry[];
}

type Detail = Partial<Omit<Entry, 'name' | 'pointer' | 'fields'>>;

/** The entries of a map, or of a list of named items. */
function entriesIn(file: ParsedFile, keys: readonly string[], detail: Detail = {}): Entry[] {
  const container = containerAt(file, keys);
  if (container === undefined || container === null) return [];
  if (!isTree(container)) return refuseContainer(file, keys);
  return entriesOfMap(file, container, keys, detail);
}

export function entriesOfMap(file: ParsedFile, map: Tree, keys: readonly string[], detail: Detail = {}): Entry[] {
  return Object.entries(map).flatMap(([name, fields]) => {
    const pointer = pointerTo(...keys, name);
    return isUsableName(file, name, pointer) ? [{ name, pointer, fields, ...detail }] : [];
  });
}

/** For clients that write a list; some of them accept a map too. */
function entriesInList(file: ParsedFile, keys: readonly string[]): Entry[] {
  const container = containerAt(file, keys);
  if (!Array.isArray(container)) return entriesIn(file, keys);
  return container.flatMap((fields: unknown, i) => {
    const pointer = pointerTo(...keys, i);
    const name = isTree(fields) && typeof fields.name === 'string' ? fields.name : '';
    return isUsableName(file, name, pointer) ? [{ name, pointer, fields }] : [];
  });
}

function containerAt(file: ParsedFile, keys: readonly string[]): unknown {
  let value = file.value;
  for (const [depth, key] of keys.entries()) {
    if (!isTree(value)) {
      if (value !== undefined && value !== null) refuseContainer(file, keys.slice(0, depth));
      return undefined;
    }
    value = Object.hasOwn(value, key) ? value[key] : undefined;
  }
  return value;
}

function refuseContainer({ path, report }: ParsedFile, keys: readonly string[]): [] {
  const place = keys.length === 0 ? 'The whole of it' : pointerTo(...keys);
  report(diagnostic('bad-container', `${path}: ${place} must be an object with a member for each server.`, { path }));
  return [];
}

const CONTROL = /\p{Cc}|[\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]|[\u{e0000}-\u{e007f}]/u;

const TOO_LONG = `has a name of more than ${LONGEST_NAME} characters`;
/** The maximum length of a place in a message. */
const LONGEST_SHOWN = 512;

/** Rejects names that look like something else, or that objects treat specially. */
function isUsableName({ path, report }: ParsedFile, name: string, pointer: string): boolean {
  const isShort = name.length <= LONGEST_NAME;
  if (isShort && name !== '' && name !== '__proto__' && !CONTROL.test(name)) return true;
  const problem = name === '' ? 'has no name' : isShort ? 'has a name that cannot be used' : TOO_LONG;
  const about = name === '' || !isShort ? { path } : { path, server: name };
  report(
    diagnostic(
      'invalid-entry',
      `${path}: the entry at ${JSON.stringify(pointer.slice(0, LONGEST_SHOWN))} ${problem}.`,
      about,
    ),
  );
  return false;
}

function warnWrongKey({ path, report }: ParsedFile, found: string, right: string): void {
  const message = `${path} has its servers under "${found}", which its client does not read. Rename it to "${right}".`;
  report(diagnostic('wrong-key', message, { path, name: found }));
}

/** Reads the maps with the right names; maps with a wrong name are read with a warning. */
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

const MCP_SERVERS: Format = {
  syntax: 'json',
  read: switched(keyed(['mcpServers'], ['servers', 'mcp_servers'])),
};
/** Copilot's files in a project may contain only the map, without a key. */
const COPILOT: Format = {
  syntax: 'json',
  read: (file) => bareEntries(file) ?? MCP_SERVERS.read(file),
};
const SERVERS: Format = { syntax: 'json', read: keyed(['servers'], ['mcpServers']) };
const ANY_KEY: Format = { syntax: 'json', read: keyed(['mcpServers', 'mcp_servers', 'servers']) };
/** Files with other settings too; these are not reported as mistakes. */
const SETTINGS: Format = { syntax: 'json', read: switched(keyed(['mcpServers'])) };
const CRUSH: Format = { syntax: 'json', read: keyed(['mcp']) };
const LIBRECHAT: Format = { syntax: 'yaml', read: keyed(['mcpServers']) };
const ZED: Format = { syntax: 'json', read: keyed(['context_servers']) };
/** The key contains a dot. */
const AMP: Format = { syntax: 'json', read: keyed(['amp.mcpServers']) };
const TOML: Format = { syntax: 'toml', read: (file) => entriesInList(file, ['mcp_servers']) };
const CODEX: Format = { syntax: 'toml', read: keyed(['mcp_servers']) };
const CONTINUE: Format = { syntax: 'by-ending', read: (file) => entriesInList(file, ['mcpServers']) };

const VSCODE_SETTINGS: Format = {
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

const DEVCONTAINER: Format = {
  syntax: 'json',
  read: (file) => entriesIn(file, ['customizations', 'vscode', 'mcp', 'servers']),
};

/** The second version nests the servers one level deeper, where the first version may have a server of that name. */
const OPENCODE: Format = {
  syntax: 'json',
  read: (file) => {
    const nested = treeAt(file.value, 'mcp', 'servers');
    const isServer = nested !== undefined && ['type', 'command', 'url', 'enabled'].some((key) => key in nested);
    return entriesIn(file, nested === undefined || isServer ? ['mcp'] : ['mcp', 'servers']);
  },
};

/** Goose's servers. Others cannot start its built-in and bundled ones. */
const GOOSE: Format = {
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

/** Applies the list next to the map that names switched-off servers. */
function switched(read: Format['read']): Format['read'] {
  return (file) => {
    const off = new Set(textsAt(file.value, 'disabledMcpServers'));
    return read(file).map((entry) => (off.has(entry.name) ? { ...entry, isOff: true } : entry));
  };
}

// Claude Code's own file has servers of the user and of each project; other clients read the one in a project too.
const CLAUDE_JSON: Format = {
  syntax: 'json',
  read: (file) => [...localEntries(file), ...entriesIn(file, ['mcpServers'])],
};

function localEntries(file: ParsedFile): Entry[] {
  return ownProjects(file).flatMap((project) =>
    entriesIn(file, ['projects', project, 'mcpServers'], {
      scope: 'local',
      project,
      given: { CLAUDE_PROJECT_DIR: project },
    }),
  );
}

/** The keys under which the working directory's project may be listed. */
function ownProjects({ value, isProject }: ParsedFile): string[] {
  return Object.keys(treeAt(value, 'projects') ?? {}).filter(isProject);
}

/** Visual Studio reads the same file under another key, and Copilot without a key. */
const PROJECT_MCP_JSON: Format = {
  syntax: 'json',
  read: (file) => {
    const bare = bareEntries(file);
    if (bare !== undefined) return bare.map((entry) => ({ ...entry, client: 'copilot-cli', scope: 'workspace' }));
    const { client, project } = file.location;
    const given = client === 'claude-code' && project !== undefined ? { CLAUDE_PROJECT_DIR: project } : {};
    if (member(file.value, 'servers') === undefined) return entriesIn(file, ['mcpServers'], { given });
    warnWrongKey(file, 'servers', 'mcpServers');
    return [
      ...entriesIn(file, ['mcpServers'], { given }),
      ...entriesIn(file, ['servers'], { client: 'visual-studio' }),
    ];
  },
};

const MANAGED: Format = { syntax: 'json', read: (file) => entriesIn(file, ['mcpServers']) };

/** Claude Code does not read servers here, but people write them here on purpose. */
const CLAUDE_SETTINGS: Format = {
  syntax: 'json',
  read: (file) => {
    if (member(file.value, 'mcpServers') === undefined) return [];
    warnIgnored(file);
    return entriesIn(file, ['mcpServers']);
  },
};

const IGNORED: Format = {
  syntax: 'json',
  read: (file) => {
    if (member(file.value, 'mcpServers') === undefined) return [];
    warnIgnored(file);
    return entriesIn(file, ['mcpServers'], { refusal: 'Claude Code does not read servers in this file' });
  },
};

function warnIgnored({ path, report }: ParsedFile): void {
  const message = `${path} has servers, and Claude Code does not read servers there. Move them with "claude mcp add".`;
  report(diagnostic('ignored-location', message, { path, name: 'mcpServers' }));
}

const GEMINI_EXTENSION: Format = {
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

const DESKTOP_EXTENSION: Format = {
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

/** The prefix of values that only Claude Desktop can decrypt. */
const ENCRYPTED = '__encrypted__:';

function userConfig(companion: unknown, key: string): unknown {
  return member(companion, 'userConfig', key) ?? member(companion, 'user_config', key);
}

const USER_DIR = /\$\{(HOME|DESKTOP|DOCUMENTS|DOWNLOADS)\}/g;

/** Reads a default value, which may name a directory of the user. */
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

// Specification 1.0.0, section 7.2.1: an entry is of one of two kinds. It may lead only into its plugin, or to an
// address that nobody can intercept.
const KINDS: Readonly<Record<string, readonly string[]>> = {
  stdio: ['type', 'command', 'args', 'env', 'cwd'],
  'streamable-http': ['type', 'url', 'headers'],
  sse: ['type', 'url', 'headers'],
};

interface PluginDirs {
  readonly root: string;
  readonly data: string;
}

/** The reason why it is invalid; undefined if it is valid. */
function agentPluginFault(entry: unknown, dirs: PluginDirs, machine: Machine): string | undefined {
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

/** True for paths inside the directory, and for the directory itself. */
function isWithin({ path }: Machine, dir: string, text: string): boolean {
  if (!text.startsWith('./')) return false;
  const relative = path.relative(dir, path.resolve(dir, text));
  return relative !== '..' && !/^\.\.[\\/]/.test(relative) && !path.isAbsolute(relative);
}

function urlFault(url: string): string | undefined {
  const parsed = parsedUrl(url);
  if (parsed === undefined) return 'its URL cannot be understood';
  const { protocol, username, password, hash } = parsed;
  if (username !== '' || password !== '' || hash !== '') return 'its URL has a user, a password or a fragment';
  if (protocol === 'https:' || (protocol === 'http:' && isLoopback(url))) return undefined;
  return 'its URL must begin with https:// unless it is on this machine';
}

// Servers of plugins get the plugin's name.
const PLUGIN: Format = {
  syntax: 'json',
  read: (file) => {
    const { plugin } = file.location;
    if (plugin === undefined) return [];
    const { name, root, isOff, variables, given } = plugin;
    return ofPlugin(serversIn(file), name, { variables, given, dir: root, isOff });
  },
};

const AGENT_PLUGIN: Format = {
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

/** Resolves the command, which is relative to the plugin, wherever it runs. */
function atRoot(fields: unknown, root: string, { path }: Machine): unknown {
  const command = textAt(fields, 'command');
  return isTree(fields) && command?.startsWith('./') ? { ...fields, command: path.resolve(root, command) } : fields;
}

/** The data directory of an installed plugin, which stays the same across versions. */
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

/** The servers in a manifest. It may name files instead, which are read separately. */
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

// A server whose process has ended is left out (docs/registry.md). If several have the same name, the first gets it,
// and the others use their ids.
const REGISTRY: Format = { syntax: 'json', read: readRegistry };

function readRegistry(file: ParsedFile): Entry[] {
  const { value, path, report, machine } = file;
  const parsed = parseRegistryValue(value);
  if (parsed.kind === 'broken') {
    report(diagnostic('bad-container', `${path} ${parsed.problem}. Nothing of it is used.`, { path }));
    return [];
  }
  if (parsed.kind === 'future') {
    const message = `${path} has version ${parsed.version}, which a newer program has written. Nothing of it is used: update mcp-bridge.`;
    report(diagnostic('future-version', message, { path }));
    return [];
  }
  const taken = new Set<string>();
  return [...parsed.content.servers].flatMap(([id, written]) => {
    const server = registeredServer(written);
    if (server === undefined || !machine.isAlive(server.process)) return [];
    const name = taken.has(server.name) ? id : server.name;
    taken.add(name);
    const pointer = pointerTo('servers', id);
    return isUsableName(file, name, pointer) ? [entryOf(name, pointer, server, file)] : [];
  });
}

function entryOf(name: string, pointer: string, server: RegisteredServer, { location }: ParsedFile): Entry {
  const { url, socket, process } = server;
  const reached = url ?? (socket === undefined ? undefined : `unix://${socket}`);
  const refusal = refusalOf(server, location.mayBeRemote === true);
  return {
    name,
    pointer,
    process,
    fields: { type: server.transport ?? 'auto', url: reached },
    ...(refusal === undefined ? {} : { refusal }),
  };
}

function refusalOf({ url, socket }: RegisteredServer, mayBeRemote: boolean): string | undefined {
  if (url === undefined && socket === undefined) return 'it runs, but only whoever started it can speak with it';
  if (url === undefined || mayBeRemote || parsedUrl(url) === undefined || isLoopback(url)) return undefined;
  return 'it is on another machine, which discovery.registryHosts does not allow';
}

// A file of definitions is one server, named by the file; or a map under a key; or a map that is the whole file. Any
// other content is ignored as somebody's notes.
const CONTAINERS = ['mcpServers', 'servers', 'mcp_servers'];
const LAUNCHES = ['command', 'cmd', 'url', 'serverUrl', 'httpUrl', 'uri'];

const DEFINITIONS: Format = { syntax: 'by-ending', read: readDefinitions };

function readDefinitions(file: ParsedFile): Entry[] {
  const { value, machine } = file;
  if (!isTree(value)) return [];
  const keys = CONTAINERS.filter((key) => Object.hasOwn(value, key));
  if (keys.some((key) => !isLaunch(value[key])) && !isLaunch(value))
    return keys.flatMap((key) => entriesIn(file, [key]));
  if (isLaunch(value)) {
    const name = machine.path.basename(file.path).replace(/\.[^.]*$/, '');
    return entriesOfMap({ ...file, value: { [name]: value } }, { [name]: value }, []).map((entry) => ({
      ...entry,
      pointer: '',
    }));
  }
  return isMapOfServers(value) ? entriesOfMap(file, withoutSchema(value), []) : [];
}

/** The entries of a file that is a map of servers without a key; undefined for other files. */
function bareEntries(file: ParsedFile): Entry[] | undefined {
  const { value } = file;
  if (!isTree(value) || CONTAINERS.some((key) => Object.hasOwn(value, key)) || !isMapOfServers(value)) return undefined;
  return entriesOfMap(file, withoutSchema(value), []);
}

function isMapOfServers(value: Tree): boolean {
  const members = Object.values(withoutSchema(value));
  return members.length > 0 && members.every(isTree) && members.some(isLaunch);
}

function withoutSchema(value: Tree): Tree {
  return Object.fromEntries(Object.entries(value).filter(([key]) => key !== '$schema'));
}

function isLaunch(value: unknown): boolean {
  return isTree(value) && LAUNCHES.some((key) => Object.hasOwn(value, key) && !isTree(value[key]));
}

export const FORMATS: Readonly<Record<FormatName, Format>> = {
  'agent-plugin': AGENT_PLUGIN,
  amp: AMP,
  'any-key': ANY_KEY,
  bridge: SETTINGS,
  'claude-json': CLAUDE_JSON,
  'claude-settings': CLAUDE_SETTINGS,
  codex: CODEX,
  continue: CONTINUE,
  copilot: COPILOT,
  crush: CRUSH,
  definitions: DEFINITIONS,
  'desktop-extension': DESKTOP_EXTENSION,
  devcontainer: DEVCONTAINER,
  'gemini-extension': GEMINI_EXTENSION,
  goose: GOOSE,
  ignored: IGNORED,
  librechat: LIBRECHAT,
  managed: MANAGED,
  'mcp-servers': MCP_SERVERS,
  opencode: OPENCODE,
  plugin: PLUGIN,
  'project-mcp-json': PROJECT_MCP_JSON,
  registry: REGISTRY,
  servers: SERVERS,
  settings: SETTINGS,
  toml: TOML,
  'vscode-settings': VSCODE_SETTINGS,
  zed: ZED,
};
