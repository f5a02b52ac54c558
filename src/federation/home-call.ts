// One request on its way to an owner, until its one answer. The request is sent again only if its owner would recognize
// the repeat. The connection decides if another owner may get it; this file only tells the connection how the call has
// ended.

import { isUtf8 } from 'node:buffer';
import { HOST_NAME_FORM } from '../model/host-name.ts';
import { ERA_2026 } from '../protocol/era-2026.ts';
import { INTERNAL_ERROR, rpcErrorOf } from '../protocol/rpc-error.ts';
import { BridgeError, type BridgeErrorCode } from '../util/bridge-error.ts';
import type { Timer } from '../util/clock.ts';
import { membersOf } from '../util/json-value.ts';
import { printable } from '../util/printable.ts';
import { Envelope, Field } from '../wire/envelope.ts';
import { DEEPEST } from '../wire/json-grammar.ts';
import type { BusHeaders, BusLane, FixedHeaders, ReceivedMessage } from './bus.ts';
import { ClaimedAnswer } from './claimed-answer.ts';
import { CLAIM_BYTES } from './claims.ts';
import { FrameReceiver } from './frame-receiver.ts';
import { FrameSender } from './frame-sender.ts';
import {
  type BusFrameKind,
  bufferOf,
  callPlace,
  countIn,
  frameKindOf,
  HEADER,
  headerValue,
  KEEP_ALIVE_MS,
  LOST_MS,
  MOST_FRAME_BYTES,
  WIRE_CODE,
  withNewline,
} from './frames.ts';
import type { HomeOptions, OpenContext } from './home.ts';
import type { CallWay } from './owner-choice.ts';
import { controlSubject } from './subject.ts';

/** An unconfirmed request is sent again after this time. */
const RESEND_MS = 2000;
/** A call that has begun and then says nothing is asked for after this time. */
const SILENT_MS = 1.5 * KEEP_ALIVE_MS;
/** An answer in parts that does not go on is asked for the first time after this time. */
const STALL_MS = 1000;
const SOON_MS = 50;
/** Missing parts are asked for so often on their own connection. */
const FEW_TRIES = 2;
/** From this size on, the owner is told at once that an answer has come, so that it need not keep it. */
const LARGE_ANSWER = 64 * 1024;
/** The errors of an owner's daemon that mean that a call was not begun. */
const UNBEGUN: ReadonlySet<unknown> = new Set([WIRE_CODE.streamLost, WIRE_CODE.nobody, WIRE_CODE.mismatch]);
/** The maximum length of a reason that an owner gives. */
const MOST_REASON = 120;

const envelope = new Envelope(ERA_2026.keys);
const NOTHING = Buffer.alloc(0);
const OWNER = new RegExp(`^(${HOST_NAME_FORM}) ([A-Za-z0-9_-]{1,64})$`);
/**
 * The number of times that the bus may come back, without a word of the owner, before the call stops waiting for it.
 */
const MOST_COMEBACKS = 4;
/** The times that an owner may refuse a request that it was sent several times. */
const MOST_REFUSALS = 5;
const NEWLINE = 0x0a;
const SPACE = 0x20;

export interface HomeRequest {
  readonly idText: string;
  readonly method: string;
  readonly name: string | undefined;
  readonly body: Buffer;
  /** The asking client, as this host calls it; '' if the bridge asks by itself. */
  readonly client?: string;
  /** The host that must take it; undefined if any owner may. */
  readonly host: string | undefined;
  /** Undefined if no other owner may take it. */
  readonly way?: CallWay;
  /** The hosts that have forgotten the stream on which the request came. */
  readonly forgotAt?: ReadonlySet<string>;
}

/** One call, as its answers find it. */
export interface AnsweredCall {
  take(message: ReceivedMessage): void;
}

export interface ExpectedAnswers {
  readonly reply: string;
  readonly forget: () => void;
}

/** The target of requests of one kind, with the headers that they share. */
export interface CallAim {
  readonly subject: string;
  readonly fixed: FixedHeaders;
}

