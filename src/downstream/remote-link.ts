// A link to a server at a URL. The SDK's transports carry messages as objects, so this is the one place where bytes are
// decoded on their way: a frame that goes out is parsed, a message that comes in is written.

import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import type { JSONRPCMessage } from '@modelcontextprotocol/sdk/types.js';
import { rpcErrorOf } from '../core/rpc-error.ts';
import type { BridgeError } from '../util/bridge-error.ts';
import type { Clock } from '../util/clock.ts';
import { endsOf } from '../wire/frame-ends.ts';
import { FrameSplitter } from '../wire/frame-splitter.ts';
import type { Link, LinkHandler } from '../wire/link.ts';
import { type ByteSink, type FlushTurn, Outbox } from '../wire/outbox.ts';

export interface RemoteLinkOptions {
  readonly turn: FlushTurn;
  readonly clock: Clock;
  /** What a failed message's sender is told. */
  readonly errorOf: (error: unknown) => BridgeError;
  /** What is told of a call whose answer will not come any more. */
  readonly lost: () => BridgeError;
  /** What the server says may be no longer. */
  readonly maxFrameBytes: number;
  /** The first message has failed: nothing can follow. */
  readonly refused: (error: unknown) => void;
}

/** How long what a stream has brought may take through the transport, once the stream has ended. */
const STREAM_GRACE_MS = 100;

/** A request without an answer. */
interface Awaited {
  /** Its stream can be taken up again where it broke. */
  isResumable: boolean;
  isBroken: boolean;
}

export class RemoteLink implements Link, ByteSink {
  readonly outbox: Outbox;
  /** Bytes of messages whose sending has not ended. */
  writableLength = 0;
  readonly #transport: Promise<Transport>;
  readonly #splitter: FrameSplitter;
  readonly #options: RemoteLinkOptions;
  /** Notifications are in order, and before the requests that come after them. */
  #afterNotices: Promise<void> = Promise.resolve();
  readonly #awaited = new Map<unknown, Awaited>();
  #handler: LinkHandler | undefined;
  #isClosed = false;

  constructor(transport: Promise<Transport>, options: RemoteLinkOptions) {
    this.#transport = transport;
    this.#options = options;
    this.outbox = new Outbox(this, options.turn);
    // What comes this way was measured before; with an id of ours in it, it may be a little longer.
    this.#splitter = new FrameSplitter(Number.POSITIVE_INFINITY, {
      frame: (b, start, end) => this.#send(JSON.parse(b.toString('utf8', start, end)) as JSONRPCMessage, end - start),
      overflowed: () => undefined,
      badFrame: () => undefined,
    });
  }

  start(handler: LinkHandler): void {
    this.#handler = handler;
  }

  /** A message of the server. */
  receive(message: JSONRPCMessage): void {
    if (!('method' in message)) this.#awaited.delete(message.id);
    this.#handOn(JSON.stringify(message));
  }

  #handOn(json: string): void {
    if (this.#isClosed) return;
    const frame = Buffer.from(`${json}\n`);
    const end = frame.length - 1;
    if (end <= this.#options.maxFrameBytes) return this.#handler?.frame(frame, 0, end);
    this.#handler?.overflowed();
    this.#handler?.badFrame('too-long', endsOf(frame, 0, end));
  }

  /** The stream of a request's answer has ended. */
  streamEnded(id: unknown): void {
    this.#options.clock.after(STREAM_GRACE_MS, () => {
      const awaited = this.#awaited.get(id);
      if (awaited === undefined) return;
      awaited.isBroken = true;
      if (!awaited.isResumable) this.#fail(id, this.#options.lost());
    });
  }

  /** Streams that broke could not be taken up again. */
  gaveUp(): void {
    for (const [id, { isBroken }] of this.#awaited) if (isBroken) this.#fail(id, this.#options.lost());
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
    const sent = this.#afterNotices.then(() => this.#hand(message));
    const settled = sent
      .catch((error: unknown) => this.#failed(message, error))
      .finally(() => {
        this.writableLength -= bytes;
        if (this.writableLength === 0) this.#handler?.drained();
      });
    if (!('id' in message)) this.#afterNotices = settled;
  }

  async #hand(message: JSONRPCMessage): Promise<void> {
    const transport = await this.#transport;
    if (!('id' in message) || !('method' in message)) return this.#handNotice(transport, message);
    const awaited = { isResumable: false, isBroken: false };
    this.#awaited.set(message.id, awaited);
    const onresumptiontoken = (): void => {
      awaited.isResumable = true;
    };
    await transport.send(message, { onresumptiontoken });
  }

  #handNotice(transport: Transport, message: JSONRPCMessage): Promise<void> {
    // Nobody waits for what is cancelled, and it need not be answered.
    if ('method' in message && message.method === 'notifications/cancelled')
      this.#awaited.delete(message.params?.requestId);
    return transport.send(message);
  }

  /** The one who waits for it is told; nobody else is concerned. */
  #failed(message: JSONRPCMessage, error: unknown): void {
    if (!('id' in message) || !('method' in message)) return;
    if (message.method === 'initialize') this.#options.refused(error);
    else this.#fail(message.id, this.#options.errorOf(error));
  }

  #fail(id: unknown, error: BridgeError): void {
    this.#awaited.delete(id);
    this.#handOn(`{"jsonrpc":"2.0","id":${JSON.stringify(id)},"error":${rpcErrorOf(error)}}`);
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
