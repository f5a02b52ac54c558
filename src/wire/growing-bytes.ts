// Bytes that arrive in pieces, up to a limit. They are copied into blocks, so that a peer cannot make us hold one
// object per byte, and joined once.

import type { Frame } from './frame-splitter.ts';

/** More bytes arrived than the limit allows. */
export class TooLong extends Error {}

const SMALLEST_BLOCK = 1024;
const LARGEST_BLOCK = 65_536;
/** Up to this size, bytes are copied one by one: a view of them would cost more, and be garbage for each piece. */
const FEW_BYTES = 32;

export class GrowingBytes {
  readonly #mostBytes: number;
  /** All full, except the last one. */
  #blocks: Buffer[] = [];
  #length = 0;
  /** The free bytes in the last block. */
  #room = 0;

  constructor(mostBytes: number) {
    this.#mostBytes = mostBytes;
  }

  get length(): number {
    return this.#length;
  }

  /** Adds b[from, to). Throws TooLong beyond the limit. */
  add(b: Uint8Array, from = 0, to = b.length): void {
    if (this.#length + to - from > this.#mostBytes) {
      this.clear();
      throw new TooLong();
    }
    while (from < to) {
      const block = this.#lastBlock();
      const count = Math.min(to - from, this.#room);
      const at = block.length - this.#room;
      if (count > FEW_BYTES) block.set(b.subarray(from, from + count), at);
      else for (let i = 0; i < count; i++) block[at + i] = b[from + i] as number;
      this.#room -= count;
      this.#length += count;
      from += count;
    }
  }

  #lastBlock(): Buffer {
    const last = this.#blocks.at(-1);
    if (last !== undefined && this.#room > 0) return last;
    this.#room = Math.min(LARGEST_BLOCK, Math.max(SMALLEST_BLOCK, this.#length));
    const block = Buffer.allocUnsafeSlow(this.#room);
    this.#blocks.push(block);
    return block;
  }

  /** Returns all bytes as a frame, with a newline behind them, and starts over. */
  takeFrame(): Frame {
    const end = this.#length;
    const b = Buffer.allocUnsafeSlow(end + 1);
    let at = 0;
    for (const block of this.#blocks) at += block.copy(b, at, 0, Math.min(block.length, end - at));
    b[end] = 0x0a;
    this.clear();
    return { b, start: 0, end };
  }

  /** Drops everything. Keeps the smallest block, because most content fits into it. */
  clear(): void {
    const [first] = this.#blocks;
    this.#blocks = first?.length === SMALLEST_BLOCK ? [first] : [];
    this.#room = this.#blocks.length * SMALLEST_BLOCK;
    this.#length = 0;
  }
}
