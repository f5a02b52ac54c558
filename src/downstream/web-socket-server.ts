// A connection to a server over a WebSocket, by the `ws` package, which is loaded with the first of them.

import type { WebSocket } from 'ws';
import type { BridgeError } from '../util/bridge-error.ts';
import type { LaunchContext } from './child-process.ts';
import type { ServerConnection } from './connection.ts';
import type { RemoteEnd } from './remote-end.ts';
import { networkFailure, RemoteFailure, statusFailure } from './remote-failure.ts';
import { WebSocketLink } from './web-socket-link.ts';

const SUBPROTOCOL = 'mcp';
/** How long a server may take to say goodbye. */
const GOODBYE_MS = 1000;

type WebSocketContext = Pick<LaunchContext, 'turn' | 'pacer' | 'clock' | 'maxFrameBytes'>;

export class WebSocketConnection implements ServerConnection {
  readonly link: WebSocketLink;
  readonly pid = undefined;
  readonly #end: RemoteEnd;
  readonly #context: WebSocketContext;
  #socket: WebSocket | undefined;
  /** Settles when the socket is closed. */
  #gone = Promise.resolve();
  #isOpen = false;
  #lastError = '';

  constructor(end: RemoteEnd, context: WebSocketContext) {
    this.#end = end;
    this.#context = context;
    this.link = new WebSocketLink(context);
    this.#open().catch((error: unknown) => end.fail(error));
    void this.ended.then(() => this.#leave());
  }

  get ended(): Promise<string> {
    return this.#end.ended;
  }

  get failure(): BridgeError | undefined {
    return this.#end.failure;
  }

  lastWords(): string {
    return this.#lastError;
  }

  lastLine(): string {
    return this.#lastError;
  }

  safe(text: string): string {
    return this.#end.safe(text);
  }

  async stop(): Promise<void> {
    this.#end.over('was stopped');
    await this.#gone;
  }

  async #open(): Promise<void> {
    const headers = await this.#end.headers();
    const { WebSocket } = await import('ws');
    this.#end.signal.throwIfAborted();
    const socket = new WebSocket(this.#end.definition.url, SUBPROTOCOL, {
      headers,
      maxPayload: this.#context.maxFrameBytes,
      perMessageDeflate: false,
      skipUTF8Validation: true, // the link does, and lets the others go on
    });
    this.#socket = socket;
    this.#gone = new Promise((resolve) => socket.once('close', () => resolve()));
    this.#listenTo(socket);
  }

  #listenTo(socket: WebSocket): void {
    socket.on('error', (error) => this.#onError(error));
    socket.on('unexpected-response', (_, { statusCode }) => this.#end.fail(upgradeFailure(statusCode ?? 0)));
    socket.on('open', () => {
      this.#isOpen = true;
      this.link.attach(socket);
    });
    socket.on('close', () => this.#end.over('closed the connection'));
  }

  /** 'close' follows. */
  #onError(error: Error): void {
    if (!this.#isOpen) return this.#end.fail(openingFailure(error));
    const isTooLong = 'code' in error && error.code === 'WS_ERR_UNSUPPORTED_MESSAGE_LENGTH';
    if (isTooLong) this.link.overflowed();
    this.#lastError = isTooLong ? 'sent a message beyond limits.maxMessageBytes' : networkFailure(error).message;
    this.#end.over(this.#lastError);
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

/** The socket's own words, where it was the answer to the upgrade that was wrong. */
function openingFailure(error: Error): RemoteFailure {
  if (error.message.includes('subprotocol')) return new RemoteFailure(`does not speak the subprotocol ${SUBPROTOCOL}`);
  if (error.message.includes('Upgrade header') || error.message.includes('Sec-WebSocket'))
    return new RemoteFailure('is no WebSocket');
  return networkFailure(error);
}
