// How clients differ in the meaning of their config's words. A client without a row is read leniently, as most are.

import type { DialectName } from './dialects.ts';

export interface ClientTraits {
  readonly dialect: DialectName;
  /** The unit of `timeout`. */
  readonly timeoutUnit: 'ms' | 's';
  /** A smaller timeout is taken for a mistake and ignored. */
  readonly leastTimeoutMs: number;
  /** The transport of a `url` without a type. */
  readonly untypedUrl: 'auto' | 'sse' | 'http';
  /** True if the client's own documentation shows URLs without a type, so there is nothing to advise. */
  readonly isUrlBare: boolean;
  /** How an entry with both a command and a URL is read. */
  readonly both: 'command' | 'url' | 'invalid';
  /** True if files are merged field by field. */
  readonly isLayered: boolean;
  /** True if equal names in the user's and the project's files mean two servers. */
  readonly isListedPerFile: boolean;
  /** True if its parser accepts no comments. */
  readonly isStrict: boolean;
  /** Names that it ignores. */
  readonly reserved: readonly string[];
  readonly names: RegExp | undefined;
}

const DEFAULT: ClientTraits = {
  dialect: 'none',
  timeoutUnit: 'ms',
  leastTimeoutMs: 0,
  untypedUrl: 'auto',
  isUrlBare: false,
  both: 'command',
  isLayered: false,
  isListedPerFile: false,
  isStrict: false,
  reserved: [],
  names: undefined,
};

const CODE: Partial<ClientTraits> = { dialect: 'vscode', isListedPerFile: true };
const LAYERED: Partial<ClientTraits> = { isLayered: true };

const TRAITS: Readonly<Record<string, Partial<ClientTraits>>> = {
  'seed-dir': { dialect: 'braces' },
  override: { dialect: 'braces' },
  source: { dialect: 'braces' },
  bridge: { dialect: 'bridge' },
  'claude-code': {
    dialect: 'claude',
    leastTimeoutMs: 1000,
    isStrict: true,
    reserved: ['workspace', 'claude-in-chrome', 'computer-use', 'Claude Preview', 'Claude Browser'],
  },
  'claude-desktop': { dialect: 'manifest', isStrict: true },
  vscode: CODE,
  'vscode-insiders': CODE,
  vscodium: CODE,
  'visual-studio': { dialect: 'vscode', isUrlBare: true },
  'copilot-jetbrains': { dialect: 'vscode', isStrict: true },
  cursor: { dialect: 'cursor', isUrlBare: true },
  windsurf: { dialect: 'windsurf', isUrlBare: true },
  cline: { dialect: 'env-colon', timeoutUnit: 's', untypedUrl: 'sse' },
  'roo-code': { dialect: 'env-colon', timeoutUnit: 's' },
  zed: { timeoutUnit: 's', isUrlBare: true },
  opencode: LAYERED,
  kilo: LAYERED,
  codex: { ...LAYERED, untypedUrl: 'http', both: 'invalid', names: /^[a-zA-Z0-9_-]+$/ },
  'gemini-cli': { dialect: 'gemini', both: 'url' },
  qwen: { dialect: 'gemini', both: 'url', untypedUrl: 'sse' },
  goose: { dialect: 'goose', timeoutUnit: 's' },
  continue: { dialect: 'continue' },
  'copilot-cli': { dialect: 'copilot' },
  'amazon-q': { dialect: 'amazon-q' },
  kiro: { dialect: 'braces' },
  warp: { dialect: 'warp', isUrlBare: true },
  factory: { dialect: 'braces' },
  amp: { dialect: 'plain-braces', isUrlBare: true },
  antigravity: { both: 'url', isUrlBare: true },
  'lm-studio': { isUrlBare: true },
  crush: { dialect: 'crush', timeoutUnit: 's' },
  librechat: { untypedUrl: 'sse' },
  'agent-plugin': { dialect: 'agent-plugin' },
  registry: { isListedPerFile: true },
};

const COMPLETE = new Map(Object.entries(TRAITS).map(([client, traits]) => [client, { ...DEFAULT, ...traits }]));

export function traitsOf(client: string): ClientTraits {
  return COMPLETE.get(client) ?? DEFAULT;
}
