// Reads the rules for tools in a client's own settings: tools that it forbids, asks about, or allows, and hooks. Those
// rules use names that the servers do not have behind the bridge. It changes nothing.

import { basesOf } from '../discovery/bases.ts';
import { documentOf, type Syntax, SyntaxFault } from '../discovery/document.ts';
import { isTree, type Tree, textsAt, treeAt } from '../discovery/tree.ts';
import { BridgeError } from '../util/bridge-error.ts';
import type { ClientTarget } from './client-targets.ts';
import { readConfigFile } from './config-file.ts';
import { type EditingHost, machineOfHost } from './editing-host.ts';

type PermissionKind = 'deny' | 'ask' | 'allow' | 'hook' | 'unreadable';

export interface Permission {
  readonly kind: PermissionKind;
  /** The rule as the file spells it. */
  readonly text: string;
  readonly file: string;
  /** The servers that the rule covers, by the client's names, each with a glob over its tools; empty if unclear. */
  readonly about: readonly { readonly server: string; readonly tools: string }[];
  /** The reason why a rule that forbids cannot become a rule of the bridge. */
  readonly obstacle?: string;
}

interface Settings {
  readonly file: string;
  readonly value: Tree;
  /** The client's servers to look for. */
  readonly servers: readonly string[];
}

type Reading = (settings: Settings) => Permission[];

interface SettingsPlace {
  readonly file: string;
  readonly syntax: Syntax;
  readonly read: Reading;
}

/** Finds the permissions that cover, or may cover, one of these servers. */
export async function permissionsOf(
  target: ClientTarget,
  servers: readonly string[],
  host: EditingHost,
): Promise<Permission[]> {
  if (servers.length === 0) return [];
  const found = await Promise.all(placesOf(target, host).map((place) => readIn(place, servers)));
  return found.flat();
}

async function readIn({ file, syntax, read }: SettingsPlace, servers: readonly string[]): Promise<Permission[]> {
  try {
    const { text, bytes } = readConfigFile(file);
    if (bytes === undefined || text.trim() === '') return [];
    const { value } = await documentOf({ text: text.replace(/^\ufeff/, ''), path: file, syntax }, () => undefined);
    return isTree(value) ? read({ file, value, servers }) : [];
  } catch (error) {
    if (!(error instanceof BridgeError) && !(error instanceof SyntaxFault)) throw error;
    return [{ kind: 'unreadable', text: 'it cannot be read, and may have rules for tools', file, about: [] }];
  }
}

function placesOf({ client }: ClientTarget, host: EditingHost): SettingsPlace[] {
  const machine = machineOfHost(host);
  const bases = basesOf(machine);
  const inBase = (base: string, ...names: string[]): string[] =>
    (bases.get(base)?.dirs ?? []).slice(0, 1).map((dir) => machine.path.join(dir, ...names));
  const json = (files: readonly string[], read: Reading): SettingsPlace[] =>
    files.map((file) => ({ file, syntax: 'json', read }));
  switch (client) {
    case 'claude-code': {
      const [claudeFile] = inBase('CLAUDE_FILE');
      const projects = claudeFile === undefined ? [] : projectsIn(claudeFile);
      const inProjects = projects.flatMap((dir) =>
        ['settings.json', 'settings.local.json'].map((name) => machine.path.join(dir, '.claude', name)),
      );
      return [
        ...json(
          [...inBase('CLAUDE_MANAGED', 'managed-settings.json'), ...inBase('CLAUDE', 'settings.json')],
          claudeRules,
        ),
        ...json(inProjects, (settings) => claudeRules(settings).map(ofProject)),
      ];
    }
    case 'cursor':
      return [
        ...json(inBase('~', '.cursor', 'permissions.json'), cursorAllowlist),
        ...json(inBase('~', '.cursor', 'cli-config.json'), cursorRules),
      ];
    case 'codex':
      return inBase('CODEX', 'config.toml').map((file) => ({ file, syntax: 'toml', read: codexRules }));
    case 'gemini-cli':
      return json(inBase('GEMINI', 'settings.json'), geminiRules);
    case 'opencode':
      return json(
        ['opencode.json', 'opencode.jsonc', 'config.json'].flatMap((name) => inBase('XC', 'opencode', name)),
        openCodeRules,
      );
    case 'zed':
      return json([...inBase('AD', 'Zed', 'settings.json'), ...inBase('XC', 'zed', 'settings.json')], zedRules);
    case 'goose':
      return [
        ...inBase('GOOSE', 'config', 'permission.yaml'),
        ...inBase('AD', 'Block', 'goose', 'config', 'permission.yaml'),
        ...inBase('XC', 'goose', 'permission.yaml'),
      ].map((file) => ({ file, syntax: 'yaml', read: gooseRules }));
    default:
      return [];
  }
}

