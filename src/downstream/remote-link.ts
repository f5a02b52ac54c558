// A link to a server at a URL: each frame that goes out is an exchange of its own over a transport, with one AbortController,
// so that whatever ends it also closes its connection. The bytes are those of the wire both ways; nothing is decoded.

import { isUtf8 } from 'node:buffer';
import { rpcErrorOf } from '../protocol/rpc-error.ts';
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
import { isOurs, RemoteFailure, sessionEnded } from './remote-failure.ts';

export interface RemoteLinkOptions {
  readonly turn: FlushTurn;
  readonly clock: Clock;
  /** What a failed message's sender is told. */
  readonly errorOf: (error: unknown) => BridgeError;
  /** The first message has failed: nothing can follow. */
  readonly refused: (error: unknown) => void;
  /** The server has said which version of the protocol it speaks. */
  readonly negotiated: (protocolVersion: string) => void;
  readonly session: Pick<RemoteSession, 'examine' | 'isForgotten'>;
  /** Where requests wait for a connection. */
  readonly door: Pick<ExchangeDoor, 'enter'>;
}

/**
 * A server that answers in JSON says nothing of a request before it answers it, so what it has been sent looks like what it has
 * not taken. So much of that does not count, or one long call would hold up all others.
 */
const BYTES_UNDER_WAY = 16 << 20;
/** What a message that is under way takes besides its bytes: a server that asks and asks gets answers of a few bytes each. */
const BYTES_A_MESSAGE = 1024;

/** A server may take so long to accept what it need not answer; what comes behind it waits. */
const NOTICE_MS = 30_000;
/** Cancellations on their way. Of a server that accepts none of them no more are kept: each has lost its connection anyway. */
const MOST_CANCELLATIONS = 8;

const CANCELLED = 'notifications/cancelled';

/** Nobody but the bridge asks this: ids of its own are numbers. */
const PING_ID = '"mcp-bridge/ping"';
const PING = Buffer.from(`{"jsonrpc":"2.0","id":${PING_ID},"method":"ping"}`);

/** Made once: an error takes longer than all else about an event, of which a server may send thousands at a time. */
const NOT_UTF8 = new RemoteFailure('answered with something that is not UTF-8');
const NOT_JSON = new RemoteFailure('answered with something that is not JSON');
const NOT_JSON_RPC = new RemoteFailure('answered with something that is not JSON-RPC');

/** What of a message counts as not taken yet. */
interface Charge {
  bytes: number;
}

interface Outgoing {
  readonly frame: Frame;
  readonly method: string;
  readonly requestId: string | undefined;
  readonly charge: Charge;
  readonly abort: AbortController;
}

/** A request without an answer. */
interface Awaited extends Outgoing {
  readonly requestId: string;
  /** The transport does not have it yet. */
  isUnsent: boolean;
  /** Gives up its place among those that wait for a connection. */
  leaveDoor: () => void;
}

interface Notice extends Outgoing {
  readonly requestId: undefined;
}

/** Shared by all links: a frame is dealt with before the next one is looked at. */
const envelope = new Envelope();

export class RemoteLink implements Link, ByteSink {
  readonly outbox: Outbox;
  /** Frames that were cut out of what was written, until the writer has done. */
  #cut: Frame[] = [];
  #cutBytes = 0;
  /** Bytes of messages that the server has not taken, and that somebody waits for. */
  #bytesUnderWay = 0;
  readonly #transport: Promise<RemoteTransport>;
  readonly #splitter: FrameSplitter;
  readonly #options: RemoteLinkOptions;
  /** Notifications go one by one, and before the requests that come after them. */
  readonly #inOrder = new Set<Awaited | Notice>();
  #isTelling = false;
  #cancellations = 0;
  readonly #awaited = new Map<string, Awaited>();
  /** All that are under way. */
  readonly #exchanges = new Set<AbortController>();
  #pong: Deferred<void> | undefined;
  #isRetired = false;
  #becameQuiet = (): void => undefined;
  /** While what the server says may not be read. */
  #pause: Deferred<void> | undefined;
  #handler: LinkHandler | undefined;
  #isClosed = false;

