// Anything that carries frames both ways: a socket, a child's stdio, a pair in memory.

import type { FrameSink } from './frame-splitter.ts';
import type { Outbox } from './outbox.ts';

export interface LinkHandler extends FrameSink {
  /** The peer will send nothing more; it may still listen. */
  ended(): void;
  /** Nothing goes either way any more. Called once, last. */
  closed(): void;
  /** What was queued has been taken. */
  drained(): void;
}

export interface Link {
  readonly outbox: Outbox;
  /** Begins to hand on what arrives; called again, it hands on to another one what arrives from then on. */
  start(handler: LinkHandler): void;
  /** Stops and goes on reading; frames of the chunk at hand still come. */
  pause(): void;
  resume(): void;
  /** Sends what is queued, then closes; `closed` follows. */
  end(): void;
  /** Closes now; `closed` follows, never from within this call. */
  destroy(): void;
}
