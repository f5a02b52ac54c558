// A link to a server at a URL over HTTP, and its interface to the two transports (Streamable HTTP, and the older SSE).
// Each sent frame is a separate exchange with one AbortController, so whatever ends the exchange closes its connection.
// Bytes pass both ways unchanged; nothing is decoded.

import { isUtf8 } from 'node:buffer';
import { ERA_2025 } from '../protocol/era-2025.ts';
import { INTERNAL_ERROR, METHOD_NOT_FOUND, rpcError, rpcErrorOf } from '../protocol/rpc-error.ts';
import { isProbeId } from '../protocol/server-discovery.ts';
import type { BridgeError } from '../util/bridge-error.ts';
import type { Clock } from '../util/clock.ts';
import { type Deferred, deferred } from '../util/deferred.ts';
import { membersOf } from '../util/json-value.ts';
import { cutBatch, MOST_IN_BATCH, messageIn } from '../wire/batch.ts';
import { Envelope, Field } from '../wire/envelope.ts';
import { endsOf } from '../wire/frame-ends.ts';
import { type Frame, FrameSplitter } from '../wire/frame-splitter.ts';
import { DEEPEST } from '../wire/json-grammar.ts';
import type { Link, LinkHandler } from '../wire/link.ts';
import { type ByteSink, type FlushTurn, Outbox } from '../wire/outbox.ts';
import { copyOf } from '../wire/own-frame.ts';
import type { ReadPacer } from '../wire/read-pacer.ts';
import type { ExchangeDoor } from './exchange-gate.ts';
import type { RemoteSession } from './http-connection.ts';
import { failureOf, isOurs, RemoteFailure, sessionEnded } from './remote-failure.ts';

/** A message to the server. */
export interface RemoteMessage {
  /** The frame, without its newline. */
  readonly body: Uint8Array<ArrayBuffer>;
  /** The method; '' for an answer to the server. */
  readonly method: string;
  /** The id, in its bytes; undefined unless it is a request. */
  readonly requestId: string | undefined;
}

/** One message on its way, until everything that belongs to it has arrived. */
export interface Exchange {
  /** Aborted when nobody waits for the rest; then the connection is closed. */
  readonly signal: AbortSignal;
  abort(): void;
  /** Notes that the server has accepted the message. */
  taken(): void;
  /** True while somebody waits for the answer. */
  isAwaited(): boolean;
}

export interface RemoteTransport {
  /**
   * Sends a message; rejects if that failed. Resolves at the end of the exchange: with the reason why a request without
   * an answer will get none, or with undefined if its answer comes another way.
   */
  send(message: RemoteMessage, exchange: Exchange): Promise<RemoteFailure | undefined>;
  /** Names the protocol version for later requests. */
  negotiated(protocolVersion: string): void;
  /** Tells the server that the session is over. */
  sayGoodbye(): Promise<void>;
  close(): void;
}

export interface TransportPorts {
  /** Takes a message of the server, or several in an array. Returns the reason why it can be neither. */
  readonly received: (frame: Frame) => RemoteFailure | undefined;
  /** Takes the failure of a request that the transport made itself. */
  readonly failed: (failure: unknown) => void;
  /** A promise that is pending while reading from the server pauses; undefined if it may be read. */
  readonly mayRead: () => Promise<void> | undefined;
  /** The longest message of the server. */
  readonly maxFrameBytes: number;
  /** Shares each turn of the event loop between all servers. */
  readonly pacer: ReadPacer;
}

export interface RemoteLinkOptions {
  readonly turn: FlushTurn;
  readonly clock: Clock;
  /** The error for the sender of a message that has failed. */
  readonly errorOf: (error: unknown) => BridgeError;
  /** Called when the first message has failed: nothing can follow. */
  readonly refused: (error: unknown) => void;
  /** Called with the protocol version that the server has chosen. */
  readonly negotiated: (protocolVersion: string) => void;
  readonly session: Pick<RemoteSession, 'noteFailure' | 'isForgotten'>;
  /** The door where requests wait for a connection. */
  readonly door: Pick<ExchangeDoor, 'enter'>;
}

/**
 * The bytes of requests under way that do not count as unread. A server that answers in JSON says nothing about a
 * request before the answer, so without this, one long call would block all others.
 */
