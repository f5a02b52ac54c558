// A connection to a server at a URL over HTTP, and the session that the server keeps for it. When the session is over, unsent
// requests are given back, and the connection ends.

import type { RemoteServer } from '../model/server-definition.ts';
import { ERA_2026 } from '../protocol/era-2026.ts';
import { eraOf } from '../protocol/eras.ts';
import type { BridgeError } from '../util/bridge-error.ts';
import type { Clock } from '../util/clock.ts';
import { deferred } from '../util/deferred.ts';
import type { Logger } from '../util/logger.ts';
import type { ExchangeGate } from './exchange-gate.ts';
import { HttpTransport } from './http-transport.ts';
import { RemoteConnection } from './remote-connection.ts';
import { failureOf, isOurs, RemoteFailure, sessionEnded } from './remote-failure.ts';
import { RemoteFetch } from './remote-fetch.ts';
import type { HeaderMap } from './remote-headers.ts';
import { RemoteLink, type RemoteTransport } from './remote-link.ts';
import type { LaunchContext } from './server-process.ts';
import { EitherTransport, SseTransport } from './sse-transport.ts';

export interface HttpContext extends LaunchContext {
  /** The gate where requests to all servers at URLs wait for a connection. */
  readonly exchanges: ExchangeGate;
  readonly logger: Logger;
}

const GOODBYE_MS = 1000;
/** The longest name of a tool in the log. */
const LONGEST_TOOL = 256;

export class HttpConnection extends RemoteConnection {
  readonly link: RemoteLink;
  /** The end of a connection over HTTP is never a server's answer. */
  readonly wasOpen = false;
  readonly isOfEarlierEra: boolean;
  readonly #context: HttpContext;
  readonly #fetch: RemoteFetch;
  readonly #session: RemoteSession;
  readonly #transport: Promise<RemoteTransport>;
  /** Transports that were started. */
  readonly #transports: RemoteTransport[] = [];

  constructor(definition: RemoteServer, context: HttpContext) {
    super(definition, context);
    this.#context = context;
    this.isOfEarlierEra = definition.transport === 'sse';
    this.#fetch = new RemoteFetch({ keeper: () => this.keeper, origin: new URL(this.definition.url).origin });
    const transport = this.#open();
    this.#transport = transport;
    transport.catch((error: unknown) => {
      if (isOurs(error)) context.failed(error);
      this.fail(error);
    });
    this.#session = new RemoteSession({
      clock: context.clock,
      ping: (signal) => this.link.ping(signal),
      retire: () => this.link.retire(),
      over: (failure) => this.lose(failure),
    });
    this.link = new RemoteLink(transport, {
      turn: context.turn,
      clock: context.clock,
      errorOf: (error) => this.#noteError(error),
      refused: (error) => this.fail(error),
      negotiated: (version) => {
        for (const one of this.#transports) one.negotiated(version);
      },
      session: this.#session,
      door: context.exchanges.door(),
    });
    void this.ended.then(() => this.link.destroy());
  }

  settled(version: string): void {
    if (eraOf(version) === ERA_2026) {
      for (const one of this.#transports) one.negotiated(version);
      void this.#transport.then((transport) => transport.negotiated(version));
    }
    queueMicrotask(() => this.link.settled()); // the answer that decided this is just being handled
  }

  async stop(): Promise<void> {
    if (!this.signal.aborted) await this.#sayGoodbye();
    this.over('was stopped');
    for (const transport of this.#transports) transport.close();
  }

  /** Tells the server to forget the session. Does not wait long, because the server will notice anyway. */
  async #sayGoodbye(): Promise<void> {
    const late = deferred<void>();
    const timer = this.#context.clock.after(GOODBYE_MS, () => late.resolve());
    const goodbyes = this.#transports.map((transport) => transport.sayGoodbye());
    await Promise.race([Promise.allSettled(goodbyes), late.promise]);
    timer.cancel();
  }

  async #open(): Promise<RemoteTransport> {
    const headers = await this.headers();
    const { transport: kind } = this.definition;
    if (kind === 'auto') return new EitherTransport((either) => this.#start(either, headers));
    return this.#start(kind === 'sse' ? 'sse' : 'http', headers);
  }

  async #start(kind: 'http' | 'sse', headers: HeaderMap): Promise<RemoteTransport> {
    this.signal.throwIfAborted();
    const { clock, maxFrameBytes, pacer } = this.#context;
    const options = {
      url: new URL(this.definition.url),
      headers,
      fetch: this.#fetch.fetch,
      clock,
      maxFrameBytes,
      pacer,
      received: this.link.receive.bind(this.link),
      mayRead: () => this.link.mayRead(),
      failed: (error: unknown) => this.#onFailure(error),
      gaveUp: (error: unknown) => this.#session.noteFailure(error),
    };
    if (kind === 'http') return this.#use(new HttpTransport({ ...options, leftOut: this.#leftOut }));
    const ended = (error: unknown): void => {
      this.#noteFault(error);
      this.over(failureOf(error).message);
    };
    const transport = this.#use(new SseTransport({ ...options, ended }));
    await transport.start();
    return transport;
  }

  readonly #leftOut = (tool: string, reason: string): void => {
    const fields = { server: this.definition.name, tool: this.safe(tool).slice(0, LONGEST_TOOL), reason };
    this.#context.logger.warn('a tool is left out: it could not be called over HTTP', fields);
  };

  #use<Kind extends RemoteTransport>(transport: Kind): Kind {
    this.#transports.push(transport);
    return transport;
  }

  #noteFault(error: unknown): void {
    if (isOurs(error)) this.#context.failed(error);
  }

  /** Notes that a stream could not be resumed. It is tried again unless the failure is final. */
  #onFailure(error: unknown): void {
    this.#noteFault(error);
    this.#noteError(error);
    if (error instanceof RemoteFailure && error.isFinal) this.#session.noteFailure(error);
  }

  #noteError(error: unknown): BridgeError {
    const failure = this.errorOf(error);
    this.lastError = failure.message;
    return failure;
  }
}

