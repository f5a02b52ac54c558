// Failures on the way to a server at a URL, each as a sentence that follows the server's name. They never contain an
// answer's text.

import { BridgeError, systemCode } from '../util/bridge-error.ts';
import { parsedUrl } from '../util/parsed-url.ts';

export interface FailureFacts {
  /** The status of the answer over HTTP. */
  readonly status?: number;
  /** This connection is useless now; the next call needs a new one. */
  readonly isFinal?: boolean;
  /** The server may have executed the request. */
  readonly isUncertain?: boolean;
  /** The server was not found at all. */
  readonly isUnreachable?: boolean;
  /** The server refused the session without looking at the request, which may be sent again in another session. */
  readonly isUnheard?: boolean;
  /** The server has sent a message beyond the limit. */
  readonly isTooLong?: boolean;
  /** The request needs more rights than the sign-in asked for. */
  readonly isScopeMissing?: boolean;
}

export class RemoteFailure extends Error {
  readonly status: number | undefined;
  readonly isFinal: boolean;
  readonly isUncertain: boolean;
  readonly isUnreachable: boolean;
  readonly isUnheard: boolean;
  readonly isTooLong: boolean;
  readonly isScopeMissing: boolean;

  constructor(sentence: string, facts: FailureFacts = {}) {
    super(sentence);
    this.status = facts.status;
    this.isFinal = facts.isFinal ?? false;
    this.isUncertain = facts.isUncertain ?? false;
    this.isUnreachable = facts.isUnreachable ?? false;
    this.isUnheard = facts.isUnheard ?? false;
    this.isTooLong = facts.isTooLong ?? false;
    this.isScopeMissing = facts.isScopeMissing ?? false;
  }
}

const HUNG_UP = 'closed the connection without an answer';
const TOO_SLOW = 'has not answered in time';

const NETWORK: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'could not be reached: connection refused',
  ENOTFOUND: 'could not be reached: its host name is unknown',
  EAI_AGAIN: 'could not be reached: its host name cannot be looked up now',
  EHOSTUNREACH: 'could not be reached: there is no way to its host',
  ENETUNREACH: 'could not be reached: there is no way to its network',
  ETIMEDOUT: 'could not be reached: its host does not answer',
  UND_ERR_CONNECT_TIMEOUT: 'could not be reached: its host does not answer',
  ECONNRESET: HUNG_UP,
  EPIPE: HUNG_UP,
  UND_ERR_SOCKET: HUNG_UP,
  UND_ERR_HEADERS_TIMEOUT: TOO_SLOW,
  UND_ERR_BODY_TIMEOUT: TOO_SLOW,
  CERT_HAS_EXPIRED: 'could not be reached: its certificate has expired',
  CERT_NOT_YET_VALID: 'could not be reached: its certificate is not valid yet',
  ERR_TLS_CERT_ALTNAME_INVALID: 'could not be reached: its certificate is for another host',
  EPROTO: 'could not be reached: it does not speak TLS there',
};

/** Codes of a server that could not be reached at all: the next request will not reach it either. */
const UNREACHABLE: ReadonlySet<string> = new Set([
  ...['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH', 'ENETUNREACH', 'ETIMEDOUT'],
  'UND_ERR_CONNECT_TIMEOUT',
]);

/** Groups of OpenSSL's many codes. */
const KINDS: readonly (readonly [RegExp, string])[] = [
  [/CERT|SIGNATURE|ISSUER/, 'could not be reached: its certificate is not trusted'],
  [/^ERR_(SSL|TLS)/, 'could not be reached: it does not speak TLS there'],
  [/^HPE_/, 'could not be reached: it does not speak HTTP there'],
];

/** The failure for an error that a request, or an upgrade to a WebSocket, has thrown. */
export function networkFailure(error: unknown): RemoteFailure {
  const code = codeWithin(error);
  if (code === undefined) return new RemoteFailure(`could not be reached${isBadPort(error) ? BAD_PORT : ''}`);
  const sentence = NETWORK[code] ?? KINDS.find(([pattern]) => pattern.test(code))?.[1] ?? 'could not be reached';
  return new RemoteFailure(`${sentence} (${code})`, {
    isUncertain: sentence === HUNG_UP || sentence === TOO_SLOW,
    isUnreachable: UNREACHABLE.has(code),
  });
}

