// Streamable HTTP: each message is a POST, whose response holds the answer and what belongs to it. One more stream brings what
// belongs to no request. A stream that breaks is resumed if the server can do that, never sooner than the pauses below say.

import { ERA_2026 } from '../protocol/era-2026.ts';
import { eraOf } from '../protocol/eras.ts';
import { isProbeId, VERSION_2026 } from '../protocol/server-discovery.ts';
import type { Clock, Timer } from '../util/clock.ts';
import { expectSyntaxError } from '../util/expected-error.ts';
import { membersOf } from '../util/json-value.ts';
import type { Frame } from '../wire/frame-splitter.ts';
import { contentFailure, RemoteFailure, statusFailure } from './remote-failure.ts';
import { isMediaType, mediaType, type RemoteFetch } from './remote-fetch.ts';
import type { Exchange, RemoteMessage, RemoteTransport, TransportPorts } from './remote-link.ts';
import { type EventSink, readEvents, readFrame, type ServerEvent } from './response-body.ts';

export interface HttpTransportOptions extends TransportPorts {
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly fetch: RemoteFetch['fetch'];
  readonly clock: Clock;
  /** Called with the reason when a stream could not be resumed. */
  readonly gaveUp: (failure: unknown) => void;
}

/** Time for a stream to end by itself after the answer. */
const LAST_WORDS_MS = 1_000;

const EVENT_STREAM = 'text/event-stream';
const ENDED = new RemoteFailure('ended the stream before its answer', { isUncertain: true });
const NO_ANSWER = new RemoteFailure('gave no answer', { isUncertain: true });

export class HttpTransport implements RemoteTransport {
  readonly #options: HttpTransportOptions;
  readonly #end = new AbortController();
  #sessionId: string | undefined;
  #protocolVersion: string | undefined;
  /** True once the server speaks without a handshake: there is no session, and each request names its method in a header. */
  #isOf2026 = false;

  constructor(options: HttpTransportOptions) {
    this.#options = options;
  }

  async send(message: RemoteMessage, exchange: Exchange): Promise<RemoteFailure | undefined> {
    const response = await this.#post(message, exchange.signal);
    if (!this.#isStateless(message)) this.#sessionId = response.headers.get('mcp-session-id') ?? this.#sessionId;
    if (message.requestId === undefined || response.status === 202) {
      await response.body?.cancel();
      exchange.taken();
      if (message.method === 'notifications/initialized') void this.#followNotices();
      return NO_ANSWER;
    }
    if (!response.ok) return this.#readRefusal(response, message, exchange);
    const isStream = isMediaType(response, EVENT_STREAM);
    if (!isStream && !isMediaType(response, 'application/json')) {
      await response.body?.cancel();
      throw contentFailure(mediaType(response));
    }
    exchange.taken();
    return isStream ? this.#readStream(response, exchange) : this.#readAnswer(response);
  }

  #post(message: RemoteMessage, signal: AbortSignal): Promise<Response> {
    const { body, requestId, method } = message;
    const isStateless = this.#isStateless(message);
    const own = { 'content-type': 'application/json', accept: `application/json, ${EVENT_STREAM}` };
    const headers = { ...(isStateless ? this.#headersOf2026(method) : this.#headers()), ...own };
    const takesRefusals = isStateless || method === 'initialize';
    return this.#options.fetch(this.#options.url, { method: 'POST', headers, body, signal, requestId, takesRefusals });
  }

  /** True for a message that belongs to no session: in the era of 2026 none does. */
  #isStateless({ requestId }: RemoteMessage): boolean {
    return this.#isOf2026 || isProbeId(requestId);
  }

  #headersOf2026(method: string): Record<string, string> {
    return { 'mcp-protocol-version': VERSION_2026, 'mcp-method': method, ...this.#options.headers };
  }

  #headers(): Record<string, string> {
    return {
      ...(this.#sessionId === undefined ? {} : { 'mcp-session-id': this.#sessionId }),
      ...(this.#protocolVersion === undefined ? {} : { 'mcp-protocol-version': this.#protocolVersion }),
      ...this.#options.headers,
    };
  }

  /**
   * Reads the body of a refusal, which may be the server's own answer. With a handshake its status says enough, unless the server has
   * none: then the body says so.
   */
  async #readRefusal(response: Response, message: RemoteMessage, exchange: Exchange): Promise<RemoteFailure> {
    const { maxFrameBytes: mostBytes, pacer, received } = this.#options;
    const failure = statusFailure(response.status, false);
    const frame = await readFrame(response, { mostBytes, pacer });
    if (!this.#isStateless(message) && !isOfOtherEra(frame)) throw failure;
    exchange.taken();
    received(frame);
    return failure;
  }

  async #readAnswer(response: Response): Promise<RemoteFailure> {
    const { maxFrameBytes: mostBytes, pacer, received } = this.#options;
    return received(await readFrame(response, { mostBytes, pacer })) ?? NO_ANSWER;
  }

  async #readStream(response: Response, exchange: Exchange): Promise<RemoteFailure> {
    const stream = StreamResumption.ofCall();
    let next: Response | undefined = response;
    while (next !== undefined) {
      const refused = await this.#read(next, stream, exchange);
      if (refused !== undefined) return refused;
      if (!exchange.isAwaited() || stream.lastId === undefined) break;
      next = await this.#resume(stream, exchange.signal);
    }
    return ENDED;
  }

