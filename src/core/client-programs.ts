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
