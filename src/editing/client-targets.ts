// The clients that the bridge can be put into: which file of each, which map in it, and what an entry looks like there.
// Where the files are on a machine is said by discovery's bases.

import { basesOf } from '../discovery/bases.ts';
import type { Syntax } from '../discovery/document.ts';
import type { Machine } from '../discovery/machine.ts';

/** The program that a client is to start. */
export interface BridgeLaunch {
  readonly command: string;
  readonly args: readonly string[];
}

type EntryShape = (launch: BridgeLaunch) => Readonly<Record<string, unknown>>;

/** The client's own command for changing its file, where that is better than changing it behind its back. */
export interface ClientCommand {
  readonly program: string;
  add(name: string, launch: BridgeLaunch): readonly string[];
  /** Undefined where it has none. */
  readonly remove?: (name: string) => readonly string[];
}

export interface ClientTarget {
  readonly client: string;
  readonly title: string;
  /** The first that exists is used; if none does, the first of all is made. */
  readonly files: readonly string[];
  /** Paths that exist where the client is installed. */
  readonly signs: readonly string[];
  readonly syntax: Syntax;
  readonly container: readonly string[];
  readonly entry: EntryShape;
  readonly command?: ClientCommand;
}

export const ENTRY_NAME = 'mcp-bridge';

const plain: EntryShape = ({ command, args }) => ({ command, args });
const typed: EntryShape = (launch) => ({ type: 'stdio', ...plain(launch) });

const CLAUDE: ClientCommand = {
  program: 'claude',
  add: (name, launch) => ['mcp', 'add-json', name, JSON.stringify(typed(launch)), '--scope', 'user'],
  remove: (name) => ['mcp', 'remove', name, '--scope', 'user'],
};
const CODE: ClientCommand = {
  program: 'code',
  add: (name, launch) => ['--add-mcp', JSON.stringify({ name, ...typed(launch) })],
};
const CODEX: ClientCommand = {
  program: 'codex',
  add: (name, { command, args }) => ['mcp', 'add', name, '--', command, ...args],
  remove: (name) => ['mcp', 'remove', name],
};
const GEMINI: ClientCommand = {
  program: 'gemini',
  add: (name, { command, args }) => ['mcp', 'add', '-s', 'user', name, command, ...args],
  remove: (name) => ['mcp', 'remove', '-s', 'user', name],
};
const COPILOT: ClientCommand = {
  program: 'copilot',
  add: (name, { command, args }) => ['mcp', 'add', name, '--', command, ...args],
  remove: (name) => ['mcp', 'remove', name],
};

const JSON_MAP = { syntax: 'json', container: ['mcpServers'], entry: plain } as const;

export const CLIENT_TARGETS: readonly ClientTarget[] = [
  {
    ...JSON_MAP,
    client: 'claude-code',
    title: 'Claude Code',
    files: ['CLAUDE_FILE'],
    signs: ['CLAUDE'],
    entry: typed,
    command: CLAUDE,
  },
  {
    ...JSON_MAP,
    client: 'claude-desktop',
    title: 'Claude Desktop',
    files: ['APP/Claude/claude_desktop_config.json'],
    signs: ['APP/Claude'],
  },
  {
    ...JSON_MAP,
    client: 'vscode',
    title: 'VS Code',
    files: ['APP/Code/User/mcp.json'],
    signs: ['APP/Code'],
    container: ['servers'],
    entry: typed,
    command: CODE,
  },
  { ...JSON_MAP, client: 'cursor', title: 'Cursor', files: ['~/.cursor/mcp.json'], signs: ['~/.cursor'] },
  {
    ...JSON_MAP,
    client: 'windsurf',
    title: 'Windsurf',
    files: ['~/.codeium/windsurf/mcp_config.json'],
    signs: ['~/.codeium/windsurf'],
  },
  {
    client: 'codex',
    title: 'Codex',
    files: ['CODEX/config.toml'],
    signs: ['CODEX'],
    syntax: 'toml',
    container: ['mcp_servers'],
    entry: plain,
    command: CODEX,
  },
  {
    ...JSON_MAP,
    client: 'gemini-cli',
    title: 'Gemini CLI',
    files: ['GEMINI/settings.json'],
    signs: ['GEMINI'],
    command: GEMINI,
  },
  {
    client: 'opencode',
    title: 'OpenCode',
    files: ['XC/opencode/opencode.json', 'XC/opencode/opencode.jsonc', 'XC/opencode/config.json'],
    signs: ['XC/opencode'],
    syntax: 'json',
    container: ['mcp'],
    entry: ({ command, args }) => ({ type: 'local', command: [command, ...args], enabled: true }),
  },
  {
    client: 'zed',
    title: 'Zed',
    files: ['AD/Zed/settings.json', 'XC/zed/settings.json'],
    signs: ['AD/Zed', 'XC/zed'],
    syntax: 'json',
    container: ['context_servers'],
    entry: (launch) => ({ source: 'custom', ...plain(launch), env: {} }),
  },
  {
    ...JSON_MAP,
    client: 'copilot-cli',
    title: 'Copilot CLI',
    files: ['COPILOT/mcp-config.json'],
    signs: ['COPILOT'],
    entry: (launch) => ({ type: 'local', ...plain(launch), tools: ['*'] }),
    command: COPILOT,
  },
  {
    ...JSON_MAP,
    client: 'lm-studio',
    title: 'LM Studio',
    files: ['~/.lmstudio/mcp.json', '~/.cache/lm-studio/mcp.json'],
    signs: ['~/.lmstudio', '~/.cache/lm-studio'],
  },
  {
    ...JSON_MAP,
    client: 'cline',
    title: 'Cline',
    files: ['CLINE_FILE', 'APP/Code/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json'],
    signs: ['~/.cline', 'APP/Code/User/globalStorage/saoudrizwan.claude-dev'],
  },
  {
    client: 'goose',
    title: 'Goose',
    files: [
      'GOOSE/config/config.yaml',
      'AD/Block/goose/config/config.yaml',
      'XC/goose/config.yaml',
      'AS/Block/goose/config/config.yaml',
    ],
    signs: ['GOOSE', 'AD/Block/goose', 'XC/goose', 'AS/Block/goose'],
    syntax: 'yaml',
    container: ['extensions'],
    entry: ({ command, args }) => ({
      name: ENTRY_NAME,
      type: 'stdio',
      enabled: true,
      cmd: command,
      args,
      envs: {},
      timeout: 300,
    }),
  },
  { ...JSON_MAP, client: 'kiro', title: 'Kiro', files: ['~/.kiro/settings/mcp.json'], signs: ['~/.kiro'] },
];

/** The paths of these places on this machine; those that its platform does not have are left out. */
export function pathsOf(places: readonly string[], machine: Machine): string[] {
  const bases = basesOf(machine);
  return places.flatMap((place) => {
    const [base = '', ...rest] = place.split('/');
    return (bases.get(base)?.dirs ?? []).slice(0, 1).map((dir) => machine.path.join(dir, ...rest));
  });
}
