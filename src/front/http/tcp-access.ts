// Decides who may ask over TCP: clients with a token, unless none is required. It reveals only whether a token is
// valid.

import type { IncomingMessage } from 'node:http';
import type { Grant, Principal } from '../../model/principal.ts';
import type { AccessVerdict, Authorization } from './authorization.ts';
import type { HttpRefusal } from './http-error.ts';
import { bearerOf, refusal } from './request-gate.ts';

/** The tokens of the daemon. */
interface GoodTokens {
  /** The terms of a token; undefined if it is not valid. */
  granted(bearer: string): Grant | undefined;
  isGood(grant: Grant): boolean;
}

export interface TcpAccess {
  /** Undefined if no token is required. */
  readonly tokens: GoodTokens | undefined;
  /** Undefined if only the bridge's own tokens are valid. */
  readonly authorization?: Authorization | undefined;
  /** The user of the daemon. */
  readonly uid: number;
}

const NO_TOKEN: HttpRefusal = refusal(401, 'A token is needed: mcp-bridge token create NAME', {
  'www-authenticate': 'Bearer',
});
const BAD_TOKEN: HttpRefusal = refusal(401, 'The token is not good, or not any more', {
  'www-authenticate': 'Bearer error="invalid_token"',
});

/**
 * The principal of a request, or the reason for refusing it. Only a token of an authorization server may need a wait.
 */
export function principalOver(
  { headers }: IncomingMessage,
  { tokens, authorization, uid }: TcpAccess,
): Principal | HttpRefusal | Promise<Principal | HttpRefusal> {
  if (tokens === undefined) return { kind: 'http', uid, pid: undefined, grant: undefined };
  const bearer = bearerOf(headers);
  if (bearer === undefined) return authorization === undefined ? NO_TOKEN : challenged(NO_TOKEN, authorization);
  const grant = tokens.granted(bearer);
  if (grant !== undefined) return { kind: 'http', uid, pid: undefined, grant };
  if (authorization === undefined) return BAD_TOKEN;
  const verdict = authorization.believed(bearer);
  if (verdict !== undefined) return outcomeOf(verdict, authorization, uid);
  return authorization.verdictOn(bearer).then((later) => outcomeOf(later, authorization, uid));
}

const UNAVAILABLE: HttpRefusal = refusal(503, 'The authorization server cannot be asked', { 'retry-after': '5' });

function outcomeOf(verdict: AccessVerdict, authorization: Authorization, uid: number): Principal | HttpRefusal {
  switch (verdict.is) {
    case 'good':
      return { kind: 'http', uid, pid: undefined, grant: verdict.grant };
    case 'invalid':
      return challenged(BAD_TOKEN, authorization, 'invalid_token');
    case 'insufficient':
      return challenged(refusal(403, 'The token lacks a scope'), authorization, 'insufficient_scope');
    case 'unavailable':
      return UNAVAILABLE;
  }
}

function challenged(
  refused: HttpRefusal,
  authorization: Authorization,
  error?: Parameters<Authorization['challenge']>[0],
): HttpRefusal {
  return { ...refused, headers: { 'www-authenticate': authorization.challenge(error) } };
}

const LOOPBACK = /^(?:127\.|::1$|::ffff:127\.)/;

/** True if a request comes from this machine. */
export function isFromHere({ socket }: IncomingMessage): boolean {
  return socket.remoteAddress === undefined || LOOPBACK.test(socket.remoteAddress);
}
