// A link to one client over HTTP. It has no connection of its own, but uses the streams of the client's requests.
// Before each frame, the session says which stream the frame is for. The link never reads what is written.

import type { Clock } from '../../util/clock.ts';
import { invariant } from '../../util/invariant.ts';
import type { Carrier, LinkHandler, Streams } from '../../wire/link.ts';
import { type ByteSink, type FlushTurn, Outbox } from '../../wire/outbox.ts';
import { WaitingFrames } from '../../wire/waiting-frames.ts';
import type { HttpExchange } from './http-exchange.ts';
import type { SentEvents } from './sent-events.ts';

export interface HttpLinkOptions {
  readonly turn: FlushTurn;
  readonly clock: Clock;
  /** The stream for frames that belong to no request; undefined if the client gets none. */
  readonly standing?: SentEvents | undefined;
  /** Called when the link has closed, for whatever reason. */
  readonly closed: () => void;
}

export class HttpLink implements Carrier, Streams {
  readonly outbox: LinkOutbox;
  readonly #options: HttpLinkOptions;
  /** Keys are the ids of unanswered requests. */
  readonly #open = new Map<string, HttpExchange>();
  /** Exchanges that have not ended. */
  readonly #exchanges = new Set<HttpExchange>();
  #handler: LinkHandler | undefined;
  #taking: HttpExchange | undefined;
  #isClosed = false;
  /** Messages held while the client is not read. */
  readonly #waiting = new WaitingFrames();

