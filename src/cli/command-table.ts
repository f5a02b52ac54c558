// All commands in one table: what each takes and does, and examples. The parser, help, completion, usage errors and the
// man page read it; nothing about a command is declared elsewhere. A row loads its command's module only to run it.

import { type Command, NAMES, row, SHELLS } from './command.ts';
import * as options from './options.ts';

/** Commands of two words, by the first word, with the entry in the overview that stands for all of them. */
export const PAIRS: Readonly<Record<string, { readonly summary: string; readonly needs: string }>> = {
  config: {
    summary: 'Show which config file applies, and what is wrong with it',
    needs: 'mcp-bridge config check, mcp-bridge config path, or mcp-bridge config synonym',
  },
  policy: { summary: 'Show which rule allows or blocks a server', needs: 'mcp-bridge policy explain NAME' },
};

const SERVER = { name: 'server', describe: 'The server', completes: 'server' } as const;
const NEEDED_SERVER = { ...SERVER, isNeeded: true } as const;
const TOOL = { name: 'tool', describe: 'The tool', completes: 'tool', isNeeded: true } as const;
const SERVERS = { name: 'names', describe: 'The servers', completes: 'server', isMany: true } as const;
const CLIENTS = { name: 'client', describe: 'The clients', completes: 'program', isMany: true } as const;
const DEFINITION = 'A name, an id, an alias, or CLIENT:NAME';
const PENDING = { name: 'names', describe: DEFINITION, completes: 'pending', isMany: true } as const;
const PAIRS_OF_ARGUMENTS = { name: 'arguments', describe: 'KEY=VALUE, or KEY:=JSON', isMany: true } as const;
const WHAT_TO_DO = 'What to do';

