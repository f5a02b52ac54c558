// Finds the address for clients over HTTP: the one that the running daemon was given, else the config's, and always the
// socket.

import { resolve } from 'node:path';
import { withHttpAddress } from '../config/http-settings.ts';
import type { HttpPlace } from '../editing/url-install.ts';
import { type HttpSettings, httpOrigin, unixUrl } from '../model/http-settings.ts';
import type { CliHost } from './host.ts';
import { locate, type WhereValues } from './locate.ts';
import { askIfRunning } from './running-daemon.ts';

export const MCP_PATH = '/mcp';

interface HttpHere {
  readonly socketPath: string;
  readonly http: HttpSettings;
  /** The beginning of URLs at the address besides the socket; undefined if there is none, or it is unknown yet. */
  readonly origin: string | undefined;
  /** The origin as the running daemon reports it; after a restart the port may differ. */
  readonly heldNow: string | undefined;
}

export async function httpHere(values: WhereValues, host: CliHost): Promise<HttpHere> {
  const { path: socketPath, loaded, configError } = await locate(values, host);
  if (configError !== undefined) throw configError;
  const running = await askIfRunning(socketPath, host, (client) => client.call('bridge/status'));
  const flag = running?.httpFlag ?? undefined;
  const configured = loaded.config.http;
  const http = flag === undefined ? configured : withHttpAddress(configured, flag, (path) => resolve(host.cwd, path));
  const isChosen = http.listen?.kind === 'tcp' && http.listen.port === 0;
  const origin = isChosen ? undefined : httpOrigin(http);
  return { socketPath, http, origin, heldNow: running?.httpOrigin ?? undefined };
}

/** Lists the bridge's URLs that a client's config may contain; none if the config cannot be read. */
export async function endpointsHere(values: WhereValues, host: CliHost): Promise<readonly string[]> {
  const { path, loaded } = await locate(values, host);
  const origin = httpOrigin(loaded.config.http);
  return [unixUrl(path), ...(origin === undefined ? [] : [origin])];
}

/** The URL of a path on a socket, or on a port. */
export function urlAt(origin: string, path: string): string {
  return origin.startsWith('unix:') ? `${origin}#${path}` : `${origin}${path}`;
}

export function httpPlaceOf({ socketPath, http, origin }: Omit<HttpHere, 'heldNow'>): HttpPlace {
  return { bySocket: urlAt(unixUrl(socketPath), MCP_PATH), byPort: byPort(http, origin) };
}

const TO_OPEN = 'Set http.listen in the config, such as "127.0.0.1:4810", and restart: mcp-bridge restart';

function byPort(http: HttpSettings, origin: string | undefined): HttpPlace['byPort'] {
  if (http.listen?.kind !== 'tcp') return { problem: 'The bridge listens on no port for HTTP', hint: TO_OPEN };
  if (origin !== undefined) return { url: urlAt(origin, MCP_PATH), needsToken: http.needsToken };
  return { problem: 'The bridge listens on a port that is another one after each start', hint: TO_OPEN };
}
