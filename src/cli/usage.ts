// What is said of a command line that is none: which word of it is wrong, and what may have been meant.

import { BridgeError } from '../util/bridge-error.ts';
import { mistyped } from '../util/nearest.ts';
import { noValue, optionMeant } from './arguments.ts';
import { VERB_TABLE, verbOf } from './verb-table.ts';

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
  remove: 'NAME…',
  import: '',
  install: '',
  uninstall: 'CLIENT',
  input: 'set|list|remove',
  enable: '',
  disable: '',
  resources: 'list|read',
  prompts: 'list|get',
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
  logs: '',
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
  'set|list|remove': 'what to do',
  'list|read': 'what to do',
  'list|get': 'what to do',
};

/** Verbs that are two words. */
const GROUPS = ['policy', 'config'];
/** How other commands call what a verb does. */
const OTHER_WORDS: Readonly<Record<string, string>> = {
  ...{ list: 'servers', ls: 'servers', ps: 'status', info: 'status', version: '--version' },
  ...{ run: 'call', exec: 'call', init: 'install', setup: 'install', log: 'logs' },
};
const MOST_GUESSES = 2;

/** Throws unless `args` begin with a verb, or ask for help. */
export function checkVerb(args: readonly string[]): void {
  const [first, second = ''] = args;
  const isVerb = (word: string): boolean => Object.hasOwn(VERBS, word) || GROUPS.includes(word);
  if (first === undefined) throw wrongUsage('Name a verb');
  // Options of a verb stand behind it here (verb-first.ts); what is left asks for help.
  if (first.startsWith('-')) return;
  if (first === '') throw wrongUsage('The verb is empty. Name one');
  if (GROUPS.includes(first) && second !== '' && !second.startsWith('-')) return checkWords(`${first} ${second}`);
  if (!isVerb(first)) checkWords(first);
}

function checkWords(words: string): void {
  if (Object.hasOwn(VERBS, words)) return;
  const near = verbsMeant(words);
  throw wrongUsage(`There is no verb ${words}${near.length === 0 ? '' : `. Did you mean ${near.join(' or ')}?`}`);
}

/** The parser would take any other value of a flag for no. */
export function checkFlags(args: readonly string[]): void {
  const verb = verbOf(args.filter((arg) => !arg.startsWith('-'))) ?? '';
  for (const arg of args) {
    const [, name = '', value = ''] = /^--([^=]+)=(.*)$/s.exec(arg) ?? [];
    const option = Object.hasOwn(VERB_TABLE[verb]?.options ?? {}, name) ? VERB_TABLE[verb]?.options[name] : undefined;
    if (option?.type !== 'boolean' || value === 'true' || value === 'false') continue;
    throw wrongUsage(`--${name} takes no value, and not ${value === '' ? 'an empty one' : value}`, verb);
  }
}

/** What others call it, or how it was mistyped. */
function verbsMeant(words: string): readonly string[] {
  const other = Object.hasOwn(OTHER_WORDS, words) ? OTHER_WORDS[words] : undefined;
  if (other !== undefined && (other.startsWith('--') || Object.hasOwn(VERBS, other))) return [other];
  return mistyped(words, Object.keys(VERBS)).slice(0, MOST_GUESSES);
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
  const known = needs === undefined ? '' : verb;
  const unknown = /^Unknown arguments?: (.*)$/.exec(message)?.[1]?.split(', ') ?? [];
  if (unknown.length > 0) return unknownError(unknown, args, known);
  const [, name = '', given = '', choices = ''] = INVALID.exec(message) ?? [];
  if (choices !== '') return invalidError({ name, given: listed(given), choices: listed(choices) }, known);
  const [, empty] = /^Not enough arguments following: (.*)$/.exec(message) ?? [];
  return empty === undefined ? wrongUsage(message, known) : noValue(known, empty);
}

/** The parser's words for what is none of some choices. */
const INVALID = /^Invalid values:\s+Argument: (\S+), Given: (.*), Choices: (.*)$/m;

function listed(texts: string): string[] {
  return [...texts.matchAll(/"([^"]*)"/g)].map(([, text = '']) => text);
}

function unknownError(unknown: readonly string[], args: readonly string[], verb: string): BridgeError {
  const options = args.map((arg) => arg.split('=')[0] ?? '').filter((arg) => /^--?[^-]/.test(arg));
  const wrong = options.find((option) => unknown.includes(option.replace(/^--?/, '')));
  const hint = commandHint(verb);
  if (wrong === undefined) return wrongUsage(`Too many words: ${unknown.join(' ')}`, verb, hint);
  const { options: known } = VERB_TABLE[verb] ?? {};
  const meant = optionMeant(wrong, known);
  return wrongUsage(`Unknown option ${wrong}${meant}`, verb, meant === '' ? hint : undefined);
}

/** What begins with a dash, and a word too many, may well belong to the command of a server. */
function commandHint(verb: string): string | undefined {
  const needs = VERBS[verb] ?? '';
  if (!needs.includes(' -- ')) return undefined;
  return `If it belongs to the command, put -- before the command: mcp-bridge ${verb} ${needs}`;
}

interface Invalid {
  readonly name: string;
  readonly given: readonly string[];
  readonly choices: readonly string[];
}

function invalidError({ name, given: texts, choices }: Invalid, verb: string): BridgeError {
  const isOption = Object.hasOwn(VERB_TABLE[verb]?.options ?? {}, name);
  if (isOption && texts.includes('')) return noValue(verb, name);
  const given = texts.find((text) => !choices.includes(text)) ?? '';
  const [near] = mistyped(given, choices);
  const list = choices.join(', ');
  const problem = isOption ? `--${name} is one of ${list}, and not ${given}` : `${given} is none of ${list}`;
  return wrongUsage(near === undefined ? problem : `${problem}. Did you mean ${near}?`, verb);
}

function wrongUsage(problem: string, verb = '', hint?: string): BridgeError {
  return new BridgeError('USAGE', problem, { hint: hint ?? `See: mcp-bridge ${verb === '' ? '' : `${verb} `}--help` });
}
