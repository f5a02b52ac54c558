// The tables of places where clients keep their definitions. `at` begins with the name of a base: `~` is the home
// directory, `P` the project, `XC` mostly ~/.config; the others are in bases.ts. A star in a segment matches any name
// part. Paths separated by bars are tried directory by directory.

import type { FormatName } from './formats.ts';
import type { Platform } from './host.ts';

export interface ClientPlace {
  readonly client: string;
  readonly at: string;
  readonly format: FormatName;
  /**
   * Default: `project` below a project's directory, else `user`. A star is replaced by what the path's star matched.
   */
  readonly scope?: string;
  readonly on?: readonly Platform[];
  /** Among places with the same word, only the first existing one is used. */
  readonly instead?: string;
}

type Detail = Omit<ClientPlace, 'client' | 'at' | 'format'>;

function place(client: string, at: string, format: FormatName, detail: Detail = {}): ClientPlace {
  return { client, at, format, ...detail };
}

// Read first, in the order that decides between equals.
export const FIRST_PLACES: readonly ClientPlace[] = [
  ...['json', 'jsonc'].map((ending) =>
    place('bridge', `P/mcp-bridge.config.${ending}`, 'bridge', { scope: 'dynamic', instead: 'bridge' }),
  ),
  ...['json', 'jsonc'].map((ending) =>
    place('bridge', `XC/mcp-bridge/config.${ending}`, 'bridge', { scope: 'dynamic', instead: 'bridge' }),
  ),
  place('seed-dir', '~/MCPs/*.json', 'definitions'),
  place('seed-dir', '~/.config/mcp/servers/*.json', 'definitions'),
  place('seed-dir', 'P/mcp-servers/*.json', 'definitions'),
  place('vscode', 'P/.vscode/mcp.json', 'servers', { scope: 'workspace' }),
  place('claude-code', 'CLAUDE_FILE', 'claude-json'),
  place('cursor', '~/.cursor/mcp.json', 'mcp-servers'),
  place('opencode-legacy', '~/.opencode.json', 'settings'),
  place('windsurf', '~/.codeium/windsurf/mcp_config.json', 'mcp-servers'),
];

// Claude Code, Claude Desktop and its extensions, and an administrator's settings for them. Plugins are listed in
// plugins.ts.
const DESKTOP_FILE = 'Claude/claude_desktop_config.json';
/** The directory that replaces %APPDATA% for the Store's package of Claude Desktop. */
const PACKAGED = 'LAD/Packages/Claude_*/LocalCache/Roaming';

export const MANAGED_SERVERS = 'CLAUDE_MANAGED/managed-mcp.json';

export const CLAUDE_PLACES: readonly ClientPlace[] = [
  place('claude-code', MANAGED_SERVERS, 'managed', { scope: 'enterprise' }),
  place('claude-code', 'P/.mcp.json', 'project-mcp-json'),
  place('claude-code', 'CLAUDE/settings.json', 'claude-settings'),
  place('claude-code', 'P/.claude/settings.json', 'ignored'),
  place('claude-code', 'P/.claude/settings.local.json', 'ignored'),
  place('claude-code', 'CLAUDE/.mcp.json', 'ignored'),
  place('claude-code', 'CLAUDE/mcp.json', 'ignored'),
  place('claude-code', 'P/.claude/.mcp.json', 'ignored'),
  place('claude-desktop', `${PACKAGED}/${DESKTOP_FILE}`, 'mcp-servers', { instead: 'claude-desktop' }),
  place('claude-desktop', `APP/${DESKTOP_FILE}`, 'mcp-servers', { instead: 'claude-desktop' }),
  place('claude-desktop', 'APP/Claude/Claude Extensions/*/manifest.json', 'desktop-extension', { scope: 'extension' }),
  place('claude-desktop', `${PACKAGED}/Claude/Claude Extensions/*/manifest.json`, 'desktop-extension', {
    scope: 'extension',
  }),
];