export const COMMANDS: Readonly<Record<string, Command>> = {
  servers: row({
    group: 'Every day',
    summary: 'Show the servers that the bridge offers',
    words: [],
    options: options.SERVERS,
    hasJsonErrors: true,
    examples: ['servers', 'servers --running'],
    run: async (values, host) => (await import('./commands/servers.ts')).servers(values, host),
  }),
  tools: row({
    group: 'Every day',
    summary: 'Show the tools of a server, or of all, and which have changed',
    words: [
      SERVER,
      { name: 'tools', describe: 'With --changed or --accept: only these', completes: 'tool', isMany: true },
    ],
    options: options.TOOLS,
    hasJsonErrors: true,
    examples: ['tools', 'tools files', 'tools --changed', 'tools files --accept'],
    run: async (values, host) => (await import('./commands/tools.ts')).tools(values, host),
  }),
  search: row({
    group: 'Every day',
    summary: 'Find tools of all servers by what they do',
    words: [{ name: 'words', describe: 'What you want to do', isMany: true }],
    options: options.SEARCH,
    takesLine: true,
    hasJsonErrors: true,
    examples: ['search create an issue', 'search --server files --limit 3 read text'],
    run: async ({ words = [], ...values }, host, line = []) =>
      (await import('./commands/search.ts')).search({ ...values, words: [...words, ...line] }, host),
  }),
  describe: row({
    group: 'Every day',
    summary: 'Show what a tool does and takes, and how to call it',
    words: [NEEDED_SERVER, TOOL],
    options: options.DESCRIBE,
    needs: ['SERVER TOOL', 'a server and one of its tools'],
    hasJsonErrors: true,
    examples: ['describe files read_file'],
    run: async (values, host) => (await import('./commands/describe.ts')).describe(values, host),
  }),
  types: row({
    group: 'Every day',
    summary: 'Print TypeScript declarations of tools, for programs in code mode',
    words: [SERVERS],
    options: options.DESCRIBE,
    hasJsonErrors: true,
    examples: ['types', 'types files'],
    run: async (values, host) => (await import('./commands/types.ts')).types(values, host),
  }),
  call: row({
    group: 'Every day',
    summary: 'Call a tool',
    words: [NEEDED_SERVER, TOOL, { ...PAIRS_OF_ARGUMENTS, completes: 'file' }],
    options: options.CALL,
    needs: ['SERVER TOOL', 'a server and one of its tools'],
    takesLine: true,
    hasJsonErrors: true,
    examples: [
      'call files read_file path=notes.txt',
      'call files read_many \'paths:=["a.txt","b.txt"]\'',
      'call camera take_picture --out picture.png',
    ],
    run: async ({ arguments: pairs = [], ...values }, host, line = []) =>
      (await import('./commands/call.ts')).call({ ...values, arguments: [...pairs, ...line] }, host),
  }),
  resources: row({
    group: 'Every day',
    summary: 'List the resources of servers, or read one',
    words: [
      { name: 'action', describe: WHAT_TO_DO, choices: ['list', 'read'], isNeeded: true },
      { name: 'uri', describe: 'The URI of a resource' },
    ],
    options: options.RESOURCES,
    needs: ['list|read', 'what to do'],
    hasJsonErrors: true,
    examples: ['resources list', 'resources read file:///notes.txt', 'resources list --server docs'],
    run: async (values, host) => (await import('./commands/resources.ts')).resources(values, host),
  }),
  prompts: row({
    group: 'Every day',
    summary: 'List the prompts of servers, or fill one in',
    words: [
      { name: 'action', describe: WHAT_TO_DO, choices: ['list', 'get'], isNeeded: true },
      { name: 'name', describe: 'The prompt' },
      { ...PAIRS_OF_ARGUMENTS, describe: 'KEY=VALUE' },
    ],
    options: options.PROMPTS,
    needs: ['list|get', 'what to do'],
    hasJsonErrors: true,
    examples: ['prompts list', 'prompts get docs__summary topic=sockets'],
    run: async (values, host) => (await import('./commands/prompts.ts')).prompts(values, host),
  }),
  refresh: row({
    group: 'Every day',
    summary: 'Ask servers again for their tools, resources and prompts',
    words: [{ ...SERVERS, name: 'servers', describe: 'The servers; without one, all are asked' }],
    options: options.REFRESH,
    hasJsonErrors: true,
    examples: ['refresh', 'refresh files'],
    run: async (values, host) => (await import('./commands/refresh.ts')).refresh(values, host),
  }),
  status: row({
    group: 'Every day',
    summary: 'Show the daemon and its servers',
    words: [],
    options: options.STATUS,
    examples: ['status', 'status --json', 'status --watch'],
    run: async (values, host) =>
      values.watch === true
        ? (await import('./commands/top.ts')).watch(values, host)
        : (await import('./commands/daemon-commands.ts')).status(values, host),
  }),
  top: row({
    group: 'Every day',
    summary: 'Watch the daemon: its servers, clients and calls',
    words: [],
    options: options.TOP,
    examples: ['top', 'top --interval 5 >> bridge.txt'],
    run: async (values, host) => (await import('./commands/top.ts')).top(values, host),
  }),
  ui: row({
    group: 'Every day',
    summary: 'Open the dashboard in the browser',
    words: [],
    options: options.UI,
    examples: ['ui', 'ui --write', 'ui --no-open'],
    run: async (values, host) => (await import('./commands/ui.ts')).ui(values, host),
  }),
  clients: row({
    group: 'Every day',
    summary: 'Show which clients are connected',
    words: [],
    options: options.LISTING,
    examples: ['clients'],
    run: async (values, host) => (await import('./commands/daemon-commands.ts')).clients(values, host),
  }),
  hosts: row({
    group: 'Every day',
    summary: 'Show the other hosts, what they offer, and what is wrong',
    words: [],
    options: options.HOSTS,
    examples: ['hosts', 'hosts --json', 'hosts --make-buckets --config administrator.json'],
    run: async (values, host) => (await import('./commands/hosts.ts')).hosts(values, host),
  }),
  discover: row({
    group: 'Servers and clients',
    summary: 'Show the servers in the files of all clients, and which are used',
    words: [],
    options: options.DISCOVER,
    examples: ['discover', 'discover --explain github', 'discover --client cursor --all'],
    run: async (values, host) => (await import('./commands/discover.ts')).discover(values, host),
  }),
  approve: row({
    group: 'Servers and clients',
    summary: 'Allow a server of a project; without a name, list those that wait',
    words: [PENDING],
    options: options.APPROVE,
    examples: ['approve', 'approve database', 'approve --all-from .mcp.json --yes'],
    run: async (values, host) => (await import('./commands/approve.ts')).approve(values, host),
  }),
  reject: row({
    group: 'Servers and clients',
    summary: 'Refuse a server of a project, for good',
    words: [PENDING],
    options: options.REJECT,
    examples: ['reject database', 'reject --all-from .mcp.json'],
    run: async (values, host) => (await import('./commands/approve.ts')).reject(values, host),
  }),
  add: row({
    group: 'Servers and clients',
    summary: 'Add a server to the config',
    words: [
      { name: 'name', describe: 'The name of the server' },
      { name: 'rest', describe: 'A command without -- before it', isMany: true, isHidden: true },
    ],
    options: options.ADD,
    usage: ['NAME -- COMMAND…', 'NAME --url URL'],
    needs: ['NAME -- COMMAND…', 'a server'],
    takesLine: true,
    examples: ['add memory -- npx -y @modelcontextprotocol/server-memory', 'add docs --url https://docs.example/mcp'],
    run: async (values, host, line) => (await import('./commands/add.ts')).add({ ...values, line }, host),
  }),
  remove: row({
    group: 'Servers and clients',
    summary: 'Remove servers from the config',
    words: [SERVERS],
    options: options.REMOVE,
    needs: ['NAME…', 'a server'],
    examples: ['remove memory'],
    run: async (values, host) => (await import('./commands/remove.ts')).remove(values, host),
  }),
  import: row({
    group: 'Servers and clients',
    summary: "Copy clients' servers into the config",
    words: [CLIENTS],
    options: options.IMPORT,
    examples: ['import cursor', 'import --all --dry-run'],
    run: async (values, host) => (await import('./commands/import.ts')).importFromClients(values, host),
  }),
  input: row({
    group: 'Servers and clients',
    summary: 'Give a value that servers ask for; or see which are missing',
    words: [
      { name: 'action', describe: WHAT_TO_DO, choices: ['set', 'list', 'remove'], isNeeded: true },
      { name: 'name', describe: 'The input' },
    ],
    options: options.INPUT,
    needs: ['set|list|remove', 'what to do'],
    examples: ['input set api-key', 'input list', 'input remove api-key'],
    run: async (values, host) => (await import('./commands/input.ts')).input(values, host),
  }),
  toolset: row({
    group: 'Servers and clients',
    summary: 'Make named sets of tools that clients can ask for',
    words: [
      { name: 'name', describe: 'The toolset; without it all are listed' },
      { name: 'tools', describe: 'Its tools, such as github:* or files:read_file', isMany: true },
    ],
    options: options.TOOLSET,
    examples: ['toolset', "toolset review 'github:*issue*' memory", 'toolset review', 'toolset review --remove'],
    run: async (values, host) => (await import('./commands/toolset.ts')).toolset(values, host),
  }),
  enable: row({
    group: 'Servers and clients',
    summary: 'Switch servers on again',
    words: [SERVERS],
    options: options.SWITCH,
    examples: ['enable camera'],
    run: async (values, host) => (await import('./commands/switch.ts')).switchServers(values, false, host),
  }),
  disable: row({
    group: 'Servers and clients',
    summary: 'Switch servers off here, wherever they are defined',
    words: [SERVERS],
    options: options.SWITCH,
    examples: ['disable camera'],
    run: async (values, host) => (await import('./commands/switch.ts')).switchServers(values, true, host),
  }),
  auth: row({
    group: 'Servers and clients',
    summary: 'Sign in to a server at a URL',
    words: [{ ...NEEDED_SERVER, name: 'name' }],
    options: options.AUTH,
    needs: ['NAME', 'a server'],
    examples: ['auth docs', 'auth docs --logout'],
    run: async (values, host) => (await import('./commands/auth.ts')).auth(values, host),
  }),
  url: row({
    group: 'Servers and clients',
    summary: 'Print the URL of the bridge, for clients over HTTP',
    words: [],
    options: options.URL_OF,
    examples: ['url', 'url --server files', 'url --view all --json'],
    run: async (values, host) => (await import('./commands/url.ts')).url(values, host),
  }),
  token: row({
    group: 'Servers and clients',
    summary: 'Make, list or revoke tokens, for clients over HTTP',
    words: [
      { name: 'action', describe: WHAT_TO_DO, choices: ['create', 'list', 'revoke'], isNeeded: true },
      { name: 'names', describe: 'The token; with revoke, one or more', isMany: true },
    ],
    options: options.TOKEN,
    needs: ['create|list|revoke', 'what to do'],
    examples: [
      'token create laptop --expires 30d',
      "token create ci --servers 'git*'",
      'token list',
      'token revoke ci',
    ],
    run: async (values, host) => (await import('./commands/token.ts')).token(values, host),
  }),
  install: row({
    group: 'Servers and clients',
    summary: "Put the bridge into clients' configs",
    words: [{ ...CLIENTS, describe: 'The clients; without one, all are listed' }],
    options: options.INSTALL,
    examples: ['install', 'install cursor --replace --dry-run', 'install vscode --http --dry-run'],
    run: async (values, host) => (await import('./commands/install.ts')).installBridge(values, host),
  }),
  uninstall: row({
    group: 'Servers and clients',
    summary: "Take the bridge out of clients' configs; put back what was there",
    words: [CLIENTS],
    options: options.UNINSTALL,
    needs: ['CLIENT', 'a client'],
    examples: ['uninstall cursor'],
    run: async (values, host) => (await import('./commands/uninstall.ts')).uninstallBridge(values, host),
  }),
  demo: row({
    group: 'Servers and clients',
    summary: 'Show what the bridge does, with a daemon and servers of its own',
    words: [],
    options: options.DEMO,
    examples: ['demo', 'demo --hosts'],
    run: async (values, host) => (await import('./commands/demo/demo.ts')).demo(values, host),
  }),
  start: row({
    group: 'The daemon',
    summary: 'Start the daemon in the background',
    words: [],
    options: options.START,
    examples: ['start', 'start --log-level debug'],
    run: async (values, host) => (await import('./commands/daemon-commands.ts')).start(values, host),
  }),
  stop: row({
    group: 'The daemon',
    summary: 'Stop the daemon, once open requests are answered',
    words: [],
    options: options.LISTING,
    examples: ['stop', 'stop --json'],
    run: async (values, host) => (await import('./commands/daemon-commands.ts')).stop(values, host),
  }),
  restart: row({
    group: 'The daemon',
    summary: 'Replace the daemon; clients that can resume wait for the next one',
    words: [],
    options: options.RESTART,
    examples: ['restart', 'restart --if-older'],
    run: async (values, host) => (await import('./commands/restart.ts')).restart(values, host),
  }),
  upgrade: row({
    group: 'The daemon',
    summary: 'Replace a daemon of an older build; the same as restart --if-older',
    words: [],
    options: options.UPGRADE,
    examples: ['upgrade'],
    run: async (values, host) => (await import('./commands/restart.ts')).upgrade(values, host),
  }),
  reload: row({
    group: 'The daemon',
    summary: 'Look for servers again, and show what has changed',
    words: [],
    options: options.LISTING,
    examples: ['reload'],
    run: async (values, host) => (await import('./commands/daemon-commands.ts')).reload(values, host),
  }),
  service: row({
    group: 'The daemon',
    summary: 'Have systemd or launchd keep the daemon running',
    words: [{ name: 'action', describe: WHAT_TO_DO, choices: ['install', 'uninstall', 'status'], isNeeded: true }],
    options: options.SERVICE,
    needs: ['install|uninstall|status', 'what to do'],
    examples: ['service install --dry-run', 'service status'],
    run: async (values, host) => (await import('./commands/service/service.ts')).service(values, host),
  }),
  serve: row({
    group: 'The daemon',
    summary: 'Run the daemon in the foreground',
    words: [],
    options: options.SERVE,
    examples: ['serve', 'serve --log-level debug'],
    run: runElsewhere,
  }),
  connect: row({
    group: 'The daemon',
    summary: 'Carry a client to the bridge over stdio: the entry for its config',
    words: [],
    options: options.CONNECT,
    examples: ['connect', 'connect --view all', 'connect --server memory'],
    run: runElsewhere,
  }),
  doctor: row({
    group: 'When something is wrong',
    summary: 'Say which bridge is used here and why, and what is wrong with it',
    words: [],
    options: options.DOCTOR,
    examples: ['doctor', 'doctor --start', 'doctor --json'],
    run: async (values, host) => (await import('./commands/doctor.ts')).doctor(values, host),
  }),
  logs: row({
    group: 'When something is wrong',
    summary: 'Show the log of the daemon, or what a server has written on stderr',
    words: [SERVER],
    options: options.LOGS,
    examples: ['logs', 'logs --follow', 'logs -n 200 --json', 'logs --all', 'logs files'],
    run: async (values, host) => (await import('./commands/logs.ts')).logs(values, host),
  }),
  events: row({
    group: 'When something is wrong',
    summary: 'Show what has happened in the daemon, or what happens now',
    words: [],
    options: options.EVENTS,
    examples: ['events', 'events --kind instance', 'events --follow --kind call.ended --server files'],
    run: async (values, host) => (await import('./commands/events.ts')).events(values, host),
  }),
  'config check': row({
    group: 'When something is wrong',
    summary: 'Say which config file applies here and why, and everything that is wrong with it',
    words: [{ name: 'file', describe: 'The file to check, wherever it is', completes: 'file' }],
    options: options.CONFIG,
    examples: ['config check', 'config check team.json --json'],
    run: async (values, host) => (await import('./commands/config.ts')).checkConfigs(values, host),
  }),
  'config path': row({
    group: 'When something is wrong',
    summary: 'Print the path of the config file that applies here',
    words: [],
    options: options.CONFIG,
    examples: ['config path', '"$EDITOR" "$(mcp-bridge config path)"'],
    run: async (values, host) => (await import('./commands/config.ts')).showConfigPath(values, host),
  }),
  'config synonym': row({
    group: 'When something is wrong',
    summary: 'Have searches take words for each other, such as ticket and issue',
    words: [{ name: 'words', describe: 'Words that mean the same', isMany: true, isNeeded: true }],
    options: options.SYNONYM,
    needs: ['WORD WORD…', 'words that mean the same'],
    examples: ['config synonym ticket issue'],
    run: async (values, host) => (await import('./commands/synonym.ts')).synonym(values, host),
  }),
  'policy explain': row({
    group: 'When something is wrong',
    summary: 'Say which rule allows or blocks a server',
    words: [{ name: 'name', describe: DEFINITION, completes: 'server', isNeeded: true }],
    options: options.POLICY,
    needs: ['NAME', 'a server'],
    examples: ['policy explain github'],
    run: async (values, host) => (await import('./commands/policy.ts')).explainRule(values, host),
  }),
  metrics: row({
    group: 'When something is wrong',
    summary: 'Print what the daemon has counted, for Prometheus',
    words: [],
    options: options.WHERE,
    examples: ['metrics'],
    run: async (values, host) => (await import('./commands/metrics.ts')).metrics(values, host),
  }),
  send: row({
    group: 'Programs that speak to each other',
    summary: 'Send a request to another client, and print its answer',
    words: [
      { name: 'to', describe: 'The client', completes: 'connected', isNeeded: true },
      { name: 'method', describe: 'The method of the request' },
      PAIRS_OF_ARGUMENTS,
    ],
    options: options.SEND,
    needs: ['CLIENT METHOD', 'a client'],
    takesLine: true,
    examples: ['send reviewer review/start branch=main', "send reviewer --message 'The build is green'"],
    run: async ({ arguments: pairs = [], ...values }, host, line = []) =>
      (await import('./commands/send.ts')).send({ ...values, arguments: [...pairs, ...line] }, host),
  }),
  attach: row({
    group: 'Programs that speak to each other',
    summary: 'Run a stdio server, and offer it to all clients until it ends',
    words: [{ name: 'name', describe: 'The name that others know it by', isNeeded: true }],
    options: options.ATTACH,
    usage: ['NAME -- COMMAND…'],
    needs: ['NAME -- COMMAND…', 'a server'],
    takesLine: true,
    examples: ['attach notes -- node notes-server.js'],
    run: async (values, host, line = []) => (await import('./commands/attach.ts')).attach(values, line, host),
  }),
  announce: row({
    group: 'Programs that speak to each other',
    summary: 'Register a running server that cannot register itself',
    words: [{ name: 'name', describe: 'The name of the server', isNeeded: true }],
    options: options.ANNOUNCE,
    needs: ['NAME --url URL', 'a server'],
    examples: ['announce notes --url http://127.0.0.1:8080/mcp', 'announce notes --remove'],
    run: async (values, host) => (await import('./commands/announce.ts')).announce(values, host),
  }),
  completion: row({
    group: 'The shell',
    summary: 'Print the completion script for a shell',
    words: [
      {
        name: 'what',
        describe: 'The shell; or the names that a script asks for',
        choices: [...SHELLS, ...NAMES],
        isNeeded: true,
      },
      { ...SERVER, describe: 'The server, for the names of its tools' },
    ],
    options: options.COMPLETION,
    needs: ['SHELL', 'a shell: bash, zsh or fish'],
    examples: [
      'completion bash > ~/.local/share/bash-completion/completions/mcp-bridge',
      'completion zsh > ~/.zsh/completions/_mcp-bridge',
      'completion fish > ~/.config/fish/completions/mcp-bridge.fish',
    ],
    run: async (values, host) =>
      (await import('./commands/completion/completion.ts')).completion(values, COMMANDS, host),
  }),
};

/** The command at the beginning of a command line, of one word or two. */
export function commandIn([first = '', second = '']: readonly string[]): string | undefined {
  return [`${first} ${second}`, first].find((name) => Object.hasOwn(COMMANDS, name));
}

/** A command by its name; undefined for any other text. */
export function commandNamed(name: string): Command | undefined {
  return Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined;
}

/** Never called: `main.ts` runs `serve` and `connect` itself, because they start often or must start fast. */
function runElsewhere(): Promise<number> {
  return Promise.reject(new Error('serve and connect run without this table'));
}
