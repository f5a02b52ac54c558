// `fetch` for the SDK's transports to one server: what goes wrong is thrown as a RemoteFailure, before the transports
// put the server's answer into their own errors.

import type { TokenKeeper } from '../auth/token-keeper.ts';
import { isAnswered } from './refused-request.ts';
import { contentFailure, networkFailure, type RemoteFailure, sessionDoubted, statusFailure } from './remote-failure.ts';

export interface RemoteFetchOptions {
  /** Has tokens for this origin, if it is one that we can sign in to. */
  readonly keeper: () => TokenKeeper | undefined;
  readonly origin: string;
  /** The stream that a request's answer comes in has ended, with the answer or without it. */
  readonly streamEnded: (requestId: unknown) => void;
}

export class RemoteFetch {
  readonly #options: RemoteFetchOptions;
  /** What it has thrown last: an EventSource hands on no more than a text of it. */
  failure: unknown;
  #isOpen = false;

  constructor(options: RemoteFetchOptions) {
    this.#options = options;
  }

  readonly fetch = async (url: string | URL, init: RequestInit = {}): Promise<Response> => {
    try {
      return await this.#checked(url, init);
    } catch (error) {
      this.failure = error;
      throw error;
    }
  };

  async #checked(url: string | URL, init: RequestInit): Promise<Response> {
    const response = await this.#send(url, init);
    const failure = (await this.#isDoubtful(response, init))
      ? sessionDoubted(response.status)
      : this.#failureIn(response, init);
    if (failure === undefined) return this.#watched(response, init);
    if (!response.bodyUsed) await response.body?.cancel();
    throw failure;
  }

  /** Not every server knows that 404 is what it says of a session that it has forgotten. */
  async #isDoubtful(response: Response, { headers, body }: RequestInit): Promise<boolean> {
    if (response.status !== 400 || !this.#isOpen || !new Headers(headers).has('mcp-session-id')) return false;
    const id = requestIdIn(body);
    return id !== undefined && !(await isAnswered(id, response));
  }

  async #send(url: string | URL, init: RequestInit): Promise<Response> {
    const keeper = new URL(url).origin === this.#options.origin ? this.#options.keeper() : undefined;
    const token = keeper?.accessToken();
    const response = await this.#ask(url, init, token);
    if (response.status !== 401 || keeper === undefined) return response;
    const renewed = await keeper.renewed(token, response);
    if (renewed === undefined) return response;
    await response.body?.cancel();
    return this.#ask(url, init, renewed);
  }

  async #ask(url: string | URL, init: RequestInit, token: string | undefined): Promise<Response> {
    const headers = new Headers(init.headers);
    if (token !== undefined) headers.set('authorization', `Bearer ${token}`);
    try {
      return await fetch(url, { ...init, headers });
    } catch (error) {
      if (error instanceof Error && error.name === 'AbortError') throw error;
      throw networkFailure(error);
    }
  }

  #failureIn(response: Response, { method = 'GET', headers }: RequestInit): RemoteFailure | undefined {
    // Not every server has a stream besides its answers, and redirects are the transport's to follow or not.
    if (response.status < 400) return this.#contentFailureIn(response, method);
    if (response.status === 405 && method === 'GET') return undefined;
    // What a server says to GET is about the stream and not about the session, unless the stream was there before.
    const isOfSession = method === 'POST' || new Headers(headers).has('last-event-id');
    return statusFailure(response.status, this.#isOpen && isOfSession);
  }

  #contentFailureIn(response: Response, method: string): RemoteFailure | undefined {
    if (!response.ok) return undefined;
    const contentType = response.headers.get('content-type');
    if (contentType?.toLowerCase().startsWith('text/html')) return contentFailure(contentType);
    if (method === 'POST') this.#isOpen = true;
    return undefined;
  }

  /** A response like this one, of whose end we hear. */
  #watched(response: Response, { method, body }: RequestInit): Response {
    const isStream = response.headers.get('content-type')?.toLowerCase().startsWith('text/event-stream') ?? false;
    if (method !== 'POST' || !isStream || response.body === null || typeof body !== 'string') return response;
    const id = requestIdIn(body);
    const watched = untilEnd(response.body, () => this.#options.streamEnded(id));
    return new Response(watched, response);
  }
}

/** Of what goes out; undefined if it asks for nothing. */
function requestIdIn(body: RequestInit['body']): unknown {
  if (typeof body !== 'string') return undefined;
  const { id, method } = JSON.parse(body) as { id?: unknown; method?: unknown };
  return method === undefined ? undefined : id;
}

/** The same stream; `ended` is called when all of it was read, or it broke. */
function untilEnd(stream: ReadableStream<Uint8Array>, ended: () => void): ReadableStream<Uint8Array> {
  const reader = stream.getReader();
  return new ReadableStream({
    async pull(controller) {
      try {
        const { done, value } = await reader.read();
        if (!done) return controller.enqueue(value);
        controller.close();
      } catch (error) {
        controller.error(error);
      }
      ended();
    },
    cancel: (reason) => reader.cancel(reason),
  });
}
