// What the verbs `servers`, `tools`, `search`, `describe` and `call` have in common: a session with the daemon, and the
// answers of the tools that it shows.

import { type Answer, ToolClient } from '../client/tool-client.ts';
import { refuseBelowBridge } from '../local/bridge-depth.ts';
import { BridgeError } from '../util/bridge-error.ts';
import { isRecord, membersOf, textOf } from '../util/json-value.ts';
import { lineFor } from './exit-code.ts';
import type { CliHost } from './host.ts';
import { locate, type WhereValues } from './locate.ts';
import { openOrStart } from './open-bridge.ts';

export interface ToolVerbValues extends WhereValues {
  readonly 'no-autostart'?: boolean | undefined;
  readonly json?: boolean | undefined;
}

/** Runs `use` in a session, and ends that one whatever happens. */
export async function withTools<Result>(
  values: ToolVerbValues,
  host: CliHost,
  use: (client: ToolClient) => Promise<Result>,
): Promise<Result> {
  refuseBelowBridge(host.environment);
  const located = await locate(values, host);
  if (located.configError !== undefined) host.stderr.write(lineFor(located.configError));
  const client = await ToolClient.open(await openOrStart(located, values, host), host);
  try {
    return await use(client);
  } catch (error) {
    throw forPeople(error);
  } finally {
    await client.close();
  }
}

/** The verbs by which people do what agents do with these tools. */
const VERBS = { search_tools: 'mcp-bridge search', get_tool_details: 'mcp-bridge describe' };

/** What the daemon tells an agent to use, by its name in a shell. */
function forPeople(error: unknown): unknown {
  if (!(error instanceof BridgeError) || error.hint === undefined) return error;
  const { code, message, hint, cause } = error;
  const told = Object.entries(VERBS).find(([tool]) => hint.startsWith(`${tool} `));
  if (told === undefined) return error;
  const [tool, verb] = told;
  return new BridgeError(code, message, { hint: hint.replace(tool, verb), cause });
}

/** What one of the tools that find others answers. */
export async function ask(
  client: ToolClient,
  tool: 'list_mcp_servers' | 'list_tools' | 'search_tools' | 'get_tool_details',
  args: object = {},
): Promise<Readonly<Record<string, unknown>>> {
  return found(await client.callTool(tool, JSON.stringify(args)));
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

/** What is to be known of a tool before it is used: it has changed, or its server cannot be started at present. */
export function noteOf({ changed, status }: Readonly<Record<string, unknown>>): string {
  return [changed === true ? 'changed' : '', status === 'failed' ? 'server failed' : ''].filter(Boolean).join(', ');
}

export function printJson(value: unknown, host: CliHost): void {
  host.stdout.write(`${JSON.stringify(value, undefined, 2)}\n`);
}

export function wrongUsage(verb: string, problem: string, hint = `See: mcp-bridge ${verb} --help`): BridgeError {
  return new BridgeError('USAGE', problem, { hint });
}
