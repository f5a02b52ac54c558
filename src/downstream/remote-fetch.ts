// `fetch` for the transports to one server: it adds the access token, follows redirects within the server, waits as
// long as the call may take, and throws each failure as a RemoteFailure. It never sends the token to another origin.

import type { TokenKeeper } from '../auth/token-keeper.ts';
import { isProbeId } from '../protocol/server-discovery.ts';
import { expectSyntaxError } from '../util/expected-error.ts';
import { membersOf } from '../util/json-value.ts';
import { parsedUrl } from '../util/parsed-url.ts';
import {
  contentFailure,
  networkFailure,
  type RemoteFailure,
  scopeFailure,
  sessionDoubted,
  statusFailure,
} from './remote-failure.ts';

export interface RemoteFetchOptions {
  /** The tokens for this origin, if the bridge can sign in to it. */
  readonly keeper: () => TokenKeeper | undefined;
  readonly origin: string;
}

export interface RemoteRequest {
  readonly method: 'GET' | 'POST' | 'DELETE';
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: Uint8Array<ArrayBuffer>;
  readonly signal: AbortSignal;
  /** The id of a request, in its bytes; undefined for a message without an answer. */
  readonly requestId?: string | undefined;
  /** True if an answer with an error status may come from the server itself, as JSON. */
  readonly takesRefusals?: boolean;
}

/** An answer. `isAnonymous`: the request had no token, although the bridge can sign in. */
interface Answered {
  readonly response: Response;
  readonly isAnonymous: boolean;
}

const MOST_REDIRECTS = 5;

export class RemoteFetch {
  readonly #options: RemoteFetchOptions;
  #isOpen = false;

  constructor(options: RemoteFetchOptions) {
    this.#options = options;
  }

  readonly fetch = async (url: URL, request: RemoteRequest): Promise<Response> => {
    const answered = await this.#send(url, request);
    const { response } = answered;
    const failure = (await this.#isDoubtful(response, request))
      ? sessionDoubted(response.status)
      : this.#failureIn(answered, request);
    if (failure === undefined || isRefusal(response, request)) return response;
    if (!response.bodyUsed) await response.body?.cancel();
    throw failure;
  };

  /** True if a 400 may concern the session: some servers send it instead of 404 when they have forgotten one. */
  async #isDoubtful(response: Response, { headers, requestId }: RemoteRequest): Promise<boolean> {
    if (response.status !== 400 || !this.#isOpen || headers['mcp-session-id'] === undefined) return false;
    return requestId !== undefined && !(await isAnswered(JSON.parse(requestId), response));
  }

  async #send(url: URL, request: RemoteRequest): Promise<Answered> {
    let answered = await this.#withToken(url, request);
    for (let followed = 0; followed < MOST_REDIRECTS; followed++) {
      const target = redirectWithin(url, answered.response, request);
      if (target === undefined) break;
      await answered.response.body?.cancel();
      answered = await this.#withToken(target, request);
      url = target;
    }
    return answered;
  }

  async #withToken(url: URL, request: RemoteRequest): Promise<Answered> {
    const keeper = url.origin === this.#options.origin ? this.#options.keeper() : undefined;
    const token = keeper?.accessToken();
    let response = await ask(url, request, token);
    if (keeper === undefined) return { response, isAnonymous: false };
    const other = await otherToken(keeper, token, response);
    if (other !== undefined) {
      await response.body?.cancel();
      response = await ask(url, request, other);
    }
    const isAnonymous = token === undefined && other === undefined;
    if (!this.#mayNameRights(response, isAnonymous)) return { response, isAnonymous };
    const isMoreNeeded = await keeper.noteNeeds(response);
    if (!isMoreNeeded || response.status === 401) return { response, isAnonymous };
    await response.body?.cancel();
    throw scopeFailure(isAnonymous);
  }

  /**
   * True if the answer may name rights that a sign-in should ask for. A server that demands a sign-in first repeats
   * them then.
   */
  #mayNameRights({ status }: Response, isAnonymous: boolean): boolean {
    return status === 403 || (status === 401 && isAnonymous && this.#isOpen);
  }

  #failureIn(
    { response, isAnonymous }: Answered,
    { method, headers, requestId }: RemoteRequest,
  ): RemoteFailure | undefined {
    const { status, ok } = response;
    if (ok) return this.#contentFailureIn(response, method, requestId);
    // Servers may have no stream for notifications, and may not support ending a session.
    if (status === 405 && method !== 'POST') return undefined;
    // An answer to GET concerns the stream instead of the session, unless the stream existed before.
    const isOfSession = method === 'POST' || headers['last-event-id'] !== undefined;
    // Some servers accept everybody, and demand a sign-in for a few tools only: that concerns the request.
    const isOfRequest = status === 401 && isAnonymous;
    return statusFailure(status, this.#isOpen && isOfSession && !isOfRequest);
  }

  #contentFailureIn(response: Response, method: string, requestId: string | undefined): RemoteFailure | undefined {
    if (isMediaType(response, 'text/html')) return contentFailure('text/html');
    if (method === 'POST' && !isProbeId(requestId)) this.#isOpen = true;
    return undefined;
  }
}

