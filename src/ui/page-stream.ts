// The live stream to one page: at most four messages a second, whatever happens meanwhile. Data waiting for a slow page
// is limited: the newest version of each part, and the last events. The page is told how many events it has lost.

import type { ServerResponse } from 'node:http';
import type { Clock, Timer } from '../util/clock.ts';
import type { LiveMessage } from './page-protocol.ts';

/** The time between two messages. */
const PAUSE_MS = 250;
const SIGN_OF_LIFE_MS = 15_000;
const MOST_EVENTS = 2000;

const HEAD = { 'content-type': 'text/event-stream', 'cache-control': 'no-store', 'x-accel-buffering': 'no' };

export class PageStream {
  readonly #response: ServerResponse;
  readonly #clock: Clock;
  readonly #signs: Timer;
  #waiting: Waiting = {};
  #timer: Timer | undefined;
  #hasBegun = false;
  #sentMs = Number.NEGATIVE_INFINITY;

  constructor(response: ServerResponse, head: Readonly<Record<string, string>>, clock: Clock) {
    this.#response = response;
    this.#clock = clock;
    response.writeHead(200, { ...head, ...HEAD });
    response.flushHeaders();
    response.on('drain', () => this.#later());
    this.#signs = clock.every(SIGN_OF_LIFE_MS, () => {
      if (!response.writableNeedDrain) response.write(':\n\n');
    });
    response.on('close', () => {
      this.#signs.cancel();
      this.#timer?.cancel();
    });
  }

  /** Sends the first message: everything that a page begins with, and the messages told before. */
  begin(opening: LiveMessage): void {
    if (this.#hasBegun) return;
    this.#hasBegun = true;
    this.tell(opening);
  }

  /** Adds this to the next message. */
  tell(message: LiveMessage): void {
    this.#waiting = joined(this.#waiting, message);
    this.#later();
  }

  end(): void {
    this.#response.end();
  }

  #later(): void {
    if (!this.#hasBegun || this.#timer !== undefined || this.#response.writableNeedDrain || isEmpty(this.#waiting))
      return;
    const waitMs = Math.max(0, this.#sentMs + PAUSE_MS - this.#clock.now());
    this.#timer = this.#clock.after(waitMs, () => {
      this.#timer = undefined;
      this.#send();
    });
  }

  #send(): void {
    if (this.#response.writableNeedDrain || this.#response.destroyed) return;
    const message = JSON.stringify(this.#waiting);
    this.#waiting = {};
    this.#sentMs = this.#clock.now();
    this.#response.write(`data: ${message}\n\n`);
  }
}

type Waiting = LiveMessage;

function isEmpty(message: Waiting): boolean {
  return Object.keys(message).length === 0;
}

/** Joins two messages. */
function joined(before: Waiting, next: LiveMessage): Waiting {
  const events = [...(before.events ?? []), ...(next.events ?? [])];
  const kept = events.slice(-MOST_EVENTS);
  const lost = sum(before.lost, next.lost) + events.length - kept.length;
  const callsBegun = sum(before.callsBegun, next.callsBegun);
  const callsLeftOut = sum(before.callsLeftOut, next.callsLeftOut);
  return {
    ...before,
    ...next,
    ...((before.parts ?? next.parts) && { parts: { ...before.parts, ...next.parts } }),
    ...(kept.length > 0 && { events: kept }),
    ...(lost > 0 && { lost }),
    ...(callsBegun > 0 && { callsBegun }),
    ...(callsLeftOut > 0 && { callsLeftOut }),
  };
}

const sum = (a = 0, b = 0): number => a + b;
