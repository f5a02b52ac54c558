// Options before the command: `mcp-bridge --mcp-bridge-socket X connect` is `mcp-bridge connect --mcp-bridge-socket X`.

import { COMMANDS } from './command-table.ts';
import type { Options } from './start-options.ts';
import { wrongUsage } from './usage.ts';

/** Options of the parser itself, valid with and without a command. */
const OF_ALL = /^(?:--help|-h|--version)(?:=|$)/;
const PAIRS = Object.keys(COMMANDS).map((name) => name.split(' '));
/** The first word of each command. */
const WORDS: ReadonlySet<string> = new Set(PAIRS.map(([first = '']) => first));
/** First words that need a second one. */
const GROUPS: ReadonlySet<string> = new Set(PAIRS.flatMap(([first = '', second]) => (second ? [first] : [])));

/** All options of all commands. An option has the same type in all commands, except for some that a test names. */
export const ALL_OPTIONS: Options = Object.assign({}, ...Object.values(COMMANDS).map(({ options }) => options));

/** The same command line with the command first, followed by the options that stood before it. */
export function optionsLast(args: readonly string[]): readonly string[] {
  const { count, wrong } = walked(args);
  const [before, [command, ...rest]] = [args.slice(0, count), args.slice(count)];
  const isCommand = command !== undefined && command !== '--';
  // An existing command reports itself which options it does not take.
  if (wrong !== undefined && !(isCommand && WORDS.has(command)))
    throw wrongUsage(`Unknown option ${wrong.split('=')[0]}`);
  if (!isCommand) {
    if (before.some((arg) => OF_ALL.test(arg))) return before;
    throw wrongUsage('Name a command');
  }
  const [second] = rest;
  const isPair = GROUPS.has(command) && second !== undefined && !second.startsWith('-');
  return isPair ? [command, second, ...before, ...rest.slice(1)] : [command, ...before, ...rest];
}

/** The number of leading words that are options and their values, and the first option that no command has. */
function walked(args: readonly string[]): { readonly count: number; readonly wrong: string | undefined } {
  const options = optionsOf(args.find((arg) => WORDS.has(arg)));
  let count = 0;
  let wrong: string | undefined;
  for (let arg = args[0]; arg?.startsWith('-') && arg !== '--'; arg = args[count]) {
    const option = optionOf(arg, options);
    if (option === undefined && !OF_ALL.test(arg)) wrong ??= arg;
    count += option?.type === 'string' && !arg.includes('=') && count + 1 < args.length ? 2 : 1;
  }
  return { count, wrong };
}

/** All options, with those of this command as it defines them: a flag of one command may have a value in another. */
function optionsOf(command: string | undefined): Options {
  const own = Object.keys(COMMANDS).filter((name) => name.split(' ')[0] === command);
  return Object.assign({}, ALL_OPTIONS, ...own.map((name) => COMMANDS[name]?.options));
}

function optionOf(arg: string, options: Options): Options[string] | undefined {
  const [dashed = ''] = arg.split('=', 1);
  const name = dashed.replace(/^-+/, '');
  if (dashed.startsWith('--')) return Object.hasOwn(options, name) ? options[name] : undefined;
  return Object.values(options).find(({ alias }) => alias === name);
}
