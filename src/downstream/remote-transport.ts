// The interface between the link to a server at a URL and the ways to get there: Streamable HTTP, and the older SSE.
// Messages are frames in their bytes, both ways.

import type { Frame } from '../wire/frame-splitter.ts';
import type { ReadPacer } from '../wire/read-pacer.ts';
import type { RemoteFailure } from './remote-failure.ts';

/** A message to the server. */
export interface RemoteMessage {
  /** Its bytes, without a newline. */
  readonly body: Uint8Array<ArrayBuffer>;
  /** '' for an answer to the server. */
  readonly method: string;
  /** As it is spelled; undefined unless it is a request. */
  readonly requestId: string | undefined;
}

/** The sender's side of one message, for as long as something may come of it. */
export interface Exchange {
  /** Aborted when nobody waits for what may still come: its connection is closed. */
  readonly signal: AbortSignal;
  abort(): void;
  /** The server has taken the message. */
  taken(): void;
  /** Somebody waits for an answer that has not come. */
  isAwaited(): boolean;
}

export interface RemoteTransport {
  /**
   * Sends a message; rejects if that failed. Resolves when all has come that comes of it over this exchange: with the reason
   * why a request that has no answer then will get none, or with nothing, if its answer comes another way.
   */
  send(message: RemoteMessage, exchange: Exchange): Promise<RemoteFailure | undefined>;
  /** Later requests name this version of the protocol. */
  negotiated(protocolVersion: string): void;
  /** Tells the server that its session is not needed any more. */
  sayGoodbye(): Promise<void>;
  close(): void;
}

export interface TransportPorts {
  /** A message of the server, or several in an array. Returns a reason if it is neither. */
  readonly received: (frame: Frame) => RemoteFailure | undefined;
  /** A request of the transport's own has failed. */
  readonly failed: (failure: unknown) => void;
  /** Pending while what the server says may not be read. */
  readonly mayRead: () => Promise<void> | undefined;
  /** Of one message of the server. */
  readonly maxFrameBytes: number;
  /** Bounds what one turn works on of all that servers say. */
  readonly pacer: ReadPacer;
}
