// The owner's side: answers requests of other hosts for the servers that are offered. It checks what a request says of itself, and hands
// it to the core as that of a client. A request that came twice is one call; its answer is kept until the caller has it.

import type { Limits } from '../model/limits.ts';
import type { BusPrincipal } from '../model/principal.ts';
import { ERA_2026 } from '../protocol/era-2026.ts';
import { BRIDGE_FIELDS } from '../protocol/request-envelope.ts';
import { certainId, INTERNAL_ERROR, INVALID_REQUEST, rpcError } from '../protocol/rpc-error.ts';
import type { Clock, Timer } from '../util/clock.ts';
import { Envelope, Field } from '../wire/envelope.ts';
import type { Carrier } from '../wire/link.ts';
import type { FlushTurn } from '../wire/outbox.ts';
import type { Bus, BusHeaders, ReceivedMessage } from './bus.ts';
import { FrameReceiver } from './frame-receiver.ts';
import { FrameSender } from './frame-sender.ts';
import {
  BULK_END,
  type BusFrameKind,
  type CallPlace,
  CONTROL_END,
  callPlaceIn,
  countIn,
  errorResponse,
  frameKindOf,
  HEADER,
  headerText,
  KEEP_ALIVE_MS,
  MOST_FRAME_BYTES,
  WIRE_CODE,
  WIRE_VERSION,
} from './frames.ts';
import { type CallOutput, OwnerLink } from './owner-link.ts';
import { nameToken, parsedSubject, type RequestSubject, requestPattern, serverToken } from './subject.ts';

/** The time that a call has to be answered before its caller is told that it has begun. */
const ACK_MS = 20;
const TICK_MS = 1000;
/** The most streams of one host, and of all hosts together. */
const MOST_STREAMS_OF_HOST = 256;
const MOST_STREAMS = 2048;
/** The most calls of one stream that are not answered. */
const MOST_OPEN = 1024;
/** The most answers of one stream that are kept for a caller that may not have them. */
const MOST_KEPT = 256;
/** The most bytes of requests that come in parts, and of answers that wait, for one host. */
const MOST_HOST_BYTES = 64 * 1024 * 1024;
/** A stream of calls on which nothing is asked for so long is over. Its caller asks something before that. */
const IDLE_MS = 600_000;
/** The most ended streams that are remembered. */
const MOST_ENDED = 4096;

export interface OwnerOptions {
  readonly bus: Bus;
  readonly clock: Clock;
  readonly turn: FlushTurn;
  readonly limits: Limits;
  readonly tenant: string;
  readonly host: string;
  /** Names this run of the daemon: calls of a run before are not known in this one. */
  readonly run: string;
  readonly uid: number;
  /** Makes a session for a link, with this one view. */
  readonly accept: (link: Carrier, principal: BusPrincipal, view: string) => unknown;
  /** A request was refused for what it is. */
  readonly refused: (who: Pick<BusPrincipal, 'user' | 'host'> & { readonly server: string }, why: string) => void;
}

export interface OfferedName {
  readonly name: string;
  /** True if requests to any host that offers it may come here. */
  readonly isForAny: boolean;
}

const envelope = new Envelope(ERA_2026.keys);

/** The sender of a message, as far as its subject and headers say. */
interface Sender {
  readonly user: string;
  readonly host: string;
}

export class Owner {
  readonly #options: OwnerOptions;
  /** By the token on the bus. */
  readonly #offers = new Map<string, { readonly name: string; readonly end: () => void }>();
  readonly #streams = new Map<string, CallStream>();
  /** The keys of streams that have ended, the oldest first. */
  readonly #ended = new Set<string>();
  readonly #tick: Timer;
  #isAckDue = false;
  /** Calls whose callers have not been told that they have begun. */
  #unacknowledged = new Set<OwnedCall>();
  /** All calls that were ever begun, for reports. */
  begun = 0;

  constructor(options: OwnerOptions) {
    this.#options = options;
    this.#tick = options.clock.every(TICK_MS, () => this.tick());
  }

