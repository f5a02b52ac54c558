// All verbs as yargs knows them: help, suggestions, and the dispatch of those that need not start in a hurry.

import yargs, { type Argv } from 'yargs';
import { BridgeError } from '../util/bridge-error.ts';
import type { AuthValues } from './auth.ts';
import { clients, start, status, stop } from './daemon-verbs.ts';
import { withEditingVerbs } from './editing-verbs.ts';
import { DONE } from './exit-code.ts';
import type { CliHost } from './host.ts';
import { AUTH, CONNECT, LISTING, LOGGING, SERVE, WHERE } from './options.ts';

/** Makes a verb's function what yargs calls, with the host, and keeps its exit code. */
export type Does = <Values>(
  verb: (values: Values, host: CliHost) => Promise<number>,
) => (values: unknown) => Promise<void>;

/** Runs the verb that `args` begin with; resolves to the exit code. */
export async function runCommand(args: readonly string[], host: CliHost): Promise<number> {
  let exitCode = DONE;
  const does: Does = (verb) => async (values) => {
    exitCode = await verb(values as Parameters<typeof verb>[0], host);
  };
  const elsewhere = (): void => undefined;
  // What follows `--` is the command line of a server, and none of our business.
  const end = args.indexOf('--');
  const [own, line] = end < 0 ? [args, undefined] : [args.slice(0, end), args.slice(end + 1)];
  const parser: Argv = yargs([...own])
    .scriptName('mcp-bridge')
    .usage('$0 VERB\n\nLets many MCP clients on this host share MCP servers through one socket.')
    .command('serve', 'Run the daemon in the foreground', (y) => y.options(SERVE), elsewhere)
    .command(
      'start',
      'Start the daemon in the background',
      (y) => y.options({ ...WHERE, 'log-level': LOGGING['log-level'] }),
      does(start),
    )
    .command('stop', 'Stop the daemon once what was asked is answered', (y) => y.options(WHERE), does(stop))
    .command('status', 'Show the daemon and its servers', (y) => y.options(LISTING), does(status))
    .command('clients', 'Show who is connected', (y) => y.options(LISTING), does(clients))
    .command(
      'auth <name>',
      'Sign in to a server at a URL',
      (y) => y.positional('name', { type: 'string', describe: 'The server' }).options(AUTH),
      does(async (values: AuthValues, host) => (await import('./auth.ts')).auth(values, host)),
    )
    .command(
      'connect',
      'Be a stdio MCP server which is the bridge, for the config of any client',
      (y) => y.options(CONNECT),
      elsewhere,
    )
    .demandCommand(1, 'Name a verb')
    .strict()
    .recommendCommands()
    .parserConfiguration({ 'boolean-negation': false })
    .version(host.version)
    .help()
    .wrap(null)
    .exitProcess(false)
    .fail((message, error) => {
      if (error) throw error;
      const guess = message.startsWith('Did you mean') ? `There is no verb ${args[0] ?? ''}. ${message}` : message;
      throw new BridgeError('USAGE', guess, { hint: 'See: mcp-bridge --help' });
    });
  await withEditingVerbs(parser, does, line).parseAsync();
  return exitCode;
}
