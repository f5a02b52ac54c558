// A link that outlives the connection that carries it: it counts what comes, and keeps what was sent until the other side
// has said that it has it. While no connection carries it, what is sent waits; on the next one it goes on where the other
// side has stopped. Who may take it up again, and for how long, is not decided here.

import { invariant } from '../util/invariant.ts';
import type { Frame } from './frame-splitter.ts';
import { KeptBytes } from './kept-bytes.ts';
import type { Carrier, CarrierHandler, Link, LinkHandler } from './link.ts';
import { type ByteSink, Outbox } from './outbox.ts';
import { RECEIVED_BYTES, RECEIVED_FRAMES, receivedNotice } from './resume-notices.ts';

export interface ResumableHandler extends LinkHandler {
  /** The connection has ended, and nobody has said that this is the end of it all. */
  dropped(): void;
  /** Something has come on the connection that it has gone on with. */
  heard(): void;
  /** While nobody is there, more waits than a moment ago. Told once a turn, never while it is being written. */
  grown(): void;
}

export class ResumableLink implements Link, ByteSink {
  readonly outbox: Outbox;
  readonly #handler: ResumableHandler;
  readonly #mostKept: number;
  #carrier: Carrier | undefined;
  /** Undefined before it can be resumed, and once it cannot be any more. */
  #kept: KeptBytes | undefined;
  /** How much was sent when the connection dropped: more than that nobody can have. */
  #handedOut = 0;
  /** Bytes that have come, those of an unfinished frame too. */
  #readBytes = 0;
  /** Where counting has stopped, if it has. */
  #countedTo: number | undefined;
  /** What of it the other side was told, and how many frames have come since. */
  #toldBytes = 0;
  #untoldFrames = 0;
  /** Where the oldest question stands that is not answered: whoever answers it has everything before it. */
  #askedAt: number | undefined;
  #isPaused = false;
  #growthIsTold = true;
  #isHeard = true;

  /** Takes `carrier` over while `first` is handed on: what comes behind that is counted. */
  constructor(carrier: Carrier, first: Frame, { handler, mostKept }: { handler: ResumableHandler; mostKept: number }) {
    this.#handler = handler;
    this.#mostKept = mostKept;
    this.outbox = new Outbox(this, carrier.outbox.turn);
    this.#take(carrier, first);
  }

