// Anything that carries frames both ways: a socket, a child's stdio, a pair in memory.

import type { Frame, FrameSink } from './frame-splitter.ts';
import type { Outbox } from './outbox.ts';
import type { ReadPacer } from './read-pacer.ts';

export interface LinkHandler extends FrameSink {
  /**
   * Called for a request, as it was sent, that the peer has not read and will not read, or that may still be unread.
   * Returns true if it is sent again once the link is closed; otherwise this link has to answer it.
   */
  returned?(request: Frame): boolean;
  /** True if the request with this id, as it was sent, does no harm if it is carried out twice. */
  mayRepeat?(idText: string): boolean;
  /** The peer will send nothing more, but may still read. */
  ended(): void;
  /** Nothing goes either way any more. Called once, last. */
  closed(): void;
  /** The peer has read what was queued. */
  drained(): void;
  /** A fault of the bridge in one of these calls: the link is destroyed, and `closed` follows. */
  failed?(error: unknown): void;
}

/** The streams of a peer that has several. Each frame goes on one of them, which is said before the frame is written. */
export interface Streams {
  /** The next frame is the answer to a request, by its id as the peer has spelled it. `code` is that of an error. */
  answering(idText: string, code?: number): void;
  /** The next frame is the answer to a message that is not what the protocol asks for. */
  refusing(idText: string, code: number): void;
  /** The next frame belongs to a request that is not answered yet; '' if nobody knows to which one. */
  during(idText: string): void;
  /** The next frame belongs to no request. */
  aside(): void;
  /** Nothing more comes for a request. */
  over(idText: string): void;
}

export interface Link {
  readonly outbox: Outbox;
  /** Undefined where there is one stream. */
  readonly streams?: Streams | undefined;
  /** Hands frames to this handler; a second call hands later frames to another one. */
  start(handler: LinkHandler): void;
  /** Pauses and resumes reading; frames of the current chunk still come. */
  pause(): void;
  resume(): void;
  /** From here on, the link has its share of each turn with all paced links. */
  pace?(pacer: ReadPacer): void;
  /** Sends what is queued, then closes; `closed` follows. */
  end(): void;
  /** Closes now; `closed` follows, never during this call. */
  destroy(): void;
}

export interface CarrierHandler extends LinkHandler {
  /** The number of bytes that have come; all frames that end in them were handed on. */
  read(bytes: number): void;
}

/** A link that another link may take over, with its connection. */
export interface Carrier extends Link {
  /** Bytes of a frame that has not ended. */
  readonly heldBytes: number;
  /**
   * From here on another one is told, also of the rest of the chunk at hand. `last` is the frame that is being handed on;
   * returns how many bytes of its chunk come behind it. Those are not told of by `read`.
   */
  handTo(handler: CarrierHandler, last: Frame): number;
}
