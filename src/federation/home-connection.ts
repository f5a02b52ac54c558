// A connection to a server on another host: to the rest of the daemon it is one like any other. Each request is a call over the bus;
// it is sent again only where its owner would know that it had it before. What nobody can know ends with "outcome unknown".

import { isUtf8 } from 'node:buffer';
import { randomBytes } from 'node:crypto';
import type { BusServer } from '../model/server-definition.ts';
import { ERA_2026 } from '../protocol/era-2026.ts';
import { rpcErrorOf } from '../protocol/rpc-error.ts';
import { isProbeId } from '../protocol/server-discovery.ts';
import { BridgeError, type BridgeErrorCode } from '../util/bridge-error.ts';
import { deferred } from '../util/deferred.ts';
import { KNOWN_TOKEN } from '../util/secret-signs.ts';
import { Envelope, Field } from '../wire/envelope.ts';
import { type Frame, FrameSplitter } from '../wire/frame-splitter.ts';
import { DEEPEST } from '../wire/json-grammar.ts';
import type { Link, LinkHandler } from '../wire/link.ts';
import { type ByteSink, Outbox } from '../wire/outbox.ts';
import { copyOf } from '../wire/own-frame.ts';
import type { PacedQueue } from '../wire/read-pacer.ts';
import type { BusHeaders, ReceivedMessage } from './bus.ts';
import { FrameReceiver } from './frame-receiver.ts';
import { FrameSender } from './frame-sender.ts';
import {
  type BusFrameKind,
  CONTROL_END,
  callPlace,
  countIn,
  frameKindOf,
  HEADER,
  headerValue,
  KEEP_ALIVE_MS,
  LOST_MS,
  MOST_FRAME_BYTES,
  PROTOCOL_VERSION,
  WIRE_CODE,
  WIRE_VERSION,
} from './frames.ts';
import type { AnsweredCall, HomeOptions, OpenContext } from './home.ts';
import { isBusMethod, nameToken, requestSubject, serverToken } from './subject.ts';

/** The time after which a request that nobody has confirmed is sent again. */
const RESEND_MS = 2000;
/** The time after which a call that has begun and says nothing is asked for. */
const SILENT_MS = 1.5 * KEEP_ALIVE_MS;
/** A connection on which nothing was asked for so long asks something itself, so that its owner keeps what it has for it. */
const IDLE_MS = 240_000;
const PING_ID = '"mcp-bridge/ping"';
const STREAM_BYTES = 12;
/** From this size on, the owner is told at once that an answer has come, so that it need not keep it. */
const LARGE_ANSWER = 64 * 1024;

const envelope = new Envelope(ERA_2026.keys);
const NOTHING = Buffer.alloc(0);
const NEWLINE = 0x0a;
const SPACE = 0x20;

interface ExpectedAnswers {
  readonly reply: string;
  readonly forget: () => void;
}

interface ConnectionContext extends HomeOptions, OpenContext {
  readonly down: () => string | undefined;
  readonly expect: (call: AnsweredCall) => ExpectedAnswers;
}

export class HomeConnection implements Link, ByteSink {
  readonly pid = undefined;
  /** An owner that does not answer the probe is not asked in another way. */
  readonly wasOpen = false;
  readonly outbox: Outbox;
  readonly link: Link = this;
  readonly ended: Promise<string>;
  readonly definition: BusServer;
  /** The reason why nothing can be asked, where that is known before anything was. */
  failure: BridgeError | undefined;
  readonly #context: ConnectionContext;
  readonly #splitter: FrameSplitter;
  readonly #end = deferred<string>();
  readonly #calls = new Map<string, HomeCall>();
  /** Messages that have come; each is handed on when its turn has time for it. */
  readonly #received: PacedQueue<Buffer>;
  #stream = newStream();
  #lastNumber = 0;
  #handler: LinkHandler | undefined;
  #isPaused = false;
  #isClosed = false;
  #isEnded = false;
  #hasAsked = false;
  #askedMs: number;

