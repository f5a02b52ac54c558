// `mcp-bridge tools`: lists the tools of one server, or of all.

import { ControlClient } from '../../client/control-client.ts';
import type { ToolClient } from '../../client/tool-client.ts';
import { BridgeError } from '../../util/bridge-error.ts';
import { textOf } from '../../util/json-value.ts';
import { DONE, FAILED, lineFor } from '../exit-code.ts';
import type { CliHost } from '../host.ts';
import { hostsLine } from '../hosts-hint.ts';
import { locate, type WhereValues } from '../locate.ts';
import { waitingFor } from '../render/spinner.ts';
import { printable, printJson, table } from '../render/table.ts';
import { widthOf } from '../render/terminal.ts';
import { ask, noteOf, recordsIn, withTools, wrongUsage } from '../tool-session.ts';
import type { ChangedToolsValues } from './changed-tools.ts';
import { NO_SERVER } from './servers.ts';

export interface ToolsValues extends ChangedToolsValues {
  readonly all?: boolean | undefined;
  readonly changed?: boolean | undefined;
  readonly accept?: boolean | undefined;
}

type Listed = Readonly<Record<string, unknown>>;
interface Failed {
  readonly server: string;
  readonly error: BridgeError;
}

/** The number of servers asked at a time, because each may have to be started. */
const AT_ONCE = 16;
/** After this time, the answers so far are shown. */
const PATIENCE_MS = 2_000;

export async function tools(values: ToolsValues, host: CliHost): Promise<number> {
  const { server } = values;
  if (values.accept === true) return (await import('./changed-tools.ts')).acceptChanged(values, host);
  if (values.changed === true) return (await import('./changed-tools.ts')).showChanged(values, host);
  if ((values.tools ?? []).length > 0) throw wrongUsage('tools', 'Tools are named with --changed or --accept');
  if (server === undefined) return toolsOfAll(values, host);
  const list = await withTools(values, host, (client, spinner) =>
    spinner.during(() => waitingFor([server]), listOf(client, server, { values, host })),
  );
  if (values.json === true) printJson(list, host);
  else if (recordsIn(list.tools).length === 0) host.stdout.write(noTool([list], values));
  else host.stdout.write(tableOf([list], values, host));
  return DONE;
}

/**
 * Lists the tools of all servers. A failed server gets a line on stderr; slow servers do not delay the others' tools.
 */
async function toolsOfAll(values: ToolsValues, host: CliHost): Promise<number> {
  const shown: (Listed | Failed)[] = [];
  const answers = await withTools(values, host, async (client, spinner) => {
    const { servers } = await ask(client, 'list_mcp_servers');
    const names = recordsIn(servers)
      .map(({ name }) => textOf(name))
      .toSorted();
    const missing = new Set(names);
    const asked = inTurn(names, (name) =>
      listOrFailure(client, name, { values, host }).finally(() => missing.delete(name)),
    );
    const waiting = (): string => waitingFor([...missing]);
    const early = await spinner.during(waiting, answeredBy(PATIENCE_MS, asked));
    if (missing.size > 0) {
      shown.push(...early.filter((answer) => answer !== undefined));
      if (values.json !== true) show(shown, values, host);
    }
    return spinner.during(waiting, Promise.all(asked));
  });
  if (values.json === true) printJson({ servers: answers.map(asJson) }, host);
  else if (answers.length === 0) host.stdout.write(`${NO_SERVER}${await hostsLine(values, host)}`);
  else
    show(
      answers.filter((answer) => !shown.includes(answer)),
      values,
      host,
    );
  const failed = answers.filter(isFailed);
  for (const each of failed) host.stderr.write(complaintOf(each));
  return failed.length > 0 && failed.length === answers.length ? FAILED : DONE;
}

/** One line about a failed server, however much it printed before it ended. */
function complaintOf({ server, error }: Failed): string {
  const said = lineFor(error);
  if (!said.trimEnd().includes('\n')) return said;
  const [first = ''] = error.message.split('\n').filter((line) => line.trim() !== '');
  return lineFor(new BridgeError(error.code, first, { hint: `All of it: mcp-bridge tools ${server}` }));
}

function show(answers: readonly (Listed | Failed)[], values: ToolsValues, host: CliHost): void {
  const lists = answers.filter(isListed);
  if (lists.length === 0) return;
  const isEmpty = lists.every(({ tools }) => recordsIn(tools).length === 0);
  host.stdout.write(isEmpty ? noTool(lists, values) : tableOf(lists, values, host));
}

