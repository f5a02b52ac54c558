// Sessions with the daemon for commands: one uses the tools of the view `discover`, the other asks the daemon about
// itself. Both start a daemon if none runs. Also reads their answers.

import { ControlClient } from '../client/control-client.ts';
import { type Answer, type SessionOptions, ToolClient } from '../client/tool-client.ts';
import { BridgeError } from '../util/bridge-error.ts';
import { isRecord, membersOf, textOf } from '../util/json-value.ts';
import type { CliHost } from './host.ts';
import { locateToUse, type WhereValues } from './locate.ts';
import { openOrStart } from './open-bridge.ts';
import { tellOtherConfig } from './other-config.ts';
import { forPeople } from './refused.ts';
import { Spinner } from './render/spinner.ts';

type SessionWish = Pick<SessionOptions, 'view' | 'onElicit'>;

export interface ToolCommandValues extends WhereValues {
  readonly 'no-autostart'?: boolean | undefined;
  readonly json?: boolean | undefined;
}

/** Runs `use` in a session, and closes the session in any case. */
export async function withTools<Result>(
  values: ToolCommandValues,
  host: CliHost,
  use: (client: ToolClient, spinner: Spinner) => Promise<Result>,
  wish: SessionWish = {},
): Promise<Result> {
  const located = await locateToUse(values, host);
  const spinner = new Spinner(host);
  const { onElicit } = wish;
  const opened = async (): Promise<ToolClient> =>
    ToolClient.open(await openOrStart(located, values, host), {
      ...host,
      ...wish,
      wantsWholeResults: true, // no model reads them
      ...(onElicit && { onElicit: (params) => spinner.heldFor(onElicit(params)) }),
    });
  const client = await spinner.during(() => 'Waiting for the daemon', opened());
  await tellOtherConfig(values, located.path, host);
  try {
    return await use(client, spinner);
  } catch (error) {
    throw await forPeople(error, { values, host });
  } finally {
    await client.close();
  }
}

/** The answer of one of the lookup tools. */
export async function ask(
  client: ToolClient,
  tool: 'list_mcp_servers' | 'list_tools' | 'search_tools' | 'get_tool_details',
  args: object = {},
  signal?: AbortSignal,
): Promise<Readonly<Record<string, unknown>>> {
  return found(await client.callTool(tool, JSON.stringify(args), { signal }));
}

function found({ result }: Answer): Readonly<Record<string, unknown>> {
  const [content] = recordsIn(membersOf(result).content);
  try {
    return membersOf(JSON.parse(textOf(content?.text)));
  } catch (error) {
    throw new BridgeError('DAEMON_UNRESPONSIVE', 'The daemon answers in a way that this command does not know', {
      hint: 'Is it of another version? See: mcp-bridge status',
      cause: error,
    });
  }
}

export function recordsIn(value: unknown): readonly Readonly<Record<string, unknown>>[] {
  return Array.isArray(value) ? value.filter(isRecord) : [];
}

/** Notes about a tool that a person needs before using it. */
export function noteOf({ changed, blocked, status, taskSupport }: Readonly<Record<string, unknown>>): string {
  return [
    ...(changed === true ? [blocked === true ? 'blocked, as it has changed' : 'changed'] : []),
    ...(taskSupport === 'required' ? ['runs as a task'] : []),
    ...(status === 'failed' ? ['server failed'] : []),
  ].join(', ');
}

/** Adds the command's name to a usage error that `read` throws. */
export function ofCommand<Result>(command: string, read: () => Result): Result {
  try {
    return read();
  } catch (error) {
    if (error instanceof BridgeError && error.code === 'USAGE' && error.hint === undefined)
      throw wrongUsage(command, error.message);
    throw error;
  }
}

/** The default hint for wrong usage. */
export function helpHint(command: string): string {
  return `See: mcp-bridge ${command} --help`;
}

export function wrongUsage(command: string, problem: string, hint = helpHint(command)): BridgeError {
  return new BridgeError('USAGE', problem, { hint });
}

/** Runs `use` in a session that asks the daemon about this directory's servers. */
export async function withControl<Result>(
  values: ToolCommandValues,
  host: CliHost,
  use: (client: ControlClient) => Promise<Result>,
): Promise<Result> {
  const located = await locateToUse(values, host);
  const client = await ControlClient.open(located.path, host.version, () => openOrStart(located, values, host));
  await tellOtherConfig(values, located.path, host);
  try {
    return await use(client);
  } finally {
    client.close();
  }
}

/** A server may send pages for ever. */
const MOST_PAGES = 1000;

export async function everyPage(
  client: ToolClient,
  kind: 'resources' | 'prompts',
): Promise<readonly Readonly<Record<string, unknown>>[]> {
  const found: Readonly<Record<string, unknown>>[] = [];
  let cursor: unknown;
  for (let page = 0; page < MOST_PAGES; page++) {
    const { result } = await client.request(`${kind}/list`, JSON.stringify(cursor === undefined ? {} : { cursor }));
    const members = membersOf(result);
    found.push(...recordsIn(members[kind]));
    cursor = members.nextCursor;
    if (typeof cursor !== 'string') break;
  }
  return found;
}
