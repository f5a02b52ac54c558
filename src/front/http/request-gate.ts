// What is asked of a request before its body is read: the host and the origin that it names, who asks, what it is for, and in
// which media types. Everything here refuses; nothing is let in because something could not be read.

import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { viewAtPath } from '../../model/view-name.ts';
import { INVALID_REQUEST, rpcError } from '../../protocol/rpc-error.ts';
import type { HttpRefusal } from './http-error.ts';

const LOOPBACK: ReadonlySet<string> = new Set(['localhost', '127.0.0.1', '[::1]']);

export interface HostRules {
  /** Further names by which the bridge may be reached. */
  readonly allowedHosts: readonly string[];
  /** Pages of these origins may use the bridge. */
  readonly allowedOrigins: readonly string[];
}

export function refusal(status: number, message: string, headers?: Readonly<Record<string, string>>): HttpRefusal {
  return { status, error: rpcError(INVALID_REQUEST, message), ...(headers !== undefined && { headers }) };
}

/**
 * A page that a browser shows may send requests to this machine, and may call it by any name that its server gives it. So the
 * name must be one that only this machine has, and a page must be of the bridge itself or of an origin that is allowed.
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

/** The view that a path stands for; `view` is undefined for the client's own. */
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

/** The token in `Authorization`; undefined for none. */
export function bearerOf({ authorization }: IncomingHttpHeaders): string | undefined {
  return /^bearer +([!-~]+) *$/i.exec(authorization ?? '')?.[1];
}

/** A POST carries JSON, and takes both kinds of answers. */
export function mediaRefusal({ headers }: IncomingMessage): HttpRefusal | undefined {
  const type = (headers['content-type'] ?? '').split(';')[0]?.trim().toLowerCase();
  if (type !== 'application/json') return refusal(415, 'Content-Type is not application/json');
  const encoding = headers['content-encoding'];
  if (encoding !== undefined && encoding.toLowerCase() !== 'identity')
    return refusal(415, 'Content-Encoding is not supported', { 'accept-encoding': 'identity' });
  if (accepts(headers, 'application/json') && accepts(headers, 'text/event-stream')) return undefined;
  return refusal(406, 'Accept needs both application/json and text/event-stream');
}

/** True if the client takes this media type. */
export function accepts({ accept }: IncomingHttpHeaders, type: string): boolean {
  if (accept === undefined) return false;
  const [family] = type.split('/');
  return accept.split(',').some((range) => {
    const [name = '', ...parameters] = range.split(';').map((part) => part.trim().toLowerCase());
    if (parameters.some((parameter) => /^q=0(?:\.0*)?$/.test(parameter))) return false;
    return name === type || name === '*/*' || name === `${family}/*`;
  });
}
