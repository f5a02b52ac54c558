// One stream of server-sent events. It outlives the response that carries it where it is kept: its client comes back with the
// id of the last event that it has, and gets what came behind. An id says where in the stream an event ends.
//
//   event: message␊ data: {"jsonrpc":"2.0", ...}␊ id: 3-812␊ ␊
//                                                |           ^ replay begins here
//                                                ^ place 812 of stream 3

import type { ServerResponse } from 'node:http';
import { KeptBytes } from '../../wire/kept-bytes.ts';
import { type ByteSink, type FlushTurn, Outbox } from '../../wire/outbox.ts';

/** A line of an event ends with a carriage return too; JSON has one only between its tokens. */
const CARRIAGE_RETURN = 0x0d;
const SPACE = 0x20;
const DATA = 'event: message\ndata: ';
const COMMENT = ':\n\n';
/** How soon a client is to come back whose stream has broken. */
const RETRY_MS = 1000;

const HEAD: Readonly<Record<string, string>> = {
  'content-type': 'text/event-stream',
  'cache-control': 'no-store',
  // Or nginx keeps events until it has some kilobytes of them.
  'x-accel-buffering': 'no',
};

interface SentEventsOptions {
  readonly turn: FlushTurn;
  /** The number of the stream in its session, and the most bytes that are kept; undefined for a stream that nobody comes back to. */
  readonly kept?: { readonly number: number; readonly most: number };
  /** More bytes wait for the client than before, or fewer. */
  readonly changed: () => void;
}

export class SentEvents implements ByteSink {
  readonly outbox: EventOutbox;
  readonly number: number | undefined;
  readonly #kept: KeptBytes | undefined;
  readonly #changed: () => void;
  #response: ServerResponse | undefined;
  #isOver = false;
  /** When it has ended or lost its response. */
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

  /** True once everything was written that there will be. */
  get isOver(): boolean {
    return this.#isOver;
  }

  get keptBytes(): number {
    return this.#kept?.size ?? 0;
  }

  /** Goes out on this response from here on. `head` has further headers. */
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

  /** Tells the client how to come back, before there is anything else to tell. */
  prime(): void {
    this.outbox.latin1(`retry: ${RETRY_MS}\ndata: `);
    this.outbox.endFrame();
  }

  /** Goes on behind the event with this place, on another response; false if what came behind is not kept any more. */
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

  /** A sign of life for proxies that end a silent connection. */
  comment(): void {
    this.#response?.write(COMMENT);
  }

  /** The response has gone. */
  dropped(response: ServerResponse, nowMs: number): void {
    if (this.#response !== response) return;
    this.#response = undefined;
    this.leftMs = nowMs;
    this.#changed();
  }

  /** Writes what is queued, and nothing more. */
  end(nowMs: number): void {
    if (this.#isOver) return;
    this.outbox.flush();
    this.outbox.close();
    this.#isOver = true;
    this.leftMs ??= nowMs;
    this.#response?.end();
  }

  /** Gives up what is kept and what was not taken. */
  destroy(): void {
    this.outbox.close();
    this.#isOver = true;
    this.#response?.destroy();
  }

  // --- the sink of its outbox ---

  get writableLength(): number {
    return this.#response?.writableLength ?? 0;
  }

  /** Without a response, bytes are kept as copies or not at all. */
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
