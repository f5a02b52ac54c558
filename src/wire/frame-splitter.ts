// Cuts a stream of bytes into frames at 0x0A and nowhere else. A frame that arrived in one chunk is handed on as a
// position in that chunk, without a copy; a frame from several chunks is joined once. In both cases a newline follows
// in the buffer; the envelope scan relies on it.
//
// It holds at most `maxFrameBytes`. A longer frame is dropped up to its newline, and nothing of it is kept.

import { isUtf8 } from 'node:buffer';
import { END_BYTES, endsOf, type FrameEnds } from './frame-ends.ts';

const NEWLINE = 0x0a;
const CARRIAGE_RETURN = 0x0d;

/** The position of a frame: b[start, end). Behind it is a newline, or the CR before one. */
export interface Frame {
  readonly b: Buffer;
  readonly start: number;
  readonly end: number;
}

export interface FrameSink {
  /** Takes one frame, b[start, end). It is not empty, and its bytes will not be overwritten. */
  frame(b: Buffer, start: number, end: number): void;
  /** Called when the incoming frame exceeds the limit: the rest of it will not be held. */
  overflowed(): void;
  /** Called for an empty line; `bytes` includes its end. */
  skipped?(bytes: number): void;
  /** Called when a frame has ended that cannot be handed on. */
  badFrame(reason: 'not-utf8' | 'too-long', ends: FrameEnds): void;
}

/** After this many bytes of short frames, `isOver` is asked if others have waited long enough. */
const BYTES_BETWEEN_LOOKS = 4096;
/** Smaller pieces are copied together, so that a peer cannot make us hold one object per byte. */
const SMALL_PIECE = 4096;
const LARGEST_TAIL = 65536;

export class FrameSplitter {
  readonly #maxFrameBytes: number;
  #sink: FrameSink;
  #pieces: Buffer[] = [];
  #heldBytes = 0;
  /** The last piece while it has room; #tailUsed of its bytes are filled. */
  #tail: Buffer | undefined;
  #tailUsed = 0;
  /** The two ends of a frame that exceeds the limit; undefined if there is none. */
  #overlong: FrameEnds | undefined;
  /** While a joined frame is handed on: how many bytes of the last chunk follow it. */
  #behindWhole: number | undefined;

  constructor(maxFrameBytes: number, sink: FrameSink) {
    this.#maxFrameBytes = maxFrameBytes;
    this.#sink = sink;
  }

  /** Bytes of an unfinished frame. */
  get heldBytes(): number {
    return this.#heldBytes;
  }

  /** Hands all further frames to another sink, including those of the current chunk. */
  handTo(sink: FrameSink): void {
    this.#sink = sink;
  }

  /** The number of bytes of its chunk that follow the frame before b[end]. Only valid while that frame is handed on. */
  bytesBehind(b: Buffer, end: number): number {
    return this.#behindWhole ?? b.length - (b[end] === CARRIAGE_RETURN ? end + 2 : end + 1);
  }

  /**
   * Hands on the frames that end in this chunk, and holds the rest. `isOver` can stop it between two frames; then the
   * bytes from the returned index on must be pushed again.
   */
  push(chunk: Buffer, isOver?: () => boolean): number {
    let from = 0;
    let newline = chunk.indexOf(NEWLINE);
    if (newline >= 0 && (this.#heldBytes > 0 || this.#overlong !== undefined)) {
      this.#finish(chunk, newline);
      from = newline + 1;
      newline = chunk.indexOf(NEWLINE, from);
    }
    if (newline >= 0) {
      const isWhollyUtf8 = isUtf8(from === 0 ? chunk : chunk.subarray(from));
      let look = isOver === undefined ? Number.POSITIVE_INFINITY : from + BYTES_BETWEEN_LOOKS;
      for (; newline >= 0; newline = chunk.indexOf(NEWLINE, from)) {
        this.#emit(chunk, from, newline, isWhollyUtf8);
        from = newline + 1;
        if (from < look) continue;
        if (isOver?.() === true) return from;
        look = from + BYTES_BETWEEN_LOOKS;
      }
    }
    if (from < chunk.length) this.#hold(chunk, from, chunk.length);
    return chunk.length;
  }

  #emit(b: Buffer, start: number, newline: number, isKnownUtf8: boolean): void {
    const end = newline > start && b[newline - 1] === CARRIAGE_RETURN ? newline - 1 : newline;
    if (end === start) return this.#sink.skipped?.(newline + 1 - start);
    if (end - start > this.#maxFrameBytes) {
      this.#sink.overflowed();
      this.#sink.badFrame('too-long', endsOf(b, start, end));
    } else if (isKnownUtf8 || isUtf8(b.subarray(start, end))) this.#sink.frame(b, start, end);
    else this.#sink.badFrame('not-utf8', endsOf(b, start, end));
  }

