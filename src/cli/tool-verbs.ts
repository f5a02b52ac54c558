// The verbs that use the tools of all servers, as yargs knows them. Each is loaded when it is called.

import type { Argv } from 'yargs';
import type { CallValues } from './call.ts';
import type { Does } from './commands.ts';
import type { DescribeValues } from './describe.ts';
import type { CliHost } from './host.ts';
import { jsonText } from './json-output.ts';
import { CALL, DESCRIBE, PROMPTS, REFRESH, RESOURCES, SEARCH, SERVERS, TOOLS } from './options.ts';
import type { PromptsValues } from './prompts.ts';
import type { RefreshValues } from './refresh.ts';
import { errorReport } from './refused.ts';
import type { ResourcesValues } from './resources.ts';
import type { SearchValues } from './search.ts';
import type { ServersValues } from './servers.ts';
import type { ToolVerbValues } from './tool-session.ts';
import type { ToolsValues } from './tools.ts';

const SERVER = { type: 'string', describe: 'The server' } as const;
const TOOL = { type: 'string', describe: 'The tool', demandOption: true } as const;
const WORDS = { type: 'string', array: true, describe: 'What you want to do' } as const;
const NAMES = { type: 'string', array: true, describe: 'The servers' } as const;
const TOOL_NAMES = { type: 'string', array: true, describe: 'With --changed or --accept: only these' } as const;
const ARGUMENTS = {
  type: 'string',
  array: true,
  describe: 'KEY=VALUE, or KEY:=JSON',
} as const;

/** yargs knows no lone dash, which stands for stdin, and behind --out for stdout. */
export function withoutDash(args: readonly string[]): string[] {
  if (args[0] !== 'call') return [...args];
  return args.flatMap((arg, i) => {
    if (arg === '--out' && args[i + 1] === '-') return ['--out=-'];
    if (arg === '--args-file=-') return ['--stdin'];
    if (arg === '--args-file' && args[i + 1] === '-') return [];
    if (arg !== '-') return [arg];
    return args[i - 1] === '--out' ? [] : ['--stdin'];
  });
}

/** `line` is what followed `--`: words and arguments that begin with a dash. */
export function withToolVerbs(parser: Argv, does: Does, line: readonly string[] = []): Argv {
  const needed = { ...SERVER, demandOption: true } as const;
  return parser
    .command(
      'servers',
      'Show the servers that the bridge offers',
      (y) => y.options(SERVERS),
      does(orJson(async (values: ServersValues, host) => (await import('./servers.ts')).servers(values, host))),
    )
    .command(
      'tools [server] [tools..]',
      'Show the tools of a server, or of all; and which of them have changed',
      (y) => y.positional('server', SERVER).positional('tools', TOOL_NAMES).options(TOOLS),
      does(orJson(async (values: ToolsValues, host) => (await import('./tools.ts')).tools(values, host))),
    )
    .command(
      'search [words..]',
      'Find tools of all servers by what they do',
      (y) => y.positional('words', WORDS).options(SEARCH),
      does(
        orJson(async ({ words = [], ...values }: SearchValues, host) =>
          (await import('./search.ts')).search({ ...values, words: [...words, ...line] }, host),
        ),
      ),
    )
    .command(
      'describe <server> <tool>',
      'Show what a tool does and takes, and how to call it',
      (y) => y.positional('server', needed).positional('tool', TOOL).options(DESCRIBE),
      does(orJson(async (values: DescribeValues, host) => (await import('./describe.ts')).describe(values, host))),
    )
    .command(
      'call <server> <tool> [arguments..]',
      'Call a tool',
      (y) => y.positional('server', needed).positional('tool', TOOL).positional('arguments', ARGUMENTS).options(CALL),
      does(
        orJson(async ({ arguments: pairs = [], ...values }: CallValues, host) =>
          (await import('./call.ts')).call({ ...values, arguments: [...pairs, ...line] }, host),
        ),
      ),
    )
    .command(
      'resources <action> [uri]',
      'Show what servers have to read, or read one',
      (y) =>
        y
          .positional('action', { choices: ['list', 'read'] as const, describe: 'What to do' })
          .positional('uri', { type: 'string', describe: 'The URI of a resource' })
          .options(RESOURCES),
      does(orJson(async (values: ResourcesValues, host) => (await import('./resources.ts')).resources(values, host))),
    )
    .command(
      'prompts <action> [name] [arguments..]',
      'Show the prompts of servers, or fill one in',
      (y) =>
        y
          .positional('action', { choices: ['list', 'get'] as const, describe: 'What to do' })
          .positional('name', { type: 'string', describe: 'The prompt' })
          .positional('arguments', { ...ARGUMENTS, describe: 'KEY=VALUE' })
          .options(PROMPTS),
      does(orJson(async (values: PromptsValues, host) => (await import('./prompts.ts')).prompts(values, host))),
    )
    .command(
      'refresh [servers..]',
      'Have servers say anew what they have; all of them, if none is named',
      (y) => y.positional('servers', NAMES).options(REFRESH),
      does(orJson(async (values: RefreshValues, host) => (await import('./refresh.ts')).refresh(values, host))),
    );
}

/** Who has asked for JSON finds there what went wrong, too. */
function orJson<Values extends ToolVerbValues>(
  verb: (values: Values, host: CliHost) => Promise<number>,
): (values: Values, host: CliHost) => Promise<number> {
  return async (values, host) => {
    try {
      return await verb(values, host);
    } catch (error) {
      if (values.json === true) host.stdout.write(jsonText({ error: errorReport(error) }));
      throw error;
    }
  };
}
