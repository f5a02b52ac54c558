// A link that outlives its connection (the carrier). Counts the bytes that come, and keeps what was sent until the peer
// has confirmed it. On the next carrier it goes on where the peer stopped. Never decides who may resume, or for how
// long.

import { invariant } from '../util/invariant.ts';
import type { Frame } from './frame-splitter.ts';
import { KeptBytes } from './kept-bytes.ts';
import type { Carrier, CarrierHandler, Link, LinkHandler } from './link.ts';
import { type ByteSink, Outbox } from './outbox.ts';
import { RECEIVED_BYTES, RECEIVED_FRAMES, receivedNotice } from './resume-notices.ts';

const CARRIAGE_RETURN = 0x0d;

export interface ResumableHandler extends LinkHandler {
  /** The connection has dropped, and the peer has not said that it leaves. */
  dropped(): void;
  /** The first bytes have come on a resumed connection. */
  heard(): void;
  /**
   * The places where the frames of the peer's unanswered requests end, in bytes received; undefined if they are not known.
   * Asked between two chunks.
   */
  openRequests?(): readonly number[] | undefined;
  /** More waits for an absent peer than before. Called once a turn, never during a write. */
  grown(): void;
}

export class ResumableLink implements Link, ByteSink {
  readonly outbox: Outbox;
  readonly #handler: ResumableHandler;
  readonly #mostKept: number;
  #carrier: Carrier | undefined;
  /** Undefined before the link can be resumed, and once it cannot be any more. */
  #kept: KeptBytes | undefined;
  /** The bytes sent when the connection dropped: the peer cannot have more. */
  #handedOut = 0;
  /** Bytes received, including those of an unfinished frame. */
  #readBytes = 0;
  /** The place behind the frame that is being handed on; 0 between frames, and where it is not known. */
  framePlace = 0;
  /** True behind a frame that could not be read, up to the end of its chunk. */
  #hasLostPlace = false;
  /** The place behind the last frame, and where that ended in the memory in which it came. */
  #lastPlace = 0;
  #lastIn: Buffer | undefined;
  #lastTo = 0;
  /** The place at which counting has stopped. */
  #countedTo: number | undefined;
  /** The count that the peer was told, and the frames received since. */
  #toldBytes = 0;
  #untoldFrames = 0;
  /** The place of the oldest unanswered question: its answer confirms everything before it. */
  #askedAt: number | undefined;
  #isPaused = false;
  #growthIsTold = true;
  #isHeard = true;

  /** All frames go on the one connection. */
  get streams(): undefined {
    return undefined;
  }

  /** Takes `carrier` over while `first` is handed on. All bytes behind `first` are counted. */
  constructor(carrier: Carrier, first: Frame, { handler, mostKept }: { handler: ResumableHandler; mostKept: number }) {
    this.#handler = handler;
    this.#mostKept = mostKept;
    this.outbox = new Outbox(this, carrier.outbox.turn);
    this.#take(carrier, first);
  }

