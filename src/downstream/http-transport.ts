// Streamable HTTP: each message is a POST, and its response holds the answer and everything that belongs to it. One
// more stream brings messages that belong to no request. A broken stream is resumed if the server can, after the pauses
// below.

import { ERA_2026 } from '../protocol/era-2026.ts';
import { eraOf } from '../protocol/eras.ts';
import {
  isAnswerTo,
  isForFirstPage,
  listRequestFor,
  MirroredHeaders,
  nextCursorIn,
} from '../protocol/mirrored-headers.ts';
import { isProbeId, VERSION_2026 } from '../protocol/server-discovery.ts';
import type { Clock, Timer } from '../util/clock.ts';
import { deferred } from '../util/deferred.ts';
import { expectSyntaxError } from '../util/expected-error.ts';
import { membersOf } from '../util/json-value.ts';
import type { Frame } from '../wire/frame-splitter.ts';
import { copyOf } from '../wire/own-frame.ts';
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
  /** Called when a tool is taken out of a list, because nobody could call it over HTTP. */
  readonly leftOut: (tool: string, why: string) => void;
}

/** Takes a message of the server. */
type Take = TransportPorts['received'];

/** Time for a stream to end by itself after the answer. */
const LAST_WORDS_MS = 1_000;

const EVENT_STREAM = 'text/event-stream';
const ENDED = new RemoteFailure('ended the stream before its answer', { isUncertain: true });
const NO_ANSWER = new RemoteFailure('gave no answer', { isUncertain: true });
const LATE = new RemoteFailure('did not list its tools in time');

/**
 * Messages that a server of 2026 does not take: answers, and cancellations, because closing a call's stream cancels it.
 */
const UNSAID: ReadonlySet<string> = new Set(['', 'notifications/cancelled']);

const CALL = 'tools/call';
const LIST = 'tools/list';
/** The id of the bridge's own request for the list of tools. */
const LIST_ID = '"mcp-bridge-tools"';
/** A server could name a next page for ever. */
const MOST_PAGES = 64;
/** Time for the bridge's own list. Calls wait for it. */
const LISTING_MS = 10_000;
/** The time after a failed list in which calls go without one. */
const LIST_AGAIN_MS = 10_000;

export class HttpTransport implements RemoteTransport {
  readonly #options: HttpTransportOptions;
  readonly #end = new AbortController();
  #sessionId: string | undefined;
  #protocolVersion: string | undefined;
  /**
   * True once the server speaks without a handshake: it has no session, and each request names its method in a header.
   */
  #isOf2026 = false;
  readonly #mirrored: MirroredHeaders;
  #listing: Promise<void> | undefined;
  /** The time before which the bridge does not ask for its own list again. */
  #listAgainAtMs = Number.NEGATIVE_INFINITY;

  constructor(options: HttpTransportOptions) {
    this.#options = options;
    this.#mirrored = new MirroredHeaders(options.leftOut, () => options.clock.now());
  }

