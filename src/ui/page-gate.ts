// What is asked of a request to the dashboard's port before anything else is looked at: the name by which it comes, and the page
// that sends it. It only refuses. Whoever passes still needs a cookie and a key (page-sessions.ts).

import type { IncomingHttpHeaders } from 'node:http';

/** The names of this machine that no other machine's DNS can give itself. */
const LOOPBACK = ['127.0.0.1', 'localhost', '[::1]'] as const;

export interface GateRefusal {
  readonly status: 403 | 405;
  readonly reason: string;
}

/**
 * A page of another site may send its requests here under a name of its own (DNS rebinding). So the name must be one that only
 * this machine has, with the very port.
 */
export function hostRefusal({ host = '' }: IncomingHttpHeaders, port: number): GateRefusal | undefined {
  const isOwn = LOOPBACK.some((name) => host.toLowerCase() === `${name}:${port}`);
  return isOwn ? undefined : { status: 403, reason: 'This address is not the one that the dashboard was opened with.' };
}

/**
 * Requests for data come from the dashboard's own page. A browser says so in `Origin`, in `Sec-Fetch-Site`, or in both: what it
 * says must be right, and it must say something. Another port of this machine is another origin, but the same site.
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
