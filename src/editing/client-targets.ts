// The clients that the bridge can be installed in: for each, its file, the map in that file, and the shape of an entry.
// Discovery's bases say where the files are on a machine.

import { basesOf } from '../discovery/bases.ts';
import type { Syntax } from '../discovery/document.ts';
import type { Machine } from '../discovery/machine.ts';

/** The program that a client starts. */
export interface BridgeLaunch {
  readonly command: string;
  readonly args: readonly string[];
}

type EntryShape = (launch: BridgeLaunch) => Readonly<Record<string, unknown>>;

/** The URL that a client uses. */
export interface BridgeUrl {
  readonly url: string;
  /** Undefined if the client needs no token. */
  readonly token: string | undefined;
}

/** The shape of an entry in a client that takes URLs. */
interface UrlShape {
  /** True if the client also takes `unix://` URLs: then it needs no port and no token. */
  readonly takesSockets: boolean;
  readonly entry: (at: BridgeUrl) => Readonly<Record<string, unknown>>;
}

/** The client's own command for changing its file, if that is better than editing the file directly. */
export interface ClientCommand {
  readonly program: string;
  add(name: string, launch: BridgeLaunch): readonly string[];
  /** Undefined if the client has no such command. */
  readonly remove?: (name: string) => readonly string[];
}

/** The view that suits a client best, and the reason in words. */
export interface FittingView {
  readonly view: 'all' | 'discover';
  readonly why: string;
}

const SEARCHES: FittingView = { view: 'all', why: 'it finds tools among many by itself' };
const TAKES_FEW: FittingView = { view: 'discover', why: 'it takes only so many tools at once' };
const USUAL: FittingView = { view: 'discover', why: 'its model reads a few definitions instead of all' };

/** The view that suits a client. */
export function fittingViewOf({ fits = USUAL }: ClientTarget): FittingView {
  return fits;
}

export interface ClientTarget {
  readonly client: string;
  readonly title: string;
  /** The bridge uses the first file that exists; if none does, it makes the first of all. */
  readonly files: readonly string[];
  /** Paths that exist if the client is installed. */
  readonly signs: readonly string[];
  /** Undefined for the view that suits most clients. */
  readonly fits?: FittingView;
  readonly syntax: Syntax;
  readonly container: readonly string[];
  readonly entry: EntryShape;
  /** Undefined for a client that can only start programs. */
  readonly byUrl?: UrlShape;
  readonly command?: ClientCommand;
}

export const ENTRY_NAME = 'mcp-bridge';

const plain: EntryShape = ({ command, args }) => ({ command, args });
const typed: EntryShape = (launch) => ({ type: 'stdio', ...plain(launch) });

/** Builds the entry, under the names that most clients use for its members. */
function urlShape(more: object, names: { readonly url?: string; readonly headers?: string } = {}): UrlShape {
  const { url: urlKey = 'url', headers: headersKey = 'headers' } = names;
  return {
    takesSockets: false,
    entry: ({ url, token }) => ({ ...more, [urlKey]: url, ...headersWith(token, headersKey) }),
  };
}