const BYTES_UNDER_WAY = 16 << 20;
/** The same for notices and answers, which are sent one by one. */
const BYTES_BEING_TOLD = 1 << 20;
/**
 * The cost of a message besides its bytes. If a server floods the bridge with questions, the answers have only a few
 * bytes.
 */
const BYTES_A_MESSAGE = 1024;

/** Time for a server to accept a notification. Later messages wait for it. */
const NOTICE_MS = 30_000;
/**
 * The maximum number of cancellations under way. Further ones are dropped: those requests have lost their connections
 * anyway.
 */
const MOST_CANCELLATIONS = 8;

const CANCELLED = 'notifications/cancelled';
const LISTEN = 'subscriptions/listen';

/** The id of the bridge's own ping. All its other ids are numbers. */
const PING_ID = '"mcp-bridge/ping"';
const PING = Buffer.from(`{"jsonrpc":"2.0","id":${PING_ID},"method":"ping"}`);

/**
 * Made once, because making an error costs more than the rest of an event, and a server may send thousands of events.
 */
const NOT_UTF8 = new RemoteFailure('answered with something that is not UTF-8');
const NOT_JSON = new RemoteFailure('answered with something that is not JSON');
const NOT_JSON_RPC = new RemoteFailure('answered with something that is not JSON-RPC');

/** The bytes of a message that count as unread, and the total that they belong to. */
interface Charge {
  bytes: number;
  readonly sum: { bytes: number };
}

interface Outgoing {
  readonly frame: Frame;
  readonly method: string;
  readonly requestId: string | undefined;
  readonly charge: Charge;
  /** Ends the exchange; undefined until it begins, because thousands may wait. */
  abort: AbortController | undefined;
  /** Called when the server has accepted the message. */
  taken?: () => void;
}

/** A request that has no answer yet. */
interface Awaited extends Outgoing {
  readonly requestId: string;
  /** True until the transport has it. */
  isUnsent: boolean;
  /** Gives up its place in the queue for a connection. */
  leaveDoor: () => void;
}

interface Notice extends Outgoing {
  readonly requestId: undefined;
}

/** Shared by all links: each frame is handled before the next one is scanned. */
const envelope = new Envelope(ERA_2025.keys);

export class RemoteLink implements Link, ByteSink {
  readonly outbox: Outbox;
  /** Frames found in written bytes, until the writer has returned. */
  #cut: Frame[] = [];
  #cutBytes = 0;
  /** The bytes of unanswered requests, and of notices and answers that the server has not accepted. */
  readonly #asked = { bytes: 0 };
  readonly #told = { bytes: 0 };
  readonly #transport: Promise<RemoteTransport>;
  readonly #splitter: FrameSplitter;
  readonly #options: RemoteLinkOptions;
  /** Messages in order: notifications go one by one, and before the requests behind them. */
  readonly #inOrder = new Set<Awaited | Notice>();
  #isTelling = false;
  #cancellations = 0;
  readonly #awaited = new Map<string, Awaited>();
  /** All exchanges under way. */
  readonly #exchanges = new Set<AbortController>();
  #pong: Deferred<void> | undefined;
  #isRetired = false;
  #becameQuiet = (): void => undefined;
  /** Pending while reading from the server pauses. */
  #pause: Deferred<void> | undefined;
  #handler: LinkHandler | undefined;
  #isClosed = false;

