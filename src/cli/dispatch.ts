// Runs the command that a command line begins with: help, the parser for its words and options, and its function. All
// knowledge of commands is in the command table; only `serve` and `connect` do not pass here.

import type { Argv } from 'yargs';
import { givenTexts } from './arguments.ts';
import type { Command } from './command.ts';
import { commandIn, PAIRS } from './command-table.ts';
import { DONE } from './exit-code.ts';
import type { CliHost } from './host.ts';
import { errorReport } from './refused.ts';
import { helpText, usageOf } from './render/help.ts';
import { jsonText } from './render/table.ts';
import { widthOf } from './render/terminal.ts';
import { withSocketInHint } from './start-hint.ts';
import { checkFlags, knownCommand, usageError, wrongUsage } from './usage.ts';

/** @public for scripts/man-page.mjs, which reads the built file. */
export { COMMANDS, PAIRS } from './command-table.ts';
/** @public */
export { helpText } from './render/help.ts';

/** The width of lines in a pipe, and on a terminal of unknown width. */
const USUAL_WIDTH = 80;

/** Runs the command that `args` begin with; resolves to the exit code. */
export async function runCommand(args: readonly string[], host: CliHost): Promise<number> {
  // Everything after `--` is a server's command line, and is not parsed here.
  const end = args.indexOf('--');
  const [own, line] = end < 0 ? [args, undefined] : [args.slice(0, end), args.slice(end + 1)];
  const [first = ''] = own;
  const command = knownCommand(own);
  if (own.includes('--version')) return print(host.version, host);
  if (own.some((arg) => arg === '--help' || arg === '-h'))
    return print(helpText(commandIn(own) ?? first, widthOf(host) ?? USUAL_WIDTH), host);
  if (command === undefined) throw missingCommand(first);
  const { name, terms } = command;
  checkFlags(name, own);
  if (line !== undefined && terms.takesLine !== true)
    throw wrongUsage(`\`${name}\` takes no command line behind --`, name);
  const values = await parsed({ name, terms, words: own.slice(name.split(' ').length) });
  try {
    return await terms.run(values, host, line);
  } catch (error) {
    // A script that asked for JSON gets errors as JSON too.
    if (terms.hasJsonErrors === true && values.json === true)
      host.stdout.write(jsonText({ error: errorReport(error) }));
    throw withSocketInHint(error, values);
  }
}

function print(text: string, host: CliHost): number {
  host.stdout.write(`${text}\n`);
  return DONE;
}

function missingCommand(first: string): Error {
  const pair = Object.hasOwn(PAIRS, first) ? PAIRS[first] : undefined;
  return pair === undefined ? wrongUsage('Name a command') : wrongUsage(`Name what to do: ${pair.needs}`, first);
}

interface Typed {
  readonly name: string;
  readonly terms: Command;
  /** The words after the name. */
  readonly words: readonly string[];
}

type Values = Readonly<Record<string, unknown>>;

/** The values of words and options; throws an error that says what is wrong with them. */
async function parsed({ name, terms, words }: Typed): Promise<Values> {
  let values: Values = {};
  const { default: yargs } = await import('yargs');
  await commandFor(yargs(), terms, (given) => {
    values = givenTexts(name, given, terms.options);
  })
    .fail((message, error) => {
      throw error ?? usageError(message, name, words);
    })
    .parseAsync([COMMAND, ...(name === 'call' ? withoutDash(words) : words)]);
  return values;
}

/** The name under which the parser knows its one command. */
const COMMAND = 'command';

/** Makes a parser with only this command. */
function commandFor(yargs: Argv, { words, options }: Command, take: (values: Values) => void): Argv {
  const build = (parser: Argv): Argv => {
    const withWords = words.reduce(
      (one, { name, choices, isNeeded, isMany }) =>
        one.positional(name, {
          type: 'string',
          ...(choices && { choices: [...choices] }),
          ...(isMany === true && { array: true }),
          ...(isNeeded === true && { demandOption: true }),
        }),
      parser,
    );
    return withWords.options(options);
  };
  const usage = [COMMAND, ...words.map(usageOf)].join(' ');
  return yargs
    .command(usage, '', build, (values) => take(values))
    .strict()
    .parserConfiguration({ 'boolean-negation': false })
    .option('no-color', { type: 'boolean' })
    .help(false)
    .version(false)
    .exitProcess(false);
}

/** Replaces a lone dash, which yargs does not know. It means stdin, and after --out stdout. */
function withoutDash(args: readonly string[]): string[] {
  return args.flatMap((arg, i) => {
    if (arg === '--out' && args[i + 1] === '-') return ['--out=-'];
    if (arg === '--args-file=-') return ['--stdin'];
    if (arg === '--args-file' && args[i + 1] === '-') return [];
    if (arg !== '-') return [arg];
    return args[i - 1] === '--out' ? [] : ['--stdin'];
  });
}