/** `fetch` refuses ports of other protocols, and its error has no code. */
const BAD_PORT = ': its port is one of those that HTTP may not use';

function isBadPort(error: unknown): boolean {
  return error instanceof Error && error.cause instanceof Error && error.cause.message === 'bad port';
}

/** The code of the system call. `fetch` wraps it in other errors, one for each address of a host. */
function codeWithin(error: unknown): string | undefined {
  for (let inner = error; inner instanceof Error; inner = innerOf(inner)) {
    const code = systemCode(inner);
    if (code !== undefined) return code;
  }
  return undefined;
}

function innerOf(error: Error): unknown {
  return error instanceof AggregateError ? error.errors[0] : error.cause;
}

/** The failure for an answer with this status. `isOfSession`: the request named a session that the server knew. */
export function statusFailure(status: number, isOfSession: boolean): RemoteFailure {
  if (status === 401)
    return new RemoteFailure(`says that the bridge is not authorized (HTTP ${status})`, {
      status,
      isFinal: isOfSession,
    });
  if (status === 404 && isOfSession) return sessionEnded();
  return new RemoteFailure(`${sentenceFor(status)} (HTTP ${status})`, { status });
}

export const SIGN_IN_NEEDED = 'wants you to sign in';

/** The failure for a request that needs more rights than the sign-in has, if any. Its session goes on. */
export function scopeFailure(isAnonymous: boolean): RemoteFailure {
  const sentence = isAnonymous ? SIGN_IN_NEEDED : `${SIGN_IN_NEEDED} again, for more rights`;
  return new RemoteFailure(sentence, { status: 403, isScopeMissing: true });
}

/** The failure for a session that the server has forgotten. */
export function sessionEnded(): RemoteFailure {
  return new RemoteFailure('has ended the session', { status: 404, isFinal: true, isUnheard: true });
}

/** The failure for a refusal that may concern the session instead of the request. */
export function sessionDoubted(status: number): RemoteFailure {
  return new RemoteFailure(`${sentenceFor(status)} (HTTP ${status})`, { status, isUnheard: true });
}

function sentenceFor(status: number): string {
  if (status >= 500) return 'failed';
  if (status === 403) return 'denies access';
  if (status === 404 || status === 410) return 'is not at its url';
  if (status >= 300 && status < 400) return 'redirects to another server, which the bridge does not follow';
  return 'refused the request';
}

/** The failure for an answer that is not MCP, such as a web page. */
export function contentFailure(contentType: string | null): RemoteFailure {
  const kind = /^[\w.+-]+\/[\w.+-]+/.exec(contentType ?? '')?.[0];
  return new RemoteFailure(`does not speak MCP at its url: it answered with ${kind ?? 'something'} instead of JSON`, {
    status: 200,
  });
}

/** The failure for any thrown error. If nothing on the way explains the error, it is a fault of the bridge. */
export function failureOf(error: unknown): RemoteFailure {
  if (error instanceof RemoteFailure) return error;
  const code = codeWithin(error);
  if (code?.endsWith('MODULE_NOT_FOUND')) return new RemoteFailure(`${OURS}: a part of it is missing (${code})`);
  if (code !== undefined) return networkFailure(error);
  return new RemoteFailure(`${OURS} (${error instanceof Error ? error.name : typeof error})`);
}

const OURS = 'cannot be used, because of a fault in mcp-bridge';

/** True for a fault of the bridge: the error comes neither from the server, nor the network, nor an abort. */
export function isOurs(error: unknown): boolean {
  if (error instanceof RemoteFailure || error instanceof BridgeError) return false;
  return !(error instanceof Error && error.name === 'AbortError');
}

/** The origin of a URL. The rest may hold secrets, because some paths contain tokens. */
export function originOf(url: string): string {
  return parsedUrl(url)?.origin ?? 'no URL';
}