  #take(carrier: Carrier, last: Frame): void {
    carrier.outbox.flush(); // what goes past it from here on must not overtake what was said before
    this.#carrier = carrier;
    this.#readBytes += carrier.handTo(this.#handlerOn(carrier), last);
  }

  /** The count of what comes begins anew behind `first`, which is being handed on. */
  recount(first: Frame): void {
    const carrier = this.#carrier;
    if (carrier === undefined) return;
    this.#readBytes = 0;
    this.#take(carrier, first);
  }

  /** From here on what is sent is kept: a connection that drops is not the end. */
  keep(): void {
    this.outbox.flush();
    this.#kept = new KeptBytes(this.#mostKept);
  }

  /** The other side goes for good: the end of its connection is the end. */
  letGo(): void {
    this.#kept = undefined;
  }

  get isResumable(): boolean {
    return this.#kept !== undefined;
  }

  get isCarried(): boolean {
    return this.#carrier !== undefined;
  }

  /** The bytes of whole frames that have come. */
  get receivedBytes(): number {
    return this.#countedTo ?? this.#readBytes - (this.#carrier?.heldBytes ?? 0);
  }

  /** Of what comes from here on nothing is taken but answers, which nobody sends again: the count stays where it is. */
  stopCounting(): void {
    this.#countedTo ??= this.receivedBytes;
  }

  /** What is kept for the other side. */
  get keptBytes(): number {
    return this.#kept?.size ?? 0;
  }

  /** Whether something was let go that nobody can have received. */
  get hasLost(): boolean {
    return this.#kept !== undefined && this.#carrier === undefined && this.#kept.from > this.#handedOut;
  }

  /** The other side says what it has; false if it cannot have that. */
  acknowledge(bytes: number): boolean {
    const kept = this.#kept;
    if (kept === undefined) return true;
    if (bytes > kept.to) return false;
    if (bytes > kept.from) kept.release(bytes);
    return true;
  }

  /** The other side was asked something. */
  asked(): void {
    if (this.#askedAt !== undefined) return;
    this.outbox.flush();
    this.#askedAt = this.#kept?.to;
  }

  /** It has answered: so it has what was said before it was asked. */
  answered(): void {
    if (this.#askedAt !== undefined) this.acknowledge(this.#askedAt);
    this.#askedAt = undefined;
  }

  /** Why it cannot go on behind so many bytes, if it cannot. */
  whyNotFrom(bytes: number): string | undefined {
    this.outbox.flush();
    const kept = this.#kept;
    if (kept === undefined) return 'The session cannot be resumed';
    if (bytes > kept.to) return `No more than ${kept.to} bytes were sent, and not ${bytes}`;
    if (bytes < kept.from) return `What comes behind byte ${bytes} is not kept any more`;
    return kept.isFrameEnd(bytes) ? undefined : `No message ends at byte ${bytes}`;
  }

  /** Goes on behind so many bytes, on a connection that hands on `last` at the moment. Another one that it had is closed. */
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

  /** Gives its connection away; what comes there is not its business any more. */
  giveCarrier(): Carrier {
    const carrier = this.#carrier;
    invariant(carrier !== undefined, 'who is heard has a connection');
    this.outbox.flush();
    this.outbox.close();
    this.#carrier = undefined;
    return carrier;
  }

  // --- what the carrier tells ---

  #handlerOn(carrier: Carrier): CarrierHandler {
    const handler = this.#handler;
    const isCurrent = (): boolean => this.#carrier === carrier;
    return {
      frame: (b, start, end) => {
        this.#untoldFrames++;
        handler.frame(b, start, end);
      },
      overflowed: () => handler.overflowed(),
      badFrame: (reason, ends) => handler.badFrame(reason, ends),
      read: (bytes) => {
        if (isCurrent()) this.#read(bytes);
      },
      drained: () => {
        if (isCurrent()) handler.drained();
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

  #read(bytes: number): void {
    this.#readBytes += bytes;
    if (!this.#isHeard) {
      this.#isHeard = true;
      this.#handler.heard();
    }
    const { receivedBytes } = this;
    const isDue = receivedBytes - this.#toldBytes >= RECEIVED_BYTES || this.#untoldFrames >= RECEIVED_FRAMES;
    if (!isDue || !this.isResumable) return;
    this.#toldBytes = receivedBytes;
    this.#untoldFrames = 0;
    this.outbox.latin1(receivedNotice(receivedBytes));
    this.outbox.endFrame();
  }

  #drop(carrier: Carrier): void {
    this.#leaveCarrier(carrier);
    this.#handedOut = this.#kept?.to ?? 0;
    this.outbox.flush();
    this.#kept?.compact();
    this.#handler.dropped();
  }

  /** Of a frame that has not ended nothing counts: it comes again. */
  #leaveCarrier(carrier: Carrier): void {
    this.#readBytes -= carrier.heldBytes;
    this.#carrier = undefined;
    carrier.destroy();
  }

  #close(): void {
    this.outbox.close();
    this.#handler.closed();
  }

  // --- the link ---

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

  // --- the sink of its outbox ---

  get writableLength(): number {
    return this.#carrier === undefined ? this.keptBytes : this.#carrier.outbox.sink.writableLength;
  }

  /** While nobody is there, all that comes out of a block is copied: thousands may wait, and each would keep a block. */
  get copies(): boolean {
    return this.#carrier === undefined;
  }

  write(bytes: Uint8Array): boolean {
    this.#kept?.add(bytes);
    if (this.#carrier !== undefined) return this.#carrier.outbox.sink.write(bytes);
    this.#tellGrowth();
    return false;
  }

  /** Not at once: whoever writes may be in the middle of what must not be given up meanwhile. */
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
