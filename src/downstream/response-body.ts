// Bodies of HTTP answers: JSON, or server-sent events (HTML, 9.2.6), read as bytes within limits. Limits count
// decompressed bytes, because a few compressed bytes may become very many. The data of an event is a frame; it is not
// decoded.

import type { Frame } from '../wire/frame-splitter.ts';
import { GrowingBytes, TooLong } from '../wire/growing-bytes.ts';
import type { IsOver, ReadPacer } from '../wire/read-pacer.ts';
import { networkFailure, RemoteFailure } from './remote-failure.ts';

export interface BodyOptions {
  /** The longest message. */
  readonly mostBytes: number;
  /** Shares each turn of the event loop between all servers. */
  readonly pacer: ReadPacer;
  /** A promise that is pending while reading from the server pauses; undefined if it may be read. */
  readonly mayRead?: () => Promise<void> | undefined;
}

/** The time that `fetch` spends on each piece, 10 to 20 µs. A server may send pieces of one byte. */
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
      paced.came(rest.length);
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
    // Cancelling does nothing if the stream has ended, and stops it otherwise.
    reader.cancel().catch(() => undefined);
  }
}

/** An abort unchanged; any other error as a network failure. */
function brokenBy(error: unknown): unknown {
  return error instanceof Error && error.name === 'AbortError' ? error : networkFailure(error);
}

function tooLong(mostBytes: number): RemoteFailure {
  return new RemoteFailure(`sent a message of more than ${mostBytes} bytes (limits.maxMessageBytes)`, {
    isTooLong: true,
  });
}

const NEWLINE = 0x0a;
const CARRIAGE_RETURN = 0x0d;
const SPACE = 0x20;
const COLON = 0x3a;

/** Joins the lines of an event's data. In JSON a newline means no more than a space. */
const BETWEEN_LINES = Buffer.from(' ');

/** Bytes of short lines between two looks at the clock. */
const BYTES_BETWEEN_LOOKS = 4096;

/** The length of `event` and `retry`. */
const LONGEST_NAME = 5;
/** The longest value of a field other than `data`. */
const MOST_FIELD_BYTES = 4096;

export interface ServerEvent {
  /** The type; `message` if the server names none. */
  readonly type: string;
  /** The id for resuming the stream after this event. */
  readonly id: string | undefined;
  /** The lines of its data, joined; undefined if it has none. */
  readonly data: Frame | undefined;
}

export interface EventSink {
  event(event: ServerEvent): void;
  /** Takes the pause that the server wants before the stream is reopened. */
  retry(delayMs: number): void;
}

/** Cuts a stream of bytes into events. Events and lines have a maximum length, even in unknown fields. */
export class EventStream {
  readonly #sink: EventSink;
  /** The beginning of the current line. */
  readonly #line: GrowingBytes;
  readonly #data: GrowingBytes;
  #type = '';
  #id: string | undefined;
  #hasId = false;
  #hasData = false;
  /** True if the last line ended in CR: then an LF is not a separate line. */
  #endedInReturn = false;
  #isFirstLine = true;

  constructor(mostBytes: number, sink: EventSink) {
    this.#sink = sink;
    // A line also holds the name of its field.
    this.#line = new GrowingBytes(mostBytes + 16);
    this.#data = new GrowingBytes(mostBytes);
  }

  /**
   * Takes bytes of the stream. `isOver` can stop it between two lines; the bytes from the returned index on must be
   * pushed again. Throws TooLong if an event or a line is too long.
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
    // A server may send lines of two bytes without end, so finding the name allocates nothing.
    let nameEnd = from;
    while (nameEnd < to && b[nameEnd] !== COLON) if (++nameEnd - from > LONGEST_NAME) return; // longer than any known field
    let value = Math.min(to, nameEnd + 1);
    if (value < to && b[value] === SPACE) value++;
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

  /** Keeps an id if a header can carry it, because it goes back in `last-event-id`. */
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
