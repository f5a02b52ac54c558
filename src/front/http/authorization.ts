// Tokens of an authorization server: which ones are valid here, and the answer to a client without one (RFC 9728, RFC
// 6750). It is loaded only if the config names such a server. A token is never passed on.

import { createHash } from 'node:crypto';
import { createRemoteJWKSet, jwtVerify } from 'jose';
import type { AuthorizationSettings } from '../../model/http-settings.ts';
import type { Grant } from '../../model/principal.ts';
import { messageOf } from '../../util/bridge-error.ts';
import { isRecord } from '../../util/json-value.ts';

/** The verdict on a token. `unavailable`: the authorization server cannot be reached, so the token may be good. */
export type AccessVerdict =
  | { readonly is: 'good'; readonly grant: Grant }
  | { readonly is: 'invalid' }
  | { readonly is: 'insufficient' }
  | { readonly is: 'unavailable'; readonly reason: string };

const INVALID: AccessVerdict = { is: 'invalid' };
const METADATA_PATH = '/.well-known/oauth-protected-resource';
/**
 * Only algorithms that need the server's private key. With a shared secret, anyone who can check tokens could forge
 * them.
 */
const ALGORITHMS = ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512', 'ES256', 'ES384', 'ES512', 'EdDSA'];
const CLOCKS_APART_S = 5;
const FETCH_TIMEOUT_MS = 5000;
const MOST_ANSWER_BYTES = 256 * 1024;
const LONGEST_TOKEN = 8192;
/** How long a verified token is cached, and how many are. */
const BELIEVED_MS = 60_000;
const MOST_BELIEVED = 1000;
/** How long an unreachable server is not asked again: clients may send tokens at any rate. */
const LEFT_ALONE_MS = 2000;

type VerifyKeys = (token: string) => Promise<Readonly<Record<string, unknown>>>;

interface Believed {
  readonly verdict: AccessVerdict;
  readonly untilMs: number;
}

export class Authorization {
  readonly #settings: AuthorizationSettings;
  readonly #nowMs: () => number;
  readonly #believed = new Map<string, Believed>();
  /** The latest expiry of each grant's tokens. */
  readonly #granted = new Map<string, number>();
  #verify: Promise<VerifyKeys> | undefined;
  #failure: { readonly reason: string; readonly untilMs: number } | undefined;

  /** `nowMs` returns the time of day. */
  constructor(settings: AuthorizationSettings, nowMs: () => number) {
    this.#settings = settings;
    this.#nowMs = nowMs;
  }

  /** The document that names the authorization server for clients. */
  get metadata(): object {
    const { resource, issuer, scopes } = this.#settings;
    return {
      resource,
      authorization_servers: [issuer],
      bearer_methods_supported: ['header'],
      ...(scopes.length === 0 ? {} : { scopes_supported: scopes }),
    };
  }

  /** True for the paths of that document. */
  isMetadataPath(path: string): boolean {
    return path === METADATA_PATH || path === this.#metadataUrl.pathname;
  }

  get #metadataUrl(): URL {
    const { origin, pathname } = new URL(this.#settings.resource);
    return new URL(METADATA_PATH + (pathname === '/' ? '' : pathname), origin);
  }

  /** The value of `WWW-Authenticate`. `error` is undefined if no token was sent. */
  challenge(error?: 'invalid_token' | 'insufficient_scope'): string {
    const { scopes } = this.#settings;
    const parameters = [
      ...(error === undefined ? [] : [`error="${error}"`]),
      `resource_metadata="${this.#metadataUrl.href}"`,
      ...(scopes.length === 0 ? [] : [`scope="${scopes.join(' ')}"`]),
    ];
    return `Bearer ${parameters.join(', ')}`;
  }

  /** The verdict on a known token; undefined if the token must be verified. */
  believed(token: string): AccessVerdict | undefined {
    const known = this.#believed.get(keyOf(token));
    return known !== undefined && known.untilMs > this.#nowMs() ? known.verdict : undefined;
  }

