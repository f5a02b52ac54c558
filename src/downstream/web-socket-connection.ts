// A connection to a server over a WebSocket: each text frame is one message, passed on unchanged and not decoded. The
// package `ws` is loaded with the first such connection.

import { isUtf8 } from 'node:buffer';
import type { WebSocket } from 'ws';
import type { RemoteServer } from '../model/server-definition.ts';
import { endsOf } from '../wire/frame-ends.ts';
import { FrameSplitter } from '../wire/frame-splitter.ts';
import type { Link, LinkHandler } from '../wire/link.ts';
import { type ByteSink, type FlushTurn, Outbox } from '../wire/outbox.ts';
import type { PacedQueue, ReadPacer } from '../wire/read-pacer.ts';
import { RemoteConnection } from './remote-connection.ts';
import { networkFailure, RemoteFailure, statusFailure } from './remote-failure.ts';
import type { LaunchContext } from './server-process.ts';

const SUBPROTOCOL = 'mcp';
/** Time for a server to close its side. */
const GOODBYE_MS = 1000;

export class WebSocketConnection extends RemoteConnection {
  readonly link: WebSocketLink;
  readonly #context: LaunchContext;
  #socket: WebSocket | undefined;
  /** Resolves when the socket is closed. */
  #gone = Promise.resolve();
  #isOpen = false;

  constructor(definition: RemoteServer, context: LaunchContext) {
    super(definition, context);
    this.#context = context;
    this.link = new WebSocketLink(context);
    this.#open().catch((error: unknown) => this.fail(error));
    void this.ended.then(() => this.#leave());
  }

  get wasOpen(): boolean {
    return this.#isOpen;
  }

  async stop(): Promise<void> {
    this.over('was stopped');
    await this.#gone;
  }

  async #open(): Promise<void> {
    const headers = await this.headers();
    const { WebSocket } = await import('ws');
    this.signal.throwIfAborted();
    const socket = new WebSocket(this.definition.url, SUBPROTOCOL, {
      headers,
      maxPayload: this.#context.maxFrameBytes,
      perMessageDeflate: false,
      skipUTF8Validation: true, // the link validates each message, and drops only the bad one
    });
    this.#socket = socket;
    this.#gone = new Promise((resolve) => socket.once('close', () => resolve()));
    this.#listenTo(socket);
  }

  #listenTo(socket: WebSocket): void {
    socket.on('error', (error) => this.#onError(error));
    socket.on('unexpected-response', (_, { statusCode }) => this.fail(upgradeFailure(statusCode ?? 0)));
    socket.on('open', () => {
      this.#isOpen = true;
      this.link.attach(socket);
    });
    socket.on('close', () => this.over('closed the connection'));
  }

  /** Notes the reason; 'close' follows. */
  #onError(error: Error): void {
    if (!this.#isOpen) return this.fail(openingFailure(error));
    const isTooLong = 'code' in error && error.code === 'WS_ERR_UNSUPPORTED_MESSAGE_LENGTH';
    if (isTooLong) this.link.overflowed();
    this.lastError = isTooLong ? 'sent a message beyond limits.maxMessageBytes' : networkFailure(error).message;
    this.over(this.lastError);
  }

  #leave(): void {
    if (!this.#isOpen) {
      this.#socket?.terminate();
      return this.link.destroy();
    }
    const timer = this.#context.clock.after(GOODBYE_MS, () => this.link.destroy());
    void this.#gone.then(() => timer.cancel());
    this.link.end();
  }
}

function upgradeFailure(status: number): RemoteFailure {
  if (status >= 200 && status < 300) return new RemoteFailure(`is no WebSocket (HTTP ${status})`, { status });
  return statusFailure(status, false);
}

/**
 * The failure for an upgrade that did not succeed. `ws` has no codes for wrong answers, so its message texts decide.
 */
function openingFailure(error: Error): RemoteFailure {
  if (error.message.includes('subprotocol')) return new RemoteFailure(`does not speak the subprotocol ${SUBPROTOCOL}`);
  if (error.message.includes('Upgrade header') || error.message.includes('Sec-WebSocket'))
    return new RemoteFailure('is no WebSocket');
  return networkFailure(error);
}

