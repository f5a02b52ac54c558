// The base directories for the tables of places, on each platform. A base that a platform lacks has no directories, so
// its places do not exist there.

import { type Machine, projectDirs } from './machine.ts';

export interface Base {
  readonly dirs: readonly string[];
  /** True if the project's author may have written the files there. */
  readonly isProject?: boolean;
}

const WITHIN_PROJECT = new Set(['P', 'UP']);

export function basesOf(machine: Machine): ReadonlyMap<string, Base> {
  const dirs: Record<string, readonly (string | undefined)[]> = {
    ...userDirs(machine),
    ...systemDirs(machine),
    ...relocatedDirs(machine),
    /** The working directory, and the root of its project. */
    P: [...new Set([machine.cwd, machine.root])],
    /** Both of them, and every directory in between. */
    UP: projectDirs(machine),
  };
  return new Map(
    Object.entries(dirs).map(([name, found]) => [
      name,
      { dirs: found.filter((dir) => dir !== undefined), isProject: WITHIN_PROJECT.has(name) },
    ]),
  );
}

type Dirs = Record<string, readonly (string | undefined)[]>;

const RELOCATING = [
  ...[
    'XDG_CONFIG_HOME',
    'XDG_DATA_HOME',
    'XDG_STATE_HOME',
    'CLAUDE_CODE_PLUGIN_CACHE_DIR',
    'CLAUDE_CONFIG_DIR',
    'CLINE_DATA_DIR',
    'CLINE_DIR',
    'CLINE_MCP_SETTINGS_PATH',
    'CODEX_HOME',
  ],
  ...['COPILOT_HOME', 'CRUSH_GLOBAL_CONFIG', 'GEMINI_CLI_HOME', 'GOOSE_PATH_ROOT', 'MCP_CATALOG_PATH'],
  ...['OPENCODE_CONFIG', 'OPENCODE_CONFIG_DIR'],
];

/**
 * Variables whose value is a relative path. They are ignored: the place would differ in each repository and hold
 * whatever its author wants, although definitions found there count as the user's own.
 */
export function relativeVariables({ path, env }: Machine): string[] {
  return RELOCATING.filter((name) => env(name) && !path.isAbsolute(env(name) ?? ''));
}

function absoluteIn({ path, env }: Machine, name: string): string | undefined {
  const value = env(name);
  return value && path.isAbsolute(value) ? path.resolve(value) : undefined;
}

function userDirs(machine: Machine): Dirs {
  const { platform, path, home, env } = machine;
  const config = absoluteIn(machine, 'XDG_CONFIG_HOME') ?? path.join(home, '.config');
  const data = absoluteIn(machine, 'XDG_DATA_HOME') ?? path.join(home, '.local', 'share');
  const support = platform === 'darwin' ? path.join(home, 'Library', 'Application Support') : undefined;
  const roaming = platform === 'win32' ? env('APPDATA') || path.join(home, 'AppData', 'Roaming') : undefined;
  const local = platform === 'win32' ? env('LOCALAPPDATA') || path.join(home, 'AppData', 'Local') : undefined;
  return {
    '~': [home],
    /** XDG's directory for configs, which some clients use on all platforms. */
    XC: [config],
    /** XDG's directory for state. */
    XS: [absoluteIn(machine, 'XDG_STATE_HOME') ?? path.join(home, '.local', 'state')],
    /** Application Support of macOS; AppData/Roaming and AppData/Local of Windows. */
    AS: [support],
    AD: [roaming],
    LAD: [local],
    /** The directory in which programs of this platform keep settings, and the one for data. */
    APP: [roaming ?? support ?? config],
    DATA: [roaming ?? support ?? data],
    /** XDG's directory for data. */
    XD: [platform === 'win32' ? undefined : data],
  };
}

function systemDirs({ platform, env }: Machine): Dirs {
  const onWindows = platform === 'win32';
  return {
    ETC: [onWindows ? undefined : '/etc'],
    LIBRARY: [platform === 'darwin' ? '/Library/Application Support' : undefined],
    PROGRAMDATA: [onWindows ? env('ProgramData') || 'C:\\ProgramData' : undefined],
    // Not from the environment: otherwise a user could redirect it and escape the administrator.
    CLAUDE_MANAGED: [
      {
        linux: '/etc/claude-code',
        darwin: '/Library/Application Support/ClaudeCode',
        win32: 'C:\\Program Files\\ClaudeCode',
      }[platform],
    ],
    COPILOT_MANAGED: [
      {
        linux: '/etc/github-copilot',
        darwin: '/Library/Application Support/GitHubCopilot',
        win32: 'C:\\Program Files\\GitHubCopilot',
      }[platform],
    ],
  };
}

/** Bases that environment variables can move. */
function relocatedDirs(machine: Machine): Dirs {
  const { path, home } = machine;
  const named = (name: string): string | undefined => absoluteIn(machine, name);
  const inHome = (...names: string[]): string => path.join(home, ...names);
  const clineFile = 'cline_mcp_settings.json';
  const clineData = named('CLINE_DATA_DIR') ?? path.join(named('CLINE_DIR') ?? inHome('.cline'), 'data');
  return {
    CLAUDE: [named('CLAUDE_CONFIG_DIR') ?? inHome('.claude')],
    CLAUDE_PLUGINS: [
      named('CLAUDE_CODE_PLUGIN_CACHE_DIR') ?? path.join(named('CLAUDE_CONFIG_DIR') ?? inHome('.claude'), 'plugins'),
    ],
    CLAUDE_FILE: [path.join(named('CLAUDE_CONFIG_DIR') ?? home, '.claude.json')],
    CLINE_FILE: [named('CLINE_MCP_SETTINGS_PATH') ?? path.join(clineData, 'settings', clineFile)],
    CODEX: [named('CODEX_HOME') ?? inHome('.codex')],
    COPILOT: [named('COPILOT_HOME') ?? inHome('.copilot')],
    CRUSH: [named('CRUSH_GLOBAL_CONFIG')],
    GEMINI: [path.join(named('GEMINI_CLI_HOME') ?? home, '.gemini')],
    GOOSE: [named('GOOSE_PATH_ROOT')],
    INSPECTOR_FILE: [named('MCP_CATALOG_PATH') ?? inHome('.mcp-inspector', 'mcp.json')],
    OPENCODE_CONFIG: [named('OPENCODE_CONFIG')],
    OPENCODE_DIR: [named('OPENCODE_CONFIG_DIR')],
  };
}