function headersWith(token: string | undefined, key: string): object {
  return token === undefined ? {} : { [key]: { Authorization: `Bearer ${token}` } };
}

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
    fits: SEARCHES,
    title: 'Claude Code',
    files: ['CLAUDE_FILE'],
    signs: ['CLAUDE'],
    entry: typed,
    command: CLAUDE,
    byUrl: urlShape({ type: 'http' }),
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
    byUrl: { ...urlShape({ type: 'http' }), takesSockets: true },
  },
  {
    ...JSON_MAP,
    client: 'cursor',
    fits: TAKES_FEW,
    title: 'Cursor',
    files: ['~/.cursor/mcp.json'],
    signs: ['~/.cursor'],
    byUrl: urlShape({}),
  },
  {
    ...JSON_MAP,
    client: 'windsurf',
    fits: TAKES_FEW,
    title: 'Windsurf',
    files: ['~/.codeium/windsurf/mcp_config.json'],
    signs: ['~/.codeium/windsurf'],
    byUrl: urlShape({}, { url: 'serverUrl' }),
  },
  {
    ...JSON_MAP,
    client: 'antigravity',
    fits: TAKES_FEW,
    title: 'Antigravity',
    files: ['GEMINI/config/mcp_config.json', 'GEMINI/antigravity/mcp_config.json'],
    signs: ['GEMINI/antigravity', 'GEMINI/config/mcp_config.json'],
    byUrl: urlShape({}, { url: 'serverUrl' }),
  },
  {
    client: 'codex',
    fits: SEARCHES,
    title: 'Codex',
    files: ['CODEX/config.toml'],
    signs: ['CODEX'],
    syntax: 'toml',
    container: ['mcp_servers'],
    entry: plain,
    command: CODEX,
    byUrl: urlShape({}, { headers: 'http_headers' }),
  },
  {
    ...JSON_MAP,
    client: 'gemini-cli',
    title: 'Gemini CLI',
    files: ['GEMINI/settings.json'],
    signs: ['GEMINI'],
    command: GEMINI,
    byUrl: urlShape({}, { url: 'httpUrl' }),
  },
  {
    client: 'opencode',
    title: 'OpenCode',
    files: ['XC/opencode/opencode.json', 'XC/opencode/opencode.jsonc', 'XC/opencode/config.json'],
    signs: ['XC/opencode'],
    syntax: 'json',
    container: ['mcp'],
    entry: ({ command, args }) => ({ type: 'local', command: [command, ...args], enabled: true }),
    byUrl: urlShape({ type: 'remote', enabled: true, oauth: false }),
  },
  {
    client: 'zed',
    title: 'Zed',
    files: ['AD/Zed/settings.json', 'XC/zed/settings.json'],
    signs: ['AD/Zed', 'XC/zed'],
    syntax: 'json',
    container: ['context_servers'],
    entry: (launch) => ({ source: 'custom', ...plain(launch), env: {} }),
    byUrl: urlShape({}),
  },
  {
    ...JSON_MAP,
    client: 'copilot-cli',
    title: 'Copilot CLI',
    files: ['COPILOT/mcp-config.json'],
    signs: ['COPILOT'],
    entry: (launch) => ({ type: 'local', ...plain(launch), tools: ['*'] }),
    command: COPILOT,
    byUrl: urlShape({ type: 'http', tools: ['*'] }),
  },
  {
    ...JSON_MAP,
    client: 'lm-studio',
    title: 'LM Studio',
    files: ['~/.lmstudio/mcp.json', '~/.cache/lm-studio/mcp.json'],
    signs: ['~/.lmstudio', '~/.cache/lm-studio'],
    byUrl: urlShape({}),
  },
  {
    ...JSON_MAP,
    client: 'cline',
    title: 'Cline',
    files: ['CLINE_FILE', 'APP/Code/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json'],
    signs: ['~/.cline', 'APP/Code/User/globalStorage/saoudrizwan.claude-dev'],
    byUrl: urlShape({ type: 'streamableHttp' }),
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
    byUrl: urlShape(
      { name: ENTRY_NAME, type: 'streamable_http', enabled: true, envs: {}, timeout: 300 },
      { url: 'uri' },
    ),
  },
  {
    ...JSON_MAP,
    client: 'kiro',
    title: 'Kiro',
    files: ['~/.kiro/settings/mcp.json'],
    signs: ['~/.kiro'],
    byUrl: urlShape({}),
  },
];

/** The paths of these places on this machine; leaves out places that its platform does not have. */
export function pathsOf(places: readonly string[], machine: Machine): string[] {
  const bases = basesOf(machine);
  return places.flatMap((place) => {
    const [base = '', ...rest] = place.split('/');
    return (bases.get(base)?.dirs ?? []).slice(0, 1).map((dir) => machine.path.join(dir, ...rest));
  });
}