  /** Offers exactly these servers from now on. */
  offer(names: readonly OfferedName[]): void {
    const { host } = this.#options;
    const wanted = new Map<string, string>();
    for (const { name, isForAny } of names) {
      wanted.set(serverToken(name, host), name);
      if (isForAny) wanted.set(serverToken(name), name);
    }
    for (const [token, { name, end }] of this.#offers) {
      if (wanted.get(token) === name) continue;
      end();
      this.#offers.delete(token);
    }
    for (const [token, name] of wanted)
      if (!this.#offers.has(token)) this.#offers.set(token, this.#listen(token, name));
    const offered = new Set(wanted.values());
    for (const stream of [...this.#streams.values()]) if (!offered.has(stream.server)) stream.end();
  }

  /** Calls that are under way go on. */
  takeNoMore(): void {
    for (const { end } of this.#offers.values()) end();
    this.#offers.clear();
  }

  #listen(token: string, name: string) {
    const { bus, tenant } = this.#options;
    // The queue also holds the second connection of one daemon off a request.
    const end = bus.subscribe(requestPattern(tenant, token), (message) => this.take(name, message), { queue: token });
    return { name, end };
  }

  /** The number of streams of calls, and of calls that are not answered. */
  get load(): { readonly streams: number; readonly calls: number } {
    let calls = 0;
    for (const stream of this.#streams.values()) calls += stream.openCount;
    return { streams: this.#streams.size, calls };
  }

  /** A host is gone: nobody takes answers there any more. */
  hostGone(host: string): void {
    for (const stream of [...this.#streams.values()]) if (stream.principal.host === host) stream.end();
  }

  close(): void {
    this.#tick.cancel();
    this.offer([]);
    for (const stream of [...this.#streams.values()]) stream.end();
  }

  // --- requests ---

  /** Takes a message on the subject of an offered server. */
  take(server: string, message: ReceivedMessage): void {
    const subject = parsedSubject(message.subject);
    if (subject === undefined || subject.tenant !== this.#options.tenant) return;
    const { headers, reply } = message;
    const place = callPlaceIn(headers);
    const who = senderOf(subject, headers);
    const key = JSON.stringify([who.user, who.host, server, place?.stream]);
    const known = this.#streams.get(key);
    if (reply === undefined) {
      if (frameKindOf(headers) === 'end') known?.end(); // the caller leaves
      return;
    }
    if (headers[HEADER.wire] !== WIRE_VERSION)
      return this.#refuse(message, { server, who }, WIRE_CODE.mismatch, `${HEADER.wire} is not ${WIRE_VERSION}`);
    const isNumbered = headers[HEADER.acceptPart] === '1';
    if (isNumbered && place === undefined)
      return this.#refuse(message, { server, who }, WIRE_CODE.mismatch, `${HEADER.call} is missing or wrong`);
    if (place !== undefined && known !== undefined && isNumbered) {
      const call = known.calls.get(place.number);
      if (call !== undefined) return call.again(reply, headers);
      if (place.number <= known.floor) return this.#unknown(message, 'it is not known any more');
    }
    // What was asked before may have been done: by the daemon before this one, or before the stream was ended.
    if (headers[HEADER.again] !== undefined && (known === undefined || !this.#isOfThisRun(headers)))
      return this.#unknown(message, 'the daemon there has forgotten it');
    if (this.#ended.has(key)) return this.#unknown(message, 'its connection was ended');
    const stream = known ?? this.#newStream(key, server, who, place !== undefined);
    if (stream === undefined)
      return this.#refuse(message, { server, who }, INTERNAL_ERROR, 'Too many clients of this host');
    stream.begin(subject, message, isNumbered ? place : undefined);
  }

  #isOfThisRun(headers: BusHeaders): boolean {
    return headers[HEADER.again]?.split(' ')[1] === this.#options.run;
  }

  #newStream(key: string, server: string, { user, host }: Sender, isCounted: boolean): CallStream | undefined {
    const { tenant, uid } = this.#options;
    const ofHost = [...this.#streams.values()].filter(({ principal }) => principal.host === host).length;
    if (ofHost >= MOST_STREAMS_OF_HOST || this.#streams.size >= MOST_STREAMS) return undefined;
    const principal: BusPrincipal = { kind: 'bus', uid, pid: undefined, tenant, user, host };
    const stream = new CallStream(
      { server, principal },
      {
        ...this.#options,
        ended: () => {
          this.#streams.delete(key);
          if (isCounted) this.#noteEnded(key);
        },
        refused: (message, code, why) => this.#refuse(message, { server, who: principal }, code, why),
        noted: (why) => this.#options.refused({ user, host, server }, why),
        makeRoom: () => this.#makeRoom(host),
        begun: (call) => this.#begun(call),
        settled: (call) => this.#unacknowledged.delete(call),
        hostBytes: () => this.#bytesOf(host),
      },
    );
    this.#streams.set(key, stream);
    return stream;
  }

  /** Remembers a stream that has ended: a request of it that comes late, or twice, begins nothing. */
  #noteEnded(key: string): void {
    this.#ended.add(key);
    if (this.#ended.size <= MOST_ENDED) return;
    for (const oldest of this.#ended) {
      this.#ended.delete(oldest);
      return;
    }
  }

  /** Forgets answers that were sent to a host and may have come there. */
  #makeRoom(host: string): void {
    for (const stream of this.#streams.values()) if (stream.principal.host === host) stream.forgetSent();
  }

  #bytesOf(host: string): number {
    let bytes = 0;
    for (const stream of this.#streams.values()) if (stream.principal.host === host) bytes += stream.heldBytes;
    return bytes;
  }

  #begun(call: OwnedCall): void {
    this.begun++;
    this.#unacknowledged.add(call);
    if (this.#isAckDue) return;
    this.#isAckDue = true;
    this.#options.clock.after(ACK_MS, () => {
      this.#isAckDue = false;
      const due = this.#unacknowledged;
      this.#unacknowledged = new Set();
      for (const one of due) one.acknowledge();
    });
  }

  #refuse(
    message: ReceivedMessage,
    { server, who }: { readonly server: string; readonly who: Pick<BusPrincipal, 'user' | 'host'> },
    code: number,
    why: string,
  ): void {
    this.#options.refused({ user: who.user, host: who.host, server }, why);
    this.#fail(message, rpcError(code, why));
  }

  #unknown(message: ReceivedMessage, why: string): void {
    this.#fail(message, rpcError(WIRE_CODE.streamLost, `Nothing is known of the call: ${why}`));
  }

  #fail({ reply = '', data }: ReceivedMessage, error: string): void {
    const b = bufferOf(data);
    const isRead = envelope.scan(b, 0, b.length, this.#options.limits.maxDepth) || envelope.has(Field.id);
    const id = isRead ? certainId(envelope, b) : 'null';
    const { bus, host, run } = this.#options;
    // It has no number: it is no frame of a call that has begun.
    const headers = { [HEADER.frame]: 'err', [HEADER.owner]: `${host} ${run}` };
    bus.publish({ subject: reply, headers, data: errorResponse(id, error) });
  }

  /** Called once a second. */
  tick(): void {
    const nowMs = this.#options.clock.now();
    for (const stream of [...this.#streams.values()]) stream.tick(nowMs);
  }
}

/** The sender by its own word, but for the user, which is in the subject. */
function senderOf({ user }: RequestSubject, headers: BusHeaders): Sender {
  return { user, host: (headerText(headers[HEADER.host]) ?? '').slice(0, 128) };
}

function bufferOf(data: Uint8Array): Buffer {
  return Buffer.from(data.buffer, data.byteOffset, data.byteLength);
}

interface StreamContext extends Omit<OwnerOptions, 'refused'> {
  readonly ended: () => void;
  readonly refused: (message: ReceivedMessage, code: number, why: string) => void;
  /** Something was refused that is answered elsewhere. */
  readonly noted: (why: string) => void;
  readonly makeRoom: () => void;
  readonly begun: (call: OwnedCall) => void;
  readonly settled: (call: OwnedCall) => void;
  /** The bytes that are held for the host. */
  readonly hostBytes: () => number;
}

/** The calls of one client at one server: to the core it is one connection. */
class CallStream {
  readonly server: string;
  readonly principal: BusPrincipal;
  readonly calls = new Map<number, OwnedCall>();
  /** Calls with this number or a lower one are not begun: they are done, or forgotten. */
  floor = 0;
  readonly #context: StreamContext;
  readonly #link: OwnerLink;
  #usedMs: number;
  /** The numbers of calls of callers that do not count. They count down, away from all others. */
  #uncounted = 0;
  #isEnded = false;

  constructor({ server, principal }: Pick<CallStream, 'server' | 'principal'>, context: StreamContext) {
    this.server = server;
    this.principal = principal;
    this.#context = context;
    this.#usedMs = context.clock.now();
    this.#link = new OwnerLink({ turn: context.turn, closed: () => this.end() });
    context.accept(this.#link, principal, `server:${server}`);
  }

  get openCount(): number {
    let open = 0;
    for (const call of this.calls.values()) if (!call.isOver) open++;
    return open;
  }

  get heldBytes(): number {
    let bytes = 0;
    for (const call of this.calls.values()) bytes += call.heldBytes;
    return bytes;
  }

  begin(subject: RequestSubject, message: ReceivedMessage, place: CallPlace | undefined): void {
    const { clock, limits } = this.#context;
    this.#usedMs = clock.now();
    if (place !== undefined) this.#forgetDone(place.done);
    if (this.#link.isClosed || this.#link.isFull || this.openCount >= MOST_OPEN)
      return this.#context.refused(message, INTERNAL_ERROR, 'Too much is under way for this client; ask again later');
    const length = countIn(message.headers[HEADER.length]) ?? message.data.length;
    if (length > limits.maxMessageBytes)
      return this.#context.refused(
        message,
        WIRE_CODE.tooLarge,
        `A message may have at most ${limits.maxMessageBytes} bytes`,
      );
    const isInParts = message.headers[HEADER.length] !== undefined;
    if (isInParts && (place === undefined || this.#context.hostBytes() + length > MOST_HOST_BYTES))
      return this.#context.refused(message, WIRE_CODE.tooLarge, 'Too much is under way for this host; ask again later');
    const number = place?.number ?? --this.#uncounted;
    const call = new OwnedCall(number, message, {
      context: this.#context,
      isNumbered: place !== undefined,
      settled: (one) => this.#settled(one),
      ask: (body, one) => this.#ask(subject, message.headers, body, one),
      cancel: (idText) => this.#link.cancel(idText),
    });
    this.calls.set(number, call);
    call.start(isInParts ? length : undefined);
  }

  /** Hands a whole request to the core. */
  #ask(subject: RequestSubject, headers: BusHeaders, body: Buffer, call: OwnedCall): void {
    const refusal = this.#refusalOf(subject, headers, body);
    if (refusal !== undefined) {
      this.#context.noted(refusal.why);
      return call.fail(body, rpcError(refusal.code, refusal.why));
    }
    const idText = certainId(envelope, body);
    if (this.#link.isOpen(idText))
      return call.fail(body, rpcError(INVALID_REQUEST, `A request with id ${idText} is still under way`));
    const frame = Buffer.allocUnsafe(body.length + 1);
    body.copy(frame);
    frame[body.length] = 0x0a;
    call.idText = idText;
    this.#context.begun(call);
    this.#link.take(frame, body.length, idText, call);
  }

  /** Why a request is not handed on; undefined if subject, headers and body say the same. */
  #refusalOf(subject: RequestSubject, headers: BusHeaders, body: Buffer): { code: number; why: string } | undefined {
    const mismatch = (why: string) => ({ code: WIRE_CODE.mismatch, why: `Header mismatch: ${why}` });
    if (!envelope.scan(body, 0, body.length, this.#context.limits.maxDepth) || body.includes(0x0a))
      return { code: INVALID_REQUEST, why: 'Invalid request: not one message of JSON-RPC' };
    if (envelope.kind !== 'request' || certainId(envelope, body) === 'null')
      return { code: INVALID_REQUEST, why: 'Invalid request: a request with an id is expected' };
    const method = envelope.decode(body, Field.method);
    if (method !== headers[HEADER.method]) return mismatch(`${HEADER.method} does not say what the body says`);
    if (method !== subject.method) return mismatch('the subject names another method');
    const version = envelope.decode(body, Field.protocolVersion);
    if (version !== headers[HEADER.version]) return mismatch(`${HEADER.version} does not say what the body says`);
    const { name: field } = ERA_2026.methods.of(body, envelope);
    const named = field === undefined ? undefined : envelope.decode(body, field);
    const name = typeof named === 'string' ? named : undefined;
    if (name !== headerText(headers[HEADER.name])) return mismatch(`${HEADER.name} does not say what the body says`);
    if (subject.name !== nameToken(name)) return mismatch('the subject has another name');
    const foreign = BRIDGE_FIELDS.some((one) => envelope.has(one));
    return foreign
      ? { code: INVALID_REQUEST, why: 'A view, an id or a directory of another host is not taken' }
      : undefined;
  }

  /** Forgets calls whose answers were sent whole. */
  forgetSent(): void {
    for (const [number, call] of this.calls) if (call.isSent) this.#forget(number);
  }

  #settled(call: OwnedCall): void {
    this.#context.settled(call);
    let kept = 0;
    for (const one of this.calls.values()) if (one.isOver) kept++;
    if (kept <= MOST_KEPT) return;
    for (const [number, one] of this.calls) if (one.isOver) return this.#forget(number);
  }

  #forgetDone(done: number): void {
    for (const [number, call] of this.calls) {
      if (number >= done) break;
      if (call.isOver) this.#forget(number);
    }
  }

  /** Numbers rise, but a call may be forgotten before an earlier one has ended: that one keeps its entry, which is looked at first. */
  #forget(number: number): void {
    this.calls.get(number)?.drop();
    this.calls.delete(number);
    if (number > this.floor) this.floor = number;
  }

  tick(nowMs: number): void {
    if (this.calls.size > 0) this.#usedMs = nowMs;
    for (const [number, call] of [...this.calls]) if (call.tick(nowMs) === 'forget') this.#forget(number);
    if (nowMs - this.#usedMs >= IDLE_MS) this.end();
  }

  /** Ends all calls, and the connection to the core. */
  end(): void {
    if (this.#isEnded) return;
    this.#isEnded = true;
    this.#link.destroy();
    for (const call of this.calls.values()) call.drop();
    this.calls.clear();
    this.#context.ended();
  }
}

interface CallPorts {
  readonly context: StreamContext;
  /** True if the caller counts frames and gives credit. */
  readonly isNumbered: boolean;
  /** The call is answered. */
  readonly settled: (call: OwnedCall) => void;
  readonly ask: (body: Buffer, call: OwnedCall) => void;
  readonly cancel: (idText: string) => void;
}

/** One call, from its first frame until its caller has the answer. */
class OwnedCall implements CallOutput {
  readonly number: number;
  /** The id of the request, as it was spelled; '' before it is whole. */
  idText = '';
  isOver = false;
  readonly #ports: CallPorts;
  readonly #message: ReceivedMessage;
  #reply: string;
  readonly #hasBulk: boolean;
  readonly #sender: FrameSender | undefined;
  #receiver: FrameReceiver | undefined;
  #length = 0;
  #unlisten: (() => void) | undefined;
  #sentMs: number;
  /** The last sign that the caller takes what it is sent. */
  #heardMs: number;

  constructor(number: number, message: ReceivedMessage, ports: CallPorts) {
    this.number = number;
    this.#message = message;
    this.#ports = ports;
    this.#reply = message.reply ?? '';
    this.#hasBulk = message.headers[HEADER.acceptBulk] === '1';
    this.#sentMs = ports.context.clock.now();
    this.#heardMs = this.#sentMs;
    if (ports.isNumbered) this.#sender = new FrameSender((headers, data, kind) => this.#send(headers, data, kind));
  }

  get heldBytes(): number {
    return (this.#receiver === undefined ? 0 : this.#length) + (this.#sender?.keptBytes ?? 0);
  }

  /** True if the whole answer was sent. */
  get isSent(): boolean {
    return this.isOver && this.#sender?.hasSentAll !== false;
  }

  /** Begins with a whole request, or with the first part of one that has `length` bytes. */
  start(length: number | undefined): void {
    const { data, headers } = this.#message;
    if (length === undefined) return this.#ports.ask(bufferOf(data), this);
    this.#length = length;
    this.#listen();
    const receiver = new FrameReceiver({
      mostBytes: length,
      message: (_, body) => {
        this.#receiver = undefined;
        this.#ports.ask(body, this);
      },
      grant: () => this.#tellPlace(),
    });
    this.#receiver = receiver;
    this.#takePart(headers, data);
    this.#tellPlace();
  }

  #takePart(headers: BusHeaders, data: Uint8Array): void {
    const kind = frameKindOf(headers);
    const fault =
      kind === 'part' || kind === 'end' ? this.#receiver?.take(kind, headers, data) : ('unnumbered' as const);
    if (fault === undefined) return;
    this.#receiver = undefined;
    this.#ports.context.refused(this.#message, WIRE_CODE.tooLarge, `The parts of the request are ${fault}`);
    this.over();
  }

  /** Tells the caller how much of its request is here, and how much more may come. */
  #tellPlace(): void {
    const receiver = this.#receiver;
    if (receiver === undefined) return;
    this.#publish({
      [HEADER.frame]: 'ka',
      [HEADER.got]: `${receiver.gotSeq}`,
      [HEADER.credit]: `${receiver.credit}`,
    });
  }

  // --- what the core writes ---

  notify(body: Buffer): void {
    this.#push('msg', body);
  }

  answer(body: Buffer): void {
    this.#finish('end', body);
  }

  over(): void {
    this.#finish('end', NOTHING);
  }

  /** Answers a request that is not handed on. */
  fail(b: Buffer, error: string): void {
    const isRead = envelope.scan(b, 0, b.length, this.#ports.context.limits.maxDepth) || envelope.has(Field.id);
    this.#finish('err', errorResponse(isRead ? certainId(envelope, b) : 'null', error));
  }

  #finish(kind: BusFrameKind, body: Buffer): void {
    if (this.isOver) return;
    this.isOver = true;
    this.#receiver = undefined;
    this.#heardMs = this.#ports.context.clock.now();
    this.#push(kind, body);
    this.#ports.settled(this);
  }

  #push(kind: BusFrameKind, body: Buffer): void {
    const sender = this.#sender;
    const { hostBytes, makeRoom } = this.#ports.context;
    if (sender === undefined) return this.#pushPlain(kind, body);
    if (kind === 'msg' && sender.waitingBytes > MOST_FRAME_BYTES) return; // the caller is behind: what is only news is left out
    if (body.length > MOST_FRAME_BYTES && hostBytes() + body.length > MOST_HOST_BYTES) makeRoom();
    if (body.length > MOST_FRAME_BYTES && hostBytes() + body.length > MOST_HOST_BYTES)
      body = errorResponse(this.idText, rpcError(WIRE_CODE.tooLarge, 'Too many answers wait for this host'));
    sender.push(kind, body);
    if (!sender.hasSentAll) this.#listen();
  }

  /** For a caller that knows nothing of parts. */
  #pushPlain(kind: BusFrameKind, body: Buffer): void {
    const isTooLong = body.length > MOST_PLAIN_BYTES;
    if (isTooLong && kind === 'msg') return;
    const error = rpcError(WIRE_CODE.tooLarge, `The answer has ${body.length} bytes, and the caller takes no parts`);
    this.#publish({ [HEADER.frame]: isTooLong ? 'err' : kind }, isTooLong ? errorResponse(this.idText, error) : body);
  }

  #send(headers: BusHeaders, data: Uint8Array, kind: BusFrameKind): void {
    this.#publish(headers, data, kind);
  }

  #publish(headers: BusHeaders, data: Uint8Array = NOTHING, kind: BusFrameKind = 'ka'): void {
    const { bus, host, run, clock } = this.#ports.context;
    this.#sentMs = clock.now();
    const isBulk = kind === 'part' && this.#hasBulk;
    const own = this.#ports.isNumbered ? { ...headers, [HEADER.owner]: `${host} ${run}` } : headers;
    bus.publish(
      { subject: isBulk ? `${this.#reply}${BULK_END}` : this.#reply, headers: own, data },
      isBulk ? 'bulk' : 'small',
    );
  }

  // --- the caller ---

  #listen(): void {
    this.#unlisten ??= this.#ports.context.bus.subscribe(`${this.#reply}${CONTROL_END}`, (message) =>
      this.#told(message),
    );
  }

  /** Says that the call has begun, if it is not answered by now. */
  acknowledge(): void {
    if (this.isOver) return;
    this.#listen();
    this.#publish({ [HEADER.frame]: this.#ports.isNumbered ? 'ack' : 'ka' });
  }

  /** The same request has come once more: its caller has missed something. */
  again(reply: string, headers: BusHeaders): void {
    if (reply !== this.#reply) {
      this.#unlisten?.();
      this.#unlisten = undefined;
      this.#reply = reply;
    }
    this.#listen();
    this.#grant(headers);
    if (this.#receiver !== undefined) return this.#tellPlace();
    if (!this.isOver) this.#publish({ [HEADER.frame]: 'ack' });
    this.#sender?.resend();
  }

  #grant(headers: BusHeaders): void {
    const got = countIn(headers[HEADER.got]);
    const credit = countIn(headers[HEADER.credit]);
    this.#heardMs = this.#ports.context.clock.now();
    if (got !== undefined && credit !== undefined) this.#sender?.granted(got, credit);
  }

  /** Takes what the caller says on the control subject: credit, a part of the request, or that it does not want the answer. */
  #told({ headers, data }: ReceivedMessage): void {
    if (frameKindOf(headers) !== undefined) return this.#takePart(headers, data);
    if (headers[HEADER.got] !== undefined) {
      this.#grant(headers);
      if (headers[HEADER.again] !== undefined) this.#sender?.resend();
      return;
    }
    if (this.isOver) return;
    if (this.idText === '') this.over();
    else this.#ports.cancel(this.idText);
  }

  tick(nowMs: number): 'forget' | undefined {
    const { limits } = this.#ports.context;
    if (this.isOver && this.#sender === undefined) return 'forget';
    // Also an answer that the caller has is remembered for a while: its request may come once more.
    if ((this.isOver || this.#receiver !== undefined) && nowMs - this.#heardMs >= limits.resumeGraceMs) return 'forget';
    if (!this.isSent && nowMs - this.#sentMs >= KEEP_ALIVE_MS) {
      this.#listen();
      this.#publish({ [HEADER.frame]: 'ka' });
    }
    return undefined;
  }

  drop(): void {
    this.#unlisten?.();
    this.#unlisten = undefined;
    this.isOver = true;
    this.#ports.context.settled(this);
  }
}

const NOTHING = Buffer.alloc(0);
/** The longest message for a caller that takes no parts: NATS has this bound unless it is told otherwise. */
const MOST_PLAIN_BYTES = 1024 * 1024;
