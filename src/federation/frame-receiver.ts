// The receiving side of one direction of one call: puts numbered frames in order, puts parts together, and gives credit
// for what was taken. It drops duplicates. A frame that fits nowhere is a fault of the peer.

import type { BusHeaders } from './bus.ts';
import { type BusFrameKind, bufferOf, countIn, HEADER, MOST_FRAME_BYTES, WINDOW_BYTES } from './frames.ts';

/** Memory may be so many times as long as the bytes in it that are kept. */
const MOST_SPARE = 2;
/**
 * The maximum number of frames that may come before a missing one, and of parts of one message. Each costs memory, even
 * an empty one.
 */
const MOST_EARLY = 4096;
const MOST_PARTS = 4096;

export interface ReceiverOptions {
  /** The maximum size of a message. */
  readonly mostBytes: number;
  /** Takes a whole message. `hasRoom` is true if one byte behind it belongs to it. */
  readonly message: (kind: BusFrameKind, body: Buffer, hasRoom: boolean) => void;
  /** Gives credit: all frames up to `got` are here, and `credit` bytes in total may come. */
  readonly grant: (got: number, credit: number) => void;
}

export type ReceiverFault = 'too-large' | 'too-long' | 'too-many' | 'out-of-window' | 'unnumbered';

interface EarlyFrame {
  readonly kind: BusFrameKind;
  readonly data: Uint8Array;
}

export class FrameReceiver {
  readonly #options: ReceiverOptions;
  readonly #early = new Map<number, EarlyFrame>();
  #earlyBytes = 0;
  #gotSeq = 0;
  #gotBytes = 0;
  /** The total bytes that were granted last. */
  #granted = WINDOW_BYTES;
  #parts: Uint8Array[] = [];
  #partBytes = 0;
  #isPaused = false;

  constructor(options: ReceiverOptions) {
    this.#options = options;
  }

  /** The number of the last frame with none missing before it. */
  get gotSeq(): number {
    return this.#gotSeq;
  }

  /** The total bytes that may come. */
  get credit(): number {
    return this.#granted;
  }

  /** True if a frame is missing before one that is here. */
  get hasGap(): boolean {
    return this.#early.size > 0;
  }

  /** True if a part of a message has come. */
  get isPartWay(): boolean {
    return this.#partBytes > 0 || this.hasGap;
  }

  /** While it is paused, it gives no credit. */
  set isPaused(isPaused: boolean) {
    this.#isPaused = isPaused;
    if (!isPaused) this.#grantMore();
  }

  /** Takes a frame. Returns the fault if the peer sent something that it may not send. */
  take(kind: BusFrameKind, headers: BusHeaders, data: Uint8Array): ReceiverFault | undefined {
    const seq = countIn(headers[HEADER.seq]);
    if (seq === undefined || seq === 0) return 'unnumbered';
    if (data.length > MOST_FRAME_BYTES) return 'too-large';
    if (seq <= this.#gotSeq || this.#early.has(seq)) return undefined;
    if (this.#gotBytes + this.#earlyBytes + data.length > this.#granted) return 'out-of-window';
    if (seq !== this.#gotSeq + 1) {
      if (this.#early.size >= MOST_EARLY) return 'out-of-window';
      this.#early.set(seq, { kind, data: ownBytes(data) });
      this.#earlyBytes += data.length;
      return undefined;
    }
    const fault = this.#next(kind, data) ?? this.#takeEarly();
    if (fault === undefined) this.#grantMore();
    return fault;
  }

  #takeEarly(): ReceiverFault | undefined {
    for (let next = this.#early.get(this.#gotSeq + 1); next !== undefined; next = this.#early.get(this.#gotSeq + 1)) {
      this.#early.delete(this.#gotSeq + 1);
      this.#earlyBytes -= next.data.length;
      const fault = this.#next(next.kind, next.data);
      if (fault !== undefined) return fault;
    }
    return undefined;
  }

  #next(kind: BusFrameKind, data: Uint8Array): ReceiverFault | undefined {
    this.#gotSeq++;
    this.#gotBytes += data.length;
    if (this.#partBytes + data.length > this.#options.mostBytes) return 'too-long';
    if (kind === 'part') {
      if (this.#parts.length >= MOST_PARTS) return 'too-many';
      this.#parts.push(ownBytes(data));
      this.#partBytes += data.length;
      return undefined;
    }
    if (this.#parts.length === 0) {
      this.#options.message(kind, bufferOf(data), false);
      return undefined;
    }
    const bytes = this.#partBytes + data.length;
    const body = Buffer.allocUnsafeSlow(bytes + 1);
    let at = 0;
    for (const part of this.#parts) {
      body.set(part, at);
      at += part.length;
    }
    body.set(data, at);
    this.#parts = [];
    this.#partBytes = 0;
    this.#options.message(kind, body.subarray(0, bytes), true);
    return undefined;
  }

  /** Gives credit once a quarter of the window is used up, so that a message needs few grants. */
  #grantMore(): void {
    const credit = this.#gotBytes + WINDOW_BYTES;
    if (this.#isPaused || credit - this.#granted < WINDOW_BYTES / 4) return;
    this.#granted = credit;
    this.#options.grant(this.#gotSeq, credit);
  }
}

/** Returns the same bytes. Copies a short piece of long memory, because the piece would keep all of it. */
function ownBytes(data: Uint8Array): Uint8Array {
  return data.buffer.byteLength > MOST_SPARE * data.length ? new Uint8Array(data) : data;
}
