// A home directory of a test's own, as the room that edits configs sees it.

import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { CLIENT_TARGETS, type ClientTarget } from '../../src/editing/client-targets.ts';
import type { EditingHost } from '../../src/editing/editing-host.ts';
import { type InstallOptions, install } from '../../src/editing/install.ts';
import { uninstall } from '../../src/editing/uninstall.ts';
import { temporaryDir } from './temporary-dir.ts';

export const DIRECTLY: InstallOptions = { replace: false, dryRun: false, clientCommand: false, config: undefined };
export const REPLACING: InstallOptions = { ...DIRECTLY, replace: true };
export const UNDOING = { dryRun: false, clientCommand: false };

function targetOf(client: string): ClientTarget {
  const found = CLIENT_TARGETS.find((target) => target.client === client);
  if (found === undefined) throw new Error(`No target ${client}`);
  return found;
}

export class Home {
  readonly dir = temporaryDir();
  readonly ownConfig = join(this.dir, '.config/mcp-bridge/config.json');
  readonly host: EditingHost;

  constructor(changes: Partial<EditingHost> = {}) {
    const program = join(this.dir, 'opt/mcp-bridge.cjs');
    this.host = {
      platform: 'linux',
      homedir: this.dir,
      cwd: this.dir,
      environment: { HOME: this.dir, PATH: join(this.dir, 'bin') },
      node: '/usr/bin/node',
      program,
      now: () => new Date(0),
      ...changes,
    };
    this.write('opt/mcp-bridge.cjs', '');
  }

  path(name: string): string {
    return join(this.dir, name);
  }

  write(name: string, text: string | Buffer, mode = 0o644): string {
    const path = this.path(name);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text, { mode });
    return path;
  }

  /** Undefined if it is not there. */
  read(name: string): string | undefined {
    return existsSync(this.path(name)) ? readFileSync(this.path(name), 'utf8') : undefined;
  }

  json(name: string): unknown {
    return JSON.parse(this.read(name) ?? 'null');
  }

  install(client: string, options = DIRECTLY, host = this.host) {
    return install(targetOf(client), options, host);
  }

  uninstall(client: string, options = UNDOING, host = this.host) {
    return uninstall(targetOf(client), options, host);
  }
}

/** Where each client's file is in such a home. A client of client-targets.ts without a row fails round-trip.test.ts. */
export const CLIENT_FILES: Readonly<Record<string, string>> = {
  'claude-code': '.claude.json',
  'claude-desktop': '.config/Claude/claude_desktop_config.json',
  vscode: '.config/Code/User/mcp.json',
  cursor: '.cursor/mcp.json',
  windsurf: '.codeium/windsurf/mcp_config.json',
  antigravity: '.gemini/config/mcp_config.json',
  codex: '.codex/config.toml',
  'gemini-cli': '.gemini/settings.json',
  opencode: '.config/opencode/opencode.json',
  zed: '.config/zed/settings.json',
  'copilot-cli': '.copilot/mcp-config.json',
  'lm-studio': '.lmstudio/mcp.json',
  cline: '.cline/data/settings/cline_mcp_settings.json',
  goose: '.config/goose/config.yaml',
  kiro: '.kiro/settings/mcp.json',
};