  constructor(transport: Promise<RemoteTransport>, options: RemoteLinkOptions) {
    this.#transport = transport;
    this.#options = options;
    this.outbox = new Outbox(this, options.turn);
    // The limit was checked when the message arrived from a client; with the bridge's id it may be slightly longer.
    this.#splitter = new FrameSplitter(Number.POSITIVE_INFINITY, {
      frame: (b, start, end) => this.#cutOut(copyOf({ b, start, end })),
      overflowed: () => undefined,
      badFrame: () => undefined,
    });
  }

  start(handler: LinkHandler): void {
    this.#handler = handler;
  }

  /** Takes a message of the server, or several in an array. Returns the reason why it can be neither. */
  receive(frame: Frame): RemoteFailure | undefined {
    const { b, start, end } = frame;
    if (this.#isClosed) return undefined;
    if (!isUtf8(b.subarray(start, end))) {
      this.#handler?.badFrame('not-utf8', endsOf(b, start, end));
      return NOT_UTF8;
    }
    const isSound = envelope.scan(b, start, end, DEEPEST);
    if (isSound || envelope.fault === 'not-jsonrpc-2.0') return this.#receiveMessage(frame);
    const { fault } = envelope;
    if (fault === 'batch') return this.#receiveBatch(frame);
    this.#handler?.frame(b, start, end);
    return fault === 'not-json' ? NOT_JSON : NOT_JSON_RPC;
  }

  #receiveMessage({ b, start, end }: Frame): undefined {
    const isResponse = envelope.kind === 'response' && envelope.has(Field.id);
    const id = isResponse ? envelope.raw(b, Field.id) : undefined;
    if (id === PING_ID) {
      this.#pong?.resolve();
      return;
    }
    const awaited = id === undefined ? undefined : this.#awaited.get(id);
    if (awaited?.method === 'initialize') this.#noteVersion(envelope.decode(b, Field.result));
    this.#handler?.frame(b, start, end);
    if (awaited !== undefined) this.#settle(awaited);
  }

  #noteVersion(result: unknown): void {
    const { protocolVersion } = membersOf(result);
    if (typeof protocolVersion === 'string') this.#options.negotiated(protocolVersion);
  }

  /** Takes an array of messages, which HTTP allows in every version. */
  #receiveBatch(frame: Frame): RemoteFailure | undefined {
    const { messages, isTooLong } = cutBatch(frame.b, frame.start);
    if (isTooLong) {
      this.#handler?.frame(frame.b, frame.start, frame.end); // the handler fails the calls that are answered in it
      return new RemoteFailure(`answered with more than ${MOST_IN_BATCH} messages in one array`, { isTooLong });
    }
    if (messages.length === 0) return NOT_JSON_RPC;
    for (const message of messages) this.receive(messageIn(frame.b, message));
    return undefined;
  }

  /** Resolves when the server has answered a ping; fails like any request. */
  async ping(signal: AbortSignal): Promise<void> {
    const pong = deferred<void>();
    this.#pong = pong;
    const abort = new AbortController();
    const aborted = (): void => abort.abort();
    signal.addEventListener('abort', aborted, { once: true });
    const ping = {
      frame: pingFrame(),
      method: 'ping',
      requestId: PING_ID,
      charge: { bytes: 0, sum: this.#asked },
      abort,
    };
    try {
      await Promise.race([pong.promise, this.#exchange(ping, () => this.#pong === pong)]);
    } finally {
      signal.removeEventListener('abort', aborted);
      if (this.#pong === pong) this.#pong = undefined;
    }
  }

  /** Stops sending and gives back unsent requests; resolves when no answer is awaited. */
  retire(): Promise<void> {
    this.#isRetired = true;
    for (const awaited of [...this.#awaited.values()]) if (awaited.isUnsent) this.#refuse(awaited);
    if (this.#awaited.size === 0) return Promise.resolve();
    return new Promise((resolve) => {
      this.#becameQuiet = resolve;
    });
  }

  get writableLength(): number {
    const asked = Math.max(0, this.#asked.bytes + this.#cutBytes - BYTES_UNDER_WAY);
    return asked + Math.max(0, this.#told.bytes - BYTES_BEING_TOLD);
  }

  write(bytes: Uint8Array): boolean {
    this.#splitter.push(Buffer.from(bytes)); // a copy, because the splitter keeps its input
    return true;
  }
  cork(): void {
    // Each message is a separate exchange anyway.
  }
  uncork(): void {
    // See cork().
  }

  /** Sends the frame in a microtask: the outbox may be in the middle of another frame, and sending may write to it. */
  #cutOut(frame: Frame): void {
    if (this.#cut.length === 0) queueMicrotask(() => this.#sendCut());
    this.#cut.push(frame);
    this.#cutBytes += frame.end - frame.start + BYTES_A_MESSAGE;
  }

  #sendCut(): void {
    const frames = this.#cut;
    this.#cut = [];
    this.#cutBytes = 0;
    for (const frame of frames) this.#sendOne(frame);
  }

  /** Destroys the link after an error of the bridge, as a stream's link does. */
  #sendOne(frame: Frame): void {
    try {
      this.#send(frame);
    } catch (error) {
      this.#handler?.failed?.(error);
      this.destroy();
    }
  }

  #send(frame: Frame): void {
    const isSound = envelope.scan(frame.b, frame.start, frame.end, DEEPEST);
    const method = isSound && envelope.has(Field.method) ? envelope.raw(frame.b, Field.method).slice(1, -1) : '';
    const bytes = frame.end - frame.start + BYTES_A_MESSAGE;
    if (isSound && envelope.kind === 'request') {
      const requestId = envelope.raw(frame.b, Field.id);
      const charge = { bytes, sum: this.#asked };
      const leaveDoor = (): void => undefined;
      return this.#ask({ frame, method, charge, abort: undefined, requestId, isUnsent: true, leaveDoor });
    }
    const cancelled = method === CANCELLED ? envelope.raw(frame.b, Field.requestId) : undefined;
    const charge = { bytes, sum: this.#told };
    const notice: Notice = { frame, method, charge, abort: undefined, requestId: undefined };
    if (cancelled === undefined) this.#tell(notice);
    else this.#cancel(cancelled, notice);
  }

  #ask(request: Awaited): void {
    if (this.#isRetired) return this.#refuse(request);
    this.#awaited.set(request.requestId, request);
    this.#asked.bytes += request.charge.bytes;
    this.#inOrder.add(request);
    this.#goOn();
  }

  #goOn(): void {
    while (!this.#isTelling) {
      const [next] = this.#inOrder;
      if (next === undefined) return;
      this.#inOrder.delete(next);
      if (next.requestId === undefined) this.#tellNow(next);
      else next.leaveDoor = this.#options.door.enter((leave) => this.#sendThrough(next, leave));
    }
  }

  /**
   * Sends a request through the door. A listen leaves its place once the server has accepted it, because it never ends
   * by itself.
   */
  #sendThrough(request: Awaited, leave: () => void): void {
    let hasLeft = false;
    const leaveOnce = (): void => {
      if (!hasLeft) leave();
      hasLeft = true;
    };
    if (request.method === LISTEN) request.taken = leaveOnce;
    void this.#sendRequest(request).finally(leaveOnce);
  }

  #tellNow(notice: Notice): void {
    this.#isTelling = true;
    void this.#sendNotice(notice).finally(() => {
      this.#isTelling = false;
      this.#goOn();
    });
  }

  async #sendRequest(request: Awaited): Promise<void> {
    if (!this.#isAwaited(request)) return; // it was given back or cancelled meanwhile
    request.isUnsent = false;
    try {
      const failure = await this.#exchange(request, () => this.#isAwaited(request));
      if (failure !== undefined) await this.#failed(request, failure);
    } catch (error) {
      await this.#failed(request, error);
    } finally {
      this.#release(request.charge);
    }
  }

  #isAwaited(request: Awaited): boolean {
    return this.#awaited.get(request.requestId) === request;
  }

  async #exchange(outgoing: Outgoing, isAwaited: () => boolean): Promise<RemoteFailure | undefined> {
    const { frame, method, requestId, charge } = outgoing;
    outgoing.abort ??= new AbortController();
    const { abort } = outgoing;
    const transport = await this.#transport;
    const body = bytesOf(frame);
    const exchange: Exchange = {
      signal: abort.signal,
      abort: () => abort.abort(),
      taken: () => {
        this.#release(charge);
        outgoing.taken?.();
      },
      isAwaited,
    };
    this.#exchanges.add(abort);
    try {
      if (this.#isClosed) abort.abort();
      abort.signal.throwIfAborted();
      return await transport.send({ body, method, requestId }, exchange);
    } finally {
      this.#exchanges.delete(abort);
    }
  }

  /** Sends a notification when its turn in the order has come. */
  #tell(notice: Notice): void {
    this.#told.bytes += notice.charge.bytes;
    this.#inOrder.add(notice);
    this.#goOn();
  }

  /** Ends the exchange of a cancelled request, and tells the server if it has seen the request. */
  #cancel(requestId: string, notice: Notice): void {
    const awaited = this.#awaited.get(requestId);
    if (awaited !== undefined) {
      this.#settle(awaited);
      awaited.abort?.abort();
    }
    if (awaited?.isUnsent === true || this.#cancellations >= MOST_CANCELLATIONS) return;
    this.#cancellations++;
    this.#told.bytes += notice.charge.bytes;
    void this.#sendNotice(notice).finally(() => void this.#cancellations--);
  }

  async #sendNotice(notice: Notice): Promise<void> {
    const late = this.#options.clock.after(NOTICE_MS, () => notice.abort?.abort());
    try {
      if (!this.#isRetired) await this.#exchange(notice, () => false);
    } catch (error) {
      if (isOurs(error)) this.#handler?.failed?.(error);
      this.#options.session.noteFailure(error);
    } finally {
      late.cancel();
      this.#release(notice.charge);
    }
  }

  #release(charge: Charge): void {
    if (charge.bytes === 0) return;
    charge.sum.bytes -= charge.bytes;
    charge.bytes = 0;
    this.#handler?.drained();
  }

  /** Fails the request for its sender, or gives it back for another session. Other requests are not affected. */
  async #failed(request: Awaited, error: unknown): Promise<void> {
    const { session, refused, errorOf } = this.#options;
    if (isOurs(error)) this.#handler?.failed?.(error);
    if (!this.#isAwaited(request)) return;
    if (request.method === 'initialize') return refused(error);
    if (isProbeId(request.requestId)) return this.#probeFailed(request, error);
    session.noteFailure(error);
    const isUnheard = error instanceof RemoteFailure && error.isUnheard;
    if (isUnheard && this.#giveBack(request) && (await session.isForgotten())) return this.#settle(request);
    if (error instanceof RemoteFailure && error.isTooLong) this.#handler?.overflowed();
    this.#fail(request, errorOf(error));
  }

  /**
   * Handles a failed probe. Any answer that is not of 2026 means that the server gets `initialize`. An answer about the
   * server's state, or without a word on methods, is passed on.
   */
  #probeFailed(request: Awaited, error: unknown): void {
    const { status, isUncertain } = failureOf(error);
    if (status === 401 || (status === undefined && !isUncertain)) return this.#options.refused(error);
    const isClear = status !== undefined && status !== 403 && status < 500;
    const code = isClear ? METHOD_NOT_FOUND : INTERNAL_ERROR;
    this.#failAs(request, rpcError(code, failureOf(error).message));
  }

  /** Called when both sides have agreed on an era: the probe's answer is no longer awaited. */
  settled(): void {
    for (const awaited of [...this.#awaited.values()])
      if (awaited.method === 'initialize' || isProbeId(awaited.requestId)) {
        this.#settle(awaited);
        awaited.abort?.abort();
      }
  }

  /** Gives back or fails a request that a retired link cannot send. */
  #refuse(request: Awaited): void {
    if (this.#giveBack(request)) this.#settle(request);
    else this.#fail(request, this.#options.errorOf(sessionEnded()));
  }

  /** Returns true if the request is sent again after the end of this connection. */
  #giveBack({ frame }: Awaited): boolean {
    return this.#handler?.returned?.(frame) ?? false;
  }

  #fail(request: Awaited, error: BridgeError): void {
    this.#failAs(request, rpcErrorOf(error));
  }

  /** Answers a request with an error in JSON. */
  #failAs(request: Awaited, error: string): void {
    if (!this.#isClosed) {
      const frame = Buffer.from(`{"jsonrpc":"2.0","id":${request.requestId},"error":${error}}\n`);
      this.#handler?.frame(frame, 0, frame.length - 1);
    }
    this.#settle(request);
  }

  /** Forgets a request whose answer nobody awaits. The server may still work on it. */
  #settle(request: Awaited): void {
    if (this.#isAwaited(request)) this.#awaited.delete(request.requestId);
    this.#inOrder.delete(request);
    request.leaveDoor();
    this.#release(request.charge);
    if (this.#awaited.size === 0) this.#becameQuiet();
  }

  /** A promise that is pending while reading from the server pauses; undefined if it may be read. */
  mayRead(): Promise<void> | undefined {
    return this.#pause?.promise;
  }

  pause(): void {
    this.#pause ??= deferred<void>();
  }

  resume(): void {
    this.#pause?.resolve();
    this.#pause = undefined;
  }

  end(): void {
    this.outbox.flush();
    this.#sendCut();
    this.destroy();
  }

  destroy(): void {
    if (this.#isClosed) return;
    if (this.#isRetired) {
      this.outbox.flush(); // the requests in it are given back
      this.#sendCut();
    }
    this.#isClosed = true;
    this.outbox.close();
    for (const exchange of this.#exchanges) exchange.abort();
    this.resume();
    queueMicrotask(() => this.#handler?.closed());
  }
}

function pingFrame(): Frame {
  return copyOf({ b: PING, start: 0, end: PING.length });
}

/** The bytes of a frame, without its newline. */
function bytesOf({ b, start, end }: Frame): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(end - start);
  b.copy(bytes, 0, start, end);
  return bytes;
}
