// The traffic of a live session that passed without being read: the client's requests, in the bytes that the session
// keeps anyway, and copies of the answers. With each confirmation the daemon says which requests are open
// (docs/protocol.md), so usually none of this is ever read. If a daemon is lost, or does not say it, everything is read
// in the order in which it passed.
//
//   sent      ... settled | passed unread .......... | sent next
//                         ^ #from                    ^ SessionStream.sentBytes
//   answers   [ copies of those that came since, with the place in `sent` that each came behind ]

import { isUtf8 } from 'node:buffer';
import { KEYS_2025 } from '../protocol/keys-2025.ts';
import { Envelope, Field } from '../wire/envelope.ts';
import { FrameHead } from '../wire/frame-head.ts';
import { eachFrame, joined } from '../wire/frame-pieces.ts';
import { DEEPEST } from '../wire/json-grammar.ts';
import { copyOf } from '../wire/own-frame.ts';
import { startsWith } from './bytes.ts';
import type { OpenRequests } from './open-requests.ts';
import type { SessionStream } from './session-stream.ts';

/** Above these sizes the traffic is read at the next opportunity, even without a confirmation. */
const MOST_ANSWERS = 128 * 1024;
const MOST_SENT = 1024 * 1024;
/** Longer requests keep the memory in which they came. */
const MOST_COPIED = 4096;
const FIRST_ANSWERS = 16 * 1024;
const NEWLINE_BYTE = 0x0a;
const CARRIAGE_RETURN = 0x0d;
const CANCELLED: Buffer = Buffer.from('"notifications/cancelled"');

const head = new FrameHead();
const envelope = new Envelope(KEYS_2025);

/** The ends of methods that change a setting: the answers to these requests must be remembered. */
const SUBSCRIBE: Buffer = Buffer.from('subscribe"');
const SET_LEVEL: Buffer = Buffer.from('setLevel"');
/** A part of each request and notification. */
const METHOD: Buffer = Buffer.from('"method"');
/** Unread answers are not counted; each is assumed to have this size. */
const USUAL_ANSWER = 128;

export interface UnreadAnswersPorts {
  /** Called with whole frames for the client. */
  readonly deliverAll: (b: Buffer, start: number, end: number) => void;
  /** Called with a frame that is no answer, to read it. */
  readonly frame: (b: Buffer, start: number, end: number) => void;
  /** True while answers may pass unread. */
  readonly mayGoOn: () => boolean;
}

/** True for a list of places; older daemons send none. */
function isPlaces(open: unknown): open is number[] {
  return Array.isArray(open) && open.every((place) => Number.isSafeInteger(place));
}

export class UnreadTraffic {
  readonly #stream: SessionStream;
  readonly #requests: OpenRequests;
  /** Everything sent before this place was read or is held; undefined if nothing has passed unread. */
  #from: number | undefined;
  /** Requests before #from that the daemon calls open, in the order in which they were sent. */
  #held: PlacedFrame[] = [];
  /** Copies of answers, in the first #used bytes. */
  #answers: Buffer = Buffer.alloc(0);
  #used = 0;
  /** Pairs: the place in `sent` behind which answers came, and the place where these answers begin. */
  #turns: number[] = [];
  #lastTurn = -1;

  constructor(stream: SessionStream, requests: OpenRequests) {
    this.#stream = stream;
    this.#requests = requests;
  }

  get isEmpty(): boolean {
    return this.#from === undefined;
  }

  /** Passes the client's frames unread from here on. */
  begin(): void {
    this.#from ??= this.#stream.sentBytes;
  }

  /** Sends whole frames of the client unread; false if they must be read. */
  passSent(piece: Buffer, send: (piece: Buffer) => void): boolean {
    if (piece.indexOf(SUBSCRIBE) >= 0 || piece.indexOf(SET_LEVEL) >= 0) return false;
    this.begin();
    send(piece);
    this.sent();
    return true;
  }

  /** Passes answers unread until a frame changes how the rest must be read; returns where the rest begins. */
  passAnswers(b: Buffer, start: number, end: number, { deliverAll, frame, mayGoOn }: UnreadAnswersPorts): number {
    const chunk = b.subarray(start, end);
    for (let at = 0; ; ) {
      const method = chunk.indexOf(METHOD, at);
      const to = method < 0 ? chunk.length : chunk.lastIndexOf(NEWLINE_BYTE, method) + 1;
      if (to > at) {
        this.#stream.received(to - at, Math.ceil((to - at) / USUAL_ANSWER));
        this.answered(b, start + at, start + to);
        deliverAll(b, start + at, start + to);
      }
      if (method < 0) return end;
      at = chunk.indexOf(NEWLINE_BYTE, method) + 1;
      eachFrame(b, start + to, start + at, frame);
      if (at === chunk.length || !mayGoOn()) return start + at;
    }
  }