const NEWLINE = 0x0a;
const SPACE = 0x20;
/** The code of a close frame for an end without a fault (RFC 6455, 7.4.1). */
const NORMAL = 1000;

export class WebSocketLink implements Link, ByteSink {
  readonly outbox: Outbox;
  readonly #splitter: FrameSplitter;
  #socket: WebSocket | undefined;
  /** Messages that were sent before there was a socket. */
  #early: Buffer[] = [];
  #handler: LinkHandler | undefined;
  /** Messages that arrived; each is handed on when there is time in the turn. */
  readonly #received: PacedQueue<Buffer>;
  #isPaused = false;
  #isClosed = false;

  constructor({ turn, pacer }: { readonly turn: FlushTurn; readonly pacer: ReadPacer }) {
    this.outbox = new Outbox(this, turn);
    this.#received = pacer.queue<Buffer>({
      take: (message) => this.#receive(message),
      pause: () => this.#socket?.pause(),
      resume: () => this.#isPaused || this.#socket?.resume(),
      failed: (error) => this.#fail(error),
    });
    // The limit was checked when the message arrived from a client; with the bridge's id it may be slightly longer.
    this.#splitter = new FrameSplitter(Number.POSITIVE_INFINITY, {
      frame: (b, start, end) => this.#send(b.subarray(start, end)),
      overflowed: () => undefined,
      badFrame: () => undefined,
    });
  }

  /** Begins to use a socket that has just opened. */
  attach(socket: WebSocket): void {
    this.#socket = socket;
    // `nodebuffer` is the socket's binaryType
    socket.on('message', (data) => this.#received.push(data as Buffer, (data as Buffer).length));
    socket.on('close', () => {
      this.#received.flush(); // these arrived before the end
      this.#closed();
    });
    if (this.#isPaused) socket.pause();
    for (const message of this.#early.splice(0)) this.#send(message);
  }

  start(handler: LinkHandler): void {
    this.#handler = handler;
  }

  /** Reports a message beyond the limit, after which the socket closes. */
  overflowed(): void {
    this.#handler?.overflowed();
  }

  #fail(error: unknown): void {
    this.#handler?.failed?.(error);
    this.destroy();
  }

  #receive(data: Buffer): undefined {
    if (this.#isClosed || data.length === 0) return;
    if (!isUtf8(data)) {
      this.#handler?.badFrame('not-utf8', endsOf(data, 0, data.length));
      return;
    }
    const frame = Buffer.allocUnsafe(data.length + 1);
    data.copy(frame);
    // A frame of the bridge ends at its first newline. In JSON a newline means no more than a space.
    for (let at = frame.indexOf(NEWLINE); at >= 0 && at < data.length; at = frame.indexOf(NEWLINE, at + 1))
      frame[at] = SPACE;
    frame[data.length] = NEWLINE;
    this.#handler?.frame(frame, 0, data.length);
  }

  get writableLength(): number {
    const early = this.#early.reduce((sum, message) => sum + message.length, 0);
    return early + (this.#socket?.bufferedAmount ?? 0);
  }

  write(bytes: Uint8Array): boolean {
    this.#splitter.push(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength));
    return true;
  }
  cork(): void {
    // Each message is a separate frame anyway.
  }
  uncork(): void {
    // See cork().
  }

  #send(message: Buffer): void {
    const socket = this.#socket;
    if (socket === undefined) {
      this.#early.push(message);
      return;
    }
    // A failed write leads to 'close', which handles it.
    socket.send(message, { binary: false }, () => this.#handler?.drained());
  }

  pause(): void {
    this.#isPaused = true;
    this.#socket?.pause();
  }

  resume(): void {
    this.#isPaused = false;
    if (this.#received.isEmpty) this.#socket?.resume();
  }

  end(): void {
    this.outbox.flush();
    this.outbox.close();
    if (this.#socket === undefined) return this.destroy();
    this.#socket.resume();
    this.#socket.close(NORMAL);
  }

  destroy(): void {
    this.outbox.close();
    this.#received.drop();
    if (this.#socket === undefined) queueMicrotask(() => this.#closed());
    else this.#socket.terminate();
  }

  #closed(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#early = [];
    this.outbox.close();
    this.#handler?.closed();
  }
}
