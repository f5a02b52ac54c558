// One stream of server-sent events. If it is kept, it outlives its response: the client returns with the id of its last
// event, and gets the events after that. An id says where in the stream an event ends.
//
//   event: message␊ data: {"jsonrpc":"2.0", ...}␊ id: 3-812␊ ␊
//                                                |           ^ replay begins here
//                                                ^ place 812 of stream 3

import type { ServerResponse } from 'node:http';
import { KeptBytes } from '../../wire/kept-bytes.ts';
import { type ByteSink, type FlushTurn, Outbox } from '../../wire/outbox.ts';

/** A carriage return ends a line of an event too; JSON has it only between tokens. */
const CARRIAGE_RETURN = 0x0d;
const SPACE = 0x20;
const DATA = 'event: message\ndata: ';
const COMMENT = ':\n\n';
/** How soon a client should come back after its stream broke. */
const RETRY_MS = 1000;

const HEAD: Readonly<Record<string, string>> = {
  'content-type': 'text/event-stream',
  'cache-control': 'no-store',
  // Without this, nginx buffers events up to some kilobytes.
  'x-accel-buffering': 'no',
};

interface SentEventsOptions {
  readonly turn: FlushTurn;
  /** The stream's number in its session, and the maximum bytes kept; undefined if nobody can come back to it. */
  readonly kept?: { readonly number: number; readonly most: number };
  /** Called when the client's backlog has changed. */
  readonly changed: () => void;
}

export class SentEvents implements ByteSink {
  readonly outbox: EventOutbox;
  readonly number: number | undefined;
  readonly #kept: KeptBytes | undefined;
  readonly #changed: () => void;
  #response: ServerResponse | undefined;
  #isOver = false;
  /** The time at which it ended or lost its response. */
  leftMs: number | undefined;

  constructor({ turn, kept, changed }: SentEventsOptions) {
    this.number = kept?.number;
    this.#kept = kept === undefined ? undefined : new KeptBytes(kept.most);
    this.#changed = changed;
    this.outbox = new EventOutbox(this, turn);
  }

  get isCarried(): boolean {
    return this.#response !== undefined;
  }

  /** True once everything was written. */
  get isOver(): boolean {
    return this.#isOver;
  }

  get keptBytes(): number {
    return this.#kept?.size ?? 0;
  }

  /** Sends on this response from here on. `head` has more headers. */
  carryOn(response: ServerResponse, head?: Readonly<Record<string, string>>): void {
    this.outbox.flush();
    response.writeHead(200, head === undefined ? HEAD : { ...HEAD, ...head });
    response.flushHeaders();
    this.#response = response;
    this.leftMs = undefined;
    response.on('drain', () => {
      if (this.#response !== response) return;
      this.outbox.drained();
      this.#changed();
    });
  }

  /** Tells the client how to come back, before anything else. */
  prime(): void {
    this.outbox.latin1(`retry: ${RETRY_MS}\ndata: `);
    this.outbox.endFrame();
  }

  /** Continues after the event at this place, on another response; false if the events after it are no longer kept. */
  goOn(response: ServerResponse, place: number): boolean {
    this.outbox.flush();
    const tail = Buffer.from(this.tailAt(place));
    const behind = this.#kept?.behind(place);
    if (behind === undefined) return false;
    const whole = Buffer.concat(behind);
    if (!whole.subarray(0, tail.length).equals(tail)) return false;
    this.#response?.end();
    this.carryOn(response);
    if (whole.length > tail.length) response.write(whole.subarray(tail.length));
    if (this.#isOver) response.end();
    return true;
  }

  /** The end of the event whose data ends at this place. */
  tailAt(place: number): string {
    return this.number === undefined ? '\n\n' : `\nid: ${this.number}-${place}\n\n`;
  }

  /** Sends a sign of life, because proxies end silent connections. */
  comment(): void {
    this.#response?.write(COMMENT);
  }

  /** Called when the response has gone. */
  dropped(response: ServerResponse, nowMs: number): void {
    if (this.#response !== response) return;
    this.#response = undefined;
    this.leftMs = nowMs;
    this.#changed();
  }

  /** Ends the stream after its queued bytes. */
  end(nowMs: number): void {
    if (this.#isOver) return;
    this.outbox.flush();
    this.outbox.close();
    this.#isOver = true;
    this.leftMs ??= nowMs;
    this.#response?.end();
  }

  /** Drops everything that is kept or unread. */
  destroy(): void {
    this.outbox.close();
    this.#isOver = true;
    this.#response?.destroy();
  }

  // --- the sink of its outbox ---

  get writableLength(): number {
    return this.#response?.writableLength ?? 0;
  }

  /** True without a response: then bytes are copied, or not kept at all. */
  get copies(): boolean {
    return this.#response === undefined;
  }

  write(bytes: Uint8Array): boolean {
    this.#kept?.add(bytes);
    if (this.#response === undefined) return false;
    const isTaken = this.#response.write(bytes);
    if (!isTaken) this.#changed();
    return isTaken;
  }

  cork(): void {
    this.#response?.cork();
  }

  uncork(): void {
    this.#response?.uncork();
  }
}

/** Writes each frame as an event. */
export class EventOutbox extends Outbox {
  readonly #stream: SentEvents;

  constructor(stream: SentEvents, turn: FlushTurn) {
    super(stream, turn);
    this.#stream = stream;
  }

  beginEvent(): void {
    super.latin1(DATA);
  }

  override bytes(b: Buffer, from: number, to: number): void {
    const at = b.subarray(from, to).indexOf(CARRIAGE_RETURN);
    if (at < 0) return super.bytes(b, from, to);
    const copy = Buffer.from(b.subarray(from, to));
    for (let i = at; i >= 0; i = copy.indexOf(CARRIAGE_RETURN, i)) copy[i] = SPACE;
    super.bytes(copy, 0, copy.length);
  }

  override endFrame(): void {
    super.latin1(this.#stream.tailAt(this.appendedBytes).slice(0, -1));
    super.endFrame();
  }
}
