// The bodies of answers over HTTP, read within limits. The bytes that count are those after decompression: a few that
// come over the network may be many.

import type { Frame } from '../wire/frame-splitter.ts';
import { GrowingBytes, TooLong } from '../wire/growing-bytes.ts';
import type { IsOver, ReadPacer } from '../wire/read-pacer.ts';
import { networkFailure, RemoteFailure } from './remote-failure.ts';

export interface BodyOptions {
  /** Of one message; more is an error. */
  readonly mostBytes: number;
  /** Bounds what one turn works on of all that servers say. */
  readonly pacer: ReadPacer;
  /** Pending while what the server says may not be read. */
  readonly mayRead?: () => Promise<void> | undefined;
}

/** What `fetch` takes for a piece, however small: 10 to 20 µs. A server may send pieces of one byte. */
const FETCHED_MS = 0.015;

const BYTE_ORDER_MARK = Buffer.from([0xef, 0xbb, 0xbf]);

/** The whole body as a frame. Throws a RemoteFailure if it is too long. */
export async function readFrame(response: Response, options: BodyOptions): Promise<Frame> {
  const bytes = new GrowingBytes(options.mostBytes);
  await readPieces(response, options, (piece) => {
    bytes.add(piece);
    return piece.length;
  });
  const frame = bytes.takeFrame();
  const { b, end } = frame;
  const start = b.subarray(0, BYTE_ORDER_MARK.length).equals(BYTE_ORDER_MARK) ? BYTE_ORDER_MARK.length : 0;
  for (let at = b.indexOf(0x0a); at < end; at = b.indexOf(0x0a, at + 1)) b[at] = 0x20; // a frame ends at its newline
  return { b, start, end };
}

/** Reads events until the stream ends. Throws a RemoteFailure if one is too long, or the connection breaks. */
export function readEvents(response: Response, options: EventSink & BodyOptions): Promise<void> {
  const events = new EventStream(options.mostBytes, options);
  return readPieces(response, options, (piece, isOver) => events.push(piece, isOver));
}

async function readPieces(
  { body }: Response,
  { mostBytes, pacer, mayRead }: BodyOptions,
  take: (piece: Uint8Array, isOver: IsOver) => number,
): Promise<void> {
  if (body === null) return;
  const reader = body.getReader();
  const paced = pacer.reader();
  try {
    for (;;) {
      const { done, value } = await reader.read().catch((error: unknown) => Promise.reject(brokenBy(error)));
      if (done) return;
      let rest: Uint8Array = value;
      const step = (isOver: IsOver): boolean => {
        rest = rest.subarray(take(rest, isOver));
        return rest.length === 0;
      };
      await paced.run(step, FETCHED_MS);
      await mayRead?.();
    }
  } catch (error) {
    if (error instanceof TooLong) throw tooLong(mostBytes);
    throw error;
  } finally {
    // Of a stream that has ended there is nothing to cancel; of any other nothing more shall come.
    reader.cancel().catch(() => undefined);
  }
}

/** It was aborted, or something has happened to the connection. */
function brokenBy(error: unknown): unknown {
  return error instanceof Error && error.name === 'AbortError' ? error : networkFailure(error);
}

function tooLong(mostBytes: number): RemoteFailure {
  return new RemoteFailure(`sent a message of more than ${mostBytes} bytes (limits.maxMessageBytes)`, {
    isTooLong: true,
  });
}

// Server-sent events, read from a stream's bytes (HTML, 9.2.6). The data of an event is handed on as a frame; nothing of it
// is decoded. An event is never longer than the limit, and neither is a line, be it of a field that nobody knows.

const NEWLINE = 0x0a;
const CARRIAGE_RETURN = 0x0d;
const SPACE = 0x20;
const COLON = 0x3a;

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