  /** Called when the client has sent more. */
  sent(): void {
    if (this.#from !== undefined && this.#stream.sentBytes - this.#from > MOST_SENT) this.settle();
  }

  /** Called with whole lines; each is an answer to something sent before. */
  answered(b: Buffer, start: number, end: number): void {
    const { sentBytes } = this.#stream;
    this.#from ??= sentBytes;
    if (this.#used + end - start > this.#answers.length) this.#grow(end - start);
    if (this.#lastTurn !== sentBytes) {
      this.#turns.push(sentBytes, this.#used);
      this.#lastTurn = sentBytes;
    }
    this.#used += b.copy(this.#answers, this.#used, start, end);
    if (this.#used > MOST_ANSWERS) this.settle();
  }

  /** Called when an answer has come and only its head was read. */
  answeredAs(idText: string, isError: boolean): void {
    const line = Buffer.from(`{"id":${idText},"${isError ? 'error' : 'result'}":0}\n`, 'latin1');
    this.answered(line, 0, line.length);
  }

  #grow(bytes: number): void {
    const larger = Buffer.allocUnsafeSlow(Math.max(FIRST_ANSWERS, 2 * this.#answers.length, this.#used + bytes));
    this.#answers.copy(larger, 0, 0, this.#used);
    this.#answers = larger;
  }

  /** Reads everything. All sent bytes must have reached the stream. */
  settle(): void {
    if (this.#from === undefined) return;
    let from = this.#from;
    const [held, turns, answers, used] = [this.#held, this.#turns, this.#answers, this.#used];
    this.#forget(undefined, []);
    this.#answers = Buffer.alloc(0);
    for (const { b, start, end, place } of held) readSent(this.#requests, b, start, end, place);
    for (let turn = 0; turn < turns.length; turn += 2) {
      const [place = from, begins = used, , ends = used] = turns.slice(turn, turn + 4);
      this.#readSent(from, place);
      from = place;
      eachFrame(answers, begins, ends, readAnswerTo(this.#requests));
    }
    this.#readSent(from, this.#stream.sentBytes);
  }

  /**
   * Called when the daemon has read so many bytes, and only the requests that end at these places are still open. If
   * that cannot be true, everything is read instead.
   */
  confirmed(bytes: number, open: unknown): void {
    const from = this.#from;
    if (from === undefined) return;
    if (!isPlaces(open) || bytes < from || bytes > this.#stream.sentBytes) return this.settle();
    const held = this.#framesAt(open, from);
    if (held === undefined) return this.settle();
    if (this.#requests.size > 0) this.#requests.keepOnly(bytes, new Set(open));
    this.#forget(bytes, held);
  }

  #forget(from: number | undefined, held: PlacedFrame[]): void {
    this.#from = from;
    this.#held = held;
    this.#turns = [];
    this.#lastTurn = -1;
    this.#used = 0;
  }

  /** True if no held request is in this memory any more. Copies short requests out of it. */
  leave(memory: ArrayBufferLike): boolean {
    for (const [index, frame] of this.#held.entries()) {
      if (frame.b.buffer !== memory) continue;
      if (frame.end - frame.start > MOST_COPIED) return false;
      this.#held[index] = { ...copyOf(frame), place: frame.place };
    }
    return true;
  }

  #readSent(from: number, to: number): void {
    if (to <= from) return;
    const pieces = this.#stream.sentFrom(from);
    if (pieces === undefined) return; // more than is kept, so the session cannot be resumed either
    eachFrameOf(firstBytes(pieces, to - from), from, (b, start, end, place) =>
      readSent(this.#requests, b, start, end, place),
    );
  }

  /** Returns the unread frames that end at these places; undefined if a place is not the end of a frame. */
  #framesAt(open: readonly number[], from: number): PlacedFrame[] | undefined {
    const places = open.length > 1 ? [...open].sort((one, other) => one - other) : open;
    const frames: PlacedFrame[] = [];
    let pieces: readonly Buffer[] | undefined;
    let at = from;
    let index = 0;
    let heldIndex = 0;
    for (const place of places) {
      if (place <= from) {
        while ((this.#held[heldIndex]?.place ?? place) < place) heldIndex++;
        const held = this.#held[heldIndex];
        if (held?.place === place) frames.push(held);
        else if (!this.#requests.hasAt(place)) return undefined;
        continue;
      }
      pieces ??= this.#stream.sentFrom(from);
      if (pieces === undefined) return undefined;
      let piece = pieces[index];
      while (piece !== undefined && place > at + piece.length) {
        at += piece.length;
        piece = pieces[++index];
      }
      if (piece?.[place - at - 1] !== NEWLINE_BYTE) return undefined;
      frames.push(frameEndingAt(pieces, index, { to: place - at, place }));
    }
    return frames;
  }
}

interface PlacedFrame {
  readonly b: Buffer;
  readonly start: number;
  readonly end: number;
  /** The place where it ends among the sent bytes. */
  readonly place: number;
}

/** Returns the frame that ends with the newline before pieces[index][to]. */
function frameEndingAt(
  pieces: readonly Buffer[],
  index: number,
  { to, place }: { readonly to: number; readonly place: number },
): PlacedFrame {
  const last = pieces[index] ?? Buffer.alloc(0);
  const newline = to < 2 ? -1 : last.lastIndexOf(NEWLINE_BYTE, to - 2);
  if (newline >= 0) return placed(last, newline + 1, to, place);
  const parts = [last.subarray(0, to)];
  for (let before = index - 1; before >= 0; before--) {
    const piece = pieces[before] ?? Buffer.alloc(0);
    const end = piece.lastIndexOf(NEWLINE_BYTE);
    if (end < piece.length - 1) parts.unshift(piece.subarray(end + 1));
    if (end >= 0) break;
  }
  if (parts.length === 1) return placed(last, 0, to, place);
  const bytes = parts.reduce((sum, { length }) => sum + length, 0);
  return placed(joined(parts, bytes), 0, bytes, place);
}

/** Returns the line b[start, to) without its newline and the CR before that. */
function placed(b: Buffer, start: number, to: number, place: number): PlacedFrame {
  const end = to - 1;
  return { b, start, end: end > start && b[end - 1] === CARRIAGE_RETURN ? end - 1 : end, place };
}

/** Returns the first `count` bytes of the pieces. */
function firstBytes(pieces: readonly Buffer[], count: number): Buffer[] {
  const found: Buffer[] = [];
  for (const piece of pieces) {
    if (count <= 0) break;
    found.push(piece.subarray(0, count));
    count -= piece.length;
  }
  return found;
}

/** Calls back with each frame of pieces that hold whole lines; `place` counts from `from`. */
function eachFrameOf(
  pieces: readonly Buffer[],
  from: number,
  use: (b: Buffer, start: number, end: number, place: number) => void,
): void {
  let place = from;
  let begun: Buffer[] = [];
  const emit = (b: Buffer, lines: number): void => {
    const base = place;
    eachFrame(b, 0, lines, (piece, start, end) => {
      use(piece, start, end, base + (piece[end] === CARRIAGE_RETURN ? end + 2 : end + 1));
    });
    place += lines;
  };
  for (const piece of pieces) {
    let rest = piece;
    if (begun.length > 0) {
      const newline = piece.indexOf(NEWLINE_BYTE);
      begun.push(newline < 0 ? piece : piece.subarray(0, newline + 1));
      if (newline < 0) continue;
      const whole = Buffer.concat(begun);
      begun = [];
      emit(whole, whole.length);
      rest = piece.subarray(newline + 1);
    }
    const lines = rest.lastIndexOf(NEWLINE_BYTE) + 1;
    if (lines > 0) emit(rest, lines);
    if (lines < rest.length) begun.push(rest.subarray(lines));
  }
}

/** Notes a sent frame of the client that ends at this place. */
function readSent(requests: OpenRequests, b: Buffer, start: number, end: number, place: number): void {
  if (head.isRequest([b.subarray(start, end + 1)]) && requests.addPlain(head.idText, b, start, end, place)) return;
  if (!isUtf8(b.subarray(start, end)) || !envelope.scan(b, start, end, DEEPEST)) return;
  if (envelope.kind === 'request') {
    const request = requests.add(envelope, b, start, end);
    if (request === undefined) return;
    request.position = place;
    request.sendings = 1;
  } else if (envelope.kind === 'notification' && startsWith(b, envelope.from(Field.method), CANCELLED)) {
    const id = envelope.id(b, Field.requestId);
    if (id !== undefined) requests.cancelled(id);
  }
}

function readAnswerTo(requests: OpenRequests): (b: Buffer, start: number, end: number) => void {
  return (b, start, end) => {
    if (head.isAnswer([b.subarray(start, end + 1)])) return requests.answeredAs(head.idText, !head.isError);
    if (!envelope.scan(b, start, end, DEEPEST) || envelope.kind !== 'response') return;
    const id = envelope.id(b, Field.id);
    if (id !== undefined) requests.answered(id, envelope.has(Field.result));
    else if (envelope.has(Field.error)) requests.settle(); // one of them was refused
  };
}