  async verdictOn(token: string): Promise<AccessVerdict> {
    if (token.length > LONGEST_TOKEN || token.split('.').length !== 3) return INVALID;
    const known = this.believed(token);
    if (known !== undefined) return known;
    if (this.#failure !== undefined && this.#failure.untilMs > this.#nowMs())
      return { is: 'unavailable', reason: this.#failure.reason };
    let claims: Readonly<Record<string, unknown>>;
    try {
      this.#verify ??= this.#load();
      claims = await (await this.#verify)(token);
    } catch (error) {
      if (isOfToken(error)) return INVALID;
      this.#verify = undefined; // its keys may be available next time
      this.#failure = { reason: messageOf(error), untilMs: this.#nowMs() + LEFT_ALONE_MS };
      return { is: 'unavailable', reason: this.#failure.reason };
    }
    return this.#believe(token, claims);
  }

  /** True while a token with this grant is valid; undefined if the grant is not from here. */
  isGood({ id }: Grant): boolean | undefined {
    const untilMs = this.#granted.get(id);
    return untilMs === undefined ? undefined : untilMs > this.#nowMs();
  }

  #believe(token: string, claims: Readonly<Record<string, unknown>>): AccessVerdict {
    const verdict = this.#verdictBy(claims);
    const expiresMs = typeof claims.exp === 'number' ? claims.exp * 1000 : 0;
    if (verdict.is === 'good') this.#noteGranted(verdict.grant.id, expiresMs);
    if (this.#believed.size >= MOST_BELIEVED) this.#believed.clear();
    this.#believed.set(keyOf(token), { verdict, untilMs: Math.min(expiresMs, this.#nowMs() + BELIEVED_MS) });
    return verdict;
  }

  /** Notes a grant. The one that expires first makes room: an active client sends its token again. */
  #noteGranted(id: string, untilMs: number): void {
    this.#granted.set(id, Math.max(untilMs, this.#granted.get(id) ?? 0));
    if (this.#granted.size <= MOST_BELIEVED) return;
    const [first] = [...this.#granted].toSorted(([, a], [, b]) => a - b);
    if (first !== undefined) this.#granted.delete(first[0]);
  }

  #verdictBy({ sub, client_id: clientId, scope, scp }: Readonly<Record<string, unknown>>): AccessVerdict {
    const [who] = [sub, clientId].filter((id) => typeof id === 'string' && id !== '');
    if (typeof who !== 'string') return INVALID;
    const given = new Set([scope, scp].flat().flatMap((text) => (typeof text === 'string' ? text.split(' ') : [])));
    if (!this.#settings.scopes.every((needed) => given.has(needed))) return { is: 'insufficient' };
    const id = JSON.stringify([this.#settings.issuer, sub ?? null, clientId ?? null]);
    // None of the bridge's own tokens has a colon in its name.
    return { is: 'good', grant: { id, name: `oauth:${who.slice(0, 200)}`, isForeign: true } };
  }

  async #load(): Promise<VerifyKeys> {
    const { issuer, resource, jwksUri } = this.#settings;
    const keys = createRemoteJWKSet(new URL(jwksUri ?? (await keysOf(issuer))), { timeoutDuration: FETCH_TIMEOUT_MS });
    return async (token) => {
      const options = {
        ...{ issuer, audience: resource, algorithms: ALGORITHMS, requiredClaims: ['exp'] },
        ...{ clockTolerance: CLOCKS_APART_S, currentDate: new Date(this.#nowMs()) },
      };
      return (await jwtVerify(token, keys, options)).payload;
    };
  }
}

function keyOf(token: string): string {
  return createHash('sha256').update(token).digest('base64');
}

/** Codes of faults of the key server, not of a token. */
const OF_SERVER: ReadonlySet<unknown> = new Set(['ERR_JOSE_GENERIC', 'ERR_JWKS_TIMEOUT', 'ERR_JWKS_INVALID']);

function isOfToken(error: unknown): boolean {
  const code: unknown = error instanceof Error && 'code' in error ? error.code : undefined;
  return typeof code === 'string' && /^ERR_J(?:OSE|WT|WS|WK)/.test(code) && !OF_SERVER.has(code);
}

/** Finds the keys' address in the server's metadata (RFC 8414, else OpenID's). */
async function keysOf(issuer: string): Promise<string> {
  const { origin, pathname } = new URL(issuer);
  const path = pathname.replace(/\/$/, '');
  for (const url of [
    `${origin}/.well-known/oauth-authorization-server${path}`,
    `${origin}${path}/.well-known/openid-configuration`,
  ]) {
    const metadata = await jsonAt(url);
    if (!isRecord(metadata) || metadata.issuer !== issuer) continue; // another issuer's metadata says nothing about this one's keys
    const { jwks_uri: uri } = metadata;
    if (typeof uri === 'string' && isSafe(uri)) return uri;
  }
  throw new Error(`The metadata of ${issuer} names no keys`);
}

/** The JSON at a URL; undefined if there is none. */
async function jsonAt(url: string): Promise<unknown> {
  const response = await fetch(url, { redirect: 'error', signal: AbortSignal.timeout(FETCH_TIMEOUT_MS) });
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of response.body ?? []) {
    chunks.push(chunk);
    bytes += chunk.length;
    if (bytes > MOST_ANSWER_BYTES) throw new Error(`The answer of ${url} is too long`);
  }
  if (!response.ok) return undefined;
  try {
    return JSON.parse(Buffer.concat(chunks).toString());
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

/** True if keys from this URI can be trusted: keys over plain HTTP could be forged, except on this machine. */
function isSafe(uri: string): boolean {
  const { protocol, hostname } = new URL(uri);
  return protocol === 'https:' || (protocol === 'http:' && ['localhost', '127.0.0.1', '[::1]'].includes(hostname));
}
