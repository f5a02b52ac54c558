// Every format by its name.

import { CLAUDE_JSON, CLAUDE_SETTINGS, IGNORED, MANAGED, PROJECT_MCP_JSON } from './claude-formats.ts';
import { DEFINITIONS } from './definition-format.ts';
import type { Format, FormatName } from './format.ts';
import { DESKTOP_EXTENSION, GEMINI_EXTENSION } from './manifest-formats.ts';
import * as maps from './map-formats.ts';
import { AGENT_PLUGIN, PLUGIN } from './plugin-format.ts';
import { REGISTRY } from './registry-format.ts';

export const FORMATS: Readonly<Record<FormatName, Format>> = {
  'agent-plugin': AGENT_PLUGIN,
  amp: maps.AMP,
  'any-key': maps.ANY_KEY,
  bridge: maps.SETTINGS,
  'claude-json': CLAUDE_JSON,
  'claude-settings': CLAUDE_SETTINGS,
  codex: maps.CODEX,
  continue: maps.CONTINUE,
  copilot: maps.COPILOT,
  crush: maps.CRUSH,
  definitions: DEFINITIONS,
  'desktop-extension': DESKTOP_EXTENSION,
  devcontainer: maps.DEVCONTAINER,
  'gemini-extension': GEMINI_EXTENSION,
  goose: maps.GOOSE,
  ignored: IGNORED,
  librechat: maps.LIBRECHAT,
  managed: MANAGED,
  'mcp-servers': maps.MCP_SERVERS,
  opencode: maps.OPENCODE,
  plugin: PLUGIN,
  'project-mcp-json': PROJECT_MCP_JSON,
  registry: REGISTRY,
  servers: maps.SERVERS,
  settings: maps.SETTINGS,
  toml: maps.TOML,
  'vscode-settings': maps.VSCODE_SETTINGS,
  zed: maps.ZED,
};
