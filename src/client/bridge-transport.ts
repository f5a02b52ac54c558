// The SDK's `Transport` over the bridge's socket, for the `Client` of both SDK lines. It survives the loss of socket
// and daemon (resuming-connection.ts), and reports that by events.

import { EventEmitter } from 'node:events';
import { checkClientId } from '../protocol/client-id.ts';
import { BridgeError } from '../util/bridge-error.ts';
import { systemClock } from '../util/clock.ts';
import { sleep } from '../util/sleep.ts';
import { eachFrame, joined } from '../wire/frame-pieces.ts';
import type { ConnectionEvent, ConnectionOptions, ServedClient } from './connection-options.ts';
import {
  checkOptions,
  checkReconnect,
  type OptionKinds,
  type ReconnectOptions,
  reconnectSettings,
} from './library-options.ts';
import { callListener, handMessage } from './listener-call.ts';
import type { ResumingConnection } from './resuming-connection.ts';

export interface BridgeOptions {
  /** The path of the socket; by default `MCP_BRIDGE_SOCKET`, the config file, or the default path. */
  readonly socketPath?: string | undefined;
  /** The id that others know the client by; by default `MCP_CLIENT_ID`, or `client.id` of the config file. */
  readonly clientId?: string | undefined;
  /** The view of the servers: `discover`, `all`, `code`, `server:NAME`, or `toolset:NAME`. */
  readonly view?: string | undefined;
  /** The methods that the client accepts from other clients: all, none, or a list such as `review/*`. */
  readonly accepts?: boolean | readonly string[] | undefined;
  /** The working directory of the client; by default that of the process. */
  readonly cwd?: string | undefined;
  /** True to start a daemon if none runs; by default `mcpBridge.autoConnect` of the config file, or true. */
  readonly autostart?: boolean | undefined;
  /** The settings for reconnecting to a lost daemon; missing ones come from the config file. */
  readonly reconnect?: ReconnectOptions | undefined;
  /** The config file to use; the usual places are not searched then. */
  readonly configFile?: string | undefined;
  /** Closes the transport, even while it connects. */
  readonly signal?: AbortSignal | undefined;
}

export const BRIDGE_OPTIONS: OptionKinds<BridgeOptions> = {
  socketPath: 'a string',
  clientId: 'anything',
  view: 'a string',
  accepts: 'true, false or an array of strings',
  cwd: 'a string',
  autostart: 'true or false',
  reconnect: 'anything',
  configFile: 'a string',
  signal: 'an AbortSignal',
};

export interface BridgeEvents {
  connected: [];
  /** The connection has dropped; requests made meanwhile wait. */
  lost: [{ readonly reason: string }];
  reconnecting: [{ readonly attempt: number; readonly delayMs: number }];
  /** `kept`: nothing was lost. `new`: another daemon was told everything again. */
  resumed: [{ readonly session: 'kept' | 'new' }];
  /** The transport is closed. `error` is set if this side did not close it. */
  closed: [{ readonly error: BridgeError | undefined }];
}

/** Any JSON-RPC message; the SDK has its own types for them. */
export interface JsonRpcMessage {
  readonly jsonrpc: '2.0';
}

export class BridgeTransport extends EventEmitter<BridgeEvents> {
  onclose?: (() => void) | undefined;
  onerror?: ((error: Error) => void) | undefined;
  onmessage?: ((message: JsonRpcMessage) => void) | undefined;
  readonly #options: BridgeOptions;
  #connection: ResumingConnection | undefined;
  #path = '';
  #hasStarted = false;
  /** Ends everything under way before there is a connection. */
  readonly #leaving = new AbortController();
  #wantedId = '';
  #isFull = false;
  #wake: (() => void)[] = [];
  #closed: Promise<void> = Promise.resolve();
  /** The reason why nothing can be sent any more. */
  #end: BridgeError | undefined;

  /** Throws a BridgeError if an option is invalid. */
  constructor(options: BridgeOptions = {}) {
    super();
    checkOptions(options, BRIDGE_OPTIONS, 'BridgeTransport');
    checkReconnect(options.reconnect);
    if (options.clientId) checkClientId(options.clientId, 'The option clientId');
    this.#options = options;
  }

  /** The path of the daemon's socket; '' before `start`. */
  get socketPath(): string {
    return this.#path;
  }

  /**
   * The id by which the bridge knows this client; '' before it has answered `initialize`. Without a handshake, the id
   * that this side asked for.
   */
  get clientId(): string {
    return this.#connection?.clientId || this.#wantedId;
  }

