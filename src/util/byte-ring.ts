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

  /** The bytes still held, oldest first, as text. */
  text(): string {
    if (this.#written <= this.#ring.length) return this.#ring.toString('utf8', 0, this.#written);
    const at = this.#written % this.#ring.length;
    return Buffer.concat([this.#ring.subarray(at), this.#ring.subarray(0, at)]).toString('utf8');
  }
}
