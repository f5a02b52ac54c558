// Editors and the assistants that live in them.

import { type ClientPlace, place } from './place.ts';

const CODE = 'APP/Code/User';

/** The programs that are built on VS Code, and the directories of their settings. */
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
