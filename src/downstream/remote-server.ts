// A connection to a server at a URL over HTTP, by the SDK's transports, which are loaded with the first of them.

import type { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import type { JSONRPCMessage } from '@modelcontextprotocol/sdk/types.js';
import type { RemoteServer } from '../core/server-definition.ts';
import type { BridgeError } from '../util/bridge-error.ts';
import type { Clock } from '../util/clock.ts';
import { deferred } from '../util/deferred.ts';
import type { LaunchContext } from './child-process.ts';
import type { ServerConnection } from './connection.ts';
import { EitherTransport } from './either-transport.ts';
import { RemoteEnd } from './remote-end.ts';
import { RemoteFailure } from './remote-failure.ts';
import { RemoteFetch } from './remote-fetch.ts';
import type { HeaderMap } from './remote-headers.ts';
import { RemoteLink } from './remote-link.ts';
import { RemoteSession } from './remote-session.ts';
import { WebSocketConnection } from './web-socket-server.ts';

export function connectRemote(definition: RemoteServer, context: LaunchContext): ServerConnection {
  const end = new RemoteEnd(definition, context);
  return definition.transport === 'ws' ? new WebSocketConnection(end, context) : new RemoteConnection(end, context);
}

/** For a stream that breaks in the middle of a call: some 15 s in all. What the server asks for goes before it. */
const RECONNECTION = {
  initialReconnectionDelay: 250,
  maxReconnectionDelay: 5_000,
  reconnectionDelayGrowFactor: 2,
  maxRetries: 7,
};

const GOODBYE_MS = 1000;

/** What nobody but the bridge asks: ids of its own are numbers. */
const PING_ID = 'mcp-bridge/ping';

/** How the SDK says that a stream could not be taken up again. */
const GAVE_UP = 'Maximum reconnection attempts';

class RemoteConnection implements ServerConnection {
  readonly link: RemoteLink;
  readonly pid = undefined;
  readonly #end: RemoteEnd;
  readonly #clock: Clock;
  readonly #fetch: RemoteFetch;
  readonly #session: RemoteSession;
  readonly #transports: Transport[] = [];
  #lastError = '';

  constructor(end: RemoteEnd, context: LaunchContext) {
    this.#end = end;
    this.#clock = context.clock;
    this.#fetch = new RemoteFetch({
      keeper: () => end.keeper,
      origin: new URL(end.definition.url).origin,
      streamEnded: (id) => this.link.streamEnded(id),
    });
    const transport = this.#open();
    transport.catch((error: unknown) => end.fail(this.#causeOf(error)));
    this.#session = new RemoteSession({
      clock: context.clock,
      ping: async () => (await transport).send({ jsonrpc: '2.0', id: PING_ID, method: 'ping' }),
      retire: () => this.link.retire(),
      over: (failure) => end.lose(failure),
    });
    this.link = new RemoteLink(transport, {
      ...context,
      errorOf: (error) => end.errorOf(this.#causeOf(error)),
      lost: () => end.lostCall('ended the stream before its answer'),
      refused: (error) => end.fail(this.#causeOf(error)),
      session: this.#session,
    });
    void this.ended.then(() => this.link.destroy());
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
    if (!this.#end.signal.aborted) await this.#sayGoodbye();
    this.#end.over('was stopped');
    await Promise.allSettled(this.#transports.map((transport) => transport.close())); // they are gone either way
  }

  /** The server may forget what it keeps for us; one that does not answer will find out by itself. */
  async #sayGoodbye(): Promise<void> {
    const late = deferred<void>();
    const timer = this.#clock.after(GOODBYE_MS, () => late.resolve());
    const goodbyes = this.#transports.map((transport) =>
      'terminateSession' in transport ? (transport as StreamableHTTPClientTransport).terminateSession() : undefined,
    );
    await Promise.race([Promise.allSettled(goodbyes), late.promise]);
    timer.cancel();
  }

  async #open(): Promise<Transport> {
    const headers = await this.#end.headers();
    const { transport: kind } = this.#end.definition;
    if (kind === 'auto') return new EitherTransport((either) => this.#start(either, headers));
    return this.#start(kind === 'sse' ? 'sse' : 'http', headers);
  }

  async #start(kind: 'http' | 'sse', headers: HeaderMap): Promise<Transport> {
    const transport = await this.#make(kind, headers);
    this.#end.signal.throwIfAborted();
    this.#transports.push(transport);
    transport.onmessage = (message: JSONRPCMessage) => this.#received(transport, message);
    transport.onerror = (error) => this.#onError(error);
    await transport.start();
    transport.onclose = () => this.#end.over('closed the connection');
    // An event stream that breaks comes back as another session, which nobody has initialized.
    if (kind === 'sse') transport.onerror = (error) => this.#onStreamError(error);
    return transport;
  }

  async #make(kind: 'http' | 'sse', headers: HeaderMap): Promise<Transport> {
    const url = new URL(this.#end.definition.url);
    const options = { requestInit: { headers }, fetch: this.#fetch.fetch };
    if (kind === 'sse') {
      const { SSEClientTransport } = await import('@modelcontextprotocol/sdk/client/sse.js');
      return new SSEClientTransport(url, options);
    }
    const { StreamableHTTPClientTransport } = await import('@modelcontextprotocol/sdk/client/streamableHttp.js');
    return new StreamableHTTPClientTransport(url, { ...options, reconnectionOptions: RECONNECTION }) as Transport;
  }

  #received(transport: Transport, message: JSONRPCMessage): void {
    if ('id' in message && message.id === PING_ID && !('method' in message)) return;
    // Later requests must name the version that the first answer has settled on.
    if ('result' in message && typeof message.result.protocolVersion === 'string')
      transport.setProtocolVersion?.(message.result.protocolVersion);
    this.link.receive(message);
  }

  /** The transports tell of an error here before they throw it. */
  #onError(error: Error): void {
    this.#lastError = this.#end.errorOf(this.#causeOf(error)).message;
    if (error.message.startsWith(GAVE_UP)) this.#gaveUp();
    // A stream that cannot be taken up at once is tried again; messages that find nobody are the link's to look at.
    if (error instanceof RemoteFailure && error.isFinal) this.#session.examine(error);
  }

  #gaveUp(): void {
    this.link.gaveUp();
    this.#session.examine(this.#fetch.failure);
  }

  #onStreamError(error: Error): void {
    this.#onError(error);
    if (isEventStreamError(error)) this.#end.over('closed the connection');
  }

  #causeOf(error: unknown): unknown {
    return isEventStreamError(error) ? (this.#fetch.failure ?? error) : error;
  }
}

/** An SseError: what was thrown is only a text in it. */
function isEventStreamError(error: unknown): boolean {
  return error instanceof Error && 'event' in error;
}