  constructor(transport: Promise<RemoteTransport>, options: RemoteLinkOptions) {
    this.#transport = transport;
    this.#options = options;
    this.outbox = new Outbox(this, options.turn);
    // What comes this way was measured before; with an id of ours in it, it may be a little longer.
    this.#splitter = new FrameSplitter(Number.POSITIVE_INFINITY, {
      frame: (b, start, end) => this.#cutOut(copyOf({ b, start, end })),
      overflowed: () => undefined,
      badFrame: () => undefined,
    });
  }

  start(handler: LinkHandler): void {
    this.#handler = handler;
  }

  /** Takes a message of the server, or several in an array. Returns a reason if it is neither. */
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

  /** Over HTTP several answers may come in one array, whatever the version. */
  #receiveBatch(frame: Frame): RemoteFailure | undefined {
    const { messages, isTooLong } = cutBatch(frame.b, frame.start);
    if (isTooLong) {
      this.#handler?.frame(frame.b, frame.start, frame.end); // those whose answers are in it are told
      return new RemoteFailure(`answered with more than ${MOST_IN_BATCH} messages in one array`, { isTooLong });
    }
    if (messages.length === 0) return NOT_JSON_RPC;
    for (const message of messages) this.receive(messageIn(frame.b, message));
    return undefined;
  }

  /** Resolves when the server says that it is there; fails as a request does. */
  async ping(signal: AbortSignal): Promise<void> {
    const pong = deferred<void>();
    this.#pong = pong;
    const abort = new AbortController();
    const aborted = (): void => abort.abort();
    signal.addEventListener('abort', aborted, { once: true });
    const ping = { frame: pingFrame(), method: 'ping', requestId: PING_ID, charge: { bytes: 0 }, abort };
    try {
      await Promise.race([pong.promise, this.#exchange(ping, () => this.#pong === pong)]);
    } finally {
      signal.removeEventListener('abort', aborted);
      if (this.#pong === pong) this.#pong = undefined;
    }
  }

  /** Sends nothing more, and gives back what it has not sent; resolves when nothing is awaited. */
  retire(): Promise<void> {
    this.#isRetired = true;
    for (const awaited of [...this.#awaited.values()]) if (awaited.isUnsent) this.#refuse(awaited);
    if (this.#awaited.size === 0) return Promise.resolve();
    return new Promise((resolve) => {
      this.#becameQuiet = resolve;
    });
  }

  get writableLength(): number {
    return Math.max(0, this.#bytesUnderWay + this.#cutBytes - BYTES_UNDER_WAY);
  }

  write(bytes: Uint8Array): boolean {
    this.#splitter.push(Buffer.from(bytes)); // its own copy: the splitter keeps what it is given
    return true;
  }
  cork(): void {
    // Each message is an exchange of its own anyway.
  }
  uncork(): void {
    // See cork().
  }

  /** The outbox is in the middle of a frame perhaps: what a message brings about must not write into that. */
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

  /** An error of ours over one message costs the link, as one in an event of a stream does. */
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
    const outgoing = { frame, method, charge: { bytes }, abort: new AbortController() };
    if (isSound && envelope.kind === 'request') {
      const requestId = envelope.raw(frame.b, Field.id);
      return this.#ask({ ...outgoing, requestId, isUnsent: true, leaveDoor: () => undefined });
    }
    const cancelled = method === CANCELLED ? envelope.raw(frame.b, Field.requestId) : undefined;
    const notice = { ...outgoing, requestId: undefined };
    if (cancelled === undefined) this.#tell(notice);
    else this.#cancel(cancelled, notice);
  }

  #ask(request: Awaited): void {
    if (this.#isRetired) return this.#refuse(request);
    this.#awaited.set(request.requestId, request);
    this.#bytesUnderWay += request.charge.bytes;
    this.#inOrder.add(request);
    this.#goOn();
  }

  #goOn(): void {
    while (!this.#isTelling) {
      const [next] = this.#inOrder;
      if (next === undefined) return;
      this.#inOrder.delete(next);
      if (next.requestId === undefined) this.#tellNow(next);
      else next.leaveDoor = this.#options.door.enter((leave) => void this.#sendRequest(next).finally(leave));
    }
  }

  #tellNow(notice: Notice): void {
    this.#isTelling = true;
    void this.#sendNotice(notice).finally(() => {
      this.#isTelling = false;
      this.#goOn();
    });
  }

  async #sendRequest(request: Awaited): Promise<void> {
    if (!this.#isAwaited(request)) return; // it was given back meanwhile, or cancelled
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

  async #exchange(
    { frame, method, requestId, charge, abort }: Outgoing,
    isAwaited: () => boolean,
  ): Promise<RemoteFailure | undefined> {
    const transport = await this.#transport;
    const body = bytesOf(frame);
    const exchange: Exchange = {
      signal: abort.signal,
      abort: () => abort.abort(),
      taken: () => this.#release(charge),
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

  /** In order with the others. */
  #tell(notice: Notice): void {
    this.#bytesUnderWay += notice.charge.bytes;
    this.#inOrder.add(notice);
    this.#goOn();
  }

  /** Nobody waits for what is cancelled, and it need not be answered. A server that has not seen it need not be told. */
  #cancel(requestId: string, notice: Notice): void {
    const awaited = this.#awaited.get(requestId);
    if (awaited !== undefined) {
      this.#settle(awaited);
      awaited.abort.abort();
    }
    if (awaited?.isUnsent === true || this.#cancellations >= MOST_CANCELLATIONS) return;
    this.#cancellations++;
    this.#bytesUnderWay += notice.charge.bytes;
    void this.#sendNotice(notice).finally(() => void this.#cancellations--);
  }

  async #sendNotice(notice: Notice): Promise<void> {
    const late = this.#options.clock.after(NOTICE_MS, () => notice.abort.abort());
    try {
      if (!this.#isRetired) await this.#exchange(notice, () => false);
    } catch (error) {
      if (isOurs(error)) this.#handler?.failed?.(error);
      this.#options.session.examine(error);
    } finally {
      late.cancel();
      this.#release(notice.charge);
    }
  }

  #release(charge: Charge): void {
    if (charge.bytes === 0) return;
    this.#bytesUnderWay -= charge.bytes;
    charge.bytes = 0;
    this.#handler?.drained();
  }

  /** The one who waits for it is told, or asks again in another session; nobody else is concerned. */
  async #failed(request: Awaited, error: unknown): Promise<void> {
    const { session, refused, errorOf } = this.#options;
    if (isOurs(error)) this.#handler?.failed?.(error);
    if (!this.#isAwaited(request)) return;
    if (request.method === 'initialize') return refused(error);
    session.examine(error);
    const isUnheard = error instanceof RemoteFailure && error.isUnheard;
    if (isUnheard && this.#giveBack(request) && (await session.isForgotten())) return this.#settle(request);
    if (error instanceof RemoteFailure && error.isTooLong) this.#handler?.overflowed();
    this.#fail(request, errorOf(error));
  }

  /** Nothing is asked here any more. */
  #refuse(request: Awaited): void {
    if (this.#giveBack(request)) this.#settle(request);
    else this.#fail(request, this.#options.errorOf(sessionEnded()));
  }

  /** Whether it is asked again, if this connection ends. */
  #giveBack({ frame }: Awaited): boolean {
    return this.#handler?.returned?.(frame) ?? false;
  }

  #fail(request: Awaited, error: BridgeError): void {
    if (!this.#isClosed) {
      const frame = Buffer.from(`{"jsonrpc":"2.0","id":${request.requestId},"error":${rpcErrorOf(error)}}\n`);
      this.#handler?.frame(frame, 0, frame.length - 1);
    }
    this.#settle(request);
  }

  /** Nobody waits for its answer any more, be it that the server still works on it. */
  #settle(request: Awaited): void {
    if (this.#isAwaited(request)) this.#awaited.delete(request.requestId);
    this.#inOrder.delete(request);
    request.leaveDoor();
    this.#release(request.charge);
    if (this.#awaited.size === 0) this.#becameQuiet();
  }

  /** Pending while what the server says may not be read. */
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
      this.outbox.flush(); // what stands in it goes back
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

/** Without the newline behind it. */
function bytesOf({ b, start, end }: Frame): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(end - start);
  b.copy(bytes, 0, start, end);
  return bytes;
}

// The interface between the link to a server at a URL and the ways to get there: Streamable HTTP, and the older SSE.
// Messages are frames in their bytes, both ways.

/** A message to the server. */
export interface RemoteMessage {
  /** Its bytes, without a newline. */
  readonly body: Uint8Array<ArrayBuffer>;
  /** '' for an answer to the server. */
  readonly method: string;
  /** As it is spelled; undefined unless it is a request. */
  readonly requestId: string | undefined;
}

/** The sender's side of one message, for as long as something may come of it. */
export interface Exchange {
  /** Aborted when nobody waits for what may still come: its connection is closed. */
  readonly signal: AbortSignal;
  abort(): void;
  /** The server has taken the message. */
  taken(): void;
  /** Somebody waits for an answer that has not come. */
  isAwaited(): boolean;
}

export interface RemoteTransport {
  /**
   * Sends a message; rejects if that failed. Resolves when all has come that comes of it over this exchange: with the reason
   * why a request that has no answer then will get none, or with nothing, if its answer comes another way.
   */
  send(message: RemoteMessage, exchange: Exchange): Promise<RemoteFailure | undefined>;
  /** Later requests name this version of the protocol. */
  negotiated(protocolVersion: string): void;
  /** Tells the server that its session is not needed any more. */
  sayGoodbye(): Promise<void>;
  close(): void;
}

export interface TransportPorts {
  /** A message of the server, or several in an array. Returns a reason if it is neither. */
  readonly received: (frame: Frame) => RemoteFailure | undefined;
  /** A request of the transport's own has failed. */
  readonly failed: (failure: unknown) => void;
  /** Pending while what the server says may not be read. */
  readonly mayRead: () => Promise<void> | undefined;
  /** Of one message of the server. */
  readonly maxFrameBytes: number;
  /** Bounds what one turn works on of all that servers say. */
  readonly pacer: ReadPacer;
}