/** The projects that Claude Code knows. */
function projectsIn(file: string): string[] {
  try {
    const value: unknown = JSON.parse(readConfigFile(file).text);
    return Object.keys(treeAt(value, 'projects') ?? {});
  } catch (error) {
    if (!(error instanceof BridgeError) && !(error instanceof SyntaxError)) throw error;
    return []; // The command that opens the file for a change reports what is wrong with it.
  }
}

function ofProject(permission: Permission): Permission {
  return { ...permission, obstacle: 'it holds in one project only' };
}

// --- one client each ---

/** Spells a name as Claude Code does in its rules. */
const plainName = (name: string): string => name.replace(/[^a-zA-Z0-9_-]/g, '_');

function claudeRules({ file, value, servers }: Settings): Permission[] {
  const lists = (['deny', 'ask', 'allow'] as const).flatMap((kind) =>
    textsAt(treeAt(value, 'permissions'), kind).flatMap((text): Permission[] => {
      const about = claudeTools(text, servers);
      return about.length === 0 ? [] : [{ kind, text: `permissions.${kind}: "${text}"`, file, about }];
    }),
  );
  const hooks = Object.entries(treeAt(value, 'hooks') ?? {}).flatMap(([event, matchers]): Permission[] =>
    (Array.isArray(matchers) ? matchers : []).flatMap((entry: unknown): Permission[] => {
      const matcher = isTree(entry) && typeof entry.matcher === 'string' ? entry.matcher : '';
      if (!matcher.includes('mcp__')) return [];
      const isAbout = /[*.?|()[\]]/.test(matcher) || servers.some((name) => matcher.includes(plainName(name)));
      return isAbout ? [{ kind: 'hook', text: `hooks.${event}: "${matcher}"`, file, about: [] }] : [];
    }),
  );
  return [...lists, ...hooks];
}

/** Reads `mcp__server` and `mcp__server__tool`, with stars anywhere. */
function claudeTools(rule: string, servers: readonly string[]): Permission['about'] {
  if (!rule.startsWith('mcp__')) return [];
  const bare = rule.replace(/\(.*\)$/s, '');
  return servers.flatMap((server) => {
    const prefix = `mcp__${plainName(server)}`;
    if (bare === prefix) return [{ server, tools: '*' }];
    if (bare.startsWith(`${prefix}__`)) return [{ server, tools: bare.slice(prefix.length + 2) }];
    const [, named = '', ...tools] = bare.split('__');
    const isFitting = named.includes('*') && starred(named).test(plainName(server));
    return isFitting ? [{ server, tools: tools.length === 0 ? '*' : tools.join('__') }] : [];
  });
}

function starred(glob: string): RegExp {
  const parts = glob.split(/\*+/).map((part) => part.replace(/[.+?^${}()|[\]\\]/g, '\\$&'));
  return new RegExp(`^${parts.join('.*')}$`, 's');
}

