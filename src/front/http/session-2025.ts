// One session with a handshake over HTTP: its link, and the streams that its client may come back to. It outlives its
// connections, and ends when its client says so or has not used it for long.

import type { ServerResponse } from 'node:http';
import type { Limits } from '../../model/limits.ts';
import type { Grant } from '../../model/principal.ts';
import type { Clock } from '../../util/clock.ts';
import type { FlushTurn } from '../../wire/outbox.ts';
import { HttpExchange } from './http-exchange.ts';
import { HttpLink } from './http-link.ts';
import { SentEvents } from './sent-events.ts';

/** The first version in which a client can come back with the id of an event without data. */
const FIRST_PRIMED = '2025-11-25';
/** A slower request gets a stream, to which its client can come back. */
const SOON_MS = 1000;
const COMMENT_MS = 15_000;
/** The number of the stream for frames that belong to no request. */
const STANDING = 0;
const EVENT_ID = /^(\d{1,9})-(\d{1,15})$/;

interface HttpSessionContext {
  readonly limits: Limits;
  readonly clock: Clock;
  readonly turn: FlushTurn;
  /** Called with a complete answer that the client has not fully read. */
  readonly unread: (response: ServerResponse) => void;
}

export interface HttpSessionOptions extends HttpSessionContext {
  readonly id: string;
  /** The principal that may use the session. */
  readonly owner: string;
  readonly view: string | undefined;
  /** The terms of the token with which it began. */
  readonly grant: Grant | undefined;
  readonly ended: () => void;
}

/** The parts of the core's session that are used here. */
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
  /** True once the client knows the session's id. */
  isKnown = false;
  readonly #options: HttpSessionOptions;
  readonly #standing: SentEvents;
  /** Open and recent streams, by number. */
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

  /** Takes `initialize`. Its answer carries the session's id; if it fails, there is no session. */
  begin(
    b: Buffer,
    end: number,
    { response, idText }: { readonly response: ServerResponse; readonly idText: string },
  ): void {
    this.take([{ b, end }], [idText], { response, isBatch: false, headers: { 'mcp-session-id': this.id } });
  }

  /** Takes the messages of a POST; `idTexts` are the ids of its requests. */
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
    // The first exchange was for `initialize`.
    this.isKnown = this.session?.protocolVersion !== undefined && !exchange.isLeft;
    if (!this.isKnown) this.link.destroy();
  }

  /** Opens the stream for frames that belong to no request. */
  listen(response: ServerResponse): void {
    this.#carry(this.#standing, response, () => {
      this.#standing.carryOn(response);
      if (this.#isPrimed) this.#standing.prime();
    });
  }

  /** Continues a stream after the event with this id; false if the stream is unknown or gone. */
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

  /** Called once a second: gives slow requests their streams, and drops old streams. */
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

  /** Limits what all streams of a session keep to what a client on the socket may have kept. */
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

  /** True if nobody has used it for this long. */
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
