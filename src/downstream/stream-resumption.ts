// One event stream over several connections: where it is taken up again, and how long to wait before. The server may ask
// for longer pauses, never for shorter ones; each pause is twice the one before, as long as nothing comes.

import type { EventSink, ServerEvent } from './event-stream.ts';

interface Pauses {
  readonly firstMs: number;
  readonly longestMs: number;
  /** Requests that fail one after the other, before it is given up. */
  readonly mostFailures: number;
}

/** Somebody waits for an answer: some 15 s in all. */
const OF_A_CALL: Pauses = { firstMs: 250, longestMs: 5_000, mostFailures: 7 };
/** Nobody may be connected at all. */
const OF_NOTICES: Pauses = { firstMs: 1_000, longestMs: 60_000, mostFailures: 5 };
/** A server may want to be left alone for longer, but not for ever. */
const LONGEST_RETRY_MS = 60_000;

export class Resumption {
  readonly #pauses: Pauses;
  #lastId: string | undefined;
  #retryMs = 0;
  #fruitless = 0;
  #failures = 0;

  private constructor(pauses: Pauses) {
    this.#pauses = pauses;
  }

  static ofCall(): Resumption {
    return new Resumption(OF_A_CALL);
  }

  static ofNotices(): Resumption {
    return new Resumption(OF_NOTICES);
  }

  /** The last event's; undefined while the server has given none an id, so that the stream cannot be taken up again. */
  get lastId(): string | undefined {
    return this.#lastId;
  }

  /** Hands events on, and notes what of them is for later. */
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

  /** Says whether to try it once more. */
  failed(): boolean {
    return ++this.#failures < this.#pauses.mostFailures;
  }

  /** Begins again with what comes from now on. */
  forget(): void {
    this.#lastId = undefined;
  }
}