export interface RemoteSessionPorts {
  readonly clock: Clock;
  /** Asks the server for an answer; fails like any request. Aborted when the answer no longer matters. */
  readonly ping: (signal: AbortSignal) => Promise<void>;
  /** Stops sending; resolves when no answer is awaited. */
  readonly retire: () => Promise<void>;
  readonly over: (failure: RemoteFailure) => void;
}

/** Time for answers that are on their way when the session ends. */
const LAST_ANSWERS_MS = 1000;
/** Time for a server to answer the ping that asks for the session. */
const PING_MS = 5000;

/** Notices that a session has ended, and ends its connection after a moment in which open calls may be answered. */
export class RemoteSession {
  readonly #ports: RemoteSessionPorts;
  #isOver = false;
  #asking: Promise<boolean> | undefined;

  constructor(ports: RemoteSessionPorts) {
    this.#ports = ports;
  }

  /** Ends the session if the failure of a message means that. */
  noteFailure(failure: unknown): void {
    if (failure instanceof RemoteFailure && (failure.isFinal || failure.isUnreachable)) this.#end(failure);
  }

  /**
   * Resolves to true if the server has forgotten the session. Asks the server if that is uncertain: any refusal but 404
   * may concern only one bad request, and ending a session loses its state and its calls.
   */
  isForgotten(): boolean | Promise<boolean> {
    if (this.#isOver) return true;
    this.#asking ??= this.#isRefused().finally(() => {
      this.#asking = undefined;
    });
    return this.#asking;
  }

  async #isRefused(): Promise<boolean> {
    const late = deferred<void>();
    const abort = new AbortController();
    const timer = this.#ports.clock.after(PING_MS, () => late.resolve());
    try {
      await Promise.race([this.#ports.ping(abort.signal), late.promise]);
      return false;
    } catch (error) {
      if (error instanceof RemoteFailure && error.isUnheard) this.#end(sessionEnded());
      else this.noteFailure(error);
      return this.#isOver;
    } finally {
      timer.cancel();
      abort.abort();
    }
  }

  #end(failure: RemoteFailure): void {
    if (this.#isOver) return;
    this.#isOver = true;
    // After this turn, in which the senders of failed messages get their errors.
    const over = (): void => void setImmediate(() => this.#ports.over(failure));
    const timer = this.#ports.clock.after(LAST_ANSWERS_MS, over);
    void this.#ports.retire().then(() => {
      timer.cancel();
      over();
    });
  }
}
