// Who may ask over TCP: clients with a token, unless none is asked for. Nothing is told of a token but whether it is good.

import type { IncomingMessage } from 'node:http';
import type { Grant, Principal } from '../../model/principal.ts';
import type { HttpRefusal } from './http-error.ts';
import { bearerOf, refusal } from './request-gate.ts';

/** The tokens of the daemon. */
interface GoodTokens {
  /** The terms of a token; undefined if it is not, or no longer, good. */
  granted(bearer: string): Grant | undefined;
  isGood(grant: Grant): boolean;
}

export interface TcpAccess {
  /** Undefined where none is asked for. */
  readonly tokens: GoodTokens | undefined;
  /** The user of the daemon. */
  readonly uid: number;
}

const NO_TOKEN: HttpRefusal = refusal(401, 'A token is needed: mcp-bridge token create NAME', {
  'www-authenticate': 'Bearer',
});
const BAD_TOKEN: HttpRefusal = refusal(401, 'The token is not good, or not any more', {
  'www-authenticate': 'Bearer error="invalid_token"',
});

/** The principal behind a request, or why there is none. */
export function principalOver({ headers }: IncomingMessage, { tokens, uid }: TcpAccess): Principal | HttpRefusal {
  if (tokens === undefined) return { kind: 'http', uid, pid: undefined, grant: undefined };
  const bearer = bearerOf(headers);
  if (bearer === undefined) return NO_TOKEN;
  const grant = tokens.granted(bearer);
  return grant === undefined ? BAD_TOKEN : { kind: 'http', uid, pid: undefined, grant };
}

const LOOPBACK = /^(?:127\.|::1$|::ffff:127\.)/;

/** True if a request comes from this machine. */
export function isFromHere({ socket }: IncomingMessage): boolean {
  return socket.remoteAddress === undefined || LOOPBACK.test(socket.remoteAddress);
}
