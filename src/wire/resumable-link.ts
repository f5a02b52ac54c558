// A link that outlives its connection (the carrier). It counts the bytes that arrive, and keeps sent bytes until the
// peer has confirmed them. On the next carrier it continues where the peer stopped. It never decides who may resume, or
// for how long.

import { invariant } from '../util/invariant.ts';
import type { Frame } from './frame-splitter.ts';
import { KeptBytes } from './kept-bytes.ts';
import type { Carrier, CarrierHandler, Link, LinkHandler } from './link.ts';
import { type ByteSink, Outbox } from './outbox.ts';
import { RECEIVED_BYTES, RECEIVED_FRAMES, receivedNotice } from './resume-notices.ts';

const CARRIAGE_RETURN = 0x0d;

export interface ResumableHandler extends LinkHandler {
  /** Called when the connection dropped, but the peer has not said goodbye. */
  dropped(): void;
  /** Called when the first bytes arrive on a resumed connection. */
  heard(): void;
  /**
   * Returns the positions where the frames of the peer's unanswered requests end, in bytes received; undefined if
   * unknown. Called between two chunks.
   */
  openRequests?(): readonly number[] | undefined;
  /** Called when more waits for an absent peer. At most once a turn, never during a write. */
  grown(): void;
}

export class ResumableLink implements Link, ByteSink {
  readonly outbox: Outbox;
  readonly #handler: ResumableHandler;
  readonly #mostKept: number;
  #carrier: Carrier | undefined;
  /** Undefined before the link can be resumed, and after it no longer can. */
  #kept: KeptBytes | undefined;
  /** The number of bytes sent when the connection dropped: the peer cannot have more. */
  #handedOut = 0;
  /** The number of bytes received, including an unfinished frame. */
  #readBytes = 0;
  /** The position after the frame that is being handed on; 0 between frames, and if unknown. */
  framePlace = 0;
  /** True from an unreadable frame to the end of its chunk. */
  #hasLostPlace = false;
  /** The position after the last frame, and where that ended in its memory. */
  #lastPlace = 0;
  #lastIn: Buffer | undefined;
  #lastTo = 0;
  /** The position at which counting has stopped. */
  #countedTo: number | undefined;
  /** The count that the peer was last told, and the frames received since. */
  #toldBytes = 0;
  #untoldFrames = 0;
  /** The position of the oldest unanswered question: its answer confirms everything before it. */
  #askedAt: number | undefined;
  #isPaused = false;
  #growthIsTold = true;
  #isHeard = true;

  /** All frames use the one connection. */
  get streams(): undefined {
    return undefined;
  }

  /** Takes over `carrier` while `first` is handed on. All bytes after `first` are counted. */
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

  /** Restarts the count after `first`, which is being handed on. */
  recount(first: Frame): void {
    const carrier = this.#carrier;
    if (carrier === undefined) return;
    this.#readBytes = 0;
    this.#take(carrier, first);
  }

  /** Keeps everything sent from here on, so that the link survives a dropped connection. */
  keep(): void {
    this.outbox.flush();
    this.#kept = new KeptBytes(this.#mostKept);
  }

  /** Called when the peer leaves for good: the end of its connection now ends the link. */
  letGo(): void {
    this.#kept = undefined;
  }

  get isResumable(): boolean {
    return this.#kept !== undefined;
  }

  get isCarried(): boolean {
    return this.#carrier !== undefined;
  }

  /** The number of received bytes in whole frames. */
  get receivedBytes(): number {
    return this.#countedTo ?? this.#readBytes - (this.#carrier?.heldBytes ?? 0);
  }

  /** Stops the count: from here on only answers are accepted, and the peer never sends those again. */
  stopCounting(): void {
    this.#countedTo ??= this.receivedBytes;
  }

  /** The number of bytes kept for the peer. */
  get keptBytes(): number {
    return this.#kept?.size ?? 0;
  }

  /** True if bytes were dropped that the peer cannot have received. */
  get hasLost(): boolean {
    return this.#kept !== undefined && this.#carrier === undefined && this.#kept.from > this.#handedOut;
  }

  /** Takes the peer's confirmation of these bytes; false if it cannot have them. */
  acknowledge(bytes: number): boolean {
    const kept = this.#kept;
    if (kept === undefined) return true;
    if (bytes > kept.to) return false;
    if (bytes > kept.from) kept.release(bytes);
    return true;
  }

  /** Notes that a question was sent to the peer. */
  asked(): void {
    if (this.#askedAt !== undefined) return;
    this.outbox.flush();
    this.#askedAt = this.#kept?.to;
  }

  /** Notes that the peer has answered, so it has everything before the question. */
  answered(): void {
    if (this.#askedAt !== undefined) this.acknowledge(this.#askedAt);
    this.#askedAt = undefined;
  }

  /** The reason why the link cannot resume after this many bytes; undefined if it can. */
  whyNotFrom(bytes: number): string | undefined {
    this.outbox.flush();
    const kept = this.#kept;
    if (kept === undefined) return 'The session cannot be resumed';
    if (bytes > kept.to) return `No more than ${kept.to} bytes were sent, and not ${bytes}`;
    if (bytes < kept.from) return `What comes behind byte ${bytes} is not kept any more`;
    return kept.isFrameEnd(bytes) ? undefined : `No message ends at byte ${bytes}`;
  }

  /** Resumes after this many bytes, on a carrier that is handing on `last`. Closes an older carrier. */
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

  /** Drops the bytes of an unfinished frame from the count: the frame comes again. */
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
    // Its first carrier was started already.
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

  /**
   * True if bytes must be copied out of blocks: while the peer is absent, thousands of links may wait, and each would
   * keep a block.
   */
  get copies(): boolean {
    return this.#carrier === undefined;
  }

  /** True if the bytes kept for the peer were copied out of blocks. */
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
