// Anything that carries frames both ways: a socket, a child's stdio, a pair in memory.

import type { Frame, FrameSink } from './frame-splitter.ts';
import type { Outbox } from './outbox.ts';
import type { ReadPacer } from './read-pacer.ts';

export interface LinkHandler extends FrameSink {
  /**
   * The peer has not looked at this request, as it was sent, and will not; or nobody knows that yet, and the answer tells.
   * Whether it is sent again once the link is closed: else this link has to answer it.
   */
  returned?(request: Frame): boolean;
  /** The peer will send nothing more; it may still listen. */
  ended(): void;
  /** Nothing goes either way any more. Called once, last. */
  closed(): void;
  /** What was queued has been taken. */
  drained(): void;
  /** An error of our own over one of these: the link is destroyed, and `closed` follows. */
  failed?(error: unknown): void;
}

export interface Link {
  readonly outbox: Outbox;
  /** Begins to hand on what arrives; called again, it hands on to another one what arrives from then on. */
  start(handler: LinkHandler): void;
  /** Stops and goes on reading; frames of the chunk at hand still come. */
  pause(): void;
  resume(): void;
  /** From here on, what arrives has its share of each turn with all that is paced. */
  pace?(pacer: ReadPacer): void;
  /** Sends what is queued, then closes; `closed` follows. */
  end(): void;
  /** Closes now; `closed` follows, never from within this call. */
  destroy(): void;
}

export interface CarrierHandler extends LinkHandler {
  /** So many bytes have come, and all frames that end in them were handed on. */
  read(bytes: number): void;
}

/** A link that another one may take over, with whoever is at its other end. */
export interface Carrier extends Link {
  /** Bytes of a frame that has not ended. */
  readonly heldBytes: number;
  /**
   * From here on another one is told, also of the rest of the chunk at hand. `last` is the frame that is being handed on;
   * returns how many bytes of its chunk come behind it. Those are not told of by `read`.
   */
  handTo(handler: CarrierHandler, last: Frame): number;
}