function cursorAllowlist({ file, value, servers }: Settings): Permission[] {
  return textsAt(value, 'mcpAllowlist').flatMap((text): Permission[] => {
    const about = colonTools(text, servers);
    return about.length === 0 ? [] : [{ kind: 'allow', text: `mcpAllowlist: "${text}"`, file, about }];
  });
}

function cursorRules({ file, value, servers }: Settings): Permission[] {
  return (['deny', 'allow'] as const).flatMap((kind) =>
    textsAt(treeAt(value, 'permissions'), kind).flatMap((text): Permission[] => {
      const [, inside] = /^Mcp\((.*)\)$/is.exec(text) ?? [];
      const about = inside === undefined ? [] : colonTools(inside, servers);
      return about.length === 0 ? [] : [{ kind, text: `permissions.${kind}: "${text}"`, file, about }];
    }),
  );
}

/** Reads `server:tool`, with stars. */
function colonTools(text: string, servers: readonly string[]): Permission['about'] {
  const at = text.indexOf(':');
  const [named, tools] = at < 0 ? [text, '*'] : [text.slice(0, at), text.slice(at + 1)];
  const fitting = servers.filter((server) => starred(named).test(server));
  return fitting.map((server) => ({ server, tools: tools === '' ? '*' : tools }));
}

const CODEX_KINDS: Readonly<Record<string, PermissionKind>> = { prompt: 'ask', approve: 'allow', auto: 'allow' };

/**
 * Reads the approval modes of Codex. Its lists of tools are filters in the servers' entries, and are read with those.
 */
function codexRules({ file, value, servers }: Settings): Permission[] {
  return servers.flatMap((server) => {
    const place = `mcp_servers.${server}`;
    const entry = treeAt(value, 'mcp_servers', server);
    const whole = entry?.default_tools_approval_mode;
    const tools = Object.entries(treeAt(entry, 'tools') ?? {}).map(
      ([tool, said]) => [tool, isTree(said) ? said.approval_mode : undefined] as const,
    );
    return [['*', whole] as const, ...tools].flatMap(([tool, mode]): Permission[] => {
      const kind = typeof mode === 'string' ? CODEX_KINDS[mode] : undefined;
      if (kind === undefined) return [];
      const key = tool === '*' ? 'default_tools_approval_mode' : `tools.${tool}.approval_mode`;
      return [{ kind, text: `${place}.${key} = "${String(mode)}"`, file, about: [{ server, tools: tool }] }];
    });
  });
}

function geminiRules({ file, value, servers }: Settings): Permission[] {
  const lists = [
    ['deny', 'tools.exclude', textsAt(treeAt(value, 'tools'), 'exclude')],
    ['deny', 'excludeTools', textsAt(value, 'excludeTools')],
    ['allow', 'tools.allowed', textsAt(treeAt(value, 'tools'), 'allowed')],
    ['allow', 'allowedTools', textsAt(value, 'allowedTools')],
  ] as const;
  return lists.flatMap(([kind, place, texts]) =>
    texts.flatMap((text): Permission[] => {
      const about = servers.flatMap((server) => {
        const prefix = [`${server}__`, `mcp_${server}_`].find((one) => text.startsWith(one));
        return prefix === undefined ? [] : [{ server, tools: text.slice(prefix.length) || '*' }];
      });
      return about.length === 0 ? [] : [{ kind, text: `${place}: "${text}"`, file, about }];
    }),
  );
}

function openCodeRules({ file, value, servers }: Settings): Permission[] {
  const own = openCodeMaps(value, '').flatMap((map) => openCodeMap(map, { file, value, servers }));
  const agents = ['agent', 'mode'].flatMap((key) =>
    Object.entries(treeAt(value, key) ?? {}).flatMap(([name, agent]) =>
      openCodeMaps(agent, `${key}.${name}.`)
        .flatMap((map) => openCodeMap(map, { file, value, servers }))
        .map((permission) => ({ ...permission, obstacle: 'it holds for one agent only' })),
    ),
  );
  return [...own, ...agents];
}

