// One session of the era with a handshake over HTTP: its link, and the streams that its client may come back to. It outlives
// every connection; it ends when its client says so, or when nobody has used it for long.

import type { ServerResponse } from 'node:http';
import type { Limits } from '../../model/limits.ts';
import type { Grant } from '../../model/principal.ts';
import type { Clock } from '../../util/clock.ts';
import type { FlushTurn } from '../../wire/outbox.ts';
import { HttpExchange } from './http-exchange.ts';
import { HttpLink } from './http-link.ts';
import { SentEvents } from './sent-events.ts';

/** The first revision in which a client comes back by the id of an event without data. */
const FIRST_PRIMED = '2025-11-25';
/** A request that takes longer gets a stream, to which its client can come back. */
const SOON_MS = 1000;
const COMMENT_MS = 15_000;
/** The stream for what belongs to no request. */
const STANDING = 0;
const EVENT_ID = /^(\d{1,9})-(\d{1,15})$/;

interface HttpSessionContext {
  readonly limits: Limits;
  readonly clock: Clock;
  readonly turn: FlushTurn;
  /** An answer was written that its client has not taken. */
  readonly unread: (response: ServerResponse) => void;
}

export interface HttpSessionOptions extends HttpSessionContext {
  readonly id: string;
  /** The principal that may use the session. */
  readonly owner: string;
  readonly view: string | undefined;
  /** The terms of the token that it was begun with. */
  readonly grant: Grant | undefined;
  readonly ended: () => void;
}

/** The core's side of the session, as far as it is looked at here. */
interface SessionVersion {
  readonly protocolVersion: string | undefined;
  readonly mayBatch: boolean;
}

export class HttpSession2025 {
  readonly link: HttpLink;
  readonly id: string;
  readonly owner: string;
  readonly view: string | undefined;
  readonly grant: Grant | undefined;
  session: SessionVersion | undefined;
  /** True once its client has been told its id. */
  isKnown = false;
  readonly #options: HttpSessionOptions;
  readonly #standing: SentEvents;
  /** By their numbers: those that are open, and those that were lately. */
  readonly #streams = new Map<number, SentEvents>();
  #lastStream = STANDING;
  #usedMs: number;
  #commentedMs: number;

  constructor(options: HttpSessionOptions) {
    const { id, owner, view, clock, turn, ended } = options;
    this.#options = options;
    this.id = id;
    this.owner = owner;
    this.view = view;
    this.grant = options.grant;
    this.#usedMs = clock.now();
    this.#commentedMs = this.#usedMs;
    this.#standing = this.#openStream(STANDING);
    this.link = new HttpLink({ turn, clock, standing: this.#standing, closed: ended });
  }

  get mayBatch(): boolean {
    return this.session?.mayBatch === true;
  }

  get #nowMs(): number {
    return this.#options.clock.now();
  }

  #openStream(number: number): SentEvents {
    const { turn, limits } = this.#options;
    const stream = new SentEvents({
      turn,
      kept: { number, most: limits.maxResumeBytesPerClient },
      changed: () => this.link.changed(),
    });
    this.#streams.set(number, stream);
    return stream;
  }

  /** Takes `initialize` in. Its answer tells the client the id of the session; without a good one there is no session. */
  begin(
    b: Buffer,
    end: number,
    { response, idText }: { readonly response: ServerResponse; readonly idText: string },
  ): void {
    this.take([{ b, end }], [idText], { response, isBatch: false, headers: { 'mcp-session-id': this.id } });
  }

  /** Takes messages of one POST in; `idTexts` are the ids of the requests among them. */
  take(
    messages: readonly { readonly b: Buffer; readonly end: number }[],
    idTexts: readonly string[],
    to: PostTerms,
  ): void {
    this.#usedMs = this.#nowMs;
    const { response, isBatch, headers } = to;
    const exchange = idTexts.length === 0 ? undefined : this.#exchange({ response, idTexts, isBatch, headers });
    for (const { b, end } of messages) this.link.take(b, end, exchange);
  }

