// Options before the command: `mcp-bridge --mcp-bridge-socket X connect` is `mcp-bridge connect --mcp-bridge-socket X`.

import { COMMANDS } from './command-table.ts';
import type { Options } from './start-options.ts';
import { wrongUsage } from './usage.ts';

/** Options of the parser itself, which go with every command and with none. */
const OF_ALL = /^(?:--help|-h|--version)(?:=|$)/;
const PAIRS = Object.keys(COMMANDS).map((name) => name.split(' '));
/** The first word of each command. */
const WORDS: ReadonlySet<string> = new Set(PAIRS.map(([first = '']) => first));
/** First words that a second one belongs to. */
const GROUPS: ReadonlySet<string> = new Set(PAIRS.flatMap(([first = '', second]) => (second ? [first] : [])));

/** All options of all commands. A name is of one type wherever it is taken, but for those that a test names. */
export const ALL_OPTIONS: Options = Object.assign({}, ...Object.values(COMMANDS).map(({ options }) => options));

/** The same command line with the command first, and behind it the options that stood before it. */
export function optionsLast(args: readonly string[]): readonly string[] {
  const { count, wrong } = walked(args);
  const [before, [command, ...rest]] = [args.slice(0, count), args.slice(count)];
  const isCommand = command !== undefined && command !== '--';
  // A command that there is says itself which of them it does not take.
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

/** How many words at the beginning are options and their values, and the first of them that no command has. */
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

/** All options, those of this command as it takes them: a flag of one command has a value in another. */
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
