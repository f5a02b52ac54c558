// One POST with requests in it, and its answer: JSON if nothing comes before the one answer, else a stream of events. It never
// decides what is written; the link that it belongs to tells it what comes next.

import type { ServerResponse } from 'node:http';
import { type ByteSink, type FlushTurn, Outbox } from '../../wire/outbox.ts';
import { statusOf } from './http-error.ts';
import type { SentEvents } from './sent-events.ts';

/** Up to this size an answer is put together with its headers, and goes out in one write. */
const SMALL_ANSWER = 4096;

export interface HttpExchangeOptions {
  readonly response: ServerResponse;
  /** The ids of the requests as their client has spelled them. */
  readonly idTexts: readonly string[];
  /** True if errors decide about the status. */
  readonly isOf2026: boolean;
  /** True if several messages are answered in one stream. */
  readonly isBatch: boolean;
  readonly turn: FlushTurn;
  /** Makes the stream, when there is need of one. */
  readonly openStream: () => SentEvents;
  /** Further headers of the answer, if it is no error. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** Nothing more is added to the answer, which its client may not have taken. */
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
  /** The client has gone; what is written for it is kept in the stream, if there is one. */
  isLeft = false;
  readonly beganMs: number;
  /** When its client was last given a sign of life. */
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

  /** True while nothing was written: then it may still become a stream. */
  get isUndecided(): boolean {
    return this.#stream === undefined && this.#answer === undefined && !this.#isOver;
  }

  /** True while something may still come before the one answer. A JSON answer that has begun is the whole body. */
  get isUnanswered(): boolean {
    return this.#answer === undefined && !this.#isOver;
  }

  /** True while the answer is still to come, to a client that is there. */
  get isWaiting(): boolean {
    return this.isUnanswered && !this.isLeft;
  }

  /** Bytes that wait for the client. */
  get blockedBytes(): number {
    return this.#stream?.writableLength ?? this.#answer?.writableLength ?? 0;
  }

  /** True if its client has gone before it was told how to come back. */
  get #isLost(): boolean {
    return this.isLeft && this.#stream === undefined;
  }

  /** The outbox for the next frame, which comes before an answer; undefined for a client that has gone without a way back. */
  beginEvent(): Outbox | undefined {
    if (this.#isLost) return undefined;
    const { outbox } = this.openStream();
    outbox.beginEvent();
    return outbox;
  }

  /** The outbox for the answer to a request; undefined if its client has gone without a way back. `code` is that of an error. */
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

  /** A frame was written; it was the answer to the request of this id. */
  answered(idText: string, nowMs: number): void {
    this.#open.delete(idText);
    if (this.#open.size === 0 && this.#answer === undefined) this.endSoon(nowMs);
  }

  /** Nothing more comes for a request. */
  over(idText: string, nowMs: number): void {
    if (this.#open.delete(idText) && this.#open.size === 0) this.endSoon(nowMs);
  }

  endSoon(nowMs: number): void {
    if (this.#isOver || this.#answer !== undefined) return;
    // A request that was cancelled gets no answer, and its client waits for the end of something.
    if (!this.#isLost) this.openStream().end(nowMs);
    if (!this.isLeft) this.#options.unread(this.response);
    this.#end();
  }

  #end(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#options.ended(this);
  }

  /** The stream of the exchange, from now on if there was none. */
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

/** One answer as a whole body, whose length is known when all of it was written. */
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

/** Sends what it has when the turn ends: the answer is one frame. */
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