  #exchange(terms: PostTerms & { readonly idTexts: readonly string[] }): HttpExchange {
    const { response } = terms;
    const exchange = new HttpExchange(
      {
        ...terms,
        isOf2026: false,
        turn: this.#options.turn,
        unread: this.#options.unread,
        openStream: () => this.#openStream(++this.#lastStream),
        ended: (one) => this.#ended(one),
      },
      this.#nowMs,
    );
    response.once('close', () => {
      exchange.isLeft = true;
      exchange.stream?.dropped(response, this.#nowMs);
      this.#usedMs = this.#nowMs;
      this.link.changed();
    });
    return exchange;
  }

  #ended(exchange: HttpExchange): void {
    this.link.forget(exchange);
    if (this.isKnown) return this.link.changed();
    // The first exchange was that of `initialize`.
    this.isKnown = this.session?.protocolVersion !== undefined && !exchange.isLeft;
    if (!this.isKnown) this.link.destroy();
  }

  /** Opens the stream for what belongs to no request. */
  listen(response: ServerResponse): void {
    this.#carry(this.#standing, response, () => {
      this.#standing.carryOn(response);
      if (this.#isPrimed) this.#standing.prime();
    });
  }

  /** Goes on with a stream behind the event of this id; false if there is no such stream, or not any more. */
  goOn(response: ServerResponse, lastEventId: string): boolean {
    const [, number, place] = EVENT_ID.exec(lastEventId) ?? [];
    const stream = number === undefined ? undefined : this.#streams.get(Number(number));
    if (stream === undefined) return false;
    let isFound = false;
    this.#carry(stream, response, () => {
      isFound = stream.goOn(response, Number(place));
    });
    return isFound;
  }

  #carry(stream: SentEvents, response: ServerResponse, begin: () => void): void {
    this.#usedMs = this.#nowMs;
    begin();
    response.once('close', () => {
      stream.dropped(response, this.#nowMs);
      this.#usedMs = this.#nowMs;
    });
  }

  get #isPrimed(): boolean {
    return (this.session?.protocolVersion ?? '') >= FIRST_PRIMED;
  }

  /** Called once a second: gives slow requests their streams, and forgets what nobody comes back to. */
  tick(nowMs: number): void {
    const { resumeGraceMs } = this.#options.limits;
    for (const exchange of this.link.exchanges)
      if (exchange.isUndecided && !exchange.isLeft && nowMs - exchange.beganMs >= SOON_MS && this.isKnown)
        this.#makeStream(exchange);
    if (nowMs - this.#commentedMs >= COMMENT_MS) {
      this.#commentedMs = nowMs;
      for (const stream of this.#streams.values()) stream.comment();
    }
    for (const [number, { isOver, leftMs }] of this.#streams)
      if (isOver && leftMs !== undefined && nowMs - leftMs >= resumeGraceMs) this.#streams.delete(number);
    this.#dropOverfull();
  }

  #makeStream(exchange: HttpExchange): void {
    const stream = exchange.openStream();
    if (this.#isPrimed) stream.prime();
    else stream.comment();
  }

  /** Together, the streams of a session keep as much as a client on the socket may have kept. */
  #dropOverfull(): void {
    let bytes = 0;
    for (const { keptBytes } of this.#streams.values()) bytes += keptBytes;
    for (const [number, stream] of this.#streams) {
      if (bytes <= this.#options.limits.maxResumeBytesPerClient) return;
      if (!stream.isOver) continue;
      bytes -= stream.keptBytes;
      this.#streams.delete(number);
    }
  }

  get usedMs(): number {
    return this.#usedMs;
  }

  /** True if nobody has used it for so long. */
  isIdleFor(ms: number, nowMs: number): boolean {
    if (this.#standing.isCarried || [...this.link.exchanges].some(({ isLeft }) => !isLeft)) return false;
    return nowMs - this.#usedMs >= ms;
  }
}

export interface PostTerms {
  readonly response: ServerResponse;
  readonly isBatch: boolean;
  readonly headers?: Readonly<Record<string, string>> | undefined;
}
