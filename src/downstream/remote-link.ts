// A link to a server at a URL. The SDK's transports carry messages as objects, so this is the one place where bytes are
// decoded on their way: a frame that goes out is parsed, a message that comes in is written.

import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import type { JSONRPCMessage, JSONRPCRequest } from '@modelcontextprotocol/sdk/types.js';
import { rpcErrorOf } from '../core/rpc-error.ts';
import type { BridgeError } from '../util/bridge-error.ts';
import type { Clock } from '../util/clock.ts';
import { endsOf } from '../wire/frame-ends.ts';
import { FrameSplitter } from '../wire/frame-splitter.ts';
import type { Link, LinkHandler } from '../wire/link.ts';
import { type ByteSink, type FlushTurn, Outbox } from '../wire/outbox.ts';
import { RemoteFailure, sessionEnded } from './remote-failure.ts';
import type { RemoteSession } from './remote-session.ts';

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
  readonly session: Pick<RemoteSession, 'examine' | 'isForgotten'>;
}

/** How long what a stream has brought may take through the transport, once the stream has ended. */
const STREAM_GRACE_MS = 100;

/**
 * A server that answers in JSON says nothing of a request before it answers it, so what it has been sent looks like what it has
 * not taken. So much of that does not count, or one long call would hold up all others.
 */
const BYTES_UNDER_WAY = 16 << 20;

/** What of a message counts as not taken yet. */
interface Charge {
  bytes: number;
}

/** A request without an answer. */
interface Awaited {
  readonly charge: Charge;
  /** Until the transport has it. */
  unsent: JSONRPCRequest | undefined;
  /** Its stream can be taken up again where it broke. */
  isResumable: boolean;
  isBroken: boolean;
}

export class RemoteLink implements Link, ByteSink {
  readonly outbox: Outbox;
  /** Bytes of messages whose sending has not ended, and that somebody waits for. */
  #bytesUnderWay = 0;
  readonly #transport: Promise<Transport>;
  readonly #splitter: FrameSplitter;
  readonly #options: RemoteLinkOptions;
  /** Notifications are in order, and before the requests that come after them. */
  #afterNotices: Promise<void> = Promise.resolve();
  readonly #awaited = new Map<unknown, Awaited>();
  #isRetired = false;
  #becameQuiet = (): void => undefined;
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
    this.#handOn(JSON.stringify(message));
    if (!('method' in message)) this.#settle(message.id);
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

  /** Sends nothing more, and gives back what it has not sent; resolves when nothing is awaited. */
  retire(): Promise<void> {
    this.#isRetired = true;
    for (const { unsent } of [...this.#awaited.values()]) if (unsent !== undefined) this.#refuse(unsent);
    if (this.#awaited.size === 0) return Promise.resolve();
    return new Promise((resolve) => {
      this.#becameQuiet = resolve;
    });
  }

  get writableLength(): number {
    return Math.max(0, this.#bytesUnderWay - BYTES_UNDER_WAY);
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
    const charge = { bytes };
    if (isRequest(message)) {
      if (this.#isRetired) return this.#refuse(message);
      this.#awaited.set(message.id, { charge, unsent: message, isResumable: false, isBroken: false });
    }
    this.#bytesUnderWay += bytes;
    const sent = this.#afterNotices.then(() => this.#hand(message));
    const settled = sent.catch((error: unknown) => this.#failed(message, error)).finally(() => this.#release(charge));
    if (!('id' in message)) this.#afterNotices = settled;
  }

  #release(charge: Charge): void {
    if (charge.bytes === 0) return;
    this.#bytesUnderWay -= charge.bytes;
    charge.bytes = 0;
    this.#handler?.drained();
  }

  async #hand(message: JSONRPCMessage): Promise<void> {
    const transport = await this.#transport;
    if (!isRequest(message)) return this.#handNotice(transport, message);
    const awaited = this.#awaited.get(message.id);
    if (awaited === undefined) return; // it was given back meanwhile, or cancelled
    awaited.unsent = undefined;
    const onresumptiontoken = (): void => {
      awaited.isResumable = true;
    };
    await transport.send(message, { onresumptiontoken });
  }

  async #handNotice(transport: Transport, message: JSONRPCMessage): Promise<void> {
    // Nobody waits for what is cancelled, and it need not be answered.
    if ('method' in message && message.method === 'notifications/cancelled') this.#settle(message.params?.requestId);
    if (!this.#isRetired) await transport.send(message);
  }

  /** The one who waits for it is told, or asks again in another session; nobody else is concerned. */
  async #failed(message: JSONRPCMessage, error: unknown): Promise<void> {
    const { session, refused, errorOf } = this.#options;
    if (isRequest(message) && message.method === 'initialize') return refused(error);
    session.examine(error);
    if (!isRequest(message)) return;
    const isUnheard = error instanceof RemoteFailure && error.isUnheard;
    if (isUnheard && this.#giveBack(message) && (await session.isForgotten())) return this.#settle(message.id);
    this.#fail(message.id, errorOf(error));
  }

  /** Nothing is asked here any more. */
  #refuse(request: JSONRPCRequest): void {
    if (this.#giveBack(request)) this.#settle(request.id);
    else this.#fail(request.id, this.#options.errorOf(sessionEnded()));
  }

  /** Whether it is asked again, if this connection ends. */
  #giveBack(request: JSONRPCRequest): boolean {
    const frame = Buffer.from(`${JSON.stringify(request)}\n`);
    return this.#handler?.returned?.({ b: frame, start: 0, end: frame.length - 1 }) ?? false;
  }

  #fail(id: unknown, error: BridgeError): void {
    this.#handOn(`{"jsonrpc":"2.0","id":${JSON.stringify(id)},"error":${rpcErrorOf(error)}}`);
    this.#settle(id);
  }

  /** Nobody waits for its answer any more, be it that the server still works on it. */
  #settle(id: unknown): void {
    const awaited = this.#awaited.get(id);
    this.#awaited.delete(id);
    if (awaited !== undefined) this.#release(awaited.charge);
    if (this.#awaited.size === 0) this.#becameQuiet();
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
    if (this.#isRetired) this.outbox.flush(); // what stands in it goes back
    this.#isClosed = true;
    this.outbox.close();
    queueMicrotask(() => this.#handler?.closed());
  }
}

function isRequest(message: JSONRPCMessage): message is JSONRPCRequest {
  return 'id' in message && 'method' in message;
}
