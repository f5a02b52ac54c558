// Cuts what a stream brings into frames, for a process that passes them on: a long frame stays in the pieces in which it
// came, so that nothing is copied or put together. A socket reads right into blocks of memory, which are read into again
// once nobody refers to them: a buffer of its own for each read costs more than all else that a relay does.
//
//   block   [ handed on ........ | an unfinished frame .... | free ............ ]
//                                ^ start                    ^ to
//
// It does not look at what a frame says, and does not ask whether it is UTF-8: both are for those who act on it.

import { joined } from './frame-pieces.ts';

const NEWLINE = 0x0a;
const CARRIAGE_RETURN = 0x0d;

export interface FrameInputSink {
  /** b[start, end) are whole frames, each with its newline behind it. */
  frames(b: Buffer, start: number, end: number): void;
  /** A long frame, in pieces that have it and its newline and nothing else. */
  longFrame(pieces: readonly Buffer[], bytes: number): void;
  /** All that came in one read was handed on. */
  readEnded(): void;
  /** An unfinished frame has passed the limit. */
  overflowed(): void;
  /** True if nothing refers any more to frames that were handed on in this memory. */
  mayReuse(memory: ArrayBufferLike): boolean;
}

export interface FrameInputOptions {
  readonly maxFrameBytes: number;
  /** True if most frames are done with when `readEnded` returns: then one block is used again and again. */
  readonly isTakenAtOnce: boolean;
}

/** Below this a frame that came in pieces is put together; above the other bound too, so that few pieces make a frame. */
const SHORT_FRAME = 32 * 1024;
const LONGEST_IN_PIECES = 4 * 1024 * 1024;
const FIRST_BLOCK = 64 * 1024;
/** For a peer that fills the first one at one go. */
const LARGE_BLOCK = 256 * 1024;
/** With less room than this the next block is begun. */
const LEAST_ROOM = 16 * 1024;
/** So many blocks are looked at for one that may be used again; all others are left to the collector. */
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
  /** Blocks that were filled, oldest first. */
  #older: Buffer[] = [];
  /** The part of the block that the next read goes to. */
  #room: Buffer | undefined;
  /** The unfinished frame: whole pieces, and behind them b[start, to). */
  #pieces: Buffer[] = [];
  #pieceBytes = 0;
  #b: Buffer | undefined;
  #start = 0;
  #to = 0;

  constructor({ maxFrameBytes, isTakenAtOnce }: FrameInputOptions) {
    this.#maxFrameBytes = maxFrameBytes;
    this.#isTakenAtOnce = isTakenAtOnce;
  }

  /** Begins to hand on frames; called again, it hands them to another one. */
  start(sink: FrameInputSink): void {
    this.#sink = sink;
  }

  /** Reads for a socket, without a buffer of its own for each read. */
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

  /** b[from, to) has come; it must not change before the sink lets it be reused. */
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

  /** Makes the unfinished bytes a piece; the next one begins at b[from]. */
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

  /** The next read goes to the same place as the last one. */
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
