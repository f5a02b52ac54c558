// Why a call through a meta-tool has not reached its server, as the agent is told.

import { rpcErrorOf, withHint } from '../core/rpc-error.ts';
import { BridgeError } from '../util/bridge-error.ts';
import { nearest } from '../util/nearest.ts';

export interface Wanted {
  readonly server: string;
  readonly tool: string;
}

/** The `error` of the response. */
export function toolError(error: BridgeError, { server, tool }: Wanted): string {
  const { code } = error;
  const told = withHint(error);
  const wanted = { ...(server !== '' && { server }), ...(tool !== '' && { tool }) };
  return rpcErrorOf(told, { success: false, error: { code, message: told.message, ...wanted } });
}

export function noSuchServer(name: string, names: readonly string[]): BridgeError {
  return new BridgeError('SERVER_NOT_FOUND', `There is no server ${quoted(name)}`, { hint: hintFrom(name, names) });
}

export function noSuchTool({ server, tool }: Wanted, names: readonly string[], more = ''): BridgeError {
  return new BridgeError('TOOL_NOT_FOUND', `Server ${server} has no tool ${quoted(tool)}`, {
    server,
    hint: `${hintFrom(tool, names)}${more}`,
  });
}

function hintFrom(name: string, names: readonly string[]): string {
  const similar = nearest(name, names);
  return similar.length === 0 ? 'search_tools finds tools by what they do.' : `Did you mean ${similar.join(', ')}?`;
}

export const quoted = (name: string): string => JSON.stringify(name.slice(0, 128));
