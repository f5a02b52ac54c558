// One POST with requests, and its answer: JSON if nothing precedes the answer, else an event stream. It never decides
// what is written; its link tells it what comes next.

import type { ServerResponse } from 'node:http';
import { type ByteSink, type FlushTurn, Outbox } from '../../wire/outbox.ts';
import { statusOf } from './http-error.ts';
import type { SentEvents } from './sent-events.ts';

/** Up to this size, answer and headers go out in one write. */
const SMALL_ANSWER = 4096;

export interface HttpExchangeOptions {
  readonly response: ServerResponse;
  /** The ids of the requests as the client spelled them. */
  readonly idTexts: readonly string[];
  /** True if errors determine the HTTP status. */
  readonly isOf2026: boolean;
  /** True if one stream answers several messages. */
  readonly isBatch: boolean;
  readonly turn: FlushTurn;
  /** Makes the stream when it is needed. */
  readonly openStream: () => SentEvents;
  /** More headers for the answer, unless it is an error. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** Called with a complete answer that the client may not have fully read. */
  readonly unread: (response: ServerResponse) => void;
  /** Called once, when everything was written. */
  readonly ended: (exchange: HttpExchange) => void;
}

export class HttpExchange {
  readonly #options: HttpExchangeOptions;
  readonly #open: Set<string>;
  #stream: SentEvents | undefined;
  #answer: JsonAnswer | undefined;
  #isOver = false;
  /** True once the client has gone; later writes are kept in the stream, if there is one. */
  isLeft = false;
  readonly beganMs: number;
  /** The time of the last sign of life to the client. */
  commentedMs: number;

  constructor(options: HttpExchangeOptions, nowMs: number) {
    this.#options = options;
    this.#open = new Set(options.idTexts);
    this.beganMs = nowMs;
    this.commentedMs = nowMs;
  }

  get response(): ServerResponse {
    return this.#options.response;
  }

  get stream(): SentEvents | undefined {
    return this.#stream;
  }

  get openIds(): ReadonlySet<string> {
    return this.#open;
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  /** True while nothing was written, so that it may still become a stream. */
  get isUndecided(): boolean {
    return this.#stream === undefined && this.#answer === undefined && !this.#isOver;
  }

  /** True while something may still precede the answer. A JSON answer that has begun is the whole body. */
  get isUnanswered(): boolean {
    return this.#answer === undefined && !this.#isOver;
  }

  /** True while a connected client waits for the answer. */
  get isWaiting(): boolean {
    return this.isUnanswered && !this.isLeft;
  }

  /** Bytes queued for the client. */
  get blockedBytes(): number {
    return this.#stream?.writableLength ?? this.#answer?.writableLength ?? 0;
  }

  /** True if the client left before it was told how to come back. */
  get #isLost(): boolean {
    return this.isLeft && this.#stream === undefined;
  }

