// The older transport: one stream for all that the server says, and a POST for each message to it, at the place that the
// stream names first.

import { deferred } from '../util/deferred.ts';
import type { ServerEvent } from './event-stream.ts';
import { contentFailure, originOf, RemoteFailure, statusFailure } from './remote-failure.ts';
import { isMediaType, mediaType, type RemoteFetch } from './remote-fetch.ts';
import type { Exchange, RemoteMessage, RemoteTransport, TransportPorts } from './remote-transport.ts';
import { readEvents } from './response-body.ts';

export interface SseTransportOptions extends TransportPorts {
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly fetch: RemoteFetch['fetch'];
  /** The stream has ended, for this reason: nothing can be asked any more. */
  readonly ended: (failure: unknown) => void;
}

const EVENT_STREAM = 'text/event-stream';

export class SseTransport implements RemoteTransport {
  readonly #options: SseTransportOptions;
  readonly #end = new AbortController();
  readonly #endpoint = deferred<URL>();
  #protocolVersion: string | undefined;

  constructor(options: SseTransportOptions) {
    this.#options = options;
    this.#endpoint.promise.catch(() => undefined); // whoever starts it is told
  }

  /** Resolves when messages can be sent. */
  async start(): Promise<void> {
    const { fetch, url } = this.#options;
    const headers = { ...this.#headers(), accept: EVENT_STREAM };
    const response = await fetch(url, { method: 'GET', headers, signal: this.#end.signal });
    if (!response.ok || !isMediaType(response, EVENT_STREAM)) {
      await response.body?.cancel();
      throw response.ok ? contentFailure(mediaType(response)) : statusFailure(response.status, false);
    }
    void this.#follow(response);
    await this.#endpoint.promise;
  }

  async #follow(response: Response): Promise<void> {
    const { mayRead, pacer, maxFrameBytes: mostBytes, ended } = this.#options;
    const sink = { event: (event: ServerEvent) => this.#take(event), retry: () => undefined };
    let failure: unknown = CLOSED;
    try {
      await readEvents(response, { ...sink, mostBytes, pacer, mayRead });
    } catch (error) {
      failure = error;
    }
    this.#end.abort();
    this.#endpoint.reject(failure);
    ended(failure);
  }

  #take({ type, data }: ServerEvent): void {
    if (data === undefined) return;
    if (type === 'message') this.#options.received(data);
    else if (type === 'endpoint') this.#endpoint.resolve(this.#placeIn(data.b.toString('utf8', data.start, data.end)));
  }

  /** Throws if it is at another server: what is sent there is for this one. */
  #placeIn(text: string): URL {
    const { url } = this.#options;
    if (!URL.canParse(text, url.href)) throw new RemoteFailure('names no place to send messages to');
    const place = new URL(text, url);
    if (place.origin !== url.origin)
      throw new RemoteFailure(`wants messages sent to ${originOf(place.href)}, which is not done`);
    return place;
  }

  async send({ body, requestId }: RemoteMessage, { signal, taken }: Exchange): Promise<undefined> {
    const place = await this.#endpoint.promise;
    const headers = { ...this.#headers(), 'content-type': 'application/json' };
    const response = await this.#options.fetch(place, { method: 'POST', headers, body, signal, requestId });
    await response.body?.cancel();
    taken();
  }

  #headers(): Record<string, string> {
    const version = this.#protocolVersion;
    return { ...(version === undefined ? {} : { 'mcp-protocol-version': version }), ...this.#options.headers };
  }

  negotiated(protocolVersion: string): void {
    this.#protocolVersion = protocolVersion;
  }

  sayGoodbye(): Promise<void> {
    return Promise.resolve(); // the end of the stream says it
  }

  close(): void {
    this.#end.abort();
  }
}

const CLOSED = new RemoteFailure('closed the connection');