function noTool(lists: readonly Listed[], { server, all }: ToolsValues): string {
  const names = printable(lists.map((list) => textOf(list.server)).join(', '));
  if (all === true) return `There is no tool of: ${names}\n`;
  return `There is no tool that can be used of: ${names}. Disabled ones: mcp-bridge tools${server ? ` ${names}` : ''} --all\n`;
}

/** Runs tasks with a limit: further ones begin when earlier ones end. */
function inTurn<Result>(names: readonly string[], of: (name: string) => Promise<Result>): Promise<Result>[] {
  const lanes: Promise<unknown>[] = Array.from({ length: AT_ONCE }, () => Promise.resolve());
  return names.map((name, i) => {
    const result = (lanes[i % AT_ONCE] ?? Promise.resolve()).then(() => of(name));
    lanes[i % AT_ONCE] = result.catch(() => undefined); // whoever waits for the result sees its error
    return result;
  });
}

/** The answers within this time, undefined for missing ones. */
async function answeredBy<Result>(ms: number, asked: readonly Promise<Result>[]): Promise<(Result | undefined)[]> {
  const results: (Result | undefined)[] = asked.map(() => undefined);
  const all = Promise.all(
    asked.map(async (one, i) => {
      results[i] = await one;
    }),
  );
  let timer: NodeJS.Timeout | undefined;
  const patience = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, ms);
  });
  await Promise.race([all, patience]).finally(() => clearTimeout(timer));
  return [...results];
}

interface Asking {
  readonly values: ToolsValues;
  readonly host: CliHost;
}

async function listOf(client: ToolClient, server: string, { values, host }: Asking): Promise<Listed> {
  if (values.all !== true) return ask(client, 'list_tools', { server });
  const list = await ask(client, 'list_tools', { server, includeDisabled: true });
  const blocked = await blockedTools(server, values, host);
  return { ...list, tools: [...recordsIn(list.tools), ...blocked] };
}

async function listOrFailure(client: ToolClient, server: string, asking: Asking): Promise<Listed | Failed> {
  try {
    return await listOf(client, server, asking);
  } catch (error) {
    if (!(error instanceof BridgeError) || error.code === 'DAEMON_NOT_RUNNING') throw error;
    return { server, error };
  }
}

const isListed = (answer: Listed | Failed): answer is Listed => !isFailed(answer);
const isFailed = (answer: Listed | Failed): answer is Failed => answer.error instanceof BridgeError;

function asJson(answer: Listed | Failed): object {
  if (!isFailed(answer)) return answer;
  const { message, hint } = answer.error;
  return { server: answer.server, error: { message, hint } };
}

function tableOf(lists: readonly Listed[], { all }: ToolsValues, host: CliHost): string {
  const listed = lists.flatMap(({ server, status, tools }) =>
    recordsIn(tools).map((tool) => ({ ...tool, server, note: noteOf({ ...tool, status }) })),
  );
  const hasNotes = listed.some(({ note }) => note !== '');
  const rows = listed.map(({ server, name, note, enabled, summary }: Listed) => [
    textOf(server),
    textOf(name),
    ...(all === true ? [enabled === false ? 'no' : 'yes'] : []),
    ...(hasNotes ? [textOf(note)] : []),
    textOf(summary),
  ]);
  const head = ['SERVER', 'TOOL', ...(all === true ? ['ENABLED'] : []), ...(hasNotes ? ['NOTE'] : []), 'SUMMARY'];
  return table(head, rows, { width: widthOf(host) });
}

/**
 * The tools that are blocked because they have changed, like `list_tools` shows disabled ones but without descriptions:
 * a person must check those first.
 */
export async function blockedTools(server: string, values: WhereValues, host: CliHost): Promise<readonly object[]> {
  const { path } = await locate(values, host);
  const client = await ControlClient.open(path, host.version);
  try {
    const { servers } = await client.call('bridge/changes', { cwd: host.cwd, server });
    const blocking = servers.filter(({ policy }) => policy === 'block');
    const tools = blocking.flatMap((one) => one.tools.filter(({ state }) => state === 'changed'));
    return tools.map(({ tool }) => ({ ...BLOCKED, name: tool }));
  } finally {
    client.close();
  }
}

const BLOCKED = { name: '', summary: '', enabled: false, tags: [], changed: true, blocked: true };
