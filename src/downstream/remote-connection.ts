// A connection to a server at a URL, over HTTP or a WebSocket: its headers, the secrets in them, and its end. Messages
// are handled by its link.

import { TokenKeeper } from '../auth/token-keeper.ts';
import type { RemoteServer } from '../model/server-definition.ts';
import { BridgeError, type BridgeErrorCode } from '../util/bridge-error.ts';
import { deferred } from '../util/deferred.ts';
import { secretsInText } from '../util/given-secrets.ts';
import type { Link } from '../wire/link.ts';
import type { ServerConnection } from './connection.ts';
import { failureOf, originOf, type RemoteFailure, SIGN_IN_NEEDED } from './remote-failure.ts';
import { configuredHeaders, type HeaderMap, helperHeaders, mergedHeaders, urlWithUser } from './remote-headers.ts';
import { redactEach } from './server-output.ts';
import type { LaunchContext } from './server-process.ts';

/** The shortest word in a header that counts as a separate secret, such as the token after `Bearer`. */
const SECRET_WORD = 8;

export abstract class RemoteConnection implements ServerConnection {
  abstract readonly link: Link;
  abstract readonly wasOpen: boolean;
  readonly pid = undefined;
  /** The definition. User and password are moved from its URL to a header. */
  readonly definition: RemoteServer;
  readonly ended: Promise<string>;
  /** The reason why it could not be opened. */
  failure: BridgeError | undefined;
  /** The tokens of a server that the bridge can sign in to. */
  protected keeper: TokenKeeper | undefined;
  /** The last failure, in words for people. */
  protected lastError = '';
  readonly #context: LaunchContext;
  readonly #ofUrl: HeaderMap;
  readonly #configured: Readonly<Record<string, string>>;
  readonly #secrets: [name: string, value: string][] = [];
  readonly #end = deferred<string>();
  readonly #abort = new AbortController();

  /** Throws if a header needs a variable that is not set. */
  constructor(definition: RemoteServer, context: LaunchContext) {
    const { url, authorization } = urlWithUser(definition.url);
    this.definition = { ...definition, url };
    this.#ofUrl = authorization === undefined ? {} : { authorization };
    this.ended = this.#end.promise;
    this.#context = context;
    const used = new Map<string, string>();
    this.#configured = configuredHeaders(definition, context.environment, used);
    this.#hideHeaders(this.#configured);
    this.#hideHeaders(this.#ofUrl);
    for (const [name, value] of secretsInText(definition.url)) this.#hide(name, value);
    for (const [name, value] of used) this.#hide(name, value);
  }

  abstract stop(): Promise<void>;

  lastWords(): string {
    return this.lastError;
  }

  lastLine(): string {
    return this.lastError;
  }

  /** Aborted when the connection is over. */
  protected get signal(): AbortSignal {
    return this.#abort.signal;
  }

  /** The headers of the definition, and those that its helper prints for this connection. */
  protected async headers(): Promise<Readonly<Record<string, string>>> {
    const helped = await helperHeaders(this.definition, this.#context, this.signal);
    this.#hideHeaders(helped);
    const headers = mergedHeaders(this.#ofUrl, this.#configured, helped);
    if (this.definition.transport !== 'ws' && headers.authorization === undefined) this.#keepTokens();
    return headers;
  }

  #keepTokens(): void {
    const { environment } = this.#context;
    this.keeper = new TokenKeeper(this.definition, { environment, hide: (name, value) => this.#hide(name, value) });
  }

  /** Removes this value from every text from now on. */
  #hide(name: string, value: string): void {
    this.#secrets.push([name, value]);
  }

  #hideHeaders(headers: Readonly<Record<string, string>>): void {
    for (const [name, value] of Object.entries(headers)) {
      for (const word of value.split(/\s+/)) if (word.length >= SECRET_WORD) this.#hide(name, word);
      this.#hide(name, value);
    }
  }

  safe(text: string): string {
    return redactEach(text, this.#secrets);
  }

  /** The error for the sender of a message that has failed. */
  protected errorOf(error: unknown, code: BridgeErrorCode = 'SERVER_UNREACHABLE'): BridgeError {
    if (error instanceof BridgeError) return error;
    const failure = failureOf(error);
    if (failure.isUncertain && code === 'SERVER_UNREACHABLE') return this.#lostCall(failure.message);
    const { name } = this.definition;
    const signIn = this.#neededSignIn(failure);
    if (signIn !== undefined) return signInNeeded(name, signIn);
    const options = { server: name, hint: this.#hintFor(failure), cause: error };
    if (failure.isTooLong && code === 'SERVER_UNREACHABLE') code = 'SERVER_ANSWER_REFUSED';
    return new BridgeError(code, `Server ${name} ${failure.message}`, options);
  }

  /** The error for a call that was under way when the connection broke. */
  #lostCall(how: string): BridgeError {
    const { name } = this.definition;
    return new BridgeError('SERVER_CRASHED', `Server ${name} ${how}; the outcome of the call is unknown`, {
      server: name,
      hint: 'The next call reaches the server again, if it is there.',
    });
  }

  #hintFor({ status, isFinal, isTooLong }: RemoteFailure): string {
    if (isTooLong) return 'Ask it for less at once, or let it say more with limits.maxMessageBytes.';
    if (status === 401 || (status === 403 && this.keeper === undefined)) return 'Check its headers, or their helper.';
    if (isFinal) return 'The next call begins a new session.';
    const place = `Check its url, at ${originOf(this.definition.url)}`;
    return status === 403 ? `${place}, and whether whoever has signed in may do this there.` : place;
  }

  /** Ends a connection that could not be opened. */
  protected fail(error: unknown): void {
    this.failure ??= this.errorOf(error, 'SERVER_START_FAILED');
    this.over(this.failure.message);
  }

  /** Ends a connection that can no longer be used. */
  protected lose(failure: RemoteFailure): void {
    this.over(this.#neededSignIn(failure) ?? failure.message);
  }

  /** The sentence about the sign-in that the server waits for; undefined if it waits for none. */
  #neededSignIn({ status, isScopeMissing, message }: RemoteFailure): string | undefined {
    if (isScopeMissing) return message;
    return status === 401 && this.keeper !== undefined ? SIGN_IN_NEEDED : undefined;
  }

  protected over(how: string): void {
    this.#end.resolve(how);
    this.#abort.abort();
  }
}

function signInNeeded(name: string, sentence: string): BridgeError {
  const word = /^[\w.@/-]+$/.test(name) ? name : `'${name.replaceAll("'", `'\\''`)}'`;
  return new BridgeError('SERVER_AUTH_REQUIRED', `Server ${name} ${sentence}`, {
    server: name,
    hint: `Run: mcp-bridge auth ${word}`,
  });
}