  #hold(chunk: Buffer, from: number, to: number): void {
    if (this.#overlong !== undefined) return this.#keepEnds(this.#overlong, chunk, from, to);
    this.#heldBytes += to - from;
    // One extra byte may be the CR, which does not count.
    if (this.#heldBytes > this.#maxFrameBytes + 1) {
      this.#overflow(chunk, from, to);
    } else if (to - from < SMALL_PIECE) this.#holdSmall(chunk, from, to);
    else {
      this.#closeTail();
      this.#pieces.push(chunk.subarray(from, to));
    }
  }

  #holdSmall(chunk: Buffer, from: number, to: number): void {
    while (from < to) {
      if (this.#tail === undefined || this.#tailUsed === this.#tail.length) {
        const larger = Math.min(LARGEST_TAIL, Math.max(256, this.#heldBytes));
        this.#closeTail();
        this.#tail = Buffer.allocUnsafeSlow(larger);
      }
      const copied = chunk.copy(this.#tail, this.#tailUsed, from, to);
      this.#tailUsed += copied;
      from += copied;
    }
  }

  #closeTail(): void {
    if (this.#tail !== undefined) this.#pieces.push(this.#tail.subarray(0, this.#tailUsed));
    this.#tail = undefined;
    this.#tailUsed = 0;
  }

  #overflow(chunk: Buffer, from: number, to: number): void {
    this.#closeTail();
    this.#overlong = { head: Buffer.alloc(0), tail: Buffer.alloc(0) };
    for (const piece of this.#pieces) this.#keepEnds(this.#overlong, piece, 0, piece.length);
    this.#keepEnds(this.#overlong, chunk, from, to);
    this.#forget();
    this.#sink.overflowed();
  }

  #keepEnds({ head, tail }: FrameEnds, chunk: Buffer, from: number, to: number): void {
    const headRoom = END_BYTES - head.length;
    if (headRoom > 0) head = Buffer.concat([head, chunk.subarray(from, Math.min(to, from + headRoom))]);
    const last = chunk.subarray(Math.max(from, to - END_BYTES), to);
    const missing = END_BYTES - last.length;
    tail = missing === 0 ? Buffer.from(last) : Buffer.concat([tail.subarray(-missing), last]);
    this.#overlong = { head, tail };
  }

  /** Hands on the held frame, which ends at chunk[newline]. */
  #finish(chunk: Buffer, newline: number): void {
    if (this.#overlong !== undefined) {
      this.#keepEnds(this.#overlong, chunk, 0, newline);
      const ends = this.#overlong;
      this.#overlong = undefined;
      return this.#sink.badFrame('too-long', ends);
    }
    this.#closeTail();
    const whole = Buffer.allocUnsafeSlow(this.#heldBytes + newline + 1);
    let at = 0;
    for (const piece of this.#pieces) at += piece.copy(whole, at);
    chunk.copy(whole, at, 0, newline + 1);
    this.#forget();
    this.#behindWhole = chunk.length - newline - 1;
    this.#emit(whole, 0, whole.length - 1, false);
    this.#behindWhole = undefined;
  }

  #forget(): void {
    this.#pieces = [];
    this.#heldBytes = 0;
    this.#tail = undefined;
    this.#tailUsed = 0;
  }
}
