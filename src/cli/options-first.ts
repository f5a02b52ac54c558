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

/** All options of all commands. One name is of one type wherever it is taken (a test says so). */
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
  let count = 0;
  let wrong: string | undefined;
  for (let arg = args[0]; arg?.startsWith('-') && arg !== '--'; arg = args[count]) {
    const option = optionOf(arg);
    if (option === undefined && !OF_ALL.test(arg)) wrong ??= arg;
    count += option?.type === 'string' && !arg.includes('=') && count + 1 < args.length ? 2 : 1;
  }
  return { count, wrong };
}

function optionOf(arg: string): Options[string] | undefined {
  const [dashed = ''] = arg.split('=', 1);
  const name = dashed.replace(/^-+/, '');
  if (dashed.startsWith('--')) return Object.hasOwn(ALL_OPTIONS, name) ? ALL_OPTIONS[name] : undefined;
  return Object.values(ALL_OPTIONS).find(({ alias }) => alias === name);
}
