// A link to a server at a URL. The SDK's transports carry messages as objects, so this is the one place where bytes are
// decoded on their way: a frame that goes out is parsed, a message that comes in is written.

import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import type { JSONRPCMessage } from '@modelcontextprotocol/sdk/types.js';
import { FrameSplitter } from '../wire/frame-splitter.ts';
import type { Link, LinkHandler } from '../wire/link.ts';
import { type ByteSink, type FlushTurn, Outbox } from '../wire/outbox.ts';

export interface RemoteLinkOptions {
  readonly turn: FlushTurn;
  readonly maxFrameBytes: number;
  /** What a failed message's sender is told, without secrets. */
  readonly describe: (error: unknown) => string;
}

export class RemoteLink implements Link, ByteSink {
  readonly outbox: Outbox;
  /** Bytes of messages whose sending has not ended. */
  writableLength = 0;
  readonly #transport: Promise<Transport>;
  readonly #splitter: FrameSplitter;
  readonly #describe: (error: unknown) => string;
  /** Notifications are in order, and before the requests that come after them. */
  #afterNotices: Promise<void> = Promise.resolve();
  #handler: LinkHandler | undefined;
  #isClosed = false;

  constructor(transport: Promise<Transport>, { turn, maxFrameBytes, describe }: RemoteLinkOptions) {
    this.#transport = transport;
    this.#describe = describe;
    this.outbox = new Outbox(this, turn);
    this.#splitter = new FrameSplitter(maxFrameBytes, {
      frame: (b, start, end) => this.#send(JSON.parse(b.toString('utf8', start, end)) as JSONRPCMessage, end - start),
      overflowed: () => undefined,
      badFrame: () => undefined,
    });
  }

  start(handler: LinkHandler): void {
    this.#handler = handler;
  }

  /** A message of the server. */
  receive(message: unknown): void {
    if (this.#isClosed) return;
    const frame = Buffer.from(`${JSON.stringify(message)}\n`);
    this.#handler?.frame(frame, 0, frame.length - 1);
  }

  write(bytes: Uint8Array): boolean {
    this.#splitter.push(Buffer.from(bytes)); // its own copy: the splitter keeps what it is given
    return true;
  }
  cork(): void {
    // Each message is a request of its own anyway.
  }
  uncork(): void {
    // See cork().
  }

  #send(message: JSONRPCMessage, bytes: number): void {
    this.writableLength += bytes;
    const sent = this.#afterNotices.then(async () => (await this.#transport).send(message));
    const settled = sent
      .catch((error: unknown) => this.#failed(message, error))
      .finally(() => {
        this.writableLength -= bytes;
        if (this.writableLength === 0) this.#handler?.drained();
      });
    if (!('id' in message)) this.#afterNotices = settled;
  }

  /** The one who waits for it is told; nobody else is concerned. */
  #failed(message: JSONRPCMessage, error: unknown): void {
    if (!('id' in message) || !('method' in message)) return;
    this.receive({ jsonrpc: '2.0', id: message.id, error: { code: -32603, message: this.#describe(error) } });
  }

  pause(): void {
    // There is no stream to hold up: each answer is one that was asked for.
  }
  resume(): void {
    // See pause().
  }

  end(): void {
    this.outbox.flush();
    this.destroy();
  }

  destroy(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.outbox.close();
    queueMicrotask(() => this.#handler?.closed());
  }
}
