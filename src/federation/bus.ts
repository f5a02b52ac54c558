// The bus as federation sees it: messages by subject, without guarantees. A message may be lost, come twice, come late,
// or come in another order. NATS is one bus; tests use another one inside the process.

import { invariant } from '../util/invariant.ts';

/** Headers by name, in the case in which they are sent. */
export type BusHeaders = Readonly<Record<string, string>>;

/** The connection for a message. Large frames have their own, so that small frames do not wait behind them. */
export type BusLane = 'small' | 'bulk';

const LINE_BREAK = /[\r\n]/;

/** Headers that many messages share, written as text once. */
export class FixedHeaders {
  readonly headers: BusHeaders;
  readonly text: string;

  constructor(headers: BusHeaders) {
    this.headers = headers;
    this.text = headerLines(headers);
  }
}

/** Returns the header lines of a NATS message. */
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
  /** Never changed after it was handed over. */
  readonly data: Uint8Array;
}

/** A message to be sent. */
export interface OutgoingMessage extends BusMessage {
  /** More headers, besides the message's own. */
  readonly fixed?: FixedHeaders | undefined;
}

/** A message that has come. */
export interface ReceivedMessage extends BusMessage {
  /**
   * True for the bus's own notice that nobody listens to the subject of a request. It comes on the answer's subject.
   */
  readonly isUnheard: boolean;
  /** The size of the headers, as they came. */
  readonly headBytes?: number;
}

export type BusEvent =
  | { readonly is: 'up' }
  | { readonly is: 'down'; readonly why: string }
  /** The bus does not let this daemon publish or subscribe there. */
  | { readonly is: 'denied'; readonly operation: 'publish' | 'subscribe'; readonly subject: string };

export interface SubscribeOptions {
  /** Each message goes to one of all subscribers of this queue. */
  readonly queue?: string;
  readonly lane?: BusLane;
}

export interface Bus {
  /** The maximum size of a message with its headers. */
  readonly mostBytes: number;
  publish(message: OutgoingMessage, lane?: BusLane): void;
  /** Subscribes; returns a function that ends the subscription. */
  subscribe(subject: string, take: (message: ReceivedMessage) => void, options?: SubscribeOptions): () => void;
  /** Tells the state of the bus, now and on each change. Returns a function that ends the watch. */
  watch(heard: (event: BusEvent) => void): () => void;
}
