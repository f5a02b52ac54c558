// The bus as federation sees it: messages by subject, with nothing promised. A message may be lost, come twice, late, or in
// another order. NATS is one bus; tests have another one in the process.

import { invariant } from '../util/invariant.ts';

/** Names are in the case in which they are sent. */
export type BusHeaders = Readonly<Record<string, string>>;

/** Large frames go on a connection of their own, so that small ones do not stand behind them. */
export type BusLane = 'small' | 'bulk';

const LINE_BREAK = /[\r\n]/;

/** Headers that many messages have in common, written as text once. */
export class FixedHeaders {
  readonly headers: BusHeaders;
  readonly text: string;

  constructor(headers: BusHeaders) {
    this.headers = headers;
    this.text = headerLines(headers);
  }
}

/** The lines of headers in a message of NATS. */
export function headerLines(headers: BusHeaders): string {
  let lines = '';
  for (const name in headers) {
    const value = headers[name] ?? '';
    if (LINE_BREAK.test(value)) invariant(false, `the header ${name} has one line`);
    lines += `${name}: ${value}\r\n`;
  }
  return lines;
}

export interface BusMessage {
  readonly subject: string;
  readonly reply?: string | undefined;
  readonly headers: BusHeaders;
  /** Not changed by anybody once it was handed over. */
  readonly data: Uint8Array;
}

/** A message to be sent. */
export interface OutgoingMessage extends BusMessage {
  /** Headers besides its own. */
  readonly fixed?: FixedHeaders | undefined;
}

/** A message that came. */
export interface ReceivedMessage extends BusMessage {
  /** True for the bus's own word that nobody listens to the subject of a request. It goes to where the answer would. */
  readonly isUnheard: boolean;
  /** The bytes of its headers, as they came. */
  readonly headBytes?: number;
}

export type BusEvent =
  | { readonly is: 'up' }
  | { readonly is: 'down'; readonly why: string }
  /** The bus does not let this daemon publish or subscribe there. */
  | { readonly is: 'denied'; readonly operation: 'publish' | 'subscribe'; readonly subject: string };

export interface SubscribeOptions {
  /** One of all subscribers of a queue gets each message. */
  readonly queue?: string;
  readonly lane?: BusLane;
}

export interface Bus {
  /** The most bytes of a message, with its headers. */
  readonly mostBytes: number;
  publish(message: OutgoingMessage, lane?: BusLane): void;
  /** Returns what ends it. */
  subscribe(subject: string, take: (message: ReceivedMessage) => void, options?: SubscribeOptions): () => void;
  /** Says how the bus is, now and whenever that changes. Returns what ends it. */
  watch(heard: (event: BusEvent) => void): () => void;
}
