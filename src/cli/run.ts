// Runs a command line. `connect` and `serve` start many times or must start fast, so they go past the parser of the others, and
// nothing that only these need is loaded here.

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

/** The words before `--`: what stands behind it belongs to the command line of a server. */
export function ownPart(args: readonly string[]): readonly string[] {
  const end = args.indexOf('--');
  return end < 0 ? args : args.slice(0, end);
}

/** The flag stands anywhere, with every command. */
function withoutColourFlag(args: readonly string[]): readonly string[] {
  const own = ownPart(args);
  return [...own.filter((arg) => arg !== NO_COLOUR), ...args.slice(own.length)];
}

/** The options that people mean who type nothing, `help`, `help COMMAND`, or `-v`. */
function asOptions(args: readonly string[]): readonly string[] {
  const [first, ...rest] = args;
  if (first === undefined) return ['--help'];
  if (first === 'help') return [...rest, '--help'];
  return first === '-v' ? ['--version'] : args;
}