interface OpenCodeMap {
  readonly place: string;
  readonly map: Tree;
}

function openCodeMaps(value: unknown, before: string): OpenCodeMap[] {
  return ['permission', 'tools'].flatMap((key) => {
    const map = treeAt(value, key);
    return map === undefined ? [] : [{ place: `${before}${key}`, map }];
  });
}

const OPENCODE_KINDS = new Map<unknown, PermissionKind>([
  [false, 'deny'],
  ['deny', 'deny'],
  ['ask', 'ask'],
  [true, 'allow'],
  ['allow', 'allow'],
]);

/** OpenCode names a tool by its server and the tool, with one underscore between them. */
function openCodeMap({ place, map }: OpenCodeMap, { file, servers }: Settings): Permission[] {
  return Object.entries(map).flatMap(([glob, said]): Permission[] => {
    const kind = OPENCODE_KINDS.get(said);
    const about = servers.flatMap((server) => {
      const prefix = `${plainName(server)}_`;
      if (glob.startsWith(prefix)) return [{ server, tools: glob.slice(prefix.length) || '*' }];
      return glob.endsWith('*') && glob !== '*' && prefix.startsWith(glob.slice(0, -1)) ? [{ server, tools: '*' }] : [];
    });
    if (kind === undefined || about.length === 0) return [];
    return [{ kind, text: `${place}: "${glob}": ${JSON.stringify(said)}`, file, about }];
  });
}

const ZED_KINDS: Readonly<Record<string, PermissionKind>> = { deny: 'deny', confirm: 'ask', allow: 'allow' };

function zedRules({ file, value, servers }: Settings): Permission[] {
  const tools = Object.entries(treeAt(value, 'agent', 'tool_permissions', 'tools') ?? {});
  const permissions = tools.flatMap(([key, said]): Permission[] => {
    const about = key.startsWith('mcp:') ? colonTools(key.slice(4), servers) : [];
    if (about.length === 0 || !isTree(said)) return [];
    const text = `agent.tool_permissions.tools: "${key}"`;
    const kind = typeof said.default === 'string' ? ZED_KINDS[said.default] : undefined;
    const hasPatterns = ['always_deny', 'always_confirm'].some((list) => list in said);
    const obstacle = 'it is about the arguments of a call';
    return [
      ...(kind === undefined ? [] : [{ kind, text, file, about }]),
      ...(hasPatterns ? [{ kind: 'deny' as const, text, file, about, obstacle }] : []),
    ];
  });
  const profiles = Object.entries(treeAt(value, 'agent', 'profiles') ?? {}).flatMap(([profile, said]) =>
    servers.flatMap((server): Permission[] => {
      const off = Object.entries(treeAt(said, 'context_servers', server, 'tools') ?? {}).filter(
        ([, on]) => on === false,
      );
      return off.map(([tool]) => ({
        kind: 'deny',
        text: `agent.profiles.${profile}.context_servers.${server}.tools.${tool}`,
        file,
        about: [{ server, tools: tool }],
        obstacle: 'it holds in one profile only',
      }));
    }),
  );
  return [...permissions, ...profiles];
}

const GOOSE_LISTS = [
  ['never_allow', 'deny'],
  ['ask_before', 'ask'],
  ['always_allow', 'allow'],
] as const;

function gooseRules({ file, value, servers }: Settings): Permission[] {
  return Object.entries(value).flatMap(([principal, lists]) =>
    GOOSE_LISTS.flatMap(([list, kind]) =>
      textsAt(isTree(lists) ? lists : {}, list).flatMap((text): Permission[] => {
        const about = servers.flatMap((server) => {
          const prefix = `${server}__`;
          return text.startsWith(prefix) ? [{ server, tools: text.slice(prefix.length) }] : [];
        });
        return about.length === 0 ? [] : [{ kind, text: `${principal}.${list}: "${text}"`, file, about }];
      }),
    ),
  );
}
