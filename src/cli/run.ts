// Runs a command line. `connect` and `serve` start often or must start fast, so they skip the general parser, and
// nothing is loaded here that only the others need.

import { connect } from './commands/connect.ts';
import { serve } from './commands/serve.ts';
import type { CliHost } from './host.ts';

export const NO_COLOUR = '--no-color';

/** Resolves to the exit code. */
export async function run(args: readonly string[], host: CliHost): Promise<number> {
  const given = asOptions(withoutColourFlag(args));
  const [command, ...rest] = given[0]?.startsWith('-')
    ? (await import('./options-first.ts')).optionsLast(given)
    : given;
  const wantsHelp = ownPart(rest).some((arg) => arg === '--help' || arg === '-h' || arg === '--version');
  if (command === 'connect' && !wantsHelp) return connect(rest, host);
  if (command === 'serve' && !wantsHelp) return serve(rest, host);
  const { runCommand } = await import('./dispatch.ts');
  return runCommand([...(command === undefined ? [] : [command]), ...rest], host);
}

/** The words before `--`: the rest is a server's command line. */
export function ownPart(args: readonly string[]): readonly string[] {
  const end = args.indexOf('--');
  return end < 0 ? args : args.slice(0, end);
}

/** Removes the flag, which may be anywhere, with every command. */
function withoutColourFlag(args: readonly string[]): readonly string[] {
  const own = ownPart(args);
  return [...own.filter((arg) => arg !== NO_COLOUR), ...args.slice(own.length)];
}

/** Translates an empty line, `help`, `help COMMAND` and `-v` into the options that people mean. */
function asOptions(args: readonly string[]): readonly string[] {
  const [first, ...rest] = args;
  if (first === undefined) return ['--help'];
  if (first === 'help') return [...rest, '--help'];
  return first === '-v' ? ['--version'] : args;
}