  /**
   * Reads a stream until it ends or breaks. Resolves with a reason if a message in it could not be taken. Rejects if it was aborted,
   * or a message was too long.
   */
  async #read(response: Response, stream: StreamResumption, exchange?: Exchange): Promise<RemoteFailure | undefined> {
    const { clock, received, mayRead, pacer, maxFrameBytes: mostBytes } = this.#options;
    let lastWords: Timer | undefined;
    let refused: RemoteFailure | undefined;
    const event = stream.sink(({ type, data }) => {
      if (data !== undefined && type === 'message') refused = received(data) ?? refused;
      // The connection can be used again if the server ends the stream itself.
      if (exchange?.isAwaited() === false) lastWords ??= clock.after(LAST_WORDS_MS, () => exchange.abort());
    });
    try {
      await readEvents(response, { ...event, mostBytes, pacer, mayRead });
    } catch (error) {
      if (!(error instanceof RemoteFailure) || error.isTooLong) throw error;
    } finally {
      lastWords?.cancel();
    }
    return refused;
  }

  /** Opens the stream again where it broke; undefined if the server refuses that. */
  async #resume(stream: StreamResumption, signal: AbortSignal): Promise<Response | undefined> {
    const { clock, failed, gaveUp } = this.#options;
    for (;;) {
      await pause(clock, stream.nextPauseMs(), signal);
      try {
        const response = await this.#get(signal, stream.lastId);
        stream.found();
        return response;
      } catch (error) {
        signal.throwIfAborted();
        failed(error);
        if (error instanceof RemoteFailure && error.isFinal) return undefined;
        if (stream.failed()) continue;
        gaveUp(error);
        return undefined;
      }
    }
  }

  async #followNotices(): Promise<void> {
    const { signal } = this.#end;
    const stream = StreamResumption.ofNotices();
    try {
      let response: Response | undefined = await this.#get(signal, undefined);
      while (response !== undefined) {
        await this.#read(response, stream).catch((error: unknown) => this.#startOver(stream, error));
        response = await this.#resume(stream, signal);
      }
    } catch (error) {
      // Servers may have no such stream.
      const isNone = error instanceof RemoteFailure && error.status === 405;
      if (!signal.aborted && !isNone) this.#options.failed(error);
    }
  }

  /** Resumes without an id: the server would send the message that was too long again. */
  #startOver(stream: StreamResumption, error: unknown): undefined {
    if (!(error instanceof RemoteFailure)) throw error;
    this.#options.failed(error);
    stream.forget();
  }

  /** Opens a stream; rejects if the answer is none. */
  async #get(signal: AbortSignal, lastId: string | undefined): Promise<Response> {
    const resumption = lastId === undefined ? {} : { 'last-event-id': lastId };
    const headers = { ...this.#headers(), accept: EVENT_STREAM, ...resumption };
    const response = await this.#options.fetch(this.#options.url, { method: 'GET', headers, signal });
    if (response.ok && isMediaType(response, EVENT_STREAM)) return response;
    await response.body?.cancel();
    throw response.ok ? contentFailure(mediaType(response)) : noStream(response.status);
  }

  negotiated(protocolVersion: string): void {
    this.#protocolVersion = protocolVersion;
    this.#isOf2026 = eraOf(protocolVersion) === ERA_2026;
    if (this.#isOf2026) this.#sessionId = undefined;
  }

  async sayGoodbye(): Promise<void> {
    if (this.#sessionId === undefined) return;
    const { signal } = this.#end;
    const response = await this.#options.fetch(this.#options.url, {
      method: 'DELETE',
      headers: this.#headers(),
      signal,
    });
    await response.body?.cancel();
  }

  close(): void {
    this.#end.abort();
  }
}

