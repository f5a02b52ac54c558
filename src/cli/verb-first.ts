// Options before the verb: `mcp-bridge --mcp-bridge-socket X connect` is `mcp-bridge connect --mcp-bridge-socket X`.

import { BridgeError } from '../util/bridge-error.ts';
import type { Options } from './options.ts';
import { VERB_TABLE } from './verb-table.ts';

/** Options of the parser itself, which go with every verb and with none. */
const OF_ALL = /^(?:--help|-h|--version)(?:=|$)/;
const PAIRS = Object.keys(VERB_TABLE).map((verb) => verb.split(' '));
/** The first word of each verb. */
const WORDS: ReadonlySet<string> = new Set(PAIRS.map(([first = '']) => first));
/** Those that a second word belongs to. */
const GROUPS: ReadonlySet<string> = new Set(PAIRS.flatMap(([first = '', second]) => (second ? [first] : [])));

/** All options of all verbs. One name is of one type wherever it is taken (a test says so). */
export const ALL_OPTIONS: Options = Object.assign({}, ...Object.values(VERB_TABLE).map(({ options }) => options));

/** The same command line with the verb first, and behind it the options that stood before it. */
export function verbFirst(args: readonly string[]): readonly string[] {
  const { count, wrong } = walked(args);
  const [before, [verb, ...rest]] = [args.slice(0, count), args.slice(count)];
  const isVerb = verb !== undefined && verb !== '--';
  // A verb that there is says itself which of them it does not take.
  if (wrong !== undefined && !(isVerb && WORDS.has(verb))) throw wrongUsage(`Unknown option ${wrong.split('=')[0]}`);
  if (!isVerb) {
    if (before.some((arg) => OF_ALL.test(arg))) return before;
    throw wrongUsage('Name a verb');
  }
  const [second] = rest;
  const isPair = GROUPS.has(verb) && second !== undefined && !second.startsWith('-');
  return isPair ? [verb, second, ...before, ...rest.slice(1)] : [verb, ...before, ...rest];
}

/** How many words at the beginning are options and their values, and the first of them that no verb has. */
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

function wrongUsage(problem: string): BridgeError {
  return new BridgeError('USAGE', problem, { hint: 'See: mcp-bridge --help' });
}
