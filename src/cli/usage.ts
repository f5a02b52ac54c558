// Errors for a wrong command line: which word is wrong, and what was probably meant.

import { BridgeError } from '../util/bridge-error.ts';
import { mistyped } from '../util/nearest.ts';
import { noValue, optionMeant } from './arguments.ts';
import type { Command } from './command.ts';
import { COMMANDS, commandIn, commandNamed, PAIRS } from './command-table.ts';

/** Words that other programs use for our commands. */
const OTHER_WORDS: Readonly<Record<string, string>> = {
  ...{ list: 'servers', ls: 'servers', ps: 'status', info: 'status', version: '--version' },
  ...{ run: 'call', exec: 'call', init: 'install', setup: 'install', log: 'logs' },
};
const MOST_GUESSES = 2;

/**
 * The command at the beginning of `args`; undefined if there is none, or only half of one. Throws for an unknown name.
 */
export function knownCommand(args: readonly string[]): { readonly name: string; readonly terms: Command } | undefined {
  const [first, second = ''] = args;
  if (first === undefined) throw wrongUsage('Name a command');
  // Options of a command come after it here (options-first.ts); the remaining ones ask for help.
  if (first.startsWith('-')) return undefined;
  if (first === '') throw wrongUsage('The command is empty. Name one');
  const name = commandIn(args);
  const terms = name === undefined ? undefined : commandNamed(name);
  if (name !== undefined && terms !== undefined) return { name, terms };
  const isPair = Object.hasOwn(PAIRS, first);
  if (isPair && (second === '' || second.startsWith('-'))) return undefined;
  const words = isPair ? `${first} ${second}` : first;
  const near = commandsMeant(words);
  throw wrongUsage(`There is no command ${words}${near.length === 0 ? '' : `. Did you mean ${near.join(' or ')}?`}`);
}

/** Checks the values of flags: the parser would take any other value as false. */
export function checkFlags(name: string, args: readonly string[]): void {
  const options = commandNamed(name)?.options ?? {};
  for (const arg of args) {
    const [, option = '', value = ''] = /^--([^=]+)=(.*)$/s.exec(arg) ?? [];
    if (!Object.hasOwn(options, option) || options[option]?.type !== 'boolean') continue;
    if (value === 'true' || value === 'false') continue;
    throw wrongUsage(`--${option} takes no value, and not ${value === '' ? 'an empty one' : value}`, name);
  }
}

/** The commands that were probably meant: another program's word, or a mistyped name. */
function commandsMeant(words: string): readonly string[] {
  const other = Object.hasOwn(OTHER_WORDS, words) ? OTHER_WORDS[words] : undefined;
  return other === undefined ? mistyped(words, Object.keys(COMMANDS)).slice(0, MOST_GUESSES) : [other];
}

/** Rewords the parser's message about a command's words. */
export function usageError(message: string, name: string, args: readonly string[]): BridgeError {
  const [typed, inWords] = commandNamed(name)?.needs ?? [];
  if (typed !== undefined && /^(?:Not enough non-option arguments|Missing required argument)/.test(message))
    return wrongUsage(`Name ${inWords}: mcp-bridge ${name} ${typed}`, name);
  const unknown = /^Unknown arguments?: (.*)$/.exec(message)?.[1]?.split(', ') ?? [];
  if (unknown.length > 0) return unknownError(unknown, name, args);
  const [, word = '', given = '', choices = ''] = INVALID.exec(message) ?? [];
  if (choices !== '') return invalidError({ word, given: listed(given), choices: listed(choices) }, name);
  const [, empty] = /^Not enough arguments following: (.*)$/.exec(message) ?? [];
  return empty === undefined ? wrongUsage(message, name) : noValue(name, empty);
}

/** The parser's message for a value that is not among the choices. */
const INVALID = /^Invalid values:\s+Argument: (\S+), Given: (.*), Choices: (.*)$/m;

function listed(texts: string): string[] {
  return [...texts.matchAll(/"([^"]*)"/g)].map(([, text = '']) => text);
}

function unknownError(unknown: readonly string[], name: string, args: readonly string[]): BridgeError {
  const options = args.map((arg) => arg.split('=')[0] ?? '').filter((arg) => /^--?[^-]/.test(arg));
  const wrong = options.find((option) => unknown.includes(option.replace(/^--?/, '')));
  const hint = lineHint(name);
  if (wrong === undefined) return wrongUsage(`Too many words: ${unknown.join(' ')}`, name, hint);
  const meant = optionMeant(wrong, commandNamed(name)?.options);
  return wrongUsage(`Unknown option ${wrong}${meant}`, name, meant === '' ? hint : undefined);
}

/** A hint about an extra word, or one with a dash: it may belong to a server's command line. */
function lineHint(name: string): string | undefined {
  const [typed = ''] = commandNamed(name)?.needs ?? [];
  if (!typed.includes(' -- ')) return undefined;
  return `If it belongs to the command, put -- before the command: mcp-bridge ${name} ${typed}`;
}

interface Invalid {
  readonly word: string;
  readonly given: readonly string[];
  readonly choices: readonly string[];
}

function invalidError({ word, given: texts, choices }: Invalid, name: string): BridgeError {
  const isOption = Object.hasOwn(commandNamed(name)?.options ?? {}, word);
  if (isOption && texts.includes('')) return noValue(name, word);
  const given = texts.find((text) => !choices.includes(text)) ?? '';
  const [near] = mistyped(given, choices);
  const list = choices.join(', ');
  const problem = isOption ? `--${word} is one of ${list}, and not ${given}` : `${given} is none of ${list}`;
  return wrongUsage(near === undefined ? problem : `${problem}. Did you mean ${near}?`, name);
}

export function wrongUsage(problem: string, name = '', hint?: string): BridgeError {
  return new BridgeError('USAGE', problem, { hint: hint ?? `See: mcp-bridge ${name === '' ? '' : `${name} `}--help` });
}