// Registries of running servers (docs/registry.md).
export const REGISTRY = 'registry';

export const REGISTRY_PLACES: readonly ClientPlace[] = [
  place(REGISTRY, 'XS/mcp-bridge/mcp_servers.json', 'registry'),
  place(REGISTRY, 'P/.mcp-bridge/mcp_servers.json', 'registry'),
  place(REGISTRY, 'P/.nisaba/mcp_servers.json', 'registry'),
];

// Clients that merge their files field by field, weakest first.
const each = (client: string, bases: readonly string[], names: readonly string[], detail = {}): ClientPlace[] =>
  bases.map((base) => place(client, `${base}/${names.join('|')}`, 'opencode', detail));

const below = (dir: string, names: readonly string[]): string[] => names.map((name) => `${dir}/${name}`);

const OPENCODE = ['opencode.json', 'opencode.jsonc'];
const KILO = ['kilo.json', 'kilo.jsonc'];
const LEGACY_KILO = 'APP/Code/User/globalStorage/kilocode.kilo-code/settings/mcp_settings.json';

export const LAYERED_PLACES: readonly ClientPlace[] = [
  ...each('opencode', ['XC'], below('opencode', ['config.json', ...OPENCODE])),
  place('opencode', 'OPENCODE_CONFIG', 'opencode'),
  ...each('opencode', ['UP'], OPENCODE),
  ...each('opencode', ['~'], below('.opencode', OPENCODE)),
  ...each('opencode', ['UP'], below('.opencode', OPENCODE)),
  ...each('opencode', ['OPENCODE_DIR'], OPENCODE),
  place('opencode', 'OPENCODE_CONFIG_CONTENT', 'opencode', { scope: 'dynamic' }),
  ...each('opencode', ['ETC', 'LIBRARY', 'PROGRAMDATA'], below('opencode', OPENCODE), { scope: 'enterprise' }),

  place('kilo', '~/.kilocode/cli/global/settings/mcp_settings.json', 'mcp-servers', { scope: 'user-legacy' }),
  place('kilo', LEGACY_KILO, 'mcp-servers', { scope: 'user-legacy' }),
  ...each('kilo', ['XC'], below('kilo', [...OPENCODE, ...KILO])),
  place('kilo', 'UP/.kilocode/mcp.json', 'mcp-servers'),
  ...each('kilo', ['UP'], [...KILO, ...below('.kilocode', KILO), ...below('.kilo', KILO)]),

  place('codex', 'ETC/codex/config.toml', 'codex', { scope: 'system' }),
  place('codex', 'PROGRAMDATA/OpenAI/Codex/config.toml', 'codex', { scope: 'system' }),
  place('codex', 'CODEX/config.toml', 'codex'),
  place('codex', 'UP/.codex/config.toml', 'codex'),
  place('codex', 'CODEX/managed_config.toml', 'codex', { scope: 'enterprise' }),
  place('codex', 'ETC/codex/managed_config.toml', 'codex', { scope: 'enterprise' }),
  place('codex', 'PROGRAMDATA/OpenAI/Codex/managed_config.toml', 'codex', { scope: 'enterprise' }),
];

// Terminal agents, and other programs.
const GEMINI_SYSTEM = ['ETC/gemini-cli', 'LIBRARY/GeminiCli', 'PROGRAMDATA/gemini-cli'];
const AMP_SYSTEM = ['ETC/ampcode', 'LIBRARY/ampcode', 'PROGRAMDATA/ampcode'];
const AMP_FILES = ['settings.json', 'settings.jsonc'];