  /** The outbox for the next frame before an answer; undefined if the client left and cannot come back. */
  beginEvent(): Outbox | undefined {
    if (this.#isLost) return undefined;
    const { outbox } = this.openStream();
    outbox.beginEvent();
    return outbox;
  }

  /** The outbox for an answer; undefined if the client left and cannot come back. `code` is an error's code. */
  beginAnswer(idText: string, code: number | undefined, isRefused: boolean): Outbox | undefined {
    if (this.#isLost) return undefined;
    const isLast = this.#open.size === 1 || !this.#open.has(idText);
    if (this.#stream !== undefined || !isLast || this.#options.isBatch) return this.beginEvent();
    this.#answer = new JsonAnswer(this.#options, this.#statusOf(code, isRefused), code === undefined, () =>
      this.#end(),
    );
    return this.#answer.outbox;
  }

  #statusOf(code: number | undefined, isRefused: boolean): number {
    if (code === undefined) return 200;
    if (!this.#options.isOf2026) return isRefused ? 400 : 200;
    const status = statusOf(code);
    return status === 200 && isRefused ? 400 : status;
  }

  /** Called when the answer to the request with this id was written. */
  answered(idText: string, nowMs: number): void {
    this.#open.delete(idText);
    if (this.#open.size === 0 && this.#answer === undefined) this.endSoon(nowMs);
  }

  /** Called when nothing more follows for a request. */
  over(idText: string, nowMs: number): void {
    if (this.#open.delete(idText) && this.#open.size === 0) this.endSoon(nowMs);
  }

  endSoon(nowMs: number): void {
    if (this.#isOver || this.#answer !== undefined) return;
    // A cancelled request gets no answer, but its client waits for the end of the response.
    if (!this.#isLost) this.openStream().end(nowMs);
    if (!this.isLeft) this.#options.unread(this.response);
    this.#end();
  }

  #end(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#options.ended(this);
  }

  /** Returns the exchange's stream; makes it if there is none yet. */
  openStream(): SentEvents {
    if (this.#stream !== undefined) return this.#stream;
    const { response, openStream, headers } = this.#options;
    this.#stream = openStream();
    if (!this.isLeft) this.#stream.carryOn(response, headers);
    return this.#stream;
  }

  /** Ends it without an answer. */
  destroy(): void {
    this.#stream?.destroy();
    this.response.destroy();
    this.#end();
  }
}

const HEAD: Readonly<Record<string, string>> = { 'content-type': 'application/json', 'cache-control': 'no-store' };

/** One answer as a whole body, whose length is known once all of it was written. */
class JsonAnswer implements ByteSink {
  readonly outbox: Outbox;
  readonly #options: HttpExchangeOptions;
  readonly #status: number;
  readonly #isResult: boolean;
  readonly #ended: () => void;
  #pieces: Uint8Array[] = [];
  #bytes = 0;
  #isCopied = true;

  constructor(options: HttpExchangeOptions, status: number, isResult: boolean, ended: () => void) {
    this.#options = options;
    this.#status = status;
    this.#isResult = isResult;
    this.#ended = ended;
    this.outbox = new AnswerOutbox(this, options.turn, () => this.#send());
  }

  get writableLength(): number {
    return this.#options.response.writableLength;
  }

  get copies(): boolean {
    return this.#isCopied;
  }

  write(bytes: Uint8Array): boolean {
    const isSmall = bytes.length <= SMALL_ANSWER;
    if (!isSmall) this.#isCopied = false;
    this.#pieces.push(isSmall ? Buffer.from(bytes) : bytes);
    this.#bytes += bytes.length;
    return true;
  }

  cork(): void {
    // All pieces leave together.
  }

  uncork(): void {
    // See above.
  }

  #send(): void {
    const { response, headers } = this.#options;
    const pieces = this.#pieces;
    this.#pieces = [];
    if (!response.destroyed && !response.headersSent) {
      const more = this.#isResult ? headers : undefined;
      response.writeHead(this.#status, { ...HEAD, ...more, 'content-length': this.#bytes });
      const [only] = pieces;
      if (pieces.length === 1 && only !== undefined && only.length <= SMALL_ANSWER)
        response.end(Buffer.from(only.buffer, only.byteOffset, only.length).toString('latin1'), 'latin1');
      else {
        for (const piece of pieces) response.write(piece);
        response.end();
        this.#options.unread(response);
      }
    }
    this.#ended();
  }
}

/** Sends its content when the turn ends: the answer is one frame. */
class AnswerOutbox extends Outbox {
  readonly #complete: () => void;
  #isComplete = false;

  constructor(sink: ByteSink, turn: FlushTurn, complete: () => void) {
    super(sink, turn);
    this.#complete = complete;
  }

  override endFrame(): void {
    this.#isComplete = true;
    super.endFrame();
  }

  override flush(): void {
    super.flush();
    if (!this.#isComplete) return;
    this.#isComplete = false;
    this.close();
    this.#complete();
  }
}
