// The last N bytes of a stream, in constant memory.

export class ByteRing {
  readonly #ring: Buffer;
  #written = 0;

  constructor(capacity: number) {
    this.#ring = Buffer.alloc(capacity);
  }

  push(chunk: Uint8Array): void {
    const kept = chunk.length > this.#ring.length ? chunk.subarray(chunk.length - this.#ring.length) : chunk;
    this.#written += chunk.length - kept.length;
    const at = this.#written % this.#ring.length;
    const untilEdge = Math.min(kept.length, this.#ring.length - at);
    this.#ring.set(kept.subarray(0, untilEdge), at);
    this.#ring.set(kept.subarray(untilEdge), 0);
    this.#written += kept.length;
  }

  /** The total number of bytes written so far. */
  get written(): number {
    return this.#written;
  }

  /** The bytes still held, oldest first, as text. */
  text(): string {
    return this.since(0).toString('utf8');
  }

  /** The bytes still held after a position. */
  since(position: number): Buffer {
    const count = Math.max(0, Math.min(this.#written - position, this.#written, this.#ring.length));
    const from = (this.#written - count) % this.#ring.length;
    const untilEdge = Math.min(count, this.#ring.length - from);
    return Buffer.concat([this.#ring.subarray(from, from + untilEdge), this.#ring.subarray(0, count - untilEdge)]);
  }
}