/** The connection that a call belongs to. */
export interface CallConnection {
  /** The server, under the name that people here use. */
  readonly server: string;
  /** Its name on its host. */
  readonly offeredName: string;
  /** The lease number that its answers carry; undefined without a lease. */
  readonly fence: string | undefined;
  /** The number below which all calls are answered. */
  readonly doneNumber: number;
  /** The stream for the connection's new calls. */
  readonly stream: string;
  /** True while nothing is read. */
  readonly isPaused: boolean;
  aimAt(method: string, name: string | undefined, host: string | undefined): CallAim;
  /** Called with each notification, with a newline behind it. */
  notified(message: Buffer): void;
  /** Called with the answer, or with an error in its place. `host` is the owner's. */
  answered(call: HomeCall, message: Buffer, host: string | undefined): void;
  /** Called when the call is over: it was answered, or nobody waits for it. */
  callOver(call: HomeCall): void;
  /** Called when the call was certainly not carried out. */
  undone(call: HomeCall, code: BridgeErrorCode, how: string): void;
  /** Called when nobody has taken the call so far. If any owner may, the connection asks another one. */
  quiet(call: HomeCall): void;
  /** Called when an owner is too busy. Returns true if another owner is asked. */
  turnedAway(call: HomeCall, host: string): boolean;
  /**
   * Called when the owner on that host has not begun the call, because it has forgotten the connection or serves the
   * server no more.
   */
  overThere(call: HomeCall, host: string): void;
  /** Called when nobody knows if the call was carried out. */
  lost(call: HomeCall, how: string): void;
}

/** One object for all calls of a connection. */
export interface HomeCallContext extends HomeOptions, Pick<OpenContext, 'failed'> {
  readonly connection: CallConnection;
  readonly down: () => string | undefined;
  readonly expect: (call: AnsweredCall) => ExpectedAnswers;
}

/** The run of an owner, as it says itself. */
interface NamedRun {
  readonly host: string;
  readonly run: string;
}

interface NamedOwner {
  readonly host: string;
  readonly run: string | undefined;
}

export class HomeCall implements AnsweredCall {
  readonly number: number;
  readonly request: HomeRequest;
  /** The stream that the call belongs to. */
  readonly stream: string;
  isOver = false;
  readonly #context: HomeCallContext;
  readonly #answers: ExpectedAnswers;
  /** Made only for an answer of more than one frame; most have one. */
  #ownReceiver: FrameReceiver | undefined;
  /** Made only for a request of more than one frame. */
  #ownSender: FrameSender | undefined;
  /** True if parts of the request did not get through at once: the connection for long messages may be dead. */
  #wasSentAgain = false;
  readonly #fence: string | undefined;
  /** The host and the run that the call is bound to; undefined while any owner may take it. */
  #owner: NamedOwner | undefined;
  #subject = '';
  /** True once the owner has said something: it has the request, or its first part. */
  #isHeard = false;
  /** True if the owner waits for a word of the home before it begins. */
  readonly #isHeld: boolean;
  /** True once the owner was told that it may begin, or if it need not be told. */
  #mayHaveBegun: boolean;
  /** True once the owner has said that the call has begun. */
  #hasBegun = false;
  #isCancelled: Buffer | undefined;
  #receivedBytes = 0;
  /** The id of a parked answer. */
  #claim: string | undefined;
  /** The parked answer while it is fetched. */
  #parked: ClaimedAnswer | undefined;
  #isPaused: boolean;
  #heardMs: number;
  #sentMs: number;
  #downMs: number | undefined;
  #attempts = 0;
  #refusals = 0;
  /** The number of times that the bus came back since the owner was heard. */
  #comebacks = 0;
  /** The time when the last frame of an answer came. */
  #frameMs = 0;
  /** The number of times that frames were asked for again since one came. */
  #fruitless = 0;
  /** The number of the last frame that the owner has sent, as it says itself. */
  #sentSeq = 0;
  /** The number of times that the owner was asked to go on with a partial answer. */
  #stalls = 0;
  #soon: Timer | undefined;
  #wasAskedSoon = false;

