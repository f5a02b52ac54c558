// Errors of calls that did not reach a server, in words for the agent: what is wrong, and which tool to use next.

import type { NamedTool } from '../core/events.ts';
import { rpcErrorOf, withHint } from '../protocol/rpc-error.ts';
import { BridgeError } from '../util/bridge-error.ts';
import { LONGEST_NAME } from '../util/longest-name.ts';
import { nearest, suggestion } from '../util/nearest.ts';
import type { CodeTool } from './code-tools.ts';
import type { MetaTool } from './meta-tools.ts';

/** The server and tool that a call names; '' for missing names. */
export type Wanted = NamedTool;

/** The `error` of the response. */
export function toolError(error: BridgeError, { server, tool }: Wanted): string {
  const { code } = error;
  const told = withHint(error);
  const wanted = { ...(server !== '' && { server: shortened(server) }), ...(tool !== '' && { tool: shortened(tool) }) };
  return rpcErrorOf(told, { success: false, error: { code, message: told.message, ...wanted } });
}

export function noSuchServer(name: string, names: readonly string[]): BridgeError {
  const near = nearest(name, names);
  return new BridgeError('SERVER_NOT_FOUND', `There is no server ${quoted(name)}`, {
    hint: suggestion(near) ?? existingNames(names),
    facts: near.length > 0 ? { near } : { known: names.slice(0, MOST_NAMES), count: names.length },
  });
}

export function noSuchTool({ server, tool }: Wanted, names: Iterable<string>, more = ''): BridgeError {
  const near = nearest(tool, names);
  return new BridgeError('TOOL_NOT_FOUND', `Server ${server} has no tool ${quoted(tool)}`, {
    server,
    hint: `${suggestion(near) ?? 'search_tools finds tools by what they do.'}${more}`,
    facts: { near },
  });
}

/** MCP Apps: such a tool is only for the pages of its server, not for models. */
export function forAppsOnly({ server, tool }: Wanted): BridgeError {
  return new BridgeError('TOOL_DISABLED', `${server}:${tool} is for the apps of its server only`, {
    server,
    hint: 'Use another tool: search_tools finds them.',
  });
}

/** The error for wrong arguments of a meta-tool itself. */
export function badArguments(tool: MetaTool | CodeTool, faults: readonly string[]): BridgeError {
  return new BridgeError('TOOL_ARGUMENTS_INVALID', `${tool}: ${faults.join('; ')}`);
}

/** Tasks are handled by the program around a model: see docs/protocol.md. */
export function needsTask({ server, tool }: Wanted): BridgeError {
  return new BridgeError('TOOL_NEEDS_TASK', `${server}:${tool} can be called only as a task`, {
    server,
    hint: 'Use another tool, unless this client can put `task` into the params of its call of execute_tool.',
  });
}

/** The existing names, as seen by this search. */
function existingNames(names: readonly string[]): string {
  if (names.length === 0) return 'No servers are available here.';
  const some = `There are: ${names.slice(0, MOST_NAMES).join(', ')}`;
  return names.length > MOST_NAMES ? `${some}, … list_mcp_servers lists all.` : `${some}.`;
}

const MOST_NAMES = 10;

/** Cuts a name from a client; no real name is this long. */
const shortened = (name: string): string => name.slice(0, LONGEST_NAME);

export const quoted = (name: string): string => JSON.stringify(name.slice(0, 128));
