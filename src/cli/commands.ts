// All verbs as yargs knows them: help, suggestions, and the dispatch of those that need not start in a hurry.

import yargs, { type Argv } from 'yargs';
import { invariant } from '../util/invariant.ts';
import type { DecideValues } from './approve.ts';
import { givenTexts } from './arguments.ts';
import type { AttachValues } from './attach.ts';
import type { AuthValues } from './auth.ts';
import type { CompletionValues } from './completion/completion.ts';
import type { ConfigValues } from './config.ts';
import { clients, reload, type StatusValues, start, status, stop } from './daemon-verbs.ts';
import type { DiscoverValues } from './discover.ts';
import type { DoctorValues } from './doctor.ts';
import { withEditingVerbs } from './editing-verbs.ts';
import { DONE } from './exit-code.ts';
import type { CliHost } from './host.ts';
import type { WhereValues } from './locate.ts';
import type { LogsValues } from './logs.ts';
import {
  APPROVE,
  ATTACH,
  AUTH,
  COMPLETION,
  CONFIG,
  CONNECT,
  DISCOVER,
  DOCTOR,
  LISTING,
  LOGS,
  POLICY,
  REJECT,
  RESTART,
  SEND,
  SERVE,
  START,
  STATUS,
  TOP,
  UPGRADE,
  WHERE,
} from './options.ts';
import { overview } from './overview.ts';
import type { PolicyValues } from './policy.ts';
import { restart, upgrade } from './restart.ts';
import { withRunningVerbs } from './running-verbs.ts';
import type { SendValues } from './send.ts';
import { startingThere } from './start-hint.ts';
import { withoutDash, withToolVerbs } from './tool-verbs.ts';
import { checkFlags, checkVerb, usageError } from './usage.ts';
import { examplesText, NAMES as NAMES_FOR_SHELLS, SHELLS, VERB_TABLE, verbOf } from './verb-table.ts';
import type { WatchValues } from './watch.ts';

const SERVER_NAME = 'A name, an id, an alias, or CLIENT:NAME';
const NAMES = { type: 'string', array: true, describe: SERVER_NAME } as const;

const HELP_WIDTH = 100;

/** Makes a verb's function what yargs calls, with the host, and keeps its exit code. */
export type Does = <Values>(
  verb: (values: Values, host: CliHost) => Promise<number>,
) => (values: unknown) => Promise<void>;

/** Runs the verb that `args` begin with; resolves to the exit code. */
export async function runCommand(args: readonly string[], host: CliHost): Promise<number> {
  let exitCode = DONE;
  const does: Does = (verb) => async (values) => {
    try {
      exitCode = await verb(checkedValues(values) as Parameters<typeof verb>[0], host);
    } catch (error) {
      throw startingThere(error, values);
    }
  };
  // What follows `--` is the command line of a server, and none of our business.
  const end = args.indexOf('--');
  const [own, line] = end < 0 ? [args, undefined] : [args.slice(0, end), args.slice(end + 1)];
  const isOfAll = own.every((arg) => arg.startsWith('-')) && !own.includes('--version');
  checkVerb(own);
  checkFlags(own);
  const parser = withToolVerbs(withDiscoveringVerbs(yargs(withoutDash(own)), does), does, line);
  const all = withDaemonVerbs(withRunningVerbs(withEditingVerbs(parser, does, line), does), does, line);
  await all
    .scriptName('mcp-bridge')
    .usage('$0 VERB\n\nLets many MCP clients on this host share MCP servers through one socket.')
    .demandCommand(1, 'Name a verb')
    .strict()
    .parserConfiguration({ 'boolean-negation': false })
    .version(host.version)
    .help()
    .alias('help', 'h')
    .option('no-color', {
      type: 'boolean',
      describe: 'Show no colours; NO_COLOR does the same, FORCE_COLOR the opposite',
    })
    // The overview of all verbs is laid out by itself, from one line for each.
    .wrap(isOfAll ? null : HELP_WIDTH)
    .exitProcess(false)
    .fail((message, error) => {
      throw error ?? usageError(message, own);
    })
    .parseAsync(withoutDash(own), {}, (_error, _values, help) => {
      if (help === '') return;
      const examples = own.includes('--version') ? '' : examplesText(verbOf(own) ?? '');
      host.stdout.write(`${isOfAll ? overview(help) : help}\n${examples === '' ? '' : `\n${examples}\n`}`);
    });
  return exitCode;
}

/** The parser has an empty text for an option that nothing follows. */
function checkedValues(values: unknown): unknown {
  const given = values as Readonly<Record<string, unknown>> & { readonly _: readonly string[] };
  const verb = verbOf(given._) ?? '';
  return givenTexts(verb, given, VERB_TABLE[verb]?.options ?? {});
}

