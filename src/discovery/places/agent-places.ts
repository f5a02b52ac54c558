// Agents in a terminal, and programs of their own.

import { type ClientPlace, place } from './place.ts';

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

/** VS Code's agents read what others have; whose it is, is said above. */
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