/** True for the error by which a server refuses a version, as one without a handshake refuses `initialize`. */
function isOfOtherEra({ b, start, end }: Frame): boolean {
  try {
    const { error } = membersOf(JSON.parse(b.toString('utf8', start, end)));
    return membersOf(error).code === ERA_2026.errors.unsupportedVersion;
  } catch (error) {
    expectSyntaxError(error);
    return false;
  }
}

function noStream(status: number): RemoteFailure {
  return new RemoteFailure('has no stream for notifications', { status });
}

function pause(clock: Clock, ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const aborted = (): void => {
      timer.cancel();
      reject(signal.reason);
    };
    const timer = clock.after(ms, () => {
      signal.removeEventListener('abort', aborted);
      resolve();
    });
    if (signal.aborted) aborted();
    else signal.addEventListener('abort', aborted, { once: true });
  });
}

interface Pauses {
  readonly firstMs: number;
  readonly longestMs: number;
  /** Failed requests in a row before the stream is given up. */
  readonly mostFailures: number;
}

/** Pauses while somebody waits for an answer: about 15 s in all. */
const OF_A_CALL: Pauses = { firstMs: 250, longestMs: 5_000, mostFailures: 7 };
/** Pauses of the stream for notifications. Perhaps no client is connected at all. */
const OF_NOTICES: Pauses = { firstMs: 1_000, longestMs: 60_000, mostFailures: 5 };
/** The longest pause that a server may ask for. */
const LONGEST_RETRY_MS = 60_000;

/**
 * Decides where an event stream is resumed, and after how long. Each pause is twice the one before while nothing comes. The server
 * may ask for longer pauses, never for shorter ones.
 */
export class StreamResumption {
  readonly #pauses: Pauses;
  #lastId: string | undefined;
  #retryMs = 0;
  #fruitless = 0;
  #failures = 0;

  private constructor(pauses: Pauses) {
    this.#pauses = pauses;
  }

  static ofCall(): StreamResumption {
    return new StreamResumption(OF_A_CALL);
  }

  static ofNotices(): StreamResumption {
    return new StreamResumption(OF_NOTICES);
  }

  /** The id of the last event. Undefined while no event had one: the stream cannot be resumed then. */
  get lastId(): string | undefined {
    return this.#lastId;
  }

  /** Hands events on, and notes their ids and pauses. */
  sink(event: (event: ServerEvent) => void): EventSink {
    return {
      event: (one) => {
        this.#lastId = one.id ?? this.#lastId;
        if (one.data !== undefined) this.#fruitless = 0;
        event(one);
      },
      retry: (ms) => {
        this.#retryMs = Math.min(ms, LONGEST_RETRY_MS);
      },
    };
  }

  nextPauseMs(): number {
    const { firstMs, longestMs } = this.#pauses;
    return Math.max(this.#retryMs, Math.min(longestMs, firstMs * 2 ** this.#fruitless++));
  }

  found(): void {
    this.#failures = 0;
  }

  /** Notes a failure. Returns true if the stream is to be tried again. */
  failed(): boolean {
    return ++this.#failures < this.#pauses.mostFailures;
  }

  /** Forgets the last id, so that the stream begins again with new events. */
  forget(): void {
    this.#lastId = undefined;
  }
}
