// What each verb takes, and how it is used, for those who tell of it: examples under its help, completion in shells, and the
// option that may have been meant.

import type { Options } from './options.ts';
import * as options from './options.ts';

/**
 * What a word of a verb is. `pending` is what can be approved, `connected` a client that is there, `program` one whose config
 * can be changed; `file` is the shell's own business.
 */
export type WordKind = 'server' | 'tool' | 'pending' | 'connected' | 'program' | 'file' | readonly string[];

interface VerbTerms {
  readonly options: Options;
  /** Of the words behind it, as far as they can be completed; the last one goes for all that follow. */
  readonly words?: readonly WordKind[];
  /** Command lines without `mcp-bridge`. */
  readonly examples: readonly string[];
}

export const SHELLS = ['bash', 'zsh', 'fish'] as const;
export const NAMES = ['servers', 'tools', 'pending', 'connected'] as const;

export const VERB_TABLE: Readonly<Record<string, VerbTerms>> = {
  discover: {
    options: options.DISCOVER,
    examples: ['discover', 'discover --explain github', 'discover --client cursor --all'],
  },
  approve: {
    options: options.APPROVE,
    words: ['pending'],
    examples: ['approve', 'approve database', 'approve --all-from .mcp.json --yes'],
  },
  reject: { options: options.REJECT, words: ['pending'], examples: ['reject database', 'reject --all-from .mcp.json'] },
  'policy explain': { options: options.POLICY, words: ['server'], examples: ['policy explain github'] },
  'config check': {
    options: options.CONFIG,
    words: ['file'],
    examples: ['config check', 'config check team.json --json'],
  },
  'config path': { options: options.CONFIG, examples: ['config path', '"$EDITOR" "$(mcp-bridge config path)"'] },
  servers: { options: options.SERVERS, examples: ['servers', 'servers --running'] },
  tools: {
    options: options.TOOLS,
    words: ['server', 'tool'],
    examples: ['tools', 'tools files', 'tools --changed', 'tools files --accept'],
  },
  search: {
    options: options.SEARCH,
    examples: ['search create an issue', 'search --server files --limit 3 read text'],
  },
  describe: { options: options.DESCRIBE, words: ['server', 'tool'], examples: ['describe files read_file'] },
  call: {
    options: options.CALL,
    words: ['server', 'tool', 'file'],
    examples: [
      'call files read_file path=notes.txt',
      'call files read_many \'paths:=["a.txt","b.txt"]\'',
      'call camera take_picture --out picture.png',
    ],
  },
  refresh: { options: options.REFRESH, words: ['server'], examples: ['refresh', 'refresh files'] },
  add: {
    options: options.ADD,
    examples: ['add memory -- npx -y @modelcontextprotocol/server-memory', 'add docs --url https://docs.example/mcp'],
  },
  remove: { options: options.REMOVE, words: ['server'], examples: ['remove memory'] },
  import: { options: options.IMPORT, words: ['program'], examples: ['import cursor', 'import --all --dry-run'] },
  install: {
    options: options.INSTALL,
    words: ['program'],
    examples: ['install', 'install cursor --replace --dry-run'],
  },
  uninstall: { options: options.UNINSTALL, words: ['program'], examples: ['uninstall cursor'] },
  input: {
    options: options.INPUT,
    words: [['set', 'list', 'remove'], []],
    examples: ['input set api-key', 'input list', 'input remove api-key'],
  },
  enable: { options: options.SWITCH, words: ['server'], examples: ['enable camera'] },
  disable: { options: options.SWITCH, words: ['server'], examples: ['disable camera'] },
  resources: {
    options: options.RESOURCES,
    words: [['list', 'read'], []],
    examples: ['resources list', 'resources read file:///notes.txt', 'resources list --server docs'],
  },
  prompts: {
    options: options.PROMPTS,
    words: [['list', 'get'], []],
    examples: ['prompts list', 'prompts get docs__summary topic=sockets'],
  },
  demo: { options: {}, examples: ['demo'] },
  announce: {
    options: options.ANNOUNCE,
    examples: ['announce notes --url http://127.0.0.1:8080/mcp', 'announce notes --remove'],
  },
  service: {
    options: options.SERVICE,
    words: [['install', 'uninstall', 'status']],
    examples: ['service install --dry-run', 'service status'],
  },
  auth: { options: options.AUTH, words: ['server'], examples: ['auth docs', 'auth docs --logout'] },
  status: { options: options.STATUS, examples: ['status', 'status --json', 'status --watch'] },
  top: { options: options.TOP, examples: ['top', 'top --interval 5 >> bridge.txt'] },
  metrics: { options: options.WHERE, examples: ['metrics'] },
  clients: { options: options.LISTING, examples: ['clients'] },
  attach: { options: options.ATTACH, examples: ['attach notes -- node notes-server.js'] },
  send: {
    options: options.SEND,
    words: ['connected', []],
    examples: ['send reviewer review/start branch=main', "send reviewer --message 'The build is green'"],
  },
  start: { options: options.START, examples: ['start', 'start --log-level debug'] },
  stop: { options: options.LISTING, examples: ['stop', 'stop --json'] },
  restart: { options: options.RESTART, examples: ['restart', 'restart --if-older'] },
  upgrade: { options: options.UPGRADE, examples: ['upgrade'] },
  reload: { options: options.LISTING, examples: ['reload'] },
  doctor: { options: options.DOCTOR, examples: ['doctor', 'doctor --start', 'doctor --json'] },
  logs: {
    options: options.LOGS,
    words: ['server'],
    examples: ['logs', 'logs --follow', 'logs -n 200 --json', 'logs --all', 'logs files'],
  },
  completion: {
    options: options.COMPLETION,
    words: [[...SHELLS, ...NAMES], 'server'],
    examples: [
      'completion bash > ~/.local/share/bash-completion/completions/mcp-bridge',
      'completion zsh > ~/.zsh/completions/_mcp-bridge',
      'completion fish > ~/.config/fish/completions/mcp-bridge.fish',
    ],
  },
  serve: { options: options.SERVE, examples: ['serve', 'serve --log-level debug'] },
  connect: { options: options.CONNECT, examples: ['connect', 'connect --view all', 'connect --server memory'] },
};

/** The verb that a command line begins with, of one word or two. */
export function verbOf([first = '', second = '']: readonly string[]): string | undefined {
  return [`${first} ${second}`, first].find((verb) => Object.hasOwn(VERB_TABLE, verb));
}

/** What stands under the help of a verb; '' for none. */
export function examplesText(verb: string): string {
  const { examples } = VERB_TABLE[verb] ?? { examples: [] };
  const lines = examples.map((example) => `  ${example.includes('mcp-bridge ') ? '' : 'mcp-bridge '}${example}`);
  return lines.length === 0 ? '' : `Examples:\n${lines.join('\n')}`;
}