  constructor(options: HttpLinkOptions) {
    this.#options = options;
    this.outbox = new LinkOutbox(options.turn, () => this.#blockedBytes());
  }

  get streams(): Streams {
    return this;
  }

  get isPaused(): boolean {
    return this.#waiting.isPaused;
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** Exchanges that have not ended. */
  get exchanges(): ReadonlySet<HttpExchange> {
    return this.#exchanges;
  }

  /** True if a request with this id is unanswered. */
  isOpen(idText: string): boolean {
    return this.#open.has(idText);
  }

  /** True if no more messages can be taken at present. */
  get isFull(): boolean {
    return this.#waiting.isFull;
  }

  /** Takes the message in b[0, end), which a newline follows. */
  take(b: Buffer, end: number, exchange?: HttpExchange): void {
    if (this.#isClosed) return exchange?.destroy();
    if (exchange !== undefined) {
      this.#exchanges.add(exchange);
      for (const idText of exchange.openIds) this.#open.set(idText, exchange);
    }
    this.#waiting.add(() => this.#hand(b, end, exchange), end);
  }

  #hand(b: Buffer, end: number, exchange: HttpExchange | undefined): void {
    const before = this.#taking;
    this.#taking = exchange;
    this.#handler?.frame(b, 0, end);
    this.#taking = before;
  }

  /** Cancels requests, because their client has hung up on them. */
  cancel(exchange: HttpExchange): void {
    for (const idText of [...exchange.openIds]) {
      const notice = `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":${idText}}}\n`;
      const b = Buffer.from(notice, 'latin1');
      this.#handler?.frame(b, 0, b.length - 1);
    }
    this.forget(exchange);
  }

  /** Forgets an exchange: nothing more is written for it. */
  forget(exchange: HttpExchange): void {
    this.#exchanges.delete(exchange);
    for (const idText of exchange.openIds) if (this.#open.get(idText) === exchange) this.#open.delete(idText);
  }

  /** Called when the client's backlog has changed. */
  changed(): void {
    if (!this.#isClosed) this.#handler?.drained();
  }

  #blockedBytes(): number {
    let bytes = this.#options.standing?.writableLength ?? 0;
    for (const { blockedBytes } of this.#exchanges) bytes += blockedBytes;
    return bytes;
  }

  // --- the streams ---

  answering(idText: string, code?: number): void {
    this.#beginAnswer(idText, code, false);
  }

  refusing(idText: string, code: number): void {
    this.#beginAnswer(idText, code, true);
  }

  #beginAnswer(idText: string, code: number | undefined, isRefused: boolean): void {
    const exchange = this.#exchangeOf(idText);
    if (exchange === undefined) return this.outbox.aim(undefined);
    const id = exchange.openIds.has(idText) ? idText : ([...exchange.openIds][0] ?? idText);
    this.outbox.aim(exchange.beginAnswer(id, code, isRefused), () => {
      if (this.#open.get(id) === exchange) this.#open.delete(id);
      exchange.answered(id, this.#options.clock.now());
    });
  }

  /** The exchange for an answer. An error without a readable id belongs to the message that is being taken. */
  #exchangeOf(idText: string): HttpExchange | undefined {
    const taking = this.#taking;
    if (taking?.openIds.has(idText) === true || idText === 'null') return taking;
    return this.#open.get(idText);
  }

  during(idText: string): void {
    const exchange = this.#open.get(idText) ?? (this.#exchanges.size === 1 ? [...this.#exchanges][0] : undefined);
    if (exchange?.isUnanswered !== true) return this.aside();
    this.outbox.aim(exchange.beginEvent());
  }

  aside(): void {
    const { standing } = this.#options;
    if (standing === undefined) return this.outbox.aim(undefined);
    // A client without a listening stream gets it on a response that it waits for.
    const [exchange] = standing.isCarried ? [] : [...this.#exchanges].filter(({ isWaiting }) => isWaiting);
    if (exchange !== undefined) return this.outbox.aim(exchange.beginEvent());
    standing.outbox.beginEvent();
    this.outbox.aim(standing.outbox);
  }

  over(idText: string): void {
    const exchange = this.#open.get(idText);
    if (exchange === undefined) return;
    this.#open.delete(idText);
    exchange.over(idText, this.#options.clock.now());
  }

  // --- the link ---

  start(handler: LinkHandler): void {
    this.#handler = handler;
  }

  pause(): void {
    this.#waiting.pause();
  }

  resume(): void {
    this.#waiting.resume();
  }

  end(): void {
    this.#close((exchange) => exchange.endSoon(this.#options.clock.now()));
  }

  destroy(): void {
    this.#close((exchange) => exchange.destroy());
  }

  #close(end: (exchange: HttpExchange) => void): void {
    if (this.#isClosed) return;
    this.#options.turn.flush();
    this.#isClosed = true;
    this.#waiting.drop();
    for (const exchange of [...this.#exchanges]) end(exchange);
    this.#options.standing?.end(this.#options.clock.now());
    this.outbox.close();
    queueMicrotask(() => {
      this.#handler?.closed();
      this.#options.closed();
    });
  }

  readonly heldBytes = 0;

  handTo(): number {
    invariant(false, 'a session over HTTP has no connection that another may go on with');
  }
}

const NOWHERE: ByteSink = {
  write: () => true,
  cork: () => undefined,
  uncork: () => undefined,
  writableLength: 0,
};

/** Writes each frame to the outbox of its stream. */
export class LinkOutbox extends Outbox {
  readonly #nowhere: Outbox;
  readonly #blocked: () => number;
  #target: Outbox;
  #began = 0;
  #written = 0;
  #whenWritten: (() => void) | undefined;

  constructor(turn: FlushTurn, blocked: () => number) {
    super(NOWHERE, turn);
    this.#blocked = blocked;
    this.#nowhere = new Outbox(NOWHERE, turn);
    this.#nowhere.close();
    this.#target = this.#nowhere;
  }

  /** Sends the next frame to this target, or drops it; `written` is called after it. */
  aim(target: Outbox | undefined, written?: () => void): void {
    this.#target = target ?? this.#nowhere;
    this.#began = this.#target.appendedBytes;
    this.#whenWritten = written;
  }

  override latin1(text: string): void {
    this.#target.latin1(text);
  }

  override utf8(text: string): void {
    this.#target.utf8(text);
  }

  override bytes(b: Buffer, from: number, to: number): void {
    this.#target.bytes(b, from, to);
  }

  override endFrame(): void {
    this.#target.endFrame();
    this.#written += this.#target.appendedBytes - this.#began;
    const written = this.#whenWritten;
    this.#target = this.#nowhere;
    this.#whenWritten = undefined;
    written?.();
  }

  override flush(): void {
    this.turn.flush();
  }

  override get queuedBytes(): number {
    return this.#blocked();
  }

  override get blockedBytes(): number {
    return this.#blocked();
  }

  override get appendedBytes(): number {
    return this.#written;
  }

  override get takenBytes(): number {
    return this.#written - this.#blocked();
  }

  override close(): void {
    this.#target = this.#nowhere;
  }
}
