// A connection to a server at a URL over HTTP.

import type { RemoteServer } from '../model/server-definition.ts';
import type { BridgeError } from '../util/bridge-error.ts';
import type { Clock } from '../util/clock.ts';
import { deferred } from '../util/deferred.ts';
import type { ReadPacer } from '../wire/read-pacer.ts';
import type { LaunchContext } from './child-process.ts';
import type { ServerConnection } from './connection.ts';
import { EitherTransport } from './either-transport.ts';
import type { ExchangeGate } from './exchange-gate.ts';
import { HttpTransport } from './http-transport.ts';
import { RemoteEnd } from './remote-end.ts';
import { failureOf, isOurs, RemoteFailure } from './remote-failure.ts';
import { RemoteFetch } from './remote-fetch.ts';
import type { HeaderMap } from './remote-headers.ts';
import { RemoteLink } from './remote-link.ts';
import { RemoteSession } from './remote-session.ts';
import type { RemoteTransport } from './remote-transport.ts';
import { SseTransport } from './sse-transport.ts';
import { WebSocketConnection } from './web-socket-server.ts';

export interface RemoteContext extends LaunchContext {
  /** Where requests to servers at a URL wait for a connection. */
  readonly exchanges: ExchangeGate;
}

export function connectRemote(definition: RemoteServer, context: RemoteContext): ServerConnection {
  const end = new RemoteEnd(definition, context);
  return definition.transport === 'ws' ? new WebSocketConnection(end, context) : new RemoteConnection(end, context);
}

const GOODBYE_MS = 1000;

class RemoteConnection implements ServerConnection {
  readonly link: RemoteLink;
  readonly pid = undefined;
  readonly #end: RemoteEnd;
  readonly #clock: Clock;
  /** Hears of an error of ours. */
  readonly #failed: (error: unknown) => void;
  readonly #maxFrameBytes: number;
  readonly #pacer: ReadPacer;
  readonly #fetch: RemoteFetch;
  readonly #session: RemoteSession;
  readonly #transports: RemoteTransport[] = [];
  #lastError = '';

  constructor(end: RemoteEnd, context: RemoteContext) {
    this.#end = end;
    this.#clock = context.clock;
    this.#failed = context.failed;
    this.#maxFrameBytes = context.maxFrameBytes;
    this.#pacer = context.pacer;
    this.#fetch = new RemoteFetch({ keeper: () => end.keeper, origin: new URL(end.definition.url).origin });
    const transport = this.#open();
    transport.catch((error: unknown) => {
      if (isOurs(error)) context.failed(error);
      end.fail(error);
    });
    this.#session = new RemoteSession({
      clock: context.clock,
      ping: (signal) => this.link.ping(signal),
      retire: () => this.link.retire(),
      over: (failure) => end.lose(failure),
    });
    this.link = new RemoteLink(transport, {
      turn: context.turn,
      clock: context.clock,
      errorOf: (error) => this.#errorOf(error),
      refused: (error) => end.fail(error),
      negotiated: (version) => {
        for (const one of this.#transports) one.negotiated(version);
      },
      session: this.#session,
      door: context.exchanges.door(),
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
    for (const transport of this.#transports) transport.close();
  }

  /** The server may forget what it keeps for us; one that does not answer will find out by itself. */
  async #sayGoodbye(): Promise<void> {
    const late = deferred<void>();
    const timer = this.#clock.after(GOODBYE_MS, () => late.resolve());
    const goodbyes = this.#transports.map((transport) => transport.sayGoodbye());
    await Promise.race([Promise.allSettled(goodbyes), late.promise]);
    timer.cancel();
  }

  async #open(): Promise<RemoteTransport> {
    const headers = await this.#end.headers();
    const { transport: kind } = this.#end.definition;
    if (kind === 'auto') return new EitherTransport((either) => this.#start(either, headers));
    return this.#start(kind === 'sse' ? 'sse' : 'http', headers);
  }

  async #start(kind: 'http' | 'sse', headers: HeaderMap): Promise<RemoteTransport> {
    this.#end.signal.throwIfAborted();
    const options = {
      url: new URL(this.#end.definition.url),
      headers,
      fetch: this.#fetch.fetch,
      clock: this.#clock,
      maxFrameBytes: this.#maxFrameBytes,
      pacer: this.#pacer,
      received: this.link.receive.bind(this.link),
      mayRead: () => this.link.mayRead(),
      failed: (error: unknown) => this.#onFailure(error),
      gaveUp: (error: unknown) => this.#session.examine(error),
    };
    if (kind === 'http') return this.#use(new HttpTransport(options));
    const ended = (error: unknown): void => {
      this.#noteFault(error);
      this.#end.over(failureOf(error).message);
    };
    const transport = this.#use(new SseTransport({ ...options, ended }));
    await transport.start();
    return transport;
  }

  #use<Kind extends RemoteTransport>(transport: Kind): Kind {
    this.#transports.push(transport);
    return transport;
  }

  #noteFault(error: unknown): void {
    if (isOurs(error)) this.#failed(error);
  }

  /** A stream that cannot be taken up at once is tried again, unless that is in vain. */
  #onFailure(error: unknown): void {
    this.#noteFault(error);
    this.#errorOf(error);
    if (error instanceof RemoteFailure && error.isFinal) this.#session.examine(error);
  }

  #errorOf(error: unknown): BridgeError {
    const failure = this.#end.errorOf(error);
    this.#lastError = failure.message;
    return failure;
  }
}