  constructor(number: number, request: HomeRequest, context: HomeCallContext) {
    this.number = number;
    this.request = request;
    this.#context = context;
    this.stream = context.connection.stream;
    this.#answers = context.expect(this);
    this.#isPaused = context.connection.isPaused;
    this.#isHeld = request.way?.isSafe === false;
    this.#mayHaveBegun = !this.#isHeld;
    this.#fence = context.connection.fence;
    this.#heardMs = context.clock.now();
    this.#sentMs = this.#heardMs;
    const { host } = request;
    if (host !== undefined) this.#owner = { host, run: context.runOf(host) };
  }

  get #receiver(): FrameReceiver {
    if (this.#ownReceiver !== undefined) return this.#ownReceiver;
    const receiver = new FrameReceiver({
      mostBytes: this.#context.limits.maxMessageBytes + MOST_FRAME_BYTES,
      message: (kind, body, hasRoom) => this.#message(kind, body, hasRoom),
      grant: () => this.#grant(false),
    });
    receiver.isPaused = this.#isPaused;
    this.#ownReceiver = receiver;
    return receiver;
  }

  get #sender(): FrameSender {
    // The first part is the request. The owner gets the other parts once it has that one.
    this.#ownSender ??= new FrameSender((headers, data) => this.#sendPart(headers, data), MOST_FRAME_BYTES);
    return this.#ownSender;
  }

  get subject(): string {
    return this.#subject;
  }

  /** True if nobody waits for the answer. */
  get isCancelled(): boolean {
    return this.#isCancelled !== undefined;
  }

  /** False if certainly no owner has begun the call. An owner may say that it has begun before it may. */
  get mayHaveBegun(): boolean {
    return this.#mayHaveBegun || this.#hasBegun;
  }

  /** True once the owner has said that the call has begun, or was told that it may begin. */
  get #isUnderWay(): boolean {
    return this.#hasBegun || (this.#isHeld && this.#mayHaveBegun);
  }

  /** True if the owner has said something since then. */
  isHeardSince(ms: number): boolean {
    return this.#isHeard && this.#heardMs >= ms;
  }

  /** The host that has the call, or must take it. */
  get host(): string | undefined {
    return this.#owner?.host;
  }

  get #takesClaims(): boolean {
    return this.#context.limits.maxMessageBytes > CLAIM_BYTES;
  }

  get #server(): string {
    return this.#context.connection.server;
  }

  get waitingBytes(): number {
    return this.#ownSender?.waitingBytes ?? 0;
  }

  set isPaused(isPaused: boolean) {
    this.#isPaused = isPaused;
    if (this.#ownReceiver !== undefined) this.#ownReceiver.isPaused = isPaused;
  }

  // --- the request ---

  begin(): void {
    const { request } = this;
    if (request.body.length <= MOST_FRAME_BYTES) return this.#publish({}, request.body);
    this.#sender.push('end', request.body);
  }

  #sendPart(headers: BusHeaders, data: Uint8Array): void {
    const lane = this.#context.hasBulk && !this.#wasSentAgain ? 'bulk' : 'small';
    if (headers[HEADER.seq] !== '1') return this.#control(headers, data, lane);
    this.#publish({ ...headers, [HEADER.length]: `${this.request.body.length}` }, data);
  }

  #publish(more: BusHeaders, data: Uint8Array): void {
    const { connection, bus, clock } = this.#context;
    const { method, name } = this.request;
    const { subject, fixed } = connection.aimAt(method, name, this.#owner?.host);
    this.#subject = subject;
    this.#attempts++;
    this.#sentMs = clock.now();
    const { reply } = this.#answers;
    const done = Math.min(connection.doneNumber, this.number);
    const headers: Record<string, string> = {
      [HEADER.call]: callPlace({ stream: this.stream, number: this.number, done }),
      ...more,
    };
    const { client = '' } = this.request;
    if (client !== '') headers[HEADER.client] = clientValue(client);
    if (this.#fence !== undefined) headers[HEADER.fence] = this.#fence;
    if (this.#takesClaims) headers[HEADER.acceptClaim] = '1';
    if (this.#isHeld) headers[HEADER.hold] = '1';
    if (this.#attempts === 1) return bus.publish({ subject, reply, fixed, headers, data });
    headers[HEADER.again] = `${this.#attempts} ${this.#owner?.run ?? '-'}`;
    headers[HEADER.got] = `${this.#receiver.gotSeq}`;
    headers[HEADER.credit] = `${this.#receiver.credit}`;
    if (this.#context.hasBulk) headers[HEADER.acceptBulk] = this.#usesBulk() ? '1' : '0';
    bus.publish({ subject, reply, headers: { ...fixed.headers, ...headers }, data });
  }

  /**
   * Tells the owner more about the call. Does nothing while no owner is known: then nobody has said that they have the
   * call.
   */
  #control(headers: BusHeaders, data: Uint8Array = NOTHING, lane: BusLane = 'small'): void {
    const owner = this.#owner;
    if (owner === undefined) return;
    const { bus, tenant, user } = this.#context;
    const subject = controlSubject({ tenant, user, host: owner.host }, this.#answers.reply);
    bus.publish({ subject, headers, data }, lane);
  }

  /** Says which frames are here, and how much more may come. */
  #grant(isAgain: boolean): void {
    this.#sentMs = this.#context.clock.now();
    const headers = { [HEADER.got]: `${this.#receiver.gotSeq}`, [HEADER.credit]: `${this.#receiver.credit}` };
    if (!isAgain) return this.#control(headers);
    const bulk = this.#context.hasBulk && { [HEADER.acceptBulk]: this.#usesBulk() ? '1' : '0' };
    this.#control({ ...headers, ...bulk, [HEADER.again]: '1' });
  }

  /**
   * True if parts should use their own connection. Counts repeated requests for frames; if they bring nothing, that
   * connection may be dead, and parts use the other one from then on.
   */
  #usesBulk(): boolean {
    return this.#fruitless++ < FEW_TRIES;
  }

  /** Asks again the owner that has the request, or may have it. */
  #askAgain(): void {
    const mayMove = this.request.way !== undefined && !this.#isHeard;
    if (mayMove || this.#owner === undefined) return this.#context.connection.quiet(this);
    if (this.request.body.length <= MOST_FRAME_BYTES || this.#sender.keptBytes === 0)
      return this.#publish({}, this.#whole());
    this.#wasSentAgain = true;
    this.#sender.resend();
  }

  /** Returns the request; without its bytes if they went in parts and the owner has them all. */
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
    if (owner === undefined) return this.#refused(this.#owner?.host, 'an answer does not name its owner');
    const { ownersOf, connection } = this.#context;
    if (this.#owner === undefined && !ownersOf(connection.offeredName).includes(owner.host))
      return this.#refused(owner.host, 'it has answered, and does not offer the server or may not be used');
    if (this.#owner !== undefined && owner.host !== this.#owner.host)
      return this.#refused(owner.host, `it has answered in the place of host ${this.#owner.host}`);
    this.#heardMs = this.#context.clock.now();
    this.#comebacks = 0;
    if (kind === 'err' && headers[HEADER.seq] === undefined) return this.#onRefused(data, owner.host);
    if (this.#fence !== undefined && headers[HEADER.fence] !== this.#fence)
      return this.#refused(owner.host, 'it has answered without the lease that it was asked by');
    if (this.#owner?.run !== owner.run) this.#onOwner(owner);
    if (this.isOver) return;
    this.#isHeard = true;
    if (this.#isCancelled !== undefined) this.#control({}, this.#isCancelled);
    if (kind === 'ka' || kind === 'ack') return this.#onSign(kind, headers);
    // An error of the owner's daemon comes before the call begins, or after it.
    if (kind !== 'err') this.#hasBegun = true;
    this.#receivedBytes += data.length;
    if (kind === 'end' && headers[HEADER.claim] !== undefined) this.#claim ??= headers[HEADER.claim];
    this.#frameMs = this.#heardMs;
    if (this.#isWholeAnswer(kind, headers, data)) return this.#message(kind, bufferOf(data));
    const { gotSeq } = this.#receiver;
    const fault = this.#receiver.take(kind, headers, data);
    if (this.#receiver.gotSeq > gotSeq && this.#fruitless < FEW_TRIES) this.#fruitless = 0;
    if (fault !== undefined) this.#onFault(fault === 'too-long' ? this.#tooLong : `frames that are ${fault}`);
    else if (this.#receiver.isPartWay && !this.isOver) this.#lookSoon();
  }

  /**
   * Gives credit again soon if an answer does not go on. A long answer uses another connection than the owner's
   * subscription; it may be here before the bus knows where credit for it goes.
   */
  #lookSoon(): void {
    if (this.#soon !== undefined || this.#wasAskedSoon) return;
    this.#soon = this.#context.clock.after(SOON_MS, () => {
      this.#soon = undefined;
      if (this.isOver || this.#isPaused || !this.#receiver.isPartWay) return;
      if (this.#context.clock.now() - this.#frameMs < SOON_MS) return this.#lookSoon();
      this.#wasAskedSoon = true;
      this.#grant(false);
    });
  }

  #refused(host: string | undefined, why: string): void {
    this.#context.refused(this.#server, host, why);
  }

  /** Binds the call to the first owner that speaks. Another run of its daemon knows nothing of the call. */
  #onOwner(owner: NamedRun): void {
    if (this.#isHeard && this.#owner?.run !== undefined)
      return this.#lost(`was restarted: its host ${owner.host} has another daemon by now`);
    this.#owner = owner;
  }

  /** Called when the owner says that it has the request, or how much of it, and how much more may come. */
  #onSign(kind: BusFrameKind, headers: BusHeaders): void {
    this.#hasBegun ||= kind === 'ack';
    if (this.#isHeld && !this.#hasBegun && this.#isCancelled === undefined) this.#letBegin();
    const got = countIn(headers[HEADER.got]);
    const credit = countIn(headers[HEADER.credit]);
    if (got !== undefined && credit !== undefined) this.#ownSender?.granted(got, credit);
    const sentSeq = countIn(headers[HEADER.sent]) ?? 0;
    if (sentSeq > this.#sentSeq) this.#frameMs = this.#heardMs; // the frames sent just now may be on their way
    this.#sentSeq = Math.max(this.#sentSeq, sentSeq);
  }

  /** True for an answer in a single frame: it needs no putting together and no credit. */
  #isWholeAnswer(kind: BusFrameKind, headers: BusHeaders, data: Uint8Array): boolean {
    const isAnswer = kind === 'end' || kind === 'err';
    if (!isAnswer || this.#ownReceiver !== undefined || this.#claim !== undefined) return false;
    return headers[HEADER.seq] === '1' && data.length > 0 && data.length < LARGE_ANSWER;
  }

  /** True if frames were sent that are not here. */
  get #isMissingFrames(): boolean {
    return this.#receiver.isPartWay || this.#sentSeq > this.#receiver.gotSeq;
  }

  /** Lets the owner begin. From here on it may have begun, and no other owner may take the call. */
  #letBegin(): void {
    this.#mayHaveBegun = true;
    this.#control({ [HEADER.begin]: this.#owner?.run ?? '' });
  }

  #onUnheard(): void {
    const where = this.#whyUnheard;
    if (this.#attempts === 1 && !this.#isHeard)
      return this.#undone('SERVER_UNREACHABLE', `cannot be reached: ${where}`);
    // The owner is known to be present and has lost NATS for a moment. It is asked again until the call counts as lost.
    const { runOf } = this.#context;
    if (this.#owner?.run !== undefined && runOf(this.#owner.host) === this.#owner.run) return;
    this.#lost(`cannot be reached any more: ${where}`);
  }

  get #whyUnheard(): string {
    if (this.#owner === undefined) return 'no host offers it now';
    const { host } = this.#owner;
    if (this.#context.runOf(host) === undefined) return `host ${host} is not there`;
    // The host was heard a moment ago. Its daemon may have been killed since, or NATS does not let it hear calls.
    return `host ${host} takes no calls for it`;
  }

  /** Called when the owner has refused the request before it was a call. */
  #onRefused(data: Uint8Array, host: string): void {
    const body = frameOf(data);
    const isRead =
      body !== undefined && envelope.scan(body, 0, body.length - 1, DEEPEST) && envelope.kind === 'response';
    const error = isRead ? envelope.decode(body, Field.error) : undefined;
    const code = membersOf(error).code;
    const isForgotten = body === undefined || code === undefined || code === WIRE_CODE.streamLost;
    if (this.#isUnderWay && !isForgotten) return this.#onTakenBack(error);
    // A refused request that was sent only once was not begun: its stream is over, or its lease.
    const isOverThere = code === WIRE_CODE.streamLost && this.#attempts === 1 && !this.#isUnderWay;
    const isServedElsewhere = code === WIRE_CODE.nobody && this.#fence !== undefined;
    if (isServedElsewhere && this.#attempts > 1) return this.#lost('is served by another host by now');
    if (isOverThere || isServedElsewhere) {
      this.#settle();
      return this.#context.connection.overThere(this, host);
    }
    if (isForgotten) return this.#lost(`does not know the call any more${whyIn(error)}`);
    const hasNoRoom = code === INTERNAL_ERROR || code === WIRE_CODE.tooLarge;
    if (hasNoRoom && this.request.way === undefined && this.#attempts > 1) return this.#onRefusedOnce(error);
    if (code !== INTERNAL_ERROR || this.isCancelled || this.request.way === undefined) return this.#answer(body);
    this.#settle();
    if (!this.#context.connection.turnedAway(this, host)) this.#context.connection.answered(this, body, host);
  }

  /**
   * Called when an owner had no room for a request that it was sent more than once. It may begin the second one, so the
   * call waits for its answer.
   */
  #onRefusedOnce(error: unknown): void {
    if (++this.#refusals >= MOST_REFUSALS) this.#lost(`has refused the call again and again${whyIn(error)}`);
  }

  /** Called when an owner said that it began the call and now denies it: nobody knows what it has done. */
  #onTakenBack(error: unknown): void {
    this.#refused(this.#owner?.host, 'it has begun a call, and then refused it');
    this.#lost(`has begun the call, and then refused it${whyIn(error)}`);
  }

  #onFault(what: string): void {
    const server = this.#server;
    this.#refused(this.#owner?.host, `it has sent ${what}`);
    this.#control({}, this.#cancelNotice());
    this.#fail(new BridgeError('SERVER_ANSWER_REFUSED', `Server ${server} has sent ${what}`, { server }));
  }

  /** Answers the call with an error of this daemon. */
  #fail(error: BridgeError): void {
    this.#settle();
    if (this.#isCancelled !== undefined) return;
    const message = `{"jsonrpc":"2.0","id":${this.request.idText},"error":${rpcErrorOf(error)}}\n`;
    this.#context.connection.answered(this, Buffer.from(message), undefined);
  }

  get #tooLong(): string {
    const { host, limits } = this.#context;
    const { maxMessageBytes } = limits;
    return `an answer of more than ${maxMessageBytes} bytes, the most that this host (${host}) takes: raise limits.maxMessageBytes in its config, or ask for less at once`;
  }

  #cancelNotice(): Buffer {
    const params = `{"requestId":${this.request.idText}}`;
    return Buffer.from(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":${params}}`);
  }

  /** Called with each whole message. */
  #message(kind: BusFrameKind, body: Buffer, hasRoom = false): void {
    if (this.isOver) return;
    if (this.#parked !== undefined) return;
    if (kind === 'end' && body.length === 0 && this.#claim !== undefined) return this.#fetch(this.#claim);
    if (kind === 'end' && body.length === 0) {
      if (this.#isCancelled === undefined) return this.#lost('has ended the call');
      return this.#settle();
    }
    const message = frameOf(body, hasRoom);
    if (message === undefined) return this.#onFault('frames that are not UTF-8');
    const isSound = envelope.scan(message, 0, message.length - 1, DEEPEST);
    if (kind === 'msg') {
      if (isSound && envelope.kind === 'notification') this.#context.connection.notified(message);
      else this.#onFault('frames that are no notifications');
      return;
    }
    if (!isSound || envelope.kind !== 'response' || envelope.raw(message, Field.id) !== this.request.idText)
      return this.#onFault('frames that are not the answer to its request');
    if (kind === 'err' && this.#isUnbegun(message)) return;
    this.#answer(message);
  }

  /** True for an error that means that the call was not begun. It is handled here and is no answer for the client. */
  #isUnbegun(message: Buffer): boolean {
    const error = envelope.decode(message, Field.error);
    const code = membersOf(error).code;
    if (this.#isUnderWay && UNBEGUN.has(code)) {
      this.#onTakenBack(error);
      return true;
    }
    const { host } = this;
    // The lease had ended when the request's turn came.
    if (code !== WIRE_CODE.nobody || this.#fence === undefined || this.#attempts > 1 || host === undefined)
      return false;
    this.#settle();
    this.#context.connection.overThere(this, host);
    return true;
  }

  /** Fetches a parked answer. */
  #fetch(id: string): void {
    if (!this.#takesClaims) return this.#onFault('an answer by claim, which nobody has asked for');
    if (this.#isCancelled !== undefined) return this.#settle();
    const { claims, limits, clock, failed } = this.#context;
    this.#parked = new ClaimedAnswer(id, {
      ...{ claims, clock, failed, mostBytes: limits.maxMessageBytes, host: this.#owner?.host ?? '' },
      isWanted: () => this.#isCancelled === undefined,
      fetched: (bytes) => {
        this.#parked = this.#claim = undefined;
        this.#message('end', bufferOf(bytes));
      },
      refused: (why) => this.#onFault(`an answer by claim that cannot be taken: ${why}`),
      lost: (why) => this.#onAnswerLost(why),
      unwanted: () => this.#settle(),
    });
  }

  /** Called when the call was carried out but its result is lost. */
  #onAnswerLost(why: string): void {
    const server = this.#server;
    this.#refused(this.#owner?.host, `a long answer could not be fetched: ${why}`);
    const said = `Server ${server} has carried the call out, but its long answer could not be fetched: ${why}; the outcome is unknown`;
    const hint = 'Look at what it was to change before it is called again. Ask for less, or look at JetStream.';
    this.#fail(new BridgeError('OUTCOME_UNKNOWN', said, { server, hint }));
  }

  #answer(message: Buffer): void {
    if (this.#receivedBytes >= LARGE_ANSWER) this.#grant(false);
    this.#settle();
    if (this.#isCancelled === undefined) this.#context.connection.answered(this, message, this.#owner?.host);
  }

  // --- the end ---

  /** Ends the wait for the answer. If the owner says later that it has begun, it is told again. */
  cancel(notice: Buffer): void {
    this.#isCancelled = Buffer.from(notice);
    this.#control({}, this.#isCancelled);
  }

  /** Ends the call here, and tells its owner that it need not go on. */
  abandon(): void {
    if (this.#context.down() === undefined && this.#isCancelled === undefined) this.#control({}, this.#cancelNotice());
    this.isOver = true;
    this.#soon?.cancel();
    this.#parked?.close();
    this.#answers.forget();
  }

  denied(): void {
    if (this.#isHeard) return; // the owner has the request; only its repetition was denied
    const how = `may not be used: NATS does not let this daemon publish to ${this.#subject}`;
    if (this.#attempts > 1 && this.mayHaveBegun) return this.#lost(how);
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
    this.#soon?.cancel();
    this.#parked?.close();
    this.#answers.forget();
    this.#context.connection.callOver(this);
  }

  /** Called when the bus is back; asks for what was missed. */
  busIsBack(): void {
    if (this.isOver) return; // with its connection, which has just ended
    const nowMs = this.#context.clock.now();
    this.#downMs = undefined;
    if (this.#comebacks++ < MOST_COMEBACKS) this.#heardMs = nowMs;
    this.#askAgain();
  }

  /**
   * Asks again for frames that were sent and do not come: a frame is lost, or the credit for it. A bus that is only
   * slow is asked less and less often.
   */
  #askToGoOn(nowMs: number): void {
    const patienceMs = Math.min(STALL_MS * 2 ** this.#stalls, SILENT_MS);
    if (nowMs - Math.max(this.#frameMs, this.#sentMs) < patienceMs) return;
    const isCreditEnough = this.#stalls++ === 0 && !this.#receiver.hasGap;
    this.#grant(!isCreditEnough);
  }

  tick(nowMs: number): void {
    if (this.isOver) return; // with its connection, which has just ended
    const { down, limits } = this.#context;
    const why = down();
    if (why !== undefined) {
      this.#downMs ??= nowMs;
      if (nowMs - this.#downMs >= limits.resumeGraceMs) this.#lost(`cannot be reached: NATS is away (${why})`);
      return;
    }
    if (this.#isPaused && this.#isHeard) {
      // Frames that do not come are not missed while paused. The owner keeps them for a caller that shows that it is
      // present.
      this.#heardMs = nowMs;
      if (nowMs - this.#sentMs >= KEEP_ALIVE_MS) this.#grant(false);
      return;
    }
    if (this.#parked !== undefined) return;
    const silentMs = nowMs - this.#heardMs;
    if (silentMs >= LOST_MS) return this.#lost(`has said nothing for ${LOST_MS / 1000} s`);
    if (this.#isMissingFrames && silentMs < SILENT_MS) return this.#askToGoOn(nowMs);
    const patienceMs = this.#isHeard && this.#hasBegun ? SILENT_MS : RESEND_MS;
    if (silentMs >= patienceMs && nowMs - this.#sentMs >= RESEND_MS) this.#askAgain();
  }
}

/** Returns the header value for a client. Most requests are of the same client as the request before. */
function clientValue(client: string): string {
  if (lastClient?.client !== client) lastClient = { client, value: headerValue(client) };
  return lastClient.value;
}

let lastClient: { readonly client: string; readonly value: string } | undefined;

/** Returns the reason that an owner gives with an error. It is kept short, because it is another host's text. */
function whyIn(error: unknown): string {
  const { message } = membersOf(error);
  return typeof message === 'string' ? ` (${printable(message.slice(0, MOST_REASON))})` : '';
}

/** Reads the owner that a frame names; undefined if its form is wrong. Its host may become part of a subject. */
function ownerIn(headers: BusHeaders): NamedRun | undefined {
  const text = headers[HEADER.owner] ?? '';
  if (text === lastOwner?.text) return lastOwner;
  const [, host, run] = OWNER.exec(text) ?? [];
  if (host === undefined || run === undefined) return undefined;
  lastOwner = { text, host, run };
  return lastOwner;
}

/** The owner of the last frame; most frames are from the same owner as the one before. */
let lastOwner: (NamedRun & { readonly text: string }) | undefined;

/**
 * Returns a message of the owner with a newline behind it, as frames of the bridge have it; undefined if it is not
 * UTF-8.
 */
function frameOf(data: Uint8Array, hasRoom = false): Buffer | undefined {
  if (!isUtf8(data)) return undefined;
  const frame = withNewline(bufferOf(data), hasRoom);
  // Within JSON a newline means no more than a space.
  for (let at = frame.indexOf(NEWLINE); at >= 0 && at < data.length; at = frame.indexOf(NEWLINE, at + 1))
    frame[at] = SPACE;
  return frame;
}
