// What is said of a command line that is none: which word of it is wrong, and what may have been meant.

import { BridgeError } from '../util/bridge-error.ts';
import { nearest } from '../util/nearest.ts';
import { optionMeant } from './arguments.ts';
import { VERB_TABLE } from './verb-table.ts';

/** Each verb with what it cannot do without. */
export const VERBS: Readonly<Record<string, string>> = {
  discover: '',
  approve: '',
  reject: '',
  'policy explain': 'NAME',
  'config check': '',
  'config path': '',
  servers: '',
  tools: '',
  search: '',
  describe: 'SERVER TOOL',
  call: 'SERVER TOOL',
  refresh: '',
  add: 'NAME -- COMMAND…',
  remove: 'NAME',
  import: '',
  install: '',
  uninstall: 'CLIENT',
  demo: '',
  announce: 'NAME --url URL',
  service: 'install|uninstall|status',
  auth: 'NAME',
  status: '',
  top: '',
  metrics: '',
  clients: '',
  attach: 'NAME -- COMMAND…',
  send: 'CLIENT METHOD',
  start: '',
  stop: '',
  restart: '',
  upgrade: '',
  reload: '',
  doctor: '',
  completion: 'SHELL',
  serve: '',
  connect: '',
};

const NEEDED: Readonly<Record<string, string>> = {
  NAME: 'a server',
  CLIENT: 'a client',
  SERVER: 'a server and one of its tools',
  SHELL: 'a shell: bash, zsh or fish',
  'install|uninstall|status': 'what to do',
};

/** Verbs that are two words. */
const GROUPS = ['policy', 'config'];
const GLOBAL = /^(?:--help|-h|--version)$/;
const MOST_GUESSES = 2;

/** Throws unless `args` begin with a verb, or ask for help. */
export function checkVerb(args: readonly string[]): void {
  const [first, second = ''] = args;
  const isVerb = (word: string): boolean => Object.hasOwn(VERBS, word) || GROUPS.includes(word);
  if (first === undefined) throw wrongUsage('Name a verb');
  if (first.startsWith('-')) {
    // Options may stand before the verb.
    if (args.some((arg) => isVerb(arg) || GLOBAL.test(arg))) return;
    throw wrongUsage(`Unknown option ${first.split('=')[0]}`);
  }
  if (GROUPS.includes(first) && second !== '' && !second.startsWith('-')) return checkWords(`${first} ${second}`);
  if (!isVerb(first)) checkWords(first);
}

function checkWords(words: string): void {
  if (Object.hasOwn(VERBS, words)) return;
  const near = nearest(words, Object.keys(VERBS)).slice(0, MOST_GUESSES);
  throw wrongUsage(`There is no verb ${words}${near.length === 0 ? '' : `. Did you mean ${near.join(' or ')}?`}`);
}

/** What the parser says, in the words of the house. */
export function usageError(message: string, args: readonly string[]): BridgeError {
  const [first = '', second = ''] = args;
  const verb = first === 'policy' ? 'policy explain' : GROUPS.includes(first) ? `${first} ${second}` : first;
  const needs = Object.hasOwn(VERBS, verb) ? VERBS[verb] : undefined;
  if (needs && /^(?:Not enough non-option arguments|Missing required argument)/.test(message)) {
    const what = NEEDED[needs.split(' ')[0] ?? ''] ?? 'it';
    return wrongUsage(`Name ${what}: mcp-bridge ${verb} ${needs}`, verb);
  }
  const unknown = /^Unknown arguments?: (.*)$/.exec(message)?.[1]?.split(', ') ?? [];
  const options = args.map((arg) => arg.split('=')[0] ?? '').filter((arg) => /^--?[^-]/.test(arg));
  const wrong = options.find((option) => unknown.includes(option.replace(/^--?/, '')));
  if (wrong === undefined) return wrongUsage(message, needs === undefined ? '' : verb);
  return wrongUsage(
    `Unknown option ${wrong}${optionMeant(wrong, VERB_TABLE[verb]?.options)}`,
    needs === undefined ? '' : verb,
  );
}

function wrongUsage(problem: string, verb = ''): BridgeError {
  return new BridgeError('USAGE', problem, { hint: `See: mcp-bridge ${verb === '' ? '' : `${verb} `}--help` });
}
