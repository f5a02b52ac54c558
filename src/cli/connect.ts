// `mcp-bridge connect`: a stdio MCP server for any client's config, which is the bridge.

import type { Socket } from 'node:net';
import type { Located } from '../client/locate.ts';
import { refuseBelowBridge } from '../local/bridge-depth.ts';
import { answerUnavailable, relay } from '../shim/connect.ts';
import { BridgeError } from '../util/bridge-error.ts';
import { readArguments, type Values } from './arguments.ts';
import { DONE, FAILED, lineFor } from './exit-code.ts';
import type { CliHost } from './host.ts';
import { locate } from './locate.ts';
import { openOrStart } from './open-bridge.ts';
import { CONNECT } from './options.ts';

export async function connect(args: readonly string[], host: CliHost): Promise<number> {
  const values = readArguments('connect', args, CONNECT);
  if (values.server !== undefined && values.view !== undefined)
    throw new BridgeError('USAGE', '--server and --view exclude each other', {
      hint: 'See: mcp-bridge connect --help',
    });
  const { stdin, stdout, stderr } = host;
  let located: Located;
  let socket: Socket;
  try {
    refuseBelowBridge(host.environment);
    located = await locate(values, host);
    if (located.configError !== undefined) stderr.write(lineFor(located.configError));
    socket = await openOrStart(located, values, host);
  } catch (error) {
    if (!(error instanceof BridgeError)) throw error;
    stderr.write(lineFor(error));
    await answerUnavailable(stdin, stdout, error);
    return FAILED;
  }
  const clientEndedIt = await relay({ stdin, stdout, socket, meta: introduction(values, located, host) });
  if (clientEndedIt) return DONE;
  throw new BridgeError('DAEMON_NOT_RUNNING', 'The daemon has closed the connection', {
    hint: 'See: mcp-bridge status',
  });
}

function introduction(values: Values<typeof CONNECT>, located: Located, host: CliHost): Record<string, string> {
  const { config } = located.loaded;
  const clientId = values['mcp-client-id'] ?? host.environment.MCP_CLIENT_ID ?? config.clientId;
  const view = values.server === undefined ? (values.view ?? config.view) : `server:${values.server}`;
  return {
    'mcp-bridge/cwd': host.cwd,
    ...(clientId ? { 'mcp-bridge/clientId': clientId } : {}),
    ...(view ? { 'mcp-bridge/view': view } : {}),
  };
}
