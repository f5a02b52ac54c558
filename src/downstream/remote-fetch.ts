// `fetch` for the SDK's transports to one server: what goes wrong is thrown as a RemoteFailure, before the transports
// put the server's answer into their own errors.

import { contentFailure, networkFailure, type RemoteFailure, statusFailure } from './remote-failure.ts';

export class RemoteFetch {
  /** The last one: an EventSource hands on no more than a text of it. */
  failure: RemoteFailure | undefined;
  #isOpen = false;

  readonly fetch = async (url: string | URL, init: RequestInit = {}): Promise<Response> => {
    const response = await this.#send(url, init);
    const failure = this.#failureIn(response, init.method ?? 'GET');
    if (failure === undefined) return response;
    await response.body?.cancel();
    throw this.#note(failure);
  };

  async #send(url: string | URL, init: RequestInit): Promise<Response> {
    try {
      return await fetch(url, init);
    } catch (error) {
      if (error instanceof Error && error.name === 'AbortError') throw error;
      throw this.#note(networkFailure(error));
    }
  }

  #failureIn(response: Response, method: string): RemoteFailure | undefined {
    // Not every server has a stream besides its answers, and redirects are the transport's to follow or not.
    if (response.status < 400) return this.#contentFailureIn(response, method);
    if (response.status === 405 && method === 'GET') return undefined;
    // What a server says to GET is about the stream, and not about the session, but for who has to sign in.
    return statusFailure(response.status, this.#isOpen && method === 'POST');
  }

  #contentFailureIn(response: Response, method: string): RemoteFailure | undefined {
    if (!response.ok) return undefined;
    const contentType = response.headers.get('content-type');
    if (contentType?.toLowerCase().startsWith('text/html')) return contentFailure(contentType);
    if (method === 'POST') this.#isOpen = true;
    return undefined;
  }

  #note(failure: RemoteFailure): RemoteFailure {
    this.failure = failure;
    return failure;
  }
}
