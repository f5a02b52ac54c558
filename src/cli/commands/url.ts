// `mcp-bridge url`: prints the bridge's URL for clients over HTTP, and the config entry that most of them need.

import { unixUrl } from '../../model/http-settings.ts';
import { isViewName, pathOfView, VIEW_NAMES } from '../../model/view-name.ts';
import { DONE } from '../exit-code.ts';
import type { CliHost } from '../host.ts';
import { httpHere, MCP_PATH, urlAt } from '../http-place.ts';
import type { WhereValues } from '../locate.ts';
import { printable, printJson } from '../render/table.ts';
import { wrongUsage } from '../tool-session.ts';

export interface UrlValues extends WhereValues {
  readonly server?: string | undefined;
  readonly view?: string | undefined;
  readonly json?: boolean | undefined;
}

const TO_OPEN =
  'The socket is the only place for HTTP. To open a port: mcp-bridge restart --http 127.0.0.1:4810, or http.listen in the config';
const NOT_KNOWN = 'The port is chosen when the daemon starts; start it: mcp-bridge start';

export async function url(values: UrlValues, host: CliHost): Promise<number> {
  const path = pathFor(values);
  const { socketPath, http, ...place } = await httpHere(values, host);
  const origin = place.heldNow ?? place.origin;
  const socketUrl = urlAt(unixUrl(socketPath), path);
  const shown = origin === undefined ? socketUrl : urlAt(origin, path);
  const needsToken = shown.startsWith('http') && http.needsToken;
  const headers = needsToken ? { headers: { Authorization: 'Bearer TOKEN' } } : {};
  const entry = { 'mcp-bridge': { type: 'http', url: shown, ...headers } };
  if (values.json === true) return printJson({ url: shown, socketUrl, needsToken, entry }, host);
  // Alone on stdout for scripts.
  host.stdout.write(`${printable(shown)}\n`);
  const lines = [
    ...(http.listen === undefined ? [TO_OPEN] : []),
    ...(http.listen !== undefined && origin === undefined ? [NOT_KNOWN] : []),
    ...(needsToken ? ['TOKEN is made with: mcp-bridge token create NAME'] : []),
    `For the servers of a client's config: ${JSON.stringify(entry)}`,
    `With curl, over the socket: curl --unix-socket ${socketPath} http://localhost${path}`,
  ];
  for (const line of lines) host.stderr.write(`${printable(line)}\n`);
  return DONE;
}

function pathFor({ server, view }: UrlValues): string {
  if (server !== undefined && view !== undefined) throw wrongUsage('url', 'Name --server or --view, and not both');
  const wanted = server === undefined ? view : `server:${server}`;
  if (wanted === undefined) return MCP_PATH;
  if (!isViewName(wanted)) throw wrongUsage('url', `--view is ${VIEW_NAMES}`);
  return `${MCP_PATH}${pathOfView(wanted)}`;
}
