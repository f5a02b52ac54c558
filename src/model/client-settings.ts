// The config's settings for one client: its default view, its servers and tools, and its names for servers. Sessions
// with the same settings share one object.

import { anyOf } from '../util/glob.ts';
import type { ToolRule } from './tool-rules.ts';
import type { WantedToolset } from './toolset.ts';

export interface ClientSettings {
  /** The client program, such as `codex`, if the client names it or its `clientInfo.name` is known. */
  readonly program: string | undefined;
  readonly view: string | undefined;
  readonly toolRules: readonly ToolRule[];
  /** The place of the rules in the config, for messages. */
  readonly place: string;
  /** The tool set that the client asked for; undefined for all tools. */
  readonly toolset: WantedToolset | undefined;
  /** True if the client may see this server. */
  sees(id: string): boolean;
  /** The id of the server with this name for the client. */
  idOf(name: string): string;
  /** The client's name for the server with this id. */
  nameOf(id: string): string;
}

/** The identity that a client claims. */
export interface ClientIdentity {
  /** `clientInfo.name`. */
  readonly name: string;
  /** The program from the client's config: `connect --client NAME`. */
  readonly program: string | undefined;
  /** The name of its token, the only member that a client cannot invent. */
  readonly token: string | undefined;
  /** The directory that it works in; undefined if it does not say. */
  readonly cwd?: string | undefined;
}

export interface ClientSettingsSource {
  of(client: ClientIdentity): ClientSettings;
  /** The same settings with a tool set. Equal sets give the same object. */
  inToolset?(settings: ClientSettings, toolset: string): ClientSettings;
}

export const PLAIN_SETTINGS: ClientSettings = {
  program: undefined,
  view: undefined,
  toolRules: [],
  place: '',
  toolset: undefined,
  sees: () => true,
  idOf: (name) => name,
  nameOf: (id) => id,
};

const narrowedSettings = new WeakMap<ClientSettings, Map<string, ClientSettings>>();

/** The same settings, limited to these servers. Equal servers give the same object. */
export function narrowed(settings: ClientSettings, servers: readonly string[] | undefined): ClientSettings {
  if (servers === undefined) return settings;
  const byServers = narrowedSettings.get(settings) ?? new Map<string, ClientSettings>();
  narrowedSettings.set(settings, byServers);
  const key = JSON.stringify(servers);
  const known = byServers.get(key);
  if (known !== undefined) return known;
  const mayBeSeen = anyOf(servers); // a glob that cannot be kept matches nothing
  const result = { ...settings, sees: (id: string) => mayBeSeen(id) && settings.sees(id) };
  byServers.set(key, result);
  return result;
}

/** Client programs by the name in `clientInfo`. `connect --client NAME` is better: names change with versions. */
const PROGRAMS: readonly (readonly [name: RegExp, program: string])[] = [
  [/^claude-code\b/i, 'claude-code'],
  [/^claude-ai$/i, 'claude-desktop'],
  [/^cursor\b/i, 'cursor'],
  [/^visual studio code\b|^vscode\b/i, 'vscode'],
  [/^windsurf\b/i, 'windsurf'],
  [/^antigravity\b/i, 'antigravity'],
  [/^codex\b/i, 'codex'],
  [/^gemini-cli\b/i, 'gemini-cli'],
  [/^zed$/i, 'zed'],
  [/^opencode\b/i, 'opencode'],
  [/^(?:github-)?copilot-cli\b/i, 'copilot-cli'],
  [/^cline$/i, 'cline'],
  [/^goose\b/i, 'goose'],
  [/^kiro\b/i, 'kiro'],
  [/^lm-?studio\b/i, 'lm-studio'],
];

/** The program behind a client's name; undefined if the name is not known. */
export function programNamed(name: string): string | undefined {
  return PROGRAMS.find(([pattern]) => pattern.test(name))?.[1];
}