/** What there is, and what may be used of it. */
function withDiscoveringVerbs(parser: Argv, does: Does): Argv {
  return parser
    .command(
      'discover',
      'Show every definition of a server in the files of all clients, and what became of it',
      (y) => y.options(DISCOVER),
      does(async (values: DiscoverValues, host) => (await import('./discover.ts')).discover(values, host)),
    )
    .command(
      'approve [names..]',
      'Look at what came with a project, and let it be used; without a name, list what waits',
      (y) => y.positional('names', NAMES).options(APPROVE),
      does(async (values: DecideValues, host) => (await import('./approve.ts')).approve(values, host)),
    )
    .command(
      'reject [names..]',
      'Let what came with a project not be used, and ask no more',
      (y) => y.positional('names', NAMES).options(REJECT),
      does(async (values: DecideValues, host) => (await import('./approve.ts')).reject(values, host)),
    )
    .command('policy', 'Show what policy does', (y) =>
      y
        .command(
          'explain <name>',
          'Say which rule allows or blocks a server',
          (z) => z.positional('name', { type: 'string', describe: SERVER_NAME }).options(POLICY),
          does(async (values: PolicyValues, host) => (await import('./policy.ts')).explainRule(values, host)),
        )
        .demandCommand(1, 'Name what to do: mcp-bridge policy explain NAME'),
    )
    .command('config', 'Show which config file counts, and what is wrong with it', (y) =>
      y
        .command(
          'check [file]',
          'Say which config file counts here and why, and everything that is wrong with it',
          (z) =>
            z.positional('file', { type: 'string', describe: 'The file to check, wherever it is' }).options(CONFIG),
          does(async (values: ConfigValues, host) => (await import('./config.ts')).checkConfigs(values, host)),
        )
        .command(
          'path',
          'Print the path of the config file that counts here',
          (z) => z.options(CONFIG),
          does(async (values: ConfigValues, host) => (await import('./config.ts')).showConfigPath(values, host)),
        )
        .demandCommand(1, 'Name what to do: mcp-bridge config check, or mcp-bridge config path'),
    );
}

/** `line` is what followed `--`. */
function withDaemonVerbs(parser: Argv, does: Does, line: readonly string[] = []): Argv {
  // `main.ts` runs these two. Here they have only their help.
  const elsewhere = (): void => invariant(false, 'serve and connect run without this parser');
  return parser
    .command(
      'auth <name>',
      'Sign in to a server at a URL',
      (y) => y.positional('name', { type: 'string', describe: 'The server' }).options(AUTH),
      does(async (values: AuthValues, host) => (await import('./auth.ts')).auth(values, host)),
    )
    .command(
      'status',
      'Show the daemon and its servers',
      (y) => y.options(STATUS),
      does(async (values: StatusValues & WatchValues, host) =>
        values.watch === true ? (await import('./watch.ts')).watch(values, host) : status(values, host),
      ),
    )
    .command(
      'top',
      'Show the daemon, its servers and clients, again and again; the same as status --watch',
      (y) => y.options(TOP),
      does(async (values: WatchValues, host) => (await import('./watch.ts')).watch(values, host)),
    )
    .command(
      'metrics',
      'Print what the daemon has counted, for Prometheus',
      (y) => y.options(WHERE),
      does(async (values: WhereValues, host) => (await import('./metrics.ts')).metrics(values, host)),
    )
    .command('clients', 'Show who is connected', (y) => y.options(LISTING), does(clients))
    .command(
      'attach <name>',
      'Run the stdio server that follows --, and offer it to all clients until it ends; its exit code is passed on',
      (y) =>
        y
          .usage('$0 attach NAME -- COMMAND…')
          .positional('name', { type: 'string', describe: 'What others are to know it by', demandOption: true })
          .options(ATTACH),
      does(async (values: AttachValues, host) => (await import('./attach.ts')).attach(values, line, host)),
    )
    .command(
      'send <to> [method] [arguments..]',
      'Say something to another client, and print what it answers',
      (y) =>
        y
          .positional('to', { type: 'string', describe: 'The client', demandOption: true })
          .positional('method', { type: 'string', describe: 'What to ask it' })
          .positional('arguments', { type: 'string', array: true, describe: 'KEY=VALUE, or KEY:=JSON' })
          .options(SEND),
      does(async ({ arguments: pairs = [], ...values }: SendValues, host) =>
        (await import('./send.ts')).send({ ...values, arguments: [...pairs, ...line] }, host),
      ),
    )
    .command('start', 'Start the daemon in the background', (y) => y.options(START), does(start))
    .command('stop', 'Stop the daemon once what was asked is answered', (y) => y.options(LISTING), does(stop))
    .command(
      'restart',
      'End the daemon once what was asked is answered, and start another one; clients that can resume wait for it',
      (y) => y.options(RESTART),
      does(restart),
    )
    .command(
      'upgrade',
      'The same as restart --if-older: after an update of this program, have the daemon be of the same build',
      (y) => y.options(UPGRADE),
      does(upgrade),
    )
    .command('reload', 'Look for servers anew, and show what has changed', (y) => y.options(LISTING), does(reload))
    .command(
      'doctor',
      'Say which bridge is used here and why, and what is wrong with it',
      (y) => y.options(DOCTOR),
      does(async (values: DoctorValues, host) => (await import('./doctor.ts')).doctor(values, host)),
    )
    .command(
      'logs [server]',
      "Show the log of the daemon in the background; or what a server's processes have written on stderr",
      (y) => y.positional('server', { type: 'string', describe: 'The server' }).options(LOGS),
      does(async (values: LogsValues, host) => (await import('./logs.ts')).logs(values, host)),
    )
    .command(
      'completion <what> [server]',
      'Print what makes a shell complete this command; or the names of servers, or of the tools of one',
      (y) =>
        y
          .positional('what', { choices: [...SHELLS, ...NAMES_FOR_SHELLS], describe: 'The shell, or the names' })
          .positional('server', { type: 'string', describe: 'Whose tools' })
          .options(COMPLETION),
      does(async (values: CompletionValues, host) =>
        (await import('./completion/completion.ts')).completion(values, host),
      ),
    )
    .command('serve', 'Run the daemon in the foreground', (y) => y.options(SERVE), elsewhere)
    .command(
      'connect',
      'Be a stdio MCP server which is the bridge, for the config of any client',
      (y) => y.options(CONNECT),
      elsewhere,
    );
}
