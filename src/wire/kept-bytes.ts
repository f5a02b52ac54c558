// The last bytes of a stream that was sent, kept because the receiver may need them again. Positions count from the
// beginning of the stream. Small pieces are copied together if each would otherwise keep its whole block alive; all
// others are kept as they are, and must not change.
//
//   stream  [ released or let go | kept piece | kept piece | block, filled up to #used ]
//                                ^ from                                                ^ to

import { BLOCK_BYTES } from './outbox.ts';

/** Pieces up to this size are copied, because an outbox overwrites its blocks. */
const COPIED_PIECE = BLOCK_BYTES;
const LEAST_BLOCK = 512;
const MOST_BLOCK = 16_384;
const NEWLINE = 0x0a;

export class KeptBytes {
  readonly #most: number;
  readonly #copiedPiece: number;
  #pieces: Buffer[] = [];
  /** The block whose filled part is the last piece, if any. */
  #block: Buffer | undefined;
  #blockFrom = 0;
  #used = 0;
  #from = 0;
  #to = 0;

  /** Pieces of at most `copiedPiece` bytes are copied. */
  constructor(most: number, copiedPiece = COPIED_PIECE) {
    this.#most = most;
    this.#copiedPiece = copiedPiece;
  }

  /** The position of the oldest kept byte. */
  get from(): number {
    return this.#from;
  }

  /** The number of bytes ever added. */
  get to(): number {
    return this.#to;
  }

  get size(): number {
    return this.#to - this.#from;
  }

  /** Adds bytes, and drops the oldest ones beyond the limit. The last piece stays, however long it is. */
  add(bytes: Uint8Array): void {
    this.#to += bytes.length;
    if (bytes.length > this.#copiedPiece) {
      this.#block = undefined;
      this.#pieces.push(Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length));
    } else this.#copy(bytes);
    let first = this.#pieces[0];
    while (first !== undefined && this.size - first.length >= this.#most) {
      this.release(this.#from + first.length);
      first = this.#pieces[0];
    }
  }

  #copy(bytes: Uint8Array): void {
    if (this.#block !== undefined && this.#used + bytes.length <= this.#block.length) this.#pieces.pop();
    else {
      const twice = 2 * (this.#block?.length ?? 0);
      const wanted = Math.max(LEAST_BLOCK, bytes.length, Math.min(twice, MOST_BLOCK));
      this.#block = Buffer.allocUnsafeSlow(wanted);
      this.#blockFrom = 0;
      this.#used = 0;
    }
    this.#block.set(bytes, this.#used);
    this.#used += bytes.length;
    this.#pieces.push(this.#block.subarray(this.#blockFrom, this.#used));
  }

  /** Drops everything before this position. */
  release(place: number): void {
    let passed = 0;
    for (const piece of this.#pieces) {
      if (this.#from + piece.length > place) break;
      this.#from += piece.length;
      passed++;
    }
    if (passed > 0) this.#pieces.splice(0, passed);
    const [first] = this.#pieces;
    if (first === undefined) this.#block = undefined;
    else if (place > this.#from) {
      this.#pieces[0] = first.subarray(place - this.#from);
      if (this.#pieces.length === 1) this.#blockFrom += place - this.#from;
      this.#from = place;
    }
  }

  /** True if a message ends at this position, as far as the kept bytes show. */
  isFrameEnd(place: number): boolean {
    if (place === this.#from) return true;
    let at = this.#from;
    for (const piece of this.#pieces) {
      if (place <= at + piece.length) return piece[place - at - 1] === NEWLINE;
      at += piece.length;
    }
    return false;
  }

  /** The bytes from this position on; undefined if they are no longer kept or were never added. */
  behind(place: number): Buffer[] | undefined {
    if (place < this.#from || place > this.#to) return undefined;
    let at = this.#from;
    const behind: Buffer[] = [];
    for (const piece of this.#pieces) {
      const skipped = Math.max(0, place - at);
      if (skipped < piece.length) behind.push(piece.subarray(skipped));
      at += piece.length;
    }
    return behind;
  }

  /** True if a kept piece lies in this memory. */
  isIn(memory: ArrayBufferLike): boolean {
    return this.#pieces.some(({ buffer }) => buffer === memory);
  }

  /** All kept pieces, oldest first. */
  pieces(): readonly Buffer[] {
    return this.#pieces;
  }

  /** Copies the kept bytes into as little memory as they need. */
  compact(): void {
    const isSmall = this.size <= MOST_BLOCK * 4;
    if (isSmall && this.#pieces.length > 0) {
      const whole = Buffer.allocUnsafeSlow(this.size);
      let at = 0;
      for (const piece of this.#pieces) at += piece.copy(whole, at);
      this.#pieces = [whole];
    }
    this.#block = undefined;
  }
}
