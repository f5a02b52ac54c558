// The two sides of a lasting client: the client that it serves, and its way to a daemon. Types only.

import type { Duplex } from 'node:stream';
import type { BridgeError } from '../util/bridge-error.ts';
import type { OpenRequests } from './open-requests.ts';
import type { ReconnectPolicyOptions } from './reconnect-policy.ts';
import type { SessionStream } from './session-stream.ts';
import type { UnreadTraffic } from './unread-traffic.ts';

export interface ConnectionOptions extends ReconnectPolicyOptions {
  readonly client: ServedClient;
  /** Opens a connection to the daemon, which is started if there is none and `mayStart`. */
  readonly dial: (mayStart: boolean) => Promise<Duplex>;
  /** Goes into `_meta` of the client's `initialize`, where the client has not set it itself. */
  readonly meta: Readonly<Record<string, unknown>>;
  /** Makes what keeps frames that pass unread, for a client that needs none of them read. */
  readonly unread?: ((stream: SessionStream, requests: OpenRequests) => UnreadTraffic) | undefined;
}

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
  /** True if it refers no more to the bytes of frames that it was handed: then they may be overwritten. */
  isDone(): boolean;
  /** Called when nothing more has come for now. False: no more until `taken` is called. */
  flush(): boolean;
  /** Called with true when the client should send no more for the moment. */
  full(isFull: boolean): void;
  event(event: ConnectionEvent): void;
  /** It is over: as the client wanted it, or for this reason. Called once, last. */
  closed(error: BridgeError | undefined): void;
}
