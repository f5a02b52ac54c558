// The sending side of one direction of one call: cuts messages into numbered frames, and sends no more than the other
// side has given credit for. It keeps frames until the other side has them. It does not know the content of messages.

import type { BusHeaders } from './bus.ts';
import { type BusFrameKind, HEADER, MOST_FRAME_BYTES, WINDOW_BYTES } from './frames.ts';

interface SentFrame {
  readonly seq: number;
  readonly kind: BusFrameKind;
  readonly data: Uint8Array;
  readonly more: BusHeaders | undefined;
  /** The total bytes of all frames up to the end of this one. */
  readonly endsAt: number;
}

export type SendFrame = (headers: BusHeaders, data: Uint8Array, kind: BusFrameKind) => void;

export class FrameSender {
  readonly #send: SendFrame;
  /** Frames that the other side may not have yet, in order. */
  #frames: SentFrame[] = [];
  #lastSeq = 0;
  #lastByte = 0;
  /** The number of the last frame that was sent. */
  #sentSeq = 0;
  #sentBytes = 0;
  #gotSeq = 0;
  #gotBytes = 0;
  #allowedBytes: number;

  /** `firstBytes` may be sent before the other side has given any credit. */
  constructor(send: SendFrame, firstBytes: number = WINDOW_BYTES) {
    this.#send = send;
    this.#allowedBytes = firstBytes;
  }

  /** The number of the last frame that was sent. */
  get sentSeq(): number {
    return this.#sentSeq;
  }

  /** The bytes of the kept frames. */
  get keptBytes(): number {
    return this.#lastByte - this.#gotBytes;
  }

  /** The bytes that wait for credit. */
  get waitingBytes(): number {
    return this.#lastByte - this.#sentBytes;
  }

  /** True if all frames have been sent, even if the other side does not have them yet. */
  get hasSentAll(): boolean {
    return this.#sentSeq === this.#lastSeq;
  }

  /** Sends a message as soon as there is credit for it. `more` are extra headers of its last frame. */
  push(kind: BusFrameKind, body: Uint8Array, more?: BusHeaders): void {
    let from = 0;
    for (; body.length - from > MOST_FRAME_BYTES; from += MOST_FRAME_BYTES)
      this.#append('part', body.subarray(from, from + MOST_FRAME_BYTES));
    this.#append(kind, from === 0 ? body : body.subarray(from), more);
    this.#goOn();
  }

  #append(kind: BusFrameKind, data: Uint8Array, more?: BusHeaders): void {
    this.#lastByte += data.length;
    this.#frames.push({ seq: ++this.#lastSeq, kind, data, more, endsAt: this.#lastByte });
  }

  #goOn(): void {
    for (let at = this.#sentSeq - this.#gotSeq; at < this.#frames.length; at++) {
      const frame = this.#frames[at];
      if (frame === undefined || frame.endsAt > this.#allowedBytes) return;
      this.#sentSeq = frame.seq;
      this.#sentBytes = frame.endsAt;
      this.#sendOne(frame);
    }
  }

  #sendOne({ kind, seq, data, more }: SentFrame): void {
    this.#send({ [HEADER.frame]: kind, [HEADER.seq]: `${seq}`, ...more }, data, kind);
  }

  /**
   * Called when the other side has all frames up to `got` and takes `credit` bytes in total. It never gets more than
   * one window beyond what it has, whatever it says. Returns false if it claims frames that were never sent.
   */
  granted(got: number, credit: number): boolean {
    if (got > this.#sentSeq) return false;
    const count = got - this.#gotSeq;
    if (count > 0) {
      this.#gotBytes = this.#frames[count - 1]?.endsAt ?? this.#gotBytes;
      this.#frames = this.#frames.slice(count);
      this.#gotSeq = got;
    }
    this.#allowedBytes = Math.min(Math.max(this.#allowedBytes, credit), this.#gotBytes + WINDOW_BYTES);
    this.#goOn();
    return true;
  }

  /** Sends every frame again from the first one that the other side does not have. */
  resend(): void {
    const upTo = this.#sentSeq;
    for (const frame of this.#frames) if (frame.seq <= upTo) this.#sendOne(frame);
    this.#goOn();
  }
}
