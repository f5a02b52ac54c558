// Cuts the output of a NATS server into messages. Messages of subscriptions known here are handed on at once, without a
// turn of their own. Everything else is for the package and passes through untouched. It never keeps more than one
// message, and leaves unreadable input to the package.

import type { IsOver } from '../wire/read-pacer.ts';
import type { ReceivedMessage } from './bus.ts';
import { countIn } from './frames.ts';
import { receivedIn } from './nats-message.ts';

const LINE_FEED = 0x0a;
const CARRIAGE_RETURN = 0x0d;
const LETTER_H = 0x48;
const LETTER_M = 0x4d;
const LINE_END_BYTES = 2;
/** The maximum length of a line; the longest is the server's description of itself. */
const MOST_LINE_BYTES = 1024 * 1024;

/** After so many messages, the reader checks whether others have waited long enough. */
const STEPS_BETWEEN_LOOKS = 8;

/** The receivers of one connection's messages, by subscription number. */
export type NatsRoutes = Map<number, (message: ReceivedMessage) => void>;

export interface NatsReaderOptions {
  readonly routes: NatsRoutes;
  /** Called with the bytes that the package must see. */
  readonly pass: (bytes: Buffer) => void;
  /** Called when a message was dropped because of its form. */
  readonly refused: () => void;
}

interface MessageLine {
  readonly subject: string;
  readonly reply: string | undefined;
  readonly headBytes: number;
  /** The bytes of its headers and its data. */
  readonly bytes: number;
  /** Undefined if the message passes through. */
  readonly take: ((message: ReceivedMessage) => void) | undefined;
}

export class NatsReader {
  readonly #routes: NatsRoutes;
  readonly #pass: (bytes: Buffer) => void;
  readonly #refused: () => void;
  /** The beginning of an unfinished line. */
  #early: Buffer | undefined;
  /** A partly received message, with memory for all of it and its end of line. */
  #line: MessageLine | undefined;
  #body: Buffer = Buffer.alloc(0);
  #filled = 0;
  /** The bytes of a message that must still pass through. */
  #passing = 0;

  constructor({ routes, pass, refused }: NatsReaderOptions) {
    this.#routes = routes;
    this.#pass = pass;
    this.#refused = refused;
  }

  /** Takes received bytes. Returns the remaining ones once `isOver` says that others have waited long enough. */
  push(bytes: Buffer, isOver?: IsOver): Buffer | undefined {
    const chunk = this.#early === undefined ? bytes : Buffer.concat([this.#early, bytes]);
    this.#early = undefined;
    let steps = 0;
    for (let at = 0; at < chunk.length; ) {
      at = this.#next(chunk, at);
      if (++steps % STEPS_BETWEEN_LOOKS === 0 && at < chunk.length && isOver?.() === true) return chunk.subarray(at);
    }
    return undefined;
  }

  /** Takes the item at a place of a chunk; returns the place behind it. */
  #next(chunk: Buffer, at: number): number {
    if (this.#passing > 0) return this.#passOn(chunk, at);
    if (this.#line !== undefined) return this.#fill(this.#line, chunk, at);
    const end = chunk.indexOf(LINE_FEED, at);
    if (end < 0) return this.#keep(chunk, at);
    if (chunk[at] !== LETTER_H && chunk[at] !== LETTER_M) {
      this.#pass(chunk.subarray(at, end + 1));
      return end + 1;
    }
    const line = this.#lineIn(chunk, at, end);
    if (line === undefined) return this.#leaveAll(chunk, at);
    const from = end + 1;
    const to = from + line.bytes;
    if (line.take === undefined) {
      this.#passing = to + LINE_END_BYTES - at;
      return this.#passOn(chunk, at);
    }
    if (to + LINE_END_BYTES <= chunk.length) {
      this.#hand(line, chunk.subarray(from, to));
      return to + LINE_END_BYTES;
    }
    this.#line = line;
    this.#body = Buffer.allocUnsafeSlow(line.bytes + LINE_END_BYTES);
    this.#filled = 0;
    return from;
  }

  #keep(chunk: Buffer, at: number): number {
    if (chunk.length - at > MOST_LINE_BYTES) return this.#leaveAll(chunk, at);
    this.#early = Buffer.from(chunk.subarray(at));
    return chunk.length;
  }

  /** Leaves everything from here on to the package. */
  #leaveAll(chunk: Buffer, at: number): number {
    this.#passing = Number.POSITIVE_INFINITY;
    return this.#passOn(chunk, at);
  }

  #passOn(chunk: Buffer, at: number): number {
    const end = Math.min(chunk.length, at + this.#passing);
    this.#passing -= end - at;
    this.#pass(chunk.subarray(at, end));
    return end;
  }

  #fill(line: MessageLine, chunk: Buffer, at: number): number {
    const body = this.#body;
    const copied = chunk.copy(body, this.#filled, at);
    this.#filled += copied;
    if (this.#filled === body.length) {
      this.#line = undefined;
      this.#body = Buffer.alloc(0);
      this.#hand(line, body.subarray(0, line.bytes));
    }
    return at + copied;
  }

  #hand(line: MessageLine, bytes: Buffer): void {
    const message = receivedIn(line, bytes);
    if (message === undefined) this.#refused();
    else line.take?.(message);
  }

  /**
   * Reads `MSG subject sid [reply] bytes` or `HMSG subject sid [reply] headBytes bytes`; undefined for anything else.
   */
  #lineIn(b: Buffer, at: number, end: number): MessageLine | undefined {
    const hasHead = b[at] === LETTER_H;
    const text = b.latin1Slice(at, b[end - 1] === CARRIAGE_RETURN ? end - 1 : end);
    const verb = hasHead ? 'HMSG ' : 'MSG ';
    const sidAt = text.indexOf(' ', verb.length) + 1;
    const sidEnd = text.indexOf(' ', sidAt);
    const bytesAt = text.lastIndexOf(' ') + 1;
    const headAt = hasHead ? text.lastIndexOf(' ', bytesAt - 2) + 1 : bytesAt;
    if (!text.startsWith(verb) || sidAt <= verb.length || sidEnd < 0 || headAt <= sidEnd) return undefined;
    const bytes = countIn(text.slice(bytesAt));
    const headBytes = hasHead ? countIn(text.slice(headAt, bytesAt - 1)) : 0;
    const sid = countIn(text.slice(sidAt, sidEnd));
    if (bytes === undefined || headBytes === undefined || headBytes > bytes || sid === undefined) return undefined;
    const reply = headAt > sidEnd + 1 ? text.slice(sidEnd + 1, headAt - 1) : undefined;
    if (reply?.includes(' ') === true) return undefined;
    const subject = text.slice(verb.length, sidAt - 1);
    return { subject, reply, headBytes, bytes, take: this.#routes.get(sid) };
  }
}
