// The tokens of clients that reach the bridge over HTTP. The file holds the hash of each token and its rights, never a
// token. A daemon checks the file's mark before each use, so a revoked token ends at once.

import { createHash, timingSafeEqual } from 'node:crypto';
import { BridgeError } from '../util/bridge-error.ts';
import { isRecord } from '../util/json-value.ts';
import { randomName } from '../util/random-name.ts';
import { isAsMarked, markOf, UNCERTAIN } from './path-mark.ts';
import { type StateEnvironment, StateFile } from './state-file.ts';

/** The terms of a token. */
interface TokenTerms {
  /** The holder's name, for rules and reports. No two tokens have the same name. */
  readonly name: string;
  /** The one view that the holder may see; undefined for any. */
  readonly view?: string | undefined;
  /** Globs over the servers that the holder may see; undefined for all. */
  readonly servers?: readonly string[] | undefined;
  /** In milliseconds since 1970; undefined for never. */
  readonly expiresAtMs?: number | undefined;
}

export interface AccessToken extends TokenTerms {
  /** Tells a token from an earlier one with the same name. */
  readonly id: string;
  readonly createdAtMs: number;
  /** In hexadecimal. */
  readonly hash: string;
}

export const TOKEN_PREFIX = 'mcpb_';
const TOKEN_BYTES = 32;
const HASH = /^[0-9a-f]{64}$/;
const TOKEN_NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;
const TOKEN_NAME_RULE = '1 to 64 of A-Z a-z 0-9 . _ -, beginning with a letter or a digit';

/** The limit exists because each request is compared with all tokens. */
export const MOST_TOKENS = 256;

/** A longer text is not hashed: no token is so long. */
const LONGEST_BEARER = 256;

export class AccessTokenFile extends StateFile<readonly AccessToken[]> {
  constructor(environment: StateEnvironment, homedir: string) {
    const kind = {
      name: 'access-tokens.json',
      member: 'tokens',
      empty: () => [],
      parse: tokensIn,
      format: (tokens: readonly AccessToken[]) => tokens,
      ifRemoved: 'tokens have to be made again, with mcp-bridge token create NAME',
    };
    super(kind, environment, homedir);
  }

  /** Makes a token and resolves to it; the token is stored nowhere. Drops expired tokens. */
  async create(terms: TokenTerms, nowMs: number): Promise<string> {
    if (!TOKEN_NAME.test(terms.name))
      throw new BridgeError('USAGE', 'That is no name for a token', { hint: `A name has ${TOKEN_NAME_RULE}.` });
    const text = TOKEN_PREFIX + randomName(TOKEN_BYTES, 'base64url');
    const made = { ...terms, id: randomName(8), createdAtMs: nowMs, hash: digestOf(text).toString('hex') };
    await this.change((before) => {
      const tokens = before.filter((token) => !isExpired(token, nowMs));
      if (tokens.some(({ name }) => name === terms.name)) throw taken(terms.name);
      if (tokens.length >= MOST_TOKENS) throw tooMany();
      return [...tokens, made];
    });
    return text;
  }

  /** Removes tokens by name. Resolves to the names that existed. */
  async revoke(names: readonly string[]): Promise<string[]> {
    let revoked: string[] = [];
    await this.change((before) => {
      revoked = before.map(({ name }) => name).filter((name) => names.includes(name));
      return revoked.length === 0 ? undefined : before.filter(({ name }) => !names.includes(name));
    });
    return revoked;
  }
}

function taken(name: string): BridgeError {
  const hint = `Take another name, or end that one: mcp-bridge token revoke ${name}`;
  return new BridgeError('REQUEST_REFUSED', `There is a token ${name} already`, { hint });
}

function tooMany(): BridgeError {
  const hint = 'End one that nobody uses: mcp-bridge token list';
  return new BridgeError('REQUEST_REFUSED', `There are ${MOST_TOKENS} tokens already`, { hint });
}

export function isExpired({ expiresAtMs }: Pick<AccessToken, 'expiresAtMs'>, nowMs: number): boolean {
  return expiresAtMs !== undefined && expiresAtMs <= nowMs;
}

interface AccessTokensOptions {
  readonly environment: StateEnvironment;
  readonly homedir: string;
  /** Returns the time of day. */
  readonly nowMs: () => number;
  /** Called once when the file cannot be read. */
  readonly onFault: (error: unknown) => void;
}

/** The tokens of a running daemon. While their file cannot be read, no token is valid. */
export class AccessTokens {
  readonly #file: AccessTokenFile;
  readonly #options: AccessTokensOptions;
  #mark: string = UNCERTAIN;
  #tokens: readonly (readonly [digest: Buffer, token: AccessToken])[] = [];
  #hasFailed = false;

  constructor(options: AccessTokensOptions) {
    this.#options = options;
    this.#file = new AccessTokenFile(options.environment, options.homedir);
  }

  /** The token that a request carries; undefined if it is not valid. */
  granted(bearer: string): AccessToken | undefined {
    if (bearer.length > LONGEST_BEARER) return undefined;
    this.#refresh();
    const digest = digestOf(bearer);
    let found: AccessToken | undefined;
    for (const [other, token] of this.#tokens) if (timingSafeEqual(digest, other)) found = token;
    return found === undefined || isExpired(found, this.#options.nowMs()) ? undefined : found;
  }

  /** True while a granted token is valid: the streams of a revoked one must end. */
  isGood({ id }: Pick<AccessToken, 'id'>): boolean {
    this.#refresh();
    const [, token] = this.#tokens.find(([, { id: other }]) => other === id) ?? [];
    return token !== undefined && !isExpired(token, this.#options.nowMs());
  }

  #refresh(): void {
    const { path } = this.#file;
    if (isAsMarked(path, this.#mark)) return;
    this.#mark = markOf(path);
    try {
      this.#tokens = this.#file.read().map((token) => [Buffer.from(token.hash, 'hex'), token]);
      this.#hasFailed = false;
    } catch (error) {
      this.#tokens = [];
      if (!this.#hasFailed) this.#options.onFault(error);
      this.#hasFailed = true;
    }
  }
}

function digestOf(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}

function tokensIn(value: unknown): readonly AccessToken[] | undefined {
  return Array.isArray(value) && value.every(isToken) ? value : undefined;
}

function isToken(value: unknown): value is AccessToken {
  if (!isRecord(value)) return false;
  const { name, view, servers, expiresAtMs, id, createdAtMs, hash } = value;
  return (
    [name, id, hash].every((text) => typeof text === 'string') &&
    HASH.test(String(hash)) &&
    typeof createdAtMs === 'number' &&
    (view === undefined || typeof view === 'string') &&
    (expiresAtMs === undefined || typeof expiresAtMs === 'number') &&
    (servers === undefined || (Array.isArray(servers) && servers.every((glob) => typeof glob === 'string')))
  );
}
