// Server-sent events, read from a stream's bytes (HTML, 9.2.6). The data of an event is handed on as a frame; nothing of it
// is decoded. An event is never longer than the limit, and neither is a line, be it of a field that nobody knows.

import type { Frame } from '../wire/frame-splitter.ts';
import { GrowingBytes } from '../wire/growing-bytes.ts';
import type { IsOver } from '../wire/read-pacer.ts';

const NEWLINE = 0x0a;
const CARRIAGE_RETURN = 0x0d;
const SPACE = 0x20;
const COLON = 0x3a;
const BYTE_ORDER_MARK = [0xef, 0xbb, 0xbf];

/** In JSON a newline is no more than that. */
const BETWEEN_LINES = Buffer.from(' ');

/** After so many bytes of short lines it asks whether the rest waits. */
const BYTES_BETWEEN_LOOKS = 4096;

/** The fields but for `data` are short. */
const MOST_FIELD_BYTES = 4096;

export interface ServerEvent {
  /** `message` where the server names none. */
  readonly type: string;
  /** Where the stream can be taken up again: behind this event. */
  readonly id: string | undefined;
  /** The lines of its data, one after the other; undefined where there are none. */
  readonly data: Frame | undefined;
}

export interface EventSink {
  event(event: ServerEvent): void;
  /** How long the server wants to be left alone before it is asked again. */
  retry(delayMs: number): void;
}

export class EventStream {
  readonly #sink: EventSink;
  /** The line at hand. */
  readonly #line: GrowingBytes;
  readonly #data: GrowingBytes;
  #type = '';
  #id: string | undefined;
  #hasId = false;
  #hasData = false;
  /** The last line ended in CR, so that an LF behind it is no line of its own. */
  #endedInReturn = false;
  #isFirstLine = true;

  constructor(mostBytes: number, sink: EventSink) {
    this.#sink = sink;
    // A line also has the name of its field in it.
    this.#line = new GrowingBytes(mostBytes + 16);
    this.#data = new GrowingBytes(mostBytes);
  }

  /**
   * Throws TooLong if an event, or a line, is longer than it may be. `isOver` stops it between two lines; the bytes from the
   * returned index on have to be pushed again.
   */
  push(chunk: Uint8Array, isOver?: IsOver): number {
    const b = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
    let from = this.#endedInReturn && b[0] === NEWLINE ? 1 : 0;
    if (b.length > 0) this.#endedInReturn = false;
    let newline = b.indexOf(NEWLINE, from);
    let carriageReturn = b.indexOf(CARRIAGE_RETURN, from);
    let look = isOver === undefined ? Number.POSITIVE_INFINITY : BYTES_BETWEEN_LOOKS;
    for (;;) {
      const end = nearest(newline, carriageReturn);
      if (end < 0) break;
      this.#endLine(b, from, end);
      from = end + 1;
      if (end === carriageReturn) {
        if (from === b.length) this.#endedInReturn = true;
        else if (b[from] === NEWLINE) from++;
        carriageReturn = b.indexOf(CARRIAGE_RETURN, from);
      }
      if (newline >= 0 && newline < from) newline = b.indexOf(NEWLINE, from);
      if (from < look) continue;
      if (isOver?.() === true) return from;
      look = from + BYTES_BETWEEN_LOOKS;
    }
    if (from < b.length) this.#line.add(b, from, b.length);
    return b.length;
  }

  #endLine(b: Buffer, from: number, to: number): void {
    if (this.#line.length === 0) return this.#take(b, from, to);
    this.#line.add(b, from, to);
    const { b: line, start, end } = this.#line.takeFrame();
    this.#take(line, start, end);
  }

  #take(b: Buffer, from: number, to: number): void {
    if (this.#isFirstLine && BYTE_ORDER_MARK.every((byte, i) => b[from + i] === byte)) from += BYTE_ORDER_MARK.length;
    this.#isFirstLine = false;
    if (from === to) return this.#dispatch();
    const colon = b.subarray(from, to).indexOf(COLON);
    const nameEnd = colon < 0 ? to : from + colon;
    let value = colon < 0 ? to : nameEnd + 1;
    if (value < to && b[value] === SPACE) value++;
    if (nameEnd - from > 5) return; // longer than any that is known
    switch (b.latin1Slice(from, nameEnd)) {
      case 'data':
        if (this.#hasData) this.#data.add(BETWEEN_LINES);
        this.#hasData = true;
        this.#data.add(b, value, to);
        break;
      case 'event':
        this.#type = b.toString('utf8', value, Math.min(to, value + MOST_FIELD_BYTES));
        break;
      case 'id':
        this.#takeId(b, value, to);
        break;
      case 'retry': {
        const text = b.latin1Slice(value, Math.min(to, value + 16));
        if (/^\d{1,15}$/.test(text)) this.#sink.retry(Number(text));
        break;
      }
    }
  }

  /** It goes back in a header, which cannot carry just anything. */
  #takeId(b: Buffer, from: number, to: number): void {
    if (to - from > MOST_FIELD_BYTES) return;
    const id = b.toString('utf8', from, to);
    if (!/^[\x20-\x7e]*$/.test(id)) return;
    this.#id = id;
    this.#hasId = true;
  }

  #dispatch(): void {
    const data = this.#hasData && this.#data.length > 0 ? this.#data.takeFrame() : undefined;
    const type = this.#type === '' ? 'message' : this.#type;
    const isEvent = this.#hasData || this.#hasId;
    const id = this.#id === '' ? undefined : this.#id;
    this.#type = '';
    this.#hasData = false;
    this.#hasId = false;
    if (isEvent) this.#sink.event({ type, id, data });
  }
}

function nearest(one: number, other: number): number {
  if (one < 0) return other;
  return other < 0 ? one : Math.min(one, other);
}
