// What the config says of one client: what it sees unless it says so itself, which servers and tools it may use, and what
// it calls them. Sessions with the same settings share one object.

import type { ToolRule } from '../model/tool-rules.ts';

export interface ClientSettings {
  /** The program, such as `codex`, where the client says so or is known by its name. */
  readonly program: string | undefined;
  readonly view: string | undefined;
  readonly toolRules: readonly ToolRule[];
  /** Where the rules stand, for messages. */
  readonly place: string;
  /** Whether there is such a server for it. */
  sees(id: string): boolean;
  /** The id of the server that it calls so. */
  idOf(name: string): string;
  /** What it calls the server of this id. */
  nameOf(id: string): string;
}

/** Who a client says that it is. */
export interface ClientIdentity {
  /** `clientInfo.name`. */
  readonly name: string;
  /** What its config has it say: `connect --client NAME`. */
  readonly program: string | undefined;
}

export interface ClientSettingsSource {
  of(client: ClientIdentity): ClientSettings;
}

export const PLAIN_SETTINGS: ClientSettings = {
  program: undefined,
  view: undefined,
  toolRules: [],
  place: '',
  sees: () => true,
  idOf: (name) => name,
  nameOf: (id) => id,
};

// Which client program is behind a name that clients say of themselves. A program says it better itself
// (`connect --client NAME`): names change with versions.

const PROGRAMS: readonly (readonly [name: RegExp, program: string])[] = [
  [/^claude-code\b/i, 'claude-code'],
  [/^claude-ai$/i, 'claude-desktop'],
  [/^cursor\b/i, 'cursor'],
  [/^visual studio code\b|^vscode\b/i, 'vscode'],
  [/^windsurf\b/i, 'windsurf'],
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

/** Undefined for a name of none that is known. */
export function programNamed(name: string): string | undefined {
  return PROGRAMS.find(([pattern]) => pattern.test(name))?.[1];
}
