// Where definitions are looked for first, in the order that decides among equals.

import { type ClientPlace, place } from './place.ts';

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
