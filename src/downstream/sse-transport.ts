// The older transport, HTTP with SSE: one stream for everything that the server sends, and a POST for each message to
// it, at the URL that the stream names first. EitherTransport finds out which transport a server speaks.

import { ERA_2026 } from '../protocol/era-2026.ts';
import { eraOf } from '../protocol/eras.ts';
import { isProbeId } from '../protocol/server-discovery.ts';
import { type Deferred, deferred } from '../util/deferred.ts';
import { parsedUrl } from '../util/parsed-url.ts';
import { contentFailure, originOf, RemoteFailure, statusFailure } from './remote-failure.ts';
import { isMediaType, mediaType, type RemoteFetch } from './remote-fetch.ts';
import type { Exchange, RemoteMessage, RemoteTransport, TransportPorts } from './remote-link.ts';
import { readEvents, type ServerEvent } from './response-body.ts';

export interface SseTransportOptions extends TransportPorts {
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly fetch: RemoteFetch['fetch'];
  /** Called with the reason when the stream has ended: nothing can be asked any more. */
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
    this.#endpoint.promise.catch(() => undefined); // start() rejects with the same error
  }

  /** Opens the stream; resolves when messages can be sent. */
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

  /** The URL for messages. Throws if it has another origin, because messages may hold secrets for this one. */
  #placeIn(text: string): URL {
    const { url } = this.#options;
    const place = parsedUrl(text, url);
    if (place === undefined) throw new RemoteFailure('names no URL for messages');
    if (place.origin !== url.origin)
      throw new RemoteFailure(
        `wants messages sent to ${originOf(place.href)}, another server, which the bridge does not do`,
      );
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
    return Promise.resolve(); // the end of the stream tells the server
  }

  close(): void {
    this.#end.abort();
  }
}

const CLOSED = new RemoteFailure('closed the connection');

type Sent = Promise<RemoteFailure | undefined>;

/** Streamable HTTP, or the older SSE if the server refuses the first message over HTTP. */
export class EitherTransport implements RemoteTransport {
  readonly #start: (kind: 'http' | 'sse') => Promise<RemoteTransport>;
  /** Set by the first message; settled when a server has accepted it. */
  #chosen: Deferred<RemoteTransport> | undefined;
  /** The transport of the probe, which only Streamable HTTP has. The probe alone chooses nothing. */
  #probed: RemoteTransport | undefined;

  constructor(start: (kind: 'http' | 'sse') => Promise<RemoteTransport>) {
    this.#start = start;
  }

  async send(message: RemoteMessage, exchange: Exchange): Sent {
    if (this.#chosen !== undefined) return (await this.#chosen.promise).send(message, exchange);
    if (isProbeId(message.requestId)) return this.#sendProbe(message, exchange);
    const chosen = deferred<RemoteTransport>();
    chosen.promise.catch(() => undefined); // the first send() rejects with the same error
    this.#chosen = chosen;
    try {
      return await this.#sendFirst(message, exchange, chosen);
    } catch (error) {
      chosen.reject(error);
      throw error;
    }
  }

  async #sendProbe(message: RemoteMessage, exchange: Exchange): Sent {
    this.#probed ??= await this.#start('http');
    return this.#probed.send(message, exchange);
  }

  async #sendFirst(message: RemoteMessage, exchange: Exchange, chosen: Deferred<RemoteTransport>): Sent {
    const over = async (kind: 'http' | 'sse'): Sent => {
      const transport = await this.#start(kind);
      const taken = (): void => {
        exchange.taken();
        chosen.resolve(transport);
      };
      return transport.send(message, { ...exchange, taken }).catch((error: unknown) => {
        transport.close();
        throw error;
      });
    };
    try {
      return await over('http');
    } catch (refusal) {
      if (!isOfOlderServer(refusal)) throw refusal;
      return await over('sse').catch((error: unknown) => {
        throw isOfOlderServer(error) ? refusal : error;
      });
    }
  }

  negotiated(protocolVersion: string): void {
    // The answer to the probe decided before any message did.
    if (this.#probed !== undefined && eraOf(protocolVersion) === ERA_2026) {
      this.#chosen = deferred<RemoteTransport>();
      this.#chosen.resolve(this.#probed);
    }
    void this.#chosen?.promise.then((transport) => transport.negotiated(protocolVersion));
  }

  async sayGoodbye(): Promise<void> {
    await (await this.#chosen?.promise)?.sayGoodbye();
  }

  close(): void {
    // The connection that started the transports closes them.
  }
}

/** True for a refusal by which an older server may answer POST. Not for 401 and 403, which it would send to GET too. */
function isOfOlderServer(error: unknown): boolean {
  if (!(error instanceof RemoteFailure)) return false;
  const { status = 0 } = error;
  return status === 200 || (status >= 400 && status < 500 && status !== 401 && status !== 403);
}
