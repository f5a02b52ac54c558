// Requests of clients without a handshake. Each request is independent and says who asks, but requests of one principal
// in one view share a link, so that the core's data about them is made only once. Ids are unique on a link: a request
// whose id is in use goes to another link.

import type { ServerResponse } from 'node:http';
import type { Grant } from '../../model/principal.ts';
import type { Clock } from '../../util/clock.ts';
import type { Carrier } from '../../wire/link.ts';
import type { FlushTurn } from '../../wire/outbox.ts';
import { HttpExchange } from './http-exchange.ts';
import { HttpLink } from './http-link.ts';
import { ListedParameters } from './listed-parameters.ts';
import { SentEvents } from './sent-events.ts';

/** The maximum number of requests per link, so that a slow client delays only a few others. */
const MOST_ON_LINK = 32;
/** A link without requests for this long is closed, with its sessions. */
const IDLE_MS = 30_000;
const COMMENT_MS = 15_000;

interface CallersContext {
  readonly clock: Clock;
  readonly turn: FlushTurn;
  readonly accept: (link: Carrier) => void;
  readonly maxMessageBytes: number;
  /** The maximum number of bytes queued for a client that does not read. */
  readonly mostQueued: number;
  /** True if one more link may be opened. */
  readonly hasPlace: () => boolean;
  /** Called when a link was opened or has closed. */
  readonly opened: () => void;
  readonly closed: () => void;
  /** Called for a complete answer that the client has not fully read. */
  readonly unread: (response: ServerResponse) => void;
  /** The terms of the requests' token. */
  readonly grant: Grant | undefined;
}

interface CallerLink {
  readonly link: HttpLink;
  usedMs: number;
}

/** The links of one principal in one view. */
export class Callers2026 {
  readonly #context: CallersContext;
  readonly parameters: ListedParameters;
  /** Least recently used first. */
  #links: CallerLink[] = [];

  constructor(context: CallersContext) {
    this.#context = context;
    this.parameters = new ListedParameters(context);
  }

  get grant(): Grant | undefined {
    return this.#context.grant;
  }

  get isEmpty(): boolean {
    return this.#links.length === 0;
  }

  get links(): readonly HttpLink[] {
    return this.#links.map(({ link }) => link);
  }

  /** Takes a request: the message in b[0, end), with its id as the client spelled it. False if there is no room. */
  ask(
    b: Buffer,
    end: number,
    { idText, response }: { readonly idText: string; readonly response: ServerResponse },
  ): boolean {
    const { clock, turn, unread } = this.#context;
    const nowMs = clock.now();
    const one = this.#linkFor(idText);
    if (one === undefined) return false;
    one.usedMs = nowMs;
    const { link } = one;
    if (link.isClosed) return false;
    const exchange = new HttpExchange(
      {
        ...{ response, turn, unread, idTexts: [idText], isOf2026: true, isBatch: false },
        openStream: () => new SentEvents({ turn, changed: () => this.#changed(link, exchange) }),
        ended: (ended) => {
          link.forget(ended);
          one.usedMs = clock.now();
          link.changed();
        },
      },
      nowMs,
    );
    response.once('close', () => {
      if (exchange.isOver) return link.changed();
      exchange.isLeft = true;
      exchange.stream?.destroy();
      link.cancel(exchange);
    });
    link.take(b, end, exchange);
    return true;
  }

  /** Drops a listening client that does not read its notices; it may listen again. */
  #changed(link: HttpLink, exchange: HttpExchange): void {
    if (exchange.blockedBytes > this.#context.mostQueued) exchange.response.destroy();
    else link.changed();
  }

  /** Finds a link for a request; undefined if there is no room for another one. */
  #linkFor(idText: string): CallerLink | undefined {
    const free = this.#links.findLast(
      ({ link }) => !link.isClosed && !link.isPaused && !link.isOpen(idText) && link.exchanges.size < MOST_ON_LINK,
    );
    if (free !== undefined) return free;
    const { clock, turn, accept, hasPlace, opened, closed } = this.#context;
    if (!hasPlace()) return undefined;
    const link: HttpLink = new HttpLink({
      turn,
      clock,
      closed: () => {
        this.#links = this.#links.filter((other) => other.link !== link);
        closed();
      },
    });
    const made = { link, usedMs: clock.now() };
    this.#links.push(made);
    opened();
    accept(link);
    return made;
  }

  /** Called once a second. */
  tick(nowMs: number): void {
    for (const { link, usedMs } of [...this.#links]) {
      if (link.exchanges.size === 0 && nowMs - usedMs >= IDLE_MS) link.destroy();
      for (const exchange of link.exchanges)
        if (nowMs - exchange.commentedMs >= COMMENT_MS && exchange.isWaiting) {
          exchange.commentedMs = nowMs;
          exchange.openStream().comment();
        }
    }
  }
}
