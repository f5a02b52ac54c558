// The first checks of a request to the dashboard's port: the host name in it, and the page that sends it. It only
// refuses. A request that passes still needs a cookie and a key (page-sessions.ts).

import type { IncomingHttpHeaders } from 'node:http';

/** The names of this machine that no other machine can get by DNS. */
const LOOPBACK = ['127.0.0.1', 'localhost', '[::1]'] as const;

export interface GateRefusal {
  readonly status: 403 | 405;
  readonly reason: string;
}

/**
 * Refuses a wrong host name. A page of another site may reach this port under its own name (DNS rebinding). So the name
 * must be one that only this machine has, with the exact port.
 */
export function hostRefusal({ host = '' }: IncomingHttpHeaders, port: number): GateRefusal | undefined {
  const isOwn = LOOPBACK.some((name) => host.toLowerCase() === `${name}:${port}`);
  return isOwn ? undefined : { status: 403, reason: 'This address is not the one that the dashboard was opened with.' };
}

/**
 * Refuses requests for data from any page but the dashboard's own. A browser names the page in `Origin`, in
 * `Sec-Fetch-Site`, or in both: at least one must be there, and each must be right. Another port of this machine is
 * another origin, but the same site.
 */
export function pageRefusal(headers: IncomingHttpHeaders): GateRefusal | undefined {
  const { host = '', origin } = headers;
  const site = headers['sec-fetch-site'];
  const saysNothing = origin === undefined && site === undefined;
  const isForeign =
    (origin !== undefined && origin !== `http://${host}`) || (site !== undefined && site !== 'same-origin');
  if (!saysNothing && !isForeign) return undefined;
  return { status: 403, reason: 'Another page has asked, and not the dashboard itself.' };
}