const TERMINAL: readonly ClientPlace[] = [
  ...GEMINI_SYSTEM.map((dir) => place('gemini-cli', `${dir}/settings.json`, 'settings', { scope: 'enterprise' })),
  place('gemini-cli', 'GEMINI/settings.json', 'settings'),
  place('gemini-cli', 'P/.gemini/settings.json', 'settings'),
  ...GEMINI_SYSTEM.map((dir) => place('gemini-cli', `${dir}/system-defaults.json`, 'settings', { scope: 'system' })),
  place('gemini-cli', 'GEMINI/extensions/*/gemini-extension.json', 'gemini-extension', { scope: 'extension' }),
  place('antigravity', 'GEMINI/config/mcp_config.json', 'mcp-servers', { instead: 'antigravity' }),
  place('antigravity', 'GEMINI/antigravity/mcp_config.json', 'mcp-servers', {
    scope: 'user-legacy',
    instead: 'antigravity',
  }),
  place('antigravity', 'P/.agents/mcp_config.json', 'mcp-servers'),
  place('qwen', '~/.qwen/settings.json', 'settings'),
  place('qwen', 'P/.qwen/settings.json', 'settings'),
  place('goose', 'GOOSE/config/config.yaml', 'goose', { instead: 'goose' }),
  place('goose', 'XC/goose/config.yaml', 'goose', { instead: 'goose' }),
  place('goose', 'AS/Block/goose/config/config.yaml', 'goose', { instead: 'goose' }),
  place('goose', 'AD/Block/goose/config/config.yaml', 'goose', { instead: 'goose' }),
  place('copilot-cli', 'COPILOT/mcp-config.json', 'mcp-servers'),
  place('copilot-cli', 'UP/.mcp.json', 'project-mcp-json', { scope: 'workspace' }),
  place('copilot-cli', 'UP/.github/mcp.json', 'copilot', { scope: 'workspace' }),
  place('amazon-q', '~/.aws/amazonq/mcp.json', 'mcp-servers'),
  place('amazon-q', '~/.aws/amazonq/default.json', 'settings'),
  place('amazon-q', '~/.aws/amazonq/agents/default.json', 'settings'),
  place('amazon-q', '~/.aws/amazonq/cli-agents/*.json', 'settings', { scope: 'agent:*' }),
  place('amazon-q', 'P/.amazonq/mcp.json', 'mcp-servers'),
  place('amazon-q', 'P/.amazonq/cli-agents/*.json', 'settings'),
  place('warp', '~/.warp_cli/.mcp.json', 'any-key', { on: ['darwin'] }),
  place('warp', 'XC/warp-terminal/cli/.mcp.json', 'any-key', { on: ['linux'] }),
  place('warp', 'LAD/warp/Warp/config/cli/.mcp.json', 'any-key'),
  ...['.warp', '.agents'].map((dir) => place('warp', `~/${dir}/.mcp.json`, 'any-key')),
  ...['.warp', '.agents'].map((dir) => place('warp', `P/${dir}/.mcp.json`, 'any-key')),
  place('crush', 'CRUSH/crush.json', 'crush'),
  place('crush', 'XC/crush/crush.json', 'crush'),
  place('crush', 'LAD/crush/crush.json', 'crush'),
  place('crush', 'XD/crush/crush.json', 'crush'),
  place('crush', 'ETC/crush/crush.json', 'crush', { scope: 'system' }),
  place('crush', 'UP/.crush.json|crush.json', 'crush'),
  place('factory', '~/.factory/mcp.json', 'mcp-servers'),
  place('factory', 'P/.factory/mcp.json', 'mcp-servers'),
  ...AMP_SYSTEM.map((dir) => place('amp', `${dir}/managed-settings.json`, 'amp', { scope: 'enterprise' })),
  ...['~/.config/amp', 'AD/amp', 'UP/.amp'].flatMap((dir) =>
    AMP_FILES.map((file) => place('amp', `${dir}/${file}`, 'amp')),
  ),
  place('kimi', '~/.kimi-code/mcp.json', 'mcp-servers', { instead: 'kimi' }),
  place('kimi', '~/.kimi/mcp.json', 'mcp-servers', { scope: 'user-legacy', instead: 'kimi' }),
  place('codebuddy', '~/.codebuddy/.mcp.json', 'mcp-servers'),
  place('openhands', '~/.openhands/mcp.json', 'mcp-servers'),
  place('rovo', '~/.rovodev/mcp.json', 'mcp-servers'),
  place('grok-cli', '~/.grok/config.toml', 'toml'),
  place('grok-cli', 'P/.grok/config.toml', 'toml'),
  place('mistral-vibe', '~/.vibe/config.toml', 'toml'),
  place('mcporter', '~/.mcporter/mcporter.json', 'mcp-servers'),
  place('mcporter', 'P/config/mcporter.json', 'mcp-servers'),
  place('inspector', 'INSPECTOR_FILE', 'mcp-servers'),
  place('pi', '~/.config/mcp/mcp.json', 'mcp-servers'),
];

