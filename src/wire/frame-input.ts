// Cuts a stream into frames for a process that passes them on. A long frame stays in the pieces in which it arrived, so
// that nothing is copied or joined. A socket reads directly into blocks of memory, which are used again when nothing
// refers to them: a new buffer for each read would cost more than everything else in a relay.
//
//   block   [ handed on ........ | an unfinished frame .... | free ............ ]
//                                ^ start                    ^ to
//
// It does not read the frames, and does not check UTF-8: the receivers do.

import { joined } from './frame-pieces.ts';

const NEWLINE = 0x0a;
const CARRIAGE_RETURN = 0x0d;

export interface FrameInputSink {
  /** Takes b[start, end), whole frames, each followed by its newline. */
  frames(b: Buffer, start: number, end: number): void;
  /** Takes a long frame, in pieces that hold exactly the frame and its newline. */
  longFrame(pieces: readonly Buffer[], bytes: number): void;
  /** Called when all frames of one read were handed on. */
  readEnded(): void;
  /** Called when an unfinished frame exceeds the limit. */
  overflowed(): void;
  /** Returns true if no frame that was handed on in this memory is still in use. */
  mayReuse(memory: ArrayBufferLike): boolean;
}

export interface FrameInputOptions {
  readonly maxFrameBytes: number;
  /** True if most frames are no longer needed when `readEnded` returns: then one block is used again and again. */
  readonly isTakenAtOnce: boolean;
}

/** Frames in pieces below this size, or above the next one, are joined, so that a frame has few pieces. */
const SHORT_FRAME = 32 * 1024;
const LONGEST_IN_PIECES = 4 * 1024 * 1024;
const FIRST_BLOCK = 64 * 1024;
/** For a peer that fills the first block in one read. */
const LARGE_BLOCK = 256 * 1024;
/** The next block begins when less room than this is left. */
const LEAST_ROOM = 16 * 1024;
/** The number of old blocks that are checked for use again; all others are left to the garbage collector. */
const MOST_BLOCKS = 8;

/** The `onread` option of `net.Socket`. */
export interface SocketReader {
  readonly buffer: () => Buffer;
  readonly callback: (bytes: number) => boolean;
}

export class FrameInput {
  readonly #maxFrameBytes: number;
  readonly #isTakenAtOnce: boolean;
  #sink: FrameInputSink | undefined;
  #blockBytes = FIRST_BLOCK;
  #block: Buffer | undefined;
  /** Full blocks, oldest first. */
  #older: Buffer[] = [];
  /** The part of the block for the next read. */
  #room: Buffer | undefined;
  /** The unfinished frame: complete pieces, followed by b[start, to). */
  #pieces: Buffer[] = [];
  #pieceBytes = 0;
  #b: Buffer | undefined;
  #start = 0;
  #to = 0;

  constructor({ maxFrameBytes, isTakenAtOnce }: FrameInputOptions) {
    this.#maxFrameBytes = maxFrameBytes;
    this.#isTakenAtOnce = isTakenAtOnce;
  }

  /** Sets the receiver of frames; may be called again with another one. */
  start(sink: FrameInputSink): void {
    this.#sink = sink;
  }

  /** Makes a reader for a socket that needs no new buffer for each read. */
  reader(): SocketReader {
    return {
      buffer: () => this.#nextRoom(),
      callback: (bytes) => {
        const room = this.#room;
        const block = this.#block;
        if (room === undefined || block === undefined) return true;
        if (bytes === room.length && bytes >= FIRST_BLOCK / 2) this.#blockBytes = LARGE_BLOCK;
        const from = room.byteOffset - block.byteOffset;
        this.push(block, from, from + bytes);
        return true;
      },
    };
  }

  /** Takes b[from, to). The bytes must not change before the sink allows their reuse. */
  push(b: Buffer, from: number, to: number): void {
    const sink = this.#sink;
    if (this.#b !== b || this.#to !== from) this.#begin(b, from);
    this.#to = to;
    const came = b.subarray(from, to);
    const last = came.lastIndexOf(NEWLINE);
    if (last >= 0) {
      if (this.#pieces.length > 0) this.#emitPieces(b, from + came.indexOf(NEWLINE));
      const end = from + last + 1;
      const start = this.#start;
      this.#start = end;
      if (end > start) sink?.frames(b, start, end);
    }
    if (this.#pieceBytes + to - this.#start > this.#maxFrameBytes) sink?.overflowed();
    sink?.readEnded();
  }

  /** Turns the unfinished bytes into a piece; the next piece begins at b[from]. */
  #begin(b: Buffer, from: number): void {
    if (this.#b !== undefined && this.#to > this.#start) {
      this.#pieces.push(this.#b.subarray(this.#start, this.#to));
      this.#pieceBytes += this.#to - this.#start;
    }
    this.#b = b;
    this.#start = from;
  }

  #emitPieces(b: Buffer, newline: number): void {
    const pieces = [...this.#pieces, b.subarray(this.#start, newline + 1)];
    const bytes = this.#pieceBytes + newline + 1 - this.#start;
    this.#start = newline + 1;
    this.#pieces = [];
    this.#pieceBytes = 0;
    const isLong = bytes > SHORT_FRAME && bytes <= LONGEST_IN_PIECES && byteBeforeLast(pieces) !== CARRIAGE_RETURN;
    if (isLong) this.#sink?.longFrame(pieces, bytes);
    else this.#sink?.frames(joined(pieces, bytes), 0, bytes);
  }

  #nextRoom(): Buffer {
    const block = this.#block;
    const room = this.#room;
    if (block === undefined || room === undefined) return this.#useBlock(Buffer.allocUnsafeSlow(this.#blockBytes));
    const isFinished = this.#pieces.length === 0 && this.#start === this.#to;
    if (this.#isTakenAtOnce && isFinished && this.#blockBytes === block.length && this.#mayReuse(block)) {
      return room.byteOffset === block.byteOffset ? this.#again(room) : this.#useBlock(block);
    }
    if (block.length - this.#to >= LEAST_ROOM) return this.#roomFrom(block, this.#to);
    this.#older.push(block);
    const free = this.#older.findIndex((one) => one.length === this.#blockBytes && this.#mayReuse(one));
    const [next] = free < 0 ? [] : this.#older.splice(free, 1);
    if (this.#older.length > MOST_BLOCKS) this.#older.shift();
    return this.#useBlock(next ?? Buffer.allocUnsafeSlow(this.#blockBytes));
  }

  #mayReuse(block: Buffer): boolean {
    const memory = block.buffer;
    const isUnfinished = this.#to > this.#start && this.#b?.buffer === memory;
    if (isUnfinished || this.#pieces.some((piece) => piece.buffer === memory)) return false;
    return this.#sink?.mayReuse(memory) === true;
  }

  /** Reads into the same place again. */
  #again(room: Buffer): Buffer {
    this.#start = 0;
    this.#to = 0;
    return room;
  }

  #useBlock(block: Buffer): Buffer {
    if (block === this.#b) this.#again(block);
    this.#block = block;
    return this.#roomFrom(block, 0);
  }

  #roomFrom(block: Buffer, from: number): Buffer {
    this.#room = block.subarray(from);
    return this.#room;
  }
}

function byteBeforeLast(pieces: readonly Buffer[]): number | undefined {
  const last = pieces.at(-1);
  return last !== undefined && last.length > 1 ? last[last.length - 2] : pieces.at(-2)?.at(-1);
}