  constructor(definition: BusServer, context: ConnectionContext) {
    this.definition = definition;
    this.#context = context;
    this.#askedMs = context.clock.now();
    this.outbox = new Outbox(this, context.turn);
    this.ended = this.#end.promise;
    this.#received = context.pacer.queue<Buffer>({
      take: (message) => {
        if (!this.#isClosed) this.#handler?.frame(message, 0, message.length - 1);
      },
      pause: () => this.#pauseCalls(true),
      resume: () => this.#pauseCalls(this.#isPaused),
      failed: (error) => this.#fault(error),
    });
    // The limit was checked when the message came from a client; with the bridge's id in it, it may be a little longer.
    this.#splitter = new FrameSplitter(Number.POSITIVE_INFINITY, {
      frame: (b, start, end) => this.#contain(() => this.#send(copyOf({ b, start, end }))),
      overflowed: () => undefined,
      badFrame: () => undefined,
    });
  }

  get host(): string | undefined {
    return this.definition.host;
  }

  /** The number below which all calls are answered. */
  get doneNumber(): number {
    for (const { number } of this.#calls.values()) return number; // they are in the order of their numbers
    return this.#lastNumber + 1;
  }

  // --- what is sent ---

  #contain(task: () => void): void {
    try {
      task();
    } catch (error) {
      this.#fault(error);
    }
  }

  #fault(error: unknown): void {
    this.#handler?.failed?.(error);
    this.destroy();
  }

  #send(frame: Frame): void {
    const { b, end } = frame;
    if (!envelope.scan(b, 0, end, DEEPEST)) return;
    const method = envelope.decode(b, Field.method);
    if (envelope.kind === 'request' && typeof method === 'string') return this.#ask(frame, method);
    if (method === 'notifications/cancelled')
      this.#calls.get(envelope.raw(b, Field.requestId))?.cancel(b.subarray(0, end));
  }

  #ask({ b, end }: Frame, method: string): void {
    const idText = envelope.raw(b, Field.id);
    if (method === 'initialize') return; // an owner speaks the era of 2026 alone: the probe is answered, or fails
    this.#hasAsked = true;
    this.#askedMs = this.#context.clock.now();
    const down = this.#context.down();
    if (down !== undefined)
      return this.#refuse(idText, 'SERVER_UNREACHABLE', `cannot be reached: NATS is away (${down})`);
    if (!isBusMethod(method)) return this.#refuse(idText, 'REQUEST_REFUSED', `has no method ${method.slice(0, 64)}`);
    const { name: field, isRepeatable } = ERA_2026.methods.of(b, envelope);
    const named = field === undefined ? undefined : envelope.decode(b, field);
    const name = typeof named === 'string' ? named : undefined;
    this.#begin({ idText, method, name, isRepeatable, body: b.subarray(0, end) });
  }

  #begin(request: HomeRequest): void {
    const call = new HomeCall(++this.#lastNumber, request, {
      ...this.#context,
      stream: this.#stream,
      connection: this,
      isPaused: this.#isPaused,
    });
    this.#calls.set(request.idText, call);
    call.begin();
  }

  /** Tells the client of a request that it was not carried out. */
  #refuse(idText: string, code: BridgeErrorCode, how: string): void {
    const { name } = this.definition;
    const error = new BridgeError(code, `Server ${name} ${how}`, { server: name, hint: 'See: mcp-bridge hosts' });
    if (isProbeId(idText)) {
      this.failure ??= error;
      return this.#over(how);
    }
    this.answer(Buffer.from(`{"jsonrpc":"2.0","id":${idText},"error":${rpcErrorOf(error)}}\n`));
  }

  // --- what becomes of calls ---

  /** Hands a message on; a newline stands behind it. */
  answer(message: Buffer): void {
    if (!this.#isClosed) this.#received.push(message, message.length);
  }

  /** A call is answered, or nobody waits for it. */
  callOver({ request }: HomeCall): void {
    if (this.#calls.get(request.idText)?.isOver === true) this.#calls.delete(request.idText);
    this.#handler?.drained();
  }

  /** A call was certainly not carried out. */
  undone(call: HomeCall, code: BridgeErrorCode, how: string): void {
    if (call.request.idText === PING_ID) return;
    this.#refuse(call.request.idText, code, how);
  }

  /** Nobody knows if a call was carried out. What does no harm twice is asked for once more. */
  lost(call: HomeCall, how: string): void {
    const { request } = call;
    if (request.idText === PING_ID) return;
    if (this.host !== undefined && !isProbeId(request.idText)) return this.#over(how);
    if (request.isRepeatable && !request.isSecondTry) return this.#begin({ ...request, isSecondTry: true });
    if (isProbeId(request.idText)) return this.#refuse(request.idText, 'SERVER_UNREACHABLE', how);
    const { name } = this.definition;
    const error = new BridgeError('OUTCOME_UNKNOWN', `Server ${name} ${how}; the outcome of the call is unknown`, {
      server: name,
      hint: 'Look at what it was to change before it is called again.',
    });
    this.answer(Buffer.from(`{"jsonrpc":"2.0","id":${request.idText},"error":${rpcErrorOf(error)}}\n`));
  }

  /** The bus is there again: each call asks for what it has missed. */
  busIsBack(): void {
    for (const call of [...this.#calls.values()]) this.#contain(() => call.busIsBack());
  }

  /** The bus does not let this daemon ask there. */
  denied(subject: string): void {
    for (const call of [...this.#calls.values()]) if (call.subject === subject) call.denied();
  }

  tick(nowMs: number): void {
    for (const call of [...this.#calls.values()]) this.#contain(() => call.tick(nowMs));
    if (nowMs - this.#askedMs < IDLE_MS || this.#calls.size > 0 || this.#context.down() !== undefined) return;
    if (this.#hasAsked) this.#ping();
  }

  #ping(): void {
    this.#askedMs = this.#context.clock.now();
    const meta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"${PROTOCOL_VERSION}","io.modelcontextprotocol/clientCapabilities":{}}`;
    const body = Buffer.from(`{"jsonrpc":"2.0","id":${PING_ID},"method":"server/discover","params":{${meta}}}`);
    this.#begin({ idText: PING_ID, method: 'server/discover', name: undefined, isRepeatable: true, body });
  }

  // --- the link ---

  start(handler: LinkHandler): void {
    this.#handler = handler;
  }

  write(bytes: Uint8Array): boolean {
    this.#splitter.push(Buffer.from(bytes)); // a copy, because the splitter keeps what it is given
    return true;
  }
  cork(): void {
    // Each message is a call of its own anyway.
  }
  uncork(): void {
    // See cork().
  }

  /** Bytes of requests that wait for credit. */
  get writableLength(): number {
    let bytes = 0;
    for (const call of this.#calls.values()) bytes += call.waitingBytes;
    return bytes;
  }

  pause(): void {
    this.#isPaused = true;
    this.#pauseCalls(true);
  }

  resume(): void {
    this.#isPaused = false;
    if (this.#received.isEmpty) this.#pauseCalls(false);
  }

  #pauseCalls(isPaused: boolean): void {
    for (const call of this.#calls.values()) call.isPaused = isPaused;
  }

  end(): void {
    this.outbox.flush();
    this.destroy();
  }

  destroy(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.outbox.close();
    this.#received.drop();
    for (const call of [...this.#calls.values()]) call.abandon();
    this.#calls.clear();
    this.#sayGoodbye();
    queueMicrotask(() => this.#handler?.closed());
    this.#over('was closed');
  }

  /** Tells the owner that nothing more is asked on this stream. */
  #sayGoodbye(): void {
    const { host } = this;
    if (!this.#hasAsked || this.#context.down() !== undefined || host === undefined) return;
    const { bus } = this.#context;
    const place = callPlace({ stream: this.#stream, number: this.#lastNumber, done: this.#lastNumber });
    const headers = { ...this.commonHeaders(), [HEADER.frame]: 'end', [HEADER.call]: place };
    bus.publish({ subject: this.subjectOf('server/discover', undefined, host), headers, data: NOTHING });
  }

  commonHeaders(): BusHeaders {
    return { [HEADER.wire]: WIRE_VERSION, [HEADER.host]: headerValue(this.#context.host) };
  }

  subjectOf(method: string, name: string | undefined, host: string | undefined): string {
    const { tenant, user } = this.#context;
    const server = serverToken(this.definition.offeredName, host);
    return requestSubject({ tenant, user, server, method, name: nameToken(name) });
  }

  #over(how: string): void {
    if (this.#isEnded) return;
    this.#isEnded = true;
    this.#end.resolve(how);
    this.destroy();
  }

  async stop(): Promise<void> {
    this.#over('was stopped');
    this.destroy();
    await this.ended;
  }

  safe(text: string): string {
    return text.replace(KNOWN_TOKEN, '[secret]');
  }

  lastWords(): string {
    return '';
  }

  lastLine(): string {
    return '';
  }
}

function newStream(): string {
  return randomBytes(STREAM_BYTES).toString('base64url');
}

interface HomeRequest {
  readonly idText: string;
  readonly method: string;
  readonly name: string | undefined;
  readonly isRepeatable: boolean;
  readonly body: Buffer;
  readonly isSecondTry?: boolean;
}

interface CallContext extends ConnectionContext {
  readonly stream: string;
  readonly connection: HomeConnection;
  readonly isPaused: boolean;
}

/** One request on its way to an owner, until its one answer. */
class HomeCall implements AnsweredCall {
  readonly number: number;
  readonly request: HomeRequest;
  isOver = false;
  readonly #context: CallContext;
  readonly #answers: ExpectedAnswers;
  readonly #receiver: FrameReceiver;
  readonly #sender: FrameSender;
  /** The host and the run that the call is bound to; undefined while any owner may take it. */
  #owner: { readonly host: string; readonly run: string | undefined } | undefined;
  #subject = '';
  /** The owner has said something: it has the request, or its first part. */
  #isHeard = false;
  #isCancelled: Buffer | undefined;
  #receivedBytes = 0;
  #isPaused: boolean;
  #heardMs: number;
  #sentMs: number;
  #downMs: number | undefined;
  #attempts = 0;

  constructor(number: number, request: HomeRequest, context: CallContext) {
    this.number = number;
    this.request = request;
    this.#context = context;
    this.#answers = context.expect(this);
    this.#isPaused = context.isPaused;
    this.#heardMs = context.clock.now();
    this.#sentMs = this.#heardMs;
    this.#receiver = new FrameReceiver({
      mostBytes: context.limits.maxMessageBytes + MOST_FRAME_BYTES,
      message: (kind, body) => this.#message(kind, body),
      grant: () => this.#grant(false),
    });
    this.#receiver.isPaused = context.isPaused;
    // The owner gets the other parts once it has the first one, which is the request.
    this.#sender = new FrameSender((headers, data) => this.#sendPart(headers, data), MOST_FRAME_BYTES);
    const { host } = context.connection;
    if (host !== undefined) this.#owner = { host, run: context.runOf(host) };
  }

  get subject(): string {
    return this.#subject;
  }

  get #server(): string {
    return this.#context.connection.definition.name;
  }

  get waitingBytes(): number {
    return this.#sender.waitingBytes;
  }

  set isPaused(isPaused: boolean) {
    this.#isPaused = isPaused;
    this.#receiver.isPaused = isPaused;
  }

  // --- the request ---

  begin(): void {
    const { request } = this;
    if (request.body.length <= MOST_FRAME_BYTES) return this.#publish({}, request.body);
    this.#sender.push('end', request.body);
  }

  #sendPart(headers: BusHeaders, data: Uint8Array): void {
    if (headers[HEADER.seq] !== '1') return this.#control(headers, data);
    this.#publish({ ...headers, [HEADER.length]: `${this.request.body.length}` }, data);
  }

  #publish(more: BusHeaders, data: Uint8Array): void {
    const { connection, stream, bus, hasBulk } = this.#context;
    const { method, name } = this.request;
    this.#subject = connection.subjectOf(method, name, this.#owner?.host);
    this.#attempts++;
    this.#sentMs = this.#context.clock.now();
    const headers: Record<string, string> = {
      ...connection.commonHeaders(),
      [HEADER.method]: method,
      [HEADER.version]: PROTOCOL_VERSION,
      [HEADER.acceptPart]: '1',
      [HEADER.call]: callPlace({ stream, number: this.number, done: Math.min(connection.doneNumber, this.number) }),
      ...more,
    };
    if (name !== undefined) headers[HEADER.name] = headerValue(name);
    if (hasBulk) headers[HEADER.acceptBulk] = '1';
    if (this.#attempts > 1) {
      headers[HEADER.again] = `${this.#attempts} ${this.#owner?.run ?? '-'}`;
      headers[HEADER.got] = `${this.#receiver.gotSeq}`;
      headers[HEADER.credit] = `${this.#receiver.credit}`;
    }
    bus.publish({ subject: this.#subject, reply: this.#answers.reply, headers, data });
  }

  #control(headers: BusHeaders, data: Uint8Array = NOTHING): void {
    this.#context.bus.publish({ subject: `${this.#answers.reply}${CONTROL_END}`, headers, data });
  }

  /** Says what is here, and how much more may come. */
  #grant(isAgain: boolean): void {
    this.#sentMs = this.#context.clock.now();
    const headers = { [HEADER.got]: `${this.#receiver.gotSeq}`, [HEADER.credit]: `${this.#receiver.credit}` };
    this.#control(isAgain ? { ...headers, [HEADER.again]: '1' } : headers);
  }

  /** Asks the owner that has the request, or may have it, for what is missing. */
  #askAgain(): void {
    if (this.#owner === undefined) return; // nobody knows who may have it
    if (this.request.body.length <= MOST_FRAME_BYTES || this.#sender.keptBytes === 0) this.#publish({}, this.#whole());
    else this.#sender.resend();
  }

  /** The request; without its bytes if the owner has all of them, which came in parts. */
  #whole(): Buffer {
    return this.request.body.length <= MOST_FRAME_BYTES ? this.request.body : NOTHING;
  }

  // --- what comes ---

  take(message: ReceivedMessage): void {
    if (this.isOver) return;
    const { headers, data, isUnheard } = message;
    if (isUnheard) return this.#onUnheard();
    const kind = frameKindOf(headers);
    if (kind === undefined) return;
    const owner = ownerIn(headers);
    if (this.#owner !== undefined && owner.host !== this.#owner.host)
      return this.#context.refused(
        this.#server,
        `host ${owner.host.slice(0, 64)} has answered in the place of another`,
      );
    this.#heardMs = this.#context.clock.now();
    if (kind === 'err' && headers[HEADER.seq] === undefined) return this.#onRefused(data);
    if (this.#owner?.run !== owner.run) this.#onOwner(owner);
    if (this.isOver) return;
    this.#isHeard = true;
    if (this.#isCancelled !== undefined) this.#control({}, this.#isCancelled);
    if (kind === 'ka' || kind === 'ack') return this.#onSign(headers);
    this.#receivedBytes += data.length;
    const fault = this.#receiver.take(kind, headers, data);
    if (fault !== undefined) this.#onFault(fault);
  }

  /** The first word of an owner binds the call to it. Another run of its daemon knows nothing of the call. */
  #onOwner(owner: { readonly host: string; readonly run: string }): void {
    if (this.#isHeard && this.#owner?.run !== undefined)
      return this.#lost(`was restarted: its host ${owner.host} has another daemon by now`);
    this.#owner = owner;
  }

  /** The owner says how much of the request it has, and how much more may come. */
  #onSign(headers: BusHeaders): void {
    const got = countIn(headers[HEADER.got]);
    const credit = countIn(headers[HEADER.credit]);
    if (got !== undefined && credit !== undefined) this.#sender.granted(got, credit);
  }

  #onUnheard(): void {
    const where = this.#owner === undefined ? 'no host offers it now' : `host ${this.#owner.host} is not there`;
    if (this.#attempts === 1 && !this.#isHeard)
      return this.#undone('SERVER_UNREACHABLE', `cannot be reached: ${where}`);
    // An owner that is known to be there has lost NATS for a moment: it is asked again until the call counts as lost.
    const { runOf } = this.#context;
    if (this.#owner?.run !== undefined && runOf(this.#owner.host) === this.#owner.run) return;
    this.#lost(`cannot be reached any more: ${where}`);
  }

  /** The owner has refused the request before it was a call. */
  #onRefused(data: Uint8Array): void {
    const body = messageOf(data);
    const isRead =
      body !== undefined && envelope.scan(body, 0, body.length - 1, DEEPEST) && envelope.kind === 'response';
    const error = isRead ? envelope.decode(body, Field.error) : undefined;
    const code = typeof error === 'object' && error !== null && 'code' in error ? error.code : undefined;
    if (body === undefined || code === undefined || code === WIRE_CODE.streamLost)
      return this.#lost('does not know the call any more');
    this.#answer(body);
  }

  #onFault(fault: string): void {
    const { refused, connection } = this.#context;
    const server = this.#server;
    refused(server, `its frames are ${fault}`);
    this.#control({}, this.#cancelNotice());
    const error = new BridgeError('SERVER_ANSWER_REFUSED', `Server ${server} has sent frames that are ${fault}`, {
      server,
    });
    this.#settle();
    connection.answer(Buffer.from(`{"jsonrpc":"2.0","id":${this.request.idText},"error":${rpcErrorOf(error)}}\n`));
  }

  #cancelNotice(): Buffer {
    const params = `{"requestId":${this.request.idText}}`;
    return Buffer.from(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":${params}}`);
  }

  /** A whole message has come. */
  #message(kind: BusFrameKind, body: Buffer): void {
    if (this.isOver) return;
    if (kind === 'end' && body.length === 0) {
      if (this.#isCancelled === undefined) return this.#lost('has ended the call');
      return this.#settle();
    }
    const message = messageOf(body);
    if (message === undefined) return this.#onFault('not UTF-8');
    const isSound = envelope.scan(message, 0, message.length - 1, DEEPEST);
    if (kind === 'msg') {
      if (isSound && envelope.kind === 'notification') this.#context.connection.answer(message);
      else this.#onFault('no notifications');
      return;
    }
    if (!isSound || envelope.kind !== 'response' || envelope.raw(message, Field.id) !== this.request.idText)
      return this.#onFault('not the answer to its request');
    this.#answer(message);
  }

  #answer(message: Buffer): void {
    if (this.#receivedBytes >= LARGE_ANSWER) this.#grant(false);
    this.#settle();
    if (this.#isCancelled === undefined && this.request.idText !== PING_ID) this.#context.connection.answer(message);
  }

  // --- the end ---

  /** Nobody waits for the answer any more. The owner is told again once it says that it has begun. */
  cancel(notice: Buffer): void {
    this.#isCancelled = Buffer.from(notice);
    this.#control({}, this.#isCancelled);
  }

  /** The connection ends: the owner need not go on. */
  abandon(): void {
    if (this.#context.down() === undefined && this.#isCancelled === undefined) this.#control({}, this.#cancelNotice());
    this.isOver = true;
    this.#answers.forget();
  }

  denied(): void {
    const how = `may not be used: NATS does not let this daemon publish to ${this.#subject}`;
    this.#undone('REQUEST_REFUSED', how);
  }

  #undone(code: BridgeErrorCode, how: string): void {
    this.#settle();
    if (this.#isCancelled === undefined) this.#context.connection.undone(this, code, how);
  }

  #lost(how: string): void {
    if (this.isOver) return;
    this.#settle();
    if (this.#isCancelled === undefined) this.#context.connection.lost(this, how);
  }

  #settle(): void {
    this.isOver = true;
    this.#answers.forget();
    this.#context.connection.callOver(this);
  }

  busIsBack(): void {
    const nowMs = this.#context.clock.now();
    this.#downMs = undefined;
    this.#heardMs = nowMs;
    this.#askAgain();
  }

  tick(nowMs: number): void {
    const { down, limits } = this.#context;
    const why = down();
    if (why !== undefined) {
      this.#downMs ??= nowMs;
      if (nowMs - this.#downMs >= limits.resumeGraceMs) this.#lost(`cannot be reached: NATS is away (${why})`);
      return;
    }
    if (this.#isPaused) {
      // What does not come is not missed; the owner keeps it for a caller that shows that it is there.
      this.#heardMs = nowMs;
      if (this.#isHeard && nowMs - this.#sentMs >= KEEP_ALIVE_MS) this.#grant(false);
      return;
    }
    const silentMs = nowMs - this.#heardMs;
    if (silentMs >= LOST_MS) return this.#lost(`has said nothing for ${LOST_MS / 1000} s`);
    if (this.#receiver.hasGap) return this.#grant(true);
    const patienceMs = this.#isHeard ? SILENT_MS : RESEND_MS;
    if (silentMs >= patienceMs && nowMs - this.#sentMs >= RESEND_MS) this.#askAgain();
  }
}

function ownerIn(headers: BusHeaders): { readonly host: string; readonly run: string } {
  const [host = '', run = ''] = headers[HEADER.owner]?.split(' ') ?? [];
  return { host, run };
}

/** A message of the owner with a newline behind it, as frames of the bridge have it; undefined if it is not UTF-8. */
function messageOf(data: Uint8Array): Buffer | undefined {
  if (!isUtf8(data)) return undefined;
  const frame = Buffer.allocUnsafe(data.length + 1);
  frame.set(data);
  // Within JSON a newline means no more than a space.
  for (let at = frame.indexOf(NEWLINE); at >= 0 && at < data.length; at = frame.indexOf(NEWLINE, at + 1))
    frame[at] = SPACE;
  frame[data.length] = NEWLINE;
  return frame;
}