  /** Connects; starts the daemon if there is none. */
  async start(): Promise<void> {
    if (this.#hasStarted) throw new BridgeError('USAGE', 'This transport was started already: each has one connection');
    this.#hasStarted = true;
    const { signal, view, accepts } = this.#options;
    signal?.throwIfAborted();
    const [{ locateBridge }, { librarySettings, ownPlace }, { openOrStart }, { openFirst }, { ResumingConnection }] =
      await loadCore();
    const place = ownPlace(process.env);
    const located = await locateBridge({
      socketFlag: this.#options.socketPath,
      clientIdFlag: this.#options.clientId,
      configFile: this.#options.configFile,
      cwd: process.cwd(),
      ...place,
    });
    if (located.clientId) checkClientId(located.clientId, located.clientIdSource);
    this.#path = located.path;
    this.#wantedId = located.clientId ?? '';
    const start = librarySettings(located, this.#options.autostart, place);
    const { clientId, where } = located;
    const reconnect = reconnectSettings(this.#options.reconnect, located.reconnect);
    const over = AbortSignal.any([this.#leaving.signal, ...(signal ? [signal] : [])]);
    const socket = await openFirst({
      path: where,
      start,
      reconnect,
      clock: systemClock,
      sleep,
      random: Math.random,
      signal: over,
    });
    if (over.aborted) socket.destroy();
    over.throwIfAborted();
    const cwd = this.#options.cwd ?? process.cwd();
    const options: ConnectionOptions = {
      dial: (mayStart) => openOrStart(where(), mayStart ? start : undefined),
      path: where,
      reconnect,
      meta: {
        'mcp-bridge/cwd': cwd,
        'mcp-bridge/pid': process.pid,
        ...(clientId ? { 'mcp-bridge/clientId': clientId } : {}),
        ...(view === undefined ? {} : { 'mcp-bridge/view': view }),
        ...(accepts === undefined ? {} : { 'mcp-bridge/accepts': accepts }),
      },
      clock: systemClock,
      sleep,
      random: Math.random,
      client: this.#servedClient(),
    };
    this.#connection = new ResumingConnection(options);
    this.#connection.open(socket);
    signal?.addEventListener('abort', () => void this.close(), { once: true });
    this.#emit('connected');
  }

  /** Sends a message. Resolves when the bridge takes more; while the connection is away, messages wait. */
  async send(message: JsonRpcMessage, _options?: object): Promise<void> {
    const connection = this.#connection;
    if (connection === undefined) throw new BridgeError('DAEMON_NOT_RUNNING', 'This transport is not connected');
    if (this.#end !== undefined) throw this.#end;
    const line = Buffer.from(`${JSON.stringify(message)}\n`);
    connection.frame(line, 0, line.length - 1);
    connection.flush();
    if (this.#isFull) await new Promise<void>((resolve) => this.#wake.push(resolve));
  }

  /** Leaves for good: nothing is kept for this client. */
  async close(): Promise<void> {
    this.#leaving.abort(new BridgeError('USAGE', 'This transport was closed while it connected'));
    this.#connection?.close();
    await this.#closed;
  }

  #servedClient(): ServedClient {
    let ended = (): void => undefined;
    this.#closed = new Promise((resolve) => {
      ended = resolve;
    });
    return {
      frame: (b, start, end) => this.#received(b, start, end),
      frames: (b, start, end) => eachFrame(b, start, end, (one, from, to) => this.#received(one, from, to)),
      longFrame: (pieces, bytes) => this.#received(joined(pieces, bytes), 0, bytes - 1),
      isDone: () => true,
      flush: () => true,
      full: (isFull) => {
        this.#isFull = isFull;
        if (!isFull) this.#wakeAll();
      },
      event: (event) => this.#tell(event),
      closed: (error) => {
        this.#end = error ?? new BridgeError('CONNECTION_LOST', 'This transport was closed');
        ended();
        this.#wakeAll();
        if (error !== undefined) callListener(() => this.onerror?.(error));
        this.#emit('closed', { error });
        callListener(() => this.onclose?.());
      },
    };
  }

  #wakeAll(): void {
    for (const wake of this.#wake.splice(0)) wake();
  }

  #received(b: Buffer, start: number, end: number): void {
    if (this.#end !== undefined) return; // a listener has closed the transport in the middle of a read
    handMessage(this, () => JSON.parse(b.toString('utf8', start, end)) as JsonRpcMessage);
  }

  #tell(event: ConnectionEvent): void {
    if (event.kind === 'lost') this.#emit('lost', { reason: event.reason });
    else if (event.kind === 'resumed') this.#emit('resumed', { session: event.session });
    else this.#emit('reconnecting', { attempt: event.attempt, delayMs: event.delayMs });
  }

  /** Tells all listeners. Unlike `emit`, it calls each listener even if another one throws. */
  #emit<Name extends keyof BridgeEvents>(name: Name, ...about: BridgeEvents[Name]): void {
    for (const listener of this.rawListeners(name)) callListener(() => Reflect.apply(listener, this, about));
  }
}

/** Loads the code that connects; a program may never need it. */
function loadCore() {
  return Promise.all([
    import('./locate.ts'),
    import('./library-start.ts'),
    import('./open-or-start.ts'),
    import('./first-connection.ts'),
    import('./resuming-connection.ts'),
  ]);
}