/**
 * Files of other clients that VS Code's agents read too. Those clients are listed above, so the servers count as
 * theirs.
 */
const READ_BY_CODE: readonly ClientPlace[] = [
  place('vscode', 'P/.mcp.json', 'any-key', { scope: 'workspace' }),
  place('vscode', 'COPILOT/mcp-config.json', 'mcp-servers'),
];

const PROGRAMS: readonly ClientPlace[] = [
  place('lm-studio', '~/.lmstudio/mcp.json', 'mcp-servers', { instead: 'lm-studio' }),
  place('lm-studio', '~/.cache/lm-studio/mcp.json', 'mcp-servers', { scope: 'user-legacy', instead: 'lm-studio' }),
  place('librechat', 'P/librechat.yaml', 'librechat'),
  place('jan', 'DATA/Jan/data/mcp_config.json', 'mcp-servers', { instead: 'jan' }),
  place('5ire', 'APP/5ire/mcp.json', 'mcp-servers'),
  place('witsy', 'APP/Witsy/settings.json', 'settings'),
  place('boltai', '~/.boltai/mcp.json', 'mcp-servers'),
];

export const AGENT_PLACES: readonly ClientPlace[] = [...TERMINAL, ...READ_BY_CODE, ...PROGRAMS];

// Editors and their assistants.
const CODE = 'APP/Code/User';

/** Programs based on VS Code, with the directories of their settings. */
const CODE_FAMILY: readonly (readonly [client: string, dir: string])[] = [
  ['vscodium', 'VSCodium'],
  ['cursor', 'Cursor'],
  ['windsurf', 'Windsurf'],
  ['trae', 'Trae'],
  ['antigravity', 'Antigravity'],
  ['kiro', 'Kiro'],
];

function codePlaces(client: string, dir: string): ClientPlace[] {
  return [
    place(client, `${dir}/mcp.json`, 'servers'),
    place(client, `${dir}/profiles/*/mcp.json`, 'servers', { scope: 'profile:*' }),
    place(client, `${dir}/settings.json`, 'vscode-settings', { scope: 'user-legacy' }),
  ];
}

const VS_CODE: readonly ClientPlace[] = [
  ...codePlaces('vscode', CODE),
  place('vscode', '~/.vscode-server/data/User/mcp.json', 'servers'),
  ...codePlaces('vscode-insiders', 'APP/Code - Insiders/User'),
  place('vscode-insiders', '~/.vscode-server-insiders/data/User/mcp.json', 'servers'),
  place('vscode', 'P/.vscode/settings.json', 'vscode-settings', { scope: 'workspace' }),
  place('vscode', 'P/.devcontainer/devcontainer.json', 'devcontainer', { scope: 'workspace' }),
  place('vscode', 'P/.devcontainer.json', 'devcontainer', { scope: 'workspace' }),
  ...CODE_FAMILY.map(([client, dir]) => place(client, `APP/${dir}/User/mcp.json`, 'any-key')),
];

const ON_WINDOWS = { on: ['win32'] } as const;