  async send(message: RemoteMessage, exchange: Exchange): Promise<RemoteFailure | undefined> {
    if (this.#isOf2026 && UNSAID.has(message.method)) {
      exchange.taken();
      return NO_ANSWER;
    }
    const isCall = this.#isOf2026 && message.method === CALL;
    if (isCall && !this.#mirrored.isListed) await this.#learnMarks(message.body, exchange.signal);
    return this.#sendNow(message, exchange, isCall);
  }

  /** `mayRepeat`: the message is sent again if the server misses headers. For those it must list its tools first. */
  async #sendNow(message: RemoteMessage, exchange: Exchange, mayRepeat: boolean): Promise<RemoteFailure | undefined> {
    const response = await this.#post(message, exchange.signal);
    if (!this.#isStateless(message)) this.#sessionId = response.headers.get('mcp-session-id') ?? this.#sessionId;
    if (message.requestId === undefined || response.status === 202) {
      await response.body?.cancel();
      exchange.taken();
      if (message.method === 'notifications/initialized') void this.#followNotices();
      return NO_ANSWER;
    }
    if (!response.ok) return this.#readRefusal(response, message, exchange, mayRepeat);
    const take = this.#takeFor(message);
    const isStream = isMediaType(response, EVENT_STREAM);
    if (!isStream && !isMediaType(response, 'application/json')) {
      await response.body?.cancel();
      throw contentFailure(mediaType(response));
    }
    exchange.taken();
    return isStream ? this.#readStream(response, exchange, take) : this.#readAnswer(response, take);
  }

  #takeFor({ method, body }: RemoteMessage): Take {
    const { received } = this.#options;
    if (!this.#isOf2026 || method !== LIST) return received;
    const isFirstPage = isForFirstPage(body);
    return (frame) => received(this.#mirrored.sift(frame, isFirstPage));
  }

  /**
   * Reads the list of tools, once for all calls that need it now. A call goes without these headers if that fails. Rejects if the
   * signal is aborted; the other calls still wait for the list.
   */
  #learnMarks(call: RemoteMessage['body'], signal: AbortSignal): Promise<void> {
    if (this.#listing === undefined && this.#options.clock.now() < this.#listAgainAtMs) return Promise.resolve();
    this.#listing ??= this.#listInTime(call).finally(() => {
      this.#listing = undefined;
    });
    return unlessAborted(this.#listing, signal);
  }

  /** Reads the list of tools; never rejects. After a failure it is not asked for again at once. */
  async #listInTime(call: RemoteMessage['body']): Promise<void> {
    const { clock, failed } = this.#options;
    const abort = new AbortController();
    const timer = clock.after(LISTING_MS, () => abort.abort(LATE));
    const isComplete = await this.#listTools(call, abort.signal).catch((error: unknown) => {
      failed(abort.signal.aborted ? LATE : error);
      return false;
    });
    timer.cancel();
    if (!isComplete) this.#listAgainAtMs = clock.now() + LIST_AGAIN_MS;
  }

  /** Resolves to true if the whole list has arrived. */
  async #listTools(call: RemoteMessage['body'], signal: AbortSignal): Promise<boolean> {
    let cursor: string | undefined;
    for (let page = 0; page < MOST_PAGES; page++) {
      const frame = await this.#ownAnswer(new Uint8Array(listRequestFor(call, LIST_ID, cursor)), signal);
      if (frame === undefined) return false;
      this.#mirrored.sift(frame, cursor === undefined);
      cursor = nextCursorIn(frame);
      if (cursor === undefined) return this.#mirrored.isListed;
    }
    return false;
  }

  /** The answer to the bridge's own request; undefined if there is none, or the server refuses. */
  async #ownAnswer(body: RemoteMessage['body'], signal: AbortSignal): Promise<Frame | undefined> {
    const abort = new AbortController();
    const aborted = (): void => abort.abort();
    const signals = [signal, this.#end.signal];
    for (const one of signals) one.addEventListener('abort', aborted, { once: true });
    try {
      if (signals.some((one) => one.aborted)) aborted();
      const response = await this.#post({ body, method: LIST, requestId: LIST_ID }, abort.signal);
      return await this.#readOwnAnswer(response);
    } finally {
      for (const one of signals) one.removeEventListener('abort', aborted);
      abort.abort(); // the server may keep the stream open after its answer
    }
  }

  async #readOwnAnswer(response: Response): Promise<Frame | undefined> {
    const { maxFrameBytes: mostBytes, pacer } = this.#options;
    if (response.ok && isMediaType(response, 'application/json')) return readFrame(response, { mostBytes, pacer });
    if (!response.ok || !isMediaType(response, EVENT_STREAM)) return void (await response.body?.cancel());
    const answer = deferred<Frame>();
    const event = ({ data }: ServerEvent): void => {
      if (data !== undefined && isAnswerTo(data, LIST_ID)) answer.resolve(copyOf(data));
    };
    const ended = readEvents(response, { event, retry: () => undefined, mostBytes, pacer }).then(() => undefined);
    return Promise.race([answer.promise, ended]);
  }

  #post(message: RemoteMessage, signal: AbortSignal): Promise<Response> {
    const { body, requestId, method } = message;
    const isStateless = this.#isStateless(message);
    const own = { 'content-type': 'application/json', accept: `application/json, ${EVENT_STREAM}` };
    const headers = { ...(isStateless ? this.#headersOf2026(body) : this.#headers()), ...own };
    const takesRefusals = isStateless || method === 'initialize';
    return this.#options.fetch(this.#options.url, { method: 'POST', headers, body, signal, requestId, takesRefusals });
  }

  /** True for a message without a session; in 2026 there are no sessions. */
  #isStateless({ requestId }: RemoteMessage): boolean {
    return this.#isOf2026 || isProbeId(requestId);
  }

  #headersOf2026(body: RemoteMessage['body']): Record<string, string> {
    const mirrored = this.#mirrored.headersOf(body);
    return { 'mcp-protocol-version': VERSION_2026, ...mirrored, ...this.#options.headers };
  }

  #headers(): Record<string, string> {
    return {
      ...(this.#sessionId === undefined ? {} : { 'mcp-session-id': this.#sessionId }),
      ...(this.#protocolVersion === undefined ? {} : { 'mcp-protocol-version': this.#protocolVersion }),
      ...this.#options.headers,
    };
  }

  /**
   * Reads the body of a refusal, which may be the server's own answer. With a handshake the status says enough, unless
   * the server has no session: then the body says it.
   */
  async #readRefusal(
    response: Response,
    message: RemoteMessage,
    exchange: Exchange,
    mayRepeat: boolean,
  ): Promise<RemoteFailure | undefined> {
    const { maxFrameBytes: mostBytes, pacer, received } = this.#options;
    const failure = statusFailure(response.status, false);
    const frame = await readFrame(response, { mostBytes, pacer });
    const code = errorCodeIn(frame);
    if (!this.#isStateless(message) && code !== ERA_2026.errors.unsupportedVersion) throw failure;
    if (mayRepeat && code === ERA_2026.errors.headerMismatch) {
      await this.#learnMarks(message.body, exchange.signal);
      return this.#sendNow(message, exchange, false);
    }
    exchange.taken();
    received(frame);
    return failure;
  }

  async #readAnswer(response: Response, take: Take): Promise<RemoteFailure> {
    const { maxFrameBytes: mostBytes, pacer } = this.#options;
    return take(await readFrame(response, { mostBytes, pacer })) ?? NO_ANSWER;
  }

  async #readStream(response: Response, exchange: Exchange, take: Take): Promise<RemoteFailure> {
    const stream = StreamResumption.ofCall();
    let next: Response | undefined = response;
    while (next !== undefined) {
      const refused = await this.#read(next, stream, { take, exchange });
      if (refused !== undefined) return refused;
      // A server of 2026 resumes no stream: nobody knows what became of the call.
      if (this.#isOf2026 || !exchange.isAwaited() || stream.lastId === undefined) break;
      next = await this.#resume(stream, exchange.signal);
    }
    return ENDED;
  }

  /**
   * Reads a stream until it ends or breaks. Resolves with a reason if a message in it could not be taken. Rejects if it was aborted,
   * or a message was too long.
   */
  async #read(
    response: Response,
    stream: StreamResumption,
    { take, exchange }: { readonly take: Take; readonly exchange?: Exchange },
  ): Promise<RemoteFailure | undefined> {
    const { clock, mayRead, pacer, maxFrameBytes: mostBytes } = this.#options;
    let lastWords: Timer | undefined;
    let refused: RemoteFailure | undefined;
    const event = stream.sink(({ type, data }) => {
      if (data !== undefined && type === 'message') refused = take(data) ?? refused;
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

  /** Opens the stream again where it broke off; undefined if the server refuses. */
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
        await this.#read(response, stream, { take: this.#options.received }).catch((error: unknown) =>
          this.#startOver(stream, error),
        );
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

  /** Opens a stream; rejects if the answer is no stream. */
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

/** The code of the error in an answer, such as the refusal of `initialize` by a server without a handshake. */
function errorCodeIn({ b, start, end }: Frame): unknown {
  try {
    return membersOf(membersOf(JSON.parse(b.toString('utf8', start, end))).error).code;
  } catch (error) {
    expectSyntaxError(error);
    return undefined;
  }
}

function noStream(status: number): RemoteFailure {
  return new RemoteFailure('has no stream for notifications', { status });
}

/** Waits for a promise that never rejects. Rejects as soon as the signal is aborted. */
async function unlessAborted(done: Promise<void>, signal: AbortSignal): Promise<void> {
  const stopped = deferred<void>();
  const aborted = (): void => stopped.resolve();
  signal.addEventListener('abort', aborted, { once: true });
  if (!signal.aborted) await Promise.race([done, stopped.promise]);
  signal.removeEventListener('abort', aborted);
  signal.throwIfAborted();
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

/** Pauses while a request waits for its answer: about 15 s in total. */
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
