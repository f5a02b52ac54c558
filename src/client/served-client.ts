// The client on whose behalf a connection to the bridge is kept: what it is handed, and what it is told.

import type { BridgeError } from '../util/bridge-error.ts';

export type ConnectionEvent =
  | { readonly kind: 'lost'; readonly reason: string }
  | { readonly kind: 'reconnecting'; readonly attempt: number; readonly delayMs: number }
  /** `kept`: nothing was lost. `new`: another daemon was told everything again. */
  | { readonly kind: 'resumed'; readonly session: 'kept' | 'new' };

export interface ServedClient {
  /** A whole frame for it: b[start, end), with a newline behind. */
  frame(b: Buffer, start: number, end: number): void;
  /** Whole frames, each with its newline. */
  frames(b: Buffer, start: number, end: number): void;
  /** The same of a long frame, in pieces that have it and its newline. */
  longFrame(pieces: readonly Buffer[], bytes: number): void;
  /** Whether it refers no more to the bytes of frames that it was handed: then they may be written over. */
  isDone(): boolean;
  /** What has come is all for now. False: no more until `taken` is called. */
  flush(): boolean;
  /** Whether it should send no more for the moment. */
  full(isFull: boolean): void;
  event(event: ConnectionEvent): void;
  /** It is over: as the client wanted it, or for this reason. Called once, last. */
  closed(error: BridgeError | undefined): void;
}
