// The writable side of a stream (a socket or pipe), fed in steps. Node reports a write only when all of it was
// accepted, and joins everything that gathers meanwhile. So for a peer that reads slowly, it would report nothing for
// fifty megabytes, just as for a peer that does not read. The stream drops bytes once they are accepted.

import type { Writable } from 'node:stream';
import type { ByteSink } from './outbox.ts';

/** The stream gets no more until it has accepted this much. */
const STEP_BYTES = 256 * 1024;

export class GradualSink implements ByteSink {
  readonly letsGo = true;
  readonly #stream: Writable;
  #waiting: Uint8Array[] = [];
  #waitingBytes = 0;
  #isEnding = false;

  constructor(stream: Writable) {
    this.#stream = stream;
  }

  get writableLength(): number {
    return this.#stream.writableLength + this.#waitingBytes;
  }

  write(bytes: Uint8Array): boolean {
    if (this.#waitingBytes === 0) {
      const room = STEP_BYTES - this.#stream.writableLength;
      if (bytes.length <= room) return this.#stream.write(bytes);
      if (room > 0) {
        this.#stream.write(bytes.subarray(0, room));
        bytes = bytes.subarray(room);
      }
    }
    this.#waiting.push(bytes);
    this.#waitingBytes += bytes.length;
    return false;
  }

  cork(): void {
    this.#stream.cork();
  }

  uncork(): void {
    this.#stream.uncork();
  }

  /** Called when the stream has accepted its bytes: it gets the next step. */
  drained(): void {
    if (this.#waitingBytes > 0) this.#handOn();
  }

  /** Ends the stream after everything that was written; the rest still goes out in steps. */
  end(): void {
    this.#isEnding = true;
    this.#handOn();
  }

  #handOn(): void {
    this.#stream.cork();
    let passed = 0;
    for (const bytes of this.#waiting) {
      const room = STEP_BYTES - this.#stream.writableLength;
      if (room <= 0) break;
      this.#stream.write(room < bytes.length ? bytes.subarray(0, room) : bytes);
      this.#waitingBytes -= Math.min(room, bytes.length);
      if (room < bytes.length) {
        this.#waiting[passed] = bytes.subarray(room);
        break;
      }
      passed++;
    }
    this.#waiting.splice(0, passed);
    this.#stream.uncork();
    if (this.#isEnding && this.#waitingBytes === 0) this.#stream.end();
  }
}