  #take(carrier: Carrier, last: Frame): void {
    carrier.outbox.flush(); // later bytes bypass it and must not overtake these
    this.#carrier = carrier;
    this.#lastPlace = this.#readBytes;
    this.#lastIn = undefined;
    this.#readBytes += carrier.handTo(this.#handlerOn(carrier), last);
  }

  /** Restarts the count behind `first`, which is being handed on. */
  recount(first: Frame): void {
    const carrier = this.#carrier;
    if (carrier === undefined) return;
    this.#readBytes = 0;
    this.#take(carrier, first);
  }

  /** Keeps what is sent from here on, so that the link survives a dropped connection. */
  keep(): void {
    this.outbox.flush();
    this.#kept = new KeptBytes(this.#mostKept);
  }

  /** The peer leaves for good: the end of its connection ends the link. */
  letGo(): void {
    this.#kept = undefined;
  }

  get isResumable(): boolean {
    return this.#kept !== undefined;
  }

  get isCarried(): boolean {
    return this.#carrier !== undefined;
  }

  /** The received bytes of whole frames. */
  get receivedBytes(): number {
    return this.#countedTo ?? this.#readBytes - (this.#carrier?.heldBytes ?? 0);
  }

  /** Stops the count: from here on only answers are taken, which the peer never sends again. */
  stopCounting(): void {
    this.#countedTo ??= this.receivedBytes;
  }

  /** The bytes kept for the peer. */
  get keptBytes(): number {
    return this.#kept?.size ?? 0;
  }

  /** True if bytes were dropped that the peer cannot have received. */
  get hasLost(): boolean {
    return this.#kept !== undefined && this.#carrier === undefined && this.#kept.from > this.#handedOut;
  }

  /** The peer confirms these bytes; false if it cannot have them. */
  acknowledge(bytes: number): boolean {
    const kept = this.#kept;
    if (kept === undefined) return true;
    if (bytes > kept.to) return false;
    if (bytes > kept.from) kept.release(bytes);
    return true;
  }

  /** A question was sent to the peer. */
  asked(): void {
    if (this.#askedAt !== undefined) return;
    this.outbox.flush();
    this.#askedAt = this.#kept?.to;
  }

  /** The peer has answered, so it has everything before the question. */
  answered(): void {
    if (this.#askedAt !== undefined) this.acknowledge(this.#askedAt);
    this.#askedAt = undefined;
  }

  /** The reason why the link cannot resume behind so many bytes; undefined if it can. */
  whyNotFrom(bytes: number): string | undefined {
    this.outbox.flush();
    const kept = this.#kept;
    if (kept === undefined) return 'The session cannot be resumed';
    if (bytes > kept.to) return `No more than ${kept.to} bytes were sent, and not ${bytes}`;
    if (bytes < kept.from) return `What comes behind byte ${bytes} is not kept any more`;
    return kept.isFrameEnd(bytes) ? undefined : `No message ends at byte ${bytes}`;
  }

  /** Resumes behind so many bytes, on a carrier that is handing `last` on. An older carrier is closed. */
  goOn(carrier: Carrier, last: Frame, bytes: number): void {
    const before = this.#carrier;
    if (before !== undefined) this.#leaveCarrier(before);
    this.#take(carrier, last);
    this.acknowledge(bytes);
    this.#isHeard = false;
    carrier.outbox.sink.cork();
    for (const piece of this.#kept?.pieces() ?? []) carrier.outbox.sink.write(piece);
    carrier.outbox.sink.uncork();
    if (this.#isPaused) carrier.pause();
    else carrier.resume();
    this.#handler.drained();
  }

  /** Gives the carrier away and stops listening to it. */
  giveCarrier(): Carrier {
    const carrier = this.#carrier;
    invariant(carrier !== undefined, 'who is heard has a connection');
    this.outbox.flush();
    this.outbox.close();
    this.#carrier = undefined;
    return carrier;
  }

  #handlerOn(carrier: Carrier): CarrierHandler {
    const handler = this.#handler;
    const isCurrent = (): boolean => this.#carrier === carrier;
    return {
      frame: (b, start, end) => {
        this.#untoldFrames++;
        this.#enter(b, start, end);
        handler.frame(b, start, end);
        this.framePlace = 0;
      },
      skipped: (bytes) => {
        this.#lastPlace += bytes;
        this.#lastTo += bytes;
      },
      overflowed: () => handler.overflowed(),
      badFrame: (reason, ends) => {
        this.#hasLostPlace = true;
        handler.badFrame(reason, ends);
      },
      read: (bytes) => {
        if (isCurrent()) this.#read(bytes);
      },
      drained: () => {
        if (!isCurrent()) return;
        this.outbox.drained();
        handler.drained();
      },
      ended: () => {
        if (!isCurrent()) return;
        if (this.isResumable) this.#drop(carrier);
        else handler.ended();
      },
      closed: () => {
        if (!isCurrent()) return;
        if (this.isResumable) return this.#drop(carrier);
        this.#carrier = undefined;
        this.#close();
      },
      failed: (error) => {
        if (isCurrent()) handler.failed?.(error);
      },
    };
  }

  #enter(b: Buffer, start: number, end: number): void {
    const to = b[end] === CARRIAGE_RETURN ? end + 2 : end + 1;
    this.#lastPlace += to - (b === this.#lastIn ? this.#lastTo : start);
    this.#lastIn = b;
    this.#lastTo = to;
    this.framePlace = this.#hasLostPlace ? 0 : this.#lastPlace;
  }

  #read(bytes: number): void {
    this.#readBytes += bytes;
    this.#lastPlace = this.#readBytes - (this.#carrier?.heldBytes ?? 0);
    this.#lastIn = undefined;
    this.#hasLostPlace = false;
    if (!this.#isHeard) {
      this.#isHeard = true;
      this.#handler.heard();
    }
    const { receivedBytes } = this;
    const isDue = receivedBytes - this.#toldBytes >= RECEIVED_BYTES || this.#untoldFrames >= RECEIVED_FRAMES;
    if (!isDue || !this.isResumable) return;
    this.#toldBytes = receivedBytes;
    this.#untoldFrames = 0;
    this.outbox.latin1(receivedNotice(receivedBytes, this.#handler.openRequests?.()));
    this.outbox.endFrame();
  }

  #drop(carrier: Carrier): void {
    this.#leaveCarrier(carrier);
    this.#handedOut = this.#kept?.to ?? 0;
    this.outbox.flush();
    this.#kept?.compact();
    this.#handler.dropped();
  }

  /** Bytes of an unfinished frame do not count: the frame comes again. */
  #leaveCarrier(carrier: Carrier): void {
    this.#readBytes -= carrier.heldBytes;
    this.#carrier = undefined;
    carrier.destroy();
  }

  #close(): void {
    this.outbox.close();
    this.#handler.closed();
  }

  start(): void {
    // It was started with its first carrier.
  }

  pause(): void {
    this.#isPaused = true;
    this.#carrier?.pause();
  }

  resume(): void {
    this.#isPaused = false;
    this.#carrier?.resume();
  }

  end(): void {
    this.outbox.flush();
    this.outbox.close();
    this.#kept = undefined;
    if (this.#carrier === undefined) queueMicrotask(() => this.#handler.closed());
    else this.#carrier.end();
  }

  destroy(): void {
    this.outbox.close();
    this.#kept = undefined;
    if (this.#carrier === undefined) queueMicrotask(() => this.#handler.closed());
    else this.#carrier.destroy();
  }

  get writableLength(): number {
    return this.#carrier === undefined ? this.keptBytes : this.#carrier.outbox.sink.writableLength;
  }

  /** Copies bytes out of blocks while the peer is absent: thousands may wait, and each would keep a block. */
  get copies(): boolean {
    return this.#carrier === undefined;
  }

  /** The bytes kept for the peer were copied out of blocks. */
  get letsGo(): boolean {
    return this.#carrier === undefined || this.#carrier.outbox.sink.letsGo === true;
  }

  write(bytes: Uint8Array): boolean {
    this.#kept?.add(bytes);
    if (this.#carrier !== undefined) return this.#carrier.outbox.sink.write(bytes);
    this.#tellGrowth();
    return false;
  }

  /** Reports later, because the writer may be in the middle of a step that needs the session. */
  #tellGrowth(): void {
    if (!this.#growthIsTold) return;
    this.#growthIsTold = false;
    queueMicrotask(() => {
      this.#growthIsTold = true;
      if (this.#carrier === undefined && this.#kept !== undefined) this.#handler.grown();
    });
  }

  cork(): void {
    this.#carrier?.outbox.sink.cork();
  }

  uncork(): void {
    this.#carrier?.outbox.sink.uncork();
  }
}