const VISUAL_STUDIO: readonly ClientPlace[] = [
  place('visual-studio', '~/.mcp.json', 'servers', ON_WINDOWS),
  place('visual-studio', 'P/.vs/mcp.json', 'servers', ON_WINDOWS),
  place('visual-studio', 'P/.mcp.json', 'servers', ON_WINDOWS),
  place('visual-studio', 'P/.vscode/mcp.json', 'servers', ON_WINDOWS),
  place('visual-studio', 'P/.cursor/mcp.json', 'any-key', ON_WINDOWS),
];

const CLINE_KIN: readonly ClientPlace[] = [
  place('cline', 'CLINE_FILE', 'mcp-servers', { instead: 'cline' }),
  place('cline', `${CODE}/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json`, 'mcp-servers', {
    scope: 'user-legacy',
    instead: 'cline',
  }),
  place('roo-code', `${CODE}/globalStorage/rooveterinaryinc.roo-cline/settings/mcp_settings.json`, 'mcp-servers'),
  place('roo-code', 'P/.roo/mcp.json', 'mcp-servers'),
];

export const EDITOR_PLACES: readonly ClientPlace[] = [
  ...VS_CODE,
  place('cursor', 'P/.cursor/mcp.json', 'mcp-servers'),
  ...VISUAL_STUDIO,
  place('windsurf', '~/.codeium/windsurf-next/mcp_config.json', 'mcp-servers'),
  place('windsurf', '~/.codeium/mcp_config.json', 'mcp-servers'),
  place('devin', '~/.config/devin/mcp_config.json', 'mcp-servers'),
  place('devin', 'AD/devin/mcp_config.json', 'mcp-servers'),
  place('devin', 'P/.devin/mcp_config.local.json', 'mcp-servers', { scope: 'local' }),
  place('devin', 'P/.devin/mcp_config.json', 'mcp-servers'),
  ...CLINE_KIN,
  place('zed', 'XC/zed/settings.json', 'zed', { on: ['linux', 'darwin'] }),
  place('zed', 'AD/Zed/settings.json', 'zed'),
  place('zed', 'P/.zed/settings.json', 'zed'),
  place('copilot-jetbrains', '~/.config/github-copilot/intellij/mcp.json', 'servers'),
  place('copilot-jetbrains', 'LAD/github-copilot/intellij/mcp.json', 'servers'),
  place('junie', '~/.junie/mcp/mcp.json', 'mcp-servers'),
  place('junie', 'P/.junie/mcp/mcp.json', 'mcp-servers'),
  place('jetbrains-ai', '~/.ai/mcp/mcp.json', 'mcp-servers'),
  place('jetbrains-ai', 'P/.ai/mcp/mcp.json', 'mcp-servers'),
  place('kiro', '~/.kiro/settings/mcp.json', 'mcp-servers'),
  place('kiro', '~/.kiro/agents/*.json', 'settings', { scope: 'agent:*' }),
  place('kiro', 'P/.kiro/settings/mcp.json', 'mcp-servers'),
  place('kiro', 'P/.kiro/agents/*.json', 'settings'),
  place('continue', '~/.continue/config.yaml', 'continue'),
  place('continue', '~/.continue/config.yml', 'continue'),
  ...['~', 'P'].flatMap((base) =>
    ['yaml', 'yml', 'json'].map((ending) => place('continue', `${base}/.continue/mcpServers/*.${ending}`, 'continue')),
  ),
  place('augment', '~/.augment/settings.json', 'settings'),
  place('trae', 'P/.trae/mcp.json', 'mcp-servers'),
  place('tabnine', '~/.tabnine/mcp_servers.json', 'mcp-servers'),
  place('tabnine', 'P/.tabnine/mcp_servers.json', 'mcp-servers'),
  place('jetbrains-air', 'P/.air/mcp.json', 'mcp-servers'),
];
