// The two sides of a lasting client: the client that it serves, and its way to a daemon. Types only.

import type { Duplex } from 'node:stream';
import type { BridgeError } from '../util/bridge-error.ts';
import type { OpenRequests } from './open-requests.ts';
import type { ReconnectPolicyOptions } from './reconnect-policy.ts';
import type { SessionStream } from './session-stream.ts';
import type { UnreadTraffic } from './unread-traffic.ts';

export interface ConnectionOptions extends ReconnectPolicyOptions {
  readonly client: ServedClient;
  /** Opens a connection to the daemon. Starts one if there is none and `mayStart` is true. */
  readonly dial: (mayStart: boolean) => Promise<Duplex>;
  /** The additions to `_meta` of the client's `initialize`, for members that the client has not set. */
  readonly meta: Readonly<Record<string, unknown>>;
  /** Makes the store for frames that pass unread, for a client that needs none of them read. */
  readonly unread?: ((stream: SessionStream, requests: OpenRequests) => UnreadTraffic) | undefined;
}

export type ConnectionEvent =
  | { readonly kind: 'lost'; readonly reason: string }
  | { readonly kind: 'reconnecting'; readonly attempt: number; readonly delayMs: number }
  /** `kept`: nothing was lost. `new`: another daemon was told everything again. */
  | { readonly kind: 'resumed'; readonly session: 'kept' | 'new' };

export interface ServedClient {
  /** Called with a whole frame for the client: b[start, end), with a newline behind it. */
  frame(b: Buffer, start: number, end: number): void;
  /** Called with whole frames, each with its newline. */
  frames(b: Buffer, start: number, end: number): void;
  /** Called with a long frame, in pieces that hold it and its newline. */
  longFrame(pieces: readonly Buffer[], bytes: number): void;
  /** True if the client no longer refers to the bytes of frames that it was handed; they may be overwritten then. */
  isDone(): boolean;
  /**
   * Called when nothing more has come for now. If it returns false, the client takes no more until `taken` is called.
   */
  flush(): boolean;
  /** Called with true when the client should send no more for the moment. */
  full(isFull: boolean): void;
  event(event: ConnectionEvent): void;
  /** Called once, last, when the connection is over: because the client wanted it, or for this reason. */
  closed(error: BridgeError | undefined): void;
}