/** Another token for repeating a refused request; undefined if there is none. */
async function otherToken(keeper: TokenKeeper, token: string | undefined, response: Response) {
  if (response.status === 401) return keeper.renewed(token, response);
  return response.status === 403 ? keeper.replaced(token) : undefined;
}

/** True if the server itself may have refused the request, and not a proxy before it. */
function isRefusal(response: Response, { takesRefusals }: RemoteRequest): boolean {
  const { status, bodyUsed } = response;
  const isOfRequest = status >= 400 && status < 500 && status !== 401 && status !== 403;
  return takesRefusals === true && isOfRequest && !bodyUsed && isMediaType(response, 'application/json');
}

async function ask(
  url: URL,
  { method, headers, body, signal }: RemoteRequest,
  token: string | undefined,
): Promise<Response> {
  const authorized = token === undefined ? headers : { ...headers, authorization: `Bearer ${token}` };
  try {
    const init = { method, headers: authorized, body: body ?? null, signal, ...patience() };
    return await fetch(url, { ...init, redirect: 'manual' });
  } catch (error) {
    if (error instanceof Error && error.name === 'AbortError') throw error;
    throw networkFailure(error);
  }
}

type Dispatcher = NonNullable<RequestInit['dispatcher']>;

/** The key under which Node keeps the dispatcher of `fetch`. An administrator may have set a proxy there. */
const GLOBAL_DISPATCHER = Symbol.for('undici.globalDispatcher.1');

/**
 * Options that make `fetch` wait as long as the call lasts; the client and limits.maxCallMs limit that. By default
 * `fetch` gives up after 300 s without a byte. TCP's keepalive finds dead connections.
 */
function patience(): { readonly dispatcher?: Dispatcher } {
  void Headers; // makes Node load its `fetch`, which sets the symbol
  const given: Dispatcher | undefined = Reflect.get(globalThis, GLOBAL_DISPATCHER);
  if (given === undefined) return {};
  const dispatch: Dispatcher['dispatch'] = (options, handler) =>
    given.dispatch({ ...options, headersTimeout: 0, bodyTimeout: 0 }, handler);
  return { dispatcher: Object.create(given, { dispatch: { value: dispatch } }) };
}

/** The target of a redirect within the same server. A POST is followed only if it stays a POST. */
function redirectWithin(url: URL, { status, headers }: Response, { method }: RemoteRequest): URL | undefined {
  const location = headers.get('location');
  const keepsMethod = status === 307 || status === 308 || (method === 'GET' && [301, 302, 303].includes(status));
  const target = keepsMethod && location !== null ? parsedUrl(location, url) : undefined;
  if (target === undefined) return undefined;
  const isSame = target.origin === url.origin && target.username === '' && target.password === '';
  return isSame || isSecureTwin(url, target) ? target : undefined;
}

/** True if `target` is the same host with TLS, both on their usual ports. */
function isSecureTwin(url: URL, target: URL): boolean {
  const { protocol, host, username, password } = target;
  const isTwin = url.protocol === 'http:' && protocol === 'https:' && host === url.host && url.port === '';
  return isTwin && username === '' && password === '';
}

export function mediaType({ headers }: Response): string | null {
  return headers.get('content-type')?.split(';', 1)[0]?.trim().toLowerCase() ?? null;
}

export function isMediaType(response: Response, type: string): boolean {
  return mediaType(response) === type;
}

/** A longer body counts as the server's answer: a proxy that refuses a request sends less. */
const MOST_BYTES = 65_536;

/**
 * True if the server itself may have answered the request with this id. False if a proxy before it, which saw only the
 * headers, has refused it. Reads the body and shows its text to nobody.
 */
export async function isAnswered(id: unknown, response: Response): Promise<boolean> {
  const contentType = response.headers.get('content-type')?.toLowerCase();
  if (contentType?.startsWith('text/event-stream') === true) return true;
  const said = await textOf(response);
  return said === undefined || messagesIn(said).some((message) => membersOf(message).id === id);
}

/** The text of the body; undefined if it is long or breaks off. */
async function textOf({ body }: Response): Promise<string | undefined> {
  if (body === null) return '';
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  try {
    for await (const chunk of body) {
      chunks.push(chunk);
      bytes += chunk.length;
      if (bytes > MOST_BYTES) return undefined;
    }
  } catch {
    return undefined; // the rest might have been the answer
  }
  return Buffer.concat(chunks).toString();
}

function messagesIn(text: string): readonly unknown[] {
  try {
    const said: unknown = JSON.parse(text);
    return Array.isArray(said) ? said : [said];
  } catch (error) {
    expectSyntaxError(error);
    return []; // text that is not JSON is no answer
  }
}
