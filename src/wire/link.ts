// Anything that carries frames both ways: a socket, a child's stdio, a pair in memory.

import type { Frame, FrameSink } from './frame-splitter.ts';
import type { Outbox } from './outbox.ts';
import type { ReadPacer } from './read-pacer.ts';

export interface LinkHandler extends FrameSink {
  /**
   * Called for a sent request that the peer has not read and will not read, or may not have read. Returns true if it is
   * sent again once the link is closed; otherwise this link must answer it.
   */
  returned?(request: Frame): boolean;
  /** Returns true if the sent request with this id may safely be executed twice. */
  mayRepeat?(idText: string): boolean;
  /** Returns the id of the client behind the sent request with this id; '' if it has none. */
  clientOf?(idText: string): string;
  /** Called when the peer will send nothing more; it may still read. */
  ended(): void;
  /** Called once, last, when nothing goes either way any more. */
  closed(): void;
  /** Called when the peer has read the backlog. */
  drained(): void;
  /** Called after a fault of the bridge in one of these methods: the link is destroyed, and `closed` follows. */
  failed?(error: unknown): void;
}

/** The streams of a peer that has several. The stream of each frame is chosen before the frame is written. */
export interface Streams {
  /** The next frame answers a request, given by its id as the peer spelled it. `code` is that of an error. */
  answering(idText: string, code?: number): void;
  /** The next frame answers a message that broke the protocol. */
  refusing(idText: string, code: number): void;
  /** The next frame belongs to an unanswered request; '' if unknown to which one. */
  during(idText: string): void;
  /** The next frame belongs to no request. */
  aside(): void;
  /** No more frames follow for a request. */
  over(idText: string): void;
}

export interface Link {
  readonly outbox: Outbox;
  /** Undefined if there is only one stream. */
  readonly streams?: Streams | undefined;
  /** Hands frames to this handler; a second call replaces the handler. */
  start(handler: LinkHandler): void;
  /** Pauses and resumes reading; frames of the current chunk still arrive. */
  pause(): void;
  resume(): void;
  /** Lets the link share each turn with all other paced links, from here on. */
  pace?(pacer: ReadPacer): void;
  /** Sends the backlog, then closes; `closed` follows. */
  end(): void;
  /** Closes now; `closed` follows, never during this call. */
  destroy(): void;
}

export interface CarrierHandler extends LinkHandler {
  /** Reports the number of bytes that arrived, after all frames that end in them were handed on. */
  read(bytes: number): void;
}

/** A link that another link may take over, with its connection. */
export interface Carrier extends Link {
  /** Bytes of an unfinished frame. */
  readonly heldBytes: number;
  /**
   * Sets another handler, also for the rest of the current chunk. `last` is the frame that is being handed on. Returns
   * the number of bytes of its chunk that follow it; `read` does not report those.
   */
  handTo(handler: CarrierHandler, last: Frame): number;
}
