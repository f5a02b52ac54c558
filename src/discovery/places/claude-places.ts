// Claude Code, Claude Desktop and its extensions, and what an administrator has set for them. Plugins are found through
// their own list (claude-plugins.ts).

import { type ClientPlace, place } from './place.ts';

const DESKTOP_FILE = 'Claude/claude_desktop_config.json';
/** Where the Store's package of Claude Desktop really keeps what it believes to be in %APPDATA%. */
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
