// Checks a request before its body is read: host and origin, who asks, what for, and media types. If anything cannot be
// read, the request is refused.

import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { viewAtPath } from '../../model/view-name.ts';
import { INVALID_REQUEST, rpcError } from '../../protocol/rpc-error.ts';
import type { HttpRefusal } from './http-error.ts';

const LOOPBACK: ReadonlySet<string> = new Set(['localhost', '127.0.0.1', '[::1]']);

export interface HostRules {
  /** Additional host names for the bridge. */
  readonly allowedHosts: readonly string[];
  /** Origins whose pages may use the bridge. */
  readonly allowedOrigins: readonly string[];
}

export function refusal(status: number, message: string, headers?: Readonly<Record<string, string>>): HttpRefusal {
  return { status, error: rpcError(INVALID_REQUEST, message), ...(headers !== undefined && { headers }) };
}

/**
 * Refuses foreign hosts and pages. A page in a browser may send requests to this machine, under any name that its own
 * server chooses. So the host name must be one of this machine only, and the origin the bridge's own or an allowed one.
 */
export function hostRefusal({ host, origin }: IncomingHttpHeaders, rules: HostRules): HttpRefusal | undefined {
  const name = hostnameOf(host ?? '').toLowerCase();
  if (!LOOPBACK.has(name) && !rules.allowedHosts.some((allowed) => isHost(allowed, host ?? '', name)))
    return refusal(403, 'Host is not allowed (http.allowedHosts)');
  if (origin === undefined || isOwnOrigin(origin, host ?? '') || isAllowedOrigin(origin, rules)) return undefined;
  return refusal(403, 'Origin is not allowed (http.allowedOrigins)');
}

/** True if pages of this origin may use the bridge. */
export function isAllowedOrigin(origin: string | undefined, { allowedOrigins }: HostRules): boolean {
  return origin !== undefined && allowedOrigins.includes(origin.toLowerCase());
}

function hostnameOf(host: string): string {
  return host.replace(/:\d{1,5}$/, '');
}

function isHost(allowed: string, host: string, name: string): boolean {
  return allowed.toLowerCase() === name || allowed.toLowerCase() === host.toLowerCase();
}

function isOwnOrigin(origin: string, host: string): boolean {
  return origin === `http://${host}` || origin === `https://${host}`;
}

/** The view for a path; `view` is undefined for the client's own. */
export type Endpoint =
  | { readonly is: 'mcp'; readonly view: string | undefined }
  | { readonly is: 'health' }
  | { readonly is: 'metrics' };

/** The endpoint at a path; undefined if there is none. */
export function endpointAt(url: string): Endpoint | undefined {
  const query = url.indexOf('?');
  const path = query < 0 ? url : url.slice(0, query);
  switch (path) {
    case '/mcp':
    case '/mcp/':
      return { is: 'mcp', view: undefined };
    case '/health':
      return { is: 'health' };
    case '/metrics':
      return { is: 'metrics' };
    default: {
      const view = path.startsWith('/mcp/') ? viewAtPath(path.slice('/mcp'.length)) : undefined;
      return view === undefined ? undefined : { is: 'mcp', view };
    }
  }
}

/** The token in `Authorization`; undefined if there is none. */
export function bearerOf({ authorization }: IncomingHttpHeaders): string | undefined {
  return /^bearer +([!-~]+) *$/i.exec(authorization ?? '')?.[1];
}

/** Refuses a POST unless it carries JSON and accepts both kinds of answers. */
export function mediaRefusal({ headers }: IncomingMessage): HttpRefusal | undefined {
  const type = (headers['content-type'] ?? '').split(';')[0]?.trim().toLowerCase();
  if (type !== 'application/json') return refusal(415, 'Content-Type is not application/json');
  const encoding = headers['content-encoding'];
  if (encoding !== undefined && encoding.toLowerCase() !== 'identity')
    return refusal(415, 'Content-Encoding is not supported', { 'accept-encoding': 'identity' });
  if (accepts(headers, 'application/json') && accepts(headers, 'text/event-stream')) return undefined;
  return refusal(406, 'Accept needs both application/json and text/event-stream');
}

/** True if the client accepts this media type. */
export function accepts({ accept }: IncomingHttpHeaders, type: string): boolean {
  if (accept === undefined) return false;
  const [family] = type.split('/');
  return accept.split(',').some((range) => {
    const [name = '', ...parameters] = range.split(';').map((part) => part.trim().toLowerCase());
    if (parameters.some((parameter) => /^q=0(?:\.0*)?$/.test(parameter))) return false;
    return name === type || name === '*/*' || name === `${family}/*`;
  });
}
