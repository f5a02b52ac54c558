// One call at its owner, from the first frame of its request until its caller has the answer. It puts a request in
// parts together, and numbers and keeps what goes back. It does not know what is asked, or who may ask it.

import { randomBytes } from 'node:crypto';
import { ERA_2026 } from '../protocol/era-2026.ts';
import { certainId, rpcError } from '../protocol/rpc-error.ts';
import { messageOf } from '../util/bridge-error.ts';
import { Envelope, Field } from '../wire/envelope.ts';
import type { BusHeaders, FixedHeaders, ReceivedMessage } from './bus.ts';
import { CLAIM_BYTES, MOST_CLAIM_BYTES } from './claims.ts';
import { FrameReceiver } from './frame-receiver.ts';
import { FrameSender } from './frame-sender.ts';
import {
  BULK_END,
  type BusFrameKind,
  bufferOf,
  CONTROL_END,
  countIn,
  errorResponse,
  frameKindOf,
  HEADER,
  headerText,
  KEEP_ALIVE_MS,
  LOST_MS,
  MOST_FRAME_BYTES,
  WIRE_CODE,
  withNewline,
} from './frames.ts';
import type { OwnerContext } from './owner-context.ts';
import type { CallOutput } from './owner-link.ts';
import { controlSubject, type RequestSubject } from './subject.ts';

const envelope = new Envelope(ERA_2026.keys);
const NOTHING = Buffer.alloc(0);
/** The bytes of a message that its headers may take. */
const HEADER_ROOM = 4096;
const CLAIM_ID_BYTES = 18;
/** The first bytes of a request. If the request is refused before it is whole, its id is looked up there. */
const ID_BYTES = 512;
/** The maximum length of a client's name that is kept. */
const MOST_CLIENT_LETTERS = 128;
/** The minimum pause between resends; a home asks at most once a second. */
const RESEND_PAUSE_MS = 900;

export interface CallContext extends OwnerContext {
  /** The asking user and host. */
  readonly caller: string;
  /** The asking host, as it names itself; '' if it says nothing. */
  readonly callerHost: string;
  /** The headers of each frame for callers that count frames. */
  readonly ownHeaders: FixedHeaders;
  /** Hands on what the caller says about a call on this host's control subject. Returns a function that ends this. */
  readonly listen: (reply: string, take: (message: ReceivedMessage) => void) => () => void;
  readonly refused: (message: ReceivedMessage, code: number, why: string) => void;
  readonly makeRoom: () => void;
  readonly settled: (call: OwnedCall) => void;
  /** True if so many more bytes may be held for the caller. */
  readonly hasRoomFor: (bytes: number) => boolean;
}

/** One object for all calls of a stream that count frames, and one for those that do not. */
export interface CallPorts {
  readonly context: CallContext;
  /** True if the caller counts frames and gives credit. */
  readonly isNumbered: boolean;
  /** Called when the call is answered. */
  readonly settled: (call: OwnedCall) => void;
  /** Takes a whole request with a newline behind it. */
  readonly ask: (frame: Buffer, call: OwnedCall) => void;
  readonly cancel: (idText: string) => void;
}

/** One call, from its first frame until its caller has the answer. */
export class OwnedCall implements CallOutput {
  readonly number: number;
  readonly subject: RequestSubject;
  /** The id of the request, as spelled; '' before the request is whole. */
  idText = '';
  isOver = false;
  readonly #ports: CallPorts;
  /** The request until it is handed on. Only its first bytes are kept here; its parts are put together elsewhere. */
  #message: ReceivedMessage | undefined;
  /** The asking client, as its host's daemon says. */
  readonly client: string | undefined;
  readonly #takesClaims: boolean;
  readonly #fence: string | undefined;
  #reply: string;
  /** True if the caller gets parts on their own connection. */
  #hasBulk: boolean;
  readonly #sender: FrameSender | undefined;
  #receiver: FrameReceiver | undefined;
  /** The size of a request that is not handed on yet. */
  #length = 0;
  /** True until the caller says that this owner may begin. */
  #isHeld: boolean;
  #resentMs = Number.NEGATIVE_INFINITY;
  /** The size of an answer on its way to the store of claims. */
  #parkedBytes = 0;
  /** The whole request with its newline, while the call is held. */
  #held: Buffer | undefined;
  #unlisten: (() => void) | undefined;
  #sentMs: number;
  /** The time of the last sign that the caller takes the frames. */
  #heardMs: number;
  /** The time when the bus was last asked if anybody listens to the answers. */
  #askedMs: number;
  /** The time since when the bus says that nobody listens; undefined if somebody does. */
  #unheardMs: number | undefined;
  #wasUnheard = false;

  constructor(number: number, subject: RequestSubject, message: ReceivedMessage, ports: CallPorts) {
    this.number = number;
    this.subject = subject;
    this.#message = { ...message, data: new Uint8Array(message.data.subarray(0, ID_BYTES)) };
    this.#ports = ports;
    this.#reply = message.reply ?? '';
    this.client = headerText(message.headers[HEADER.client])?.slice(0, MOST_CLIENT_LETTERS);
    this.#takesClaims = message.headers[HEADER.acceptClaim] === '1';
    this.#fence = message.headers[HEADER.fence];
    this.#hasBulk = message.headers[HEADER.acceptBulk] === '1';
    this.#isHeld = ports.isNumbered && message.headers[HEADER.hold] === '1';
    this.#sentMs = ports.context.clock.now();
    this.#heardMs = this.#sentMs;
    this.#askedMs = this.#sentMs;
    if (ports.isNumbered) this.#sender = new FrameSender((headers, data, kind) => this.#send(headers, data, kind));
  }

  /** The headers of the request, until it is handed on. */
  get headers(): BusHeaders {
    return this.#message?.headers ?? {};
  }

  get heldBytes(): number {
    return (this.#isWaiting ? this.#length : 0) + (this.#sender?.keptBytes ?? 0) + this.#parkedBytes;
  }

  /** True while the request is not whole, or may not begin. */
  get #isWaiting(): boolean {
    return this.#receiver !== undefined || this.#held !== undefined;
  }

  /** True if the whole answer was sent. */
  get isSent(): boolean {
    return this.isOver && this.#parkedBytes === 0 && this.#sender?.hasSentAll !== false;
  }

  /** Begins with a whole request, or with the first part of a request of `length` bytes. */
  start({ data, headers }: ReceivedMessage, length: number | undefined): void {
    if (this.#isHeld || length !== undefined) this.#listen();
    if (length === undefined) return this.#isWhole(withNewline(bufferOf(data), false));
    this.#length = length;
    const receiver = new FrameReceiver({
      mostBytes: length,
      message: (_, body, hasRoom) => {
        this.#receiver = undefined;
        this.#isWhole(withNewline(body, hasRoom));
      },
      grant: () => this.#tellPlace(),
    });
    this.#receiver = receiver;
    this.#takePart(headers, data);
    this.#tellPlace();
  }

  /** Called with the whole request. Begins it, or tells the caller that it may allow that. */
  #isWhole(frame: Buffer): void {
    if (!this.#isHeld) return this.#handOn(frame);
    this.#held = frame;
    this.#length = frame.length - 1;
    this.#publish({ [HEADER.frame]: 'ka' });
  }

  /** Called when the caller lets a run of an owner begin: no other owner will get the call. */
  #mayBegin(run: string): void {
    if (!this.#isHeld || run !== this.#ports.context.run || this.isOver) return;
    this.#isHeld = false;
    const frame = this.#held;
    this.#held = undefined;
    if (frame !== undefined) this.#handOn(frame);
  }

  #handOn(frame: Buffer): void {
    this.#ports.ask(frame, this);
    this.#message = undefined; // an answer may be kept for long, and nothing counts the request any more
  }

  #takePart(headers: BusHeaders, data: Uint8Array): void {
    const kind = frameKindOf(headers);
    const receiver = this.#receiver;
    if (receiver === undefined) return this.#takeLatePart(headers);
    const { gotSeq } = receiver;
    const fault = kind === 'part' || kind === 'end' ? receiver.take(kind, headers, data) : ('unnumbered' as const);
    // This part came before: the caller has missed the confirmation.
    if (fault === undefined) return receiver.gotSeq === gotSeq ? this.#tellPlace() : undefined;
    this.#receiver = undefined;
    if (this.#message !== undefined)
      this.#ports.context.refused(this.#message, WIRE_CODE.tooLarge, `The parts of the request are ${fault}`);
    this.over();
  }

  /** Takes a part of a request that is already whole. Its caller has missed the confirmation, and maybe the answer. */
  #takeLatePart(headers: BusHeaders): void {
    const seq = countIn(headers[HEADER.seq]);
    if (seq === undefined) return;
    this.#sign(this.isOver || this.#held !== undefined ? 'ka' : 'ack', {
      [HEADER.got]: `${seq}`,
      [HEADER.credit]: `${this.#length}`,
    });
    this.#resend();
  }

  /** Tells the caller how much of its request is here, and how much more may come. */
  #tellPlace(): void {
    if (this.#receiver !== undefined) this.#sign('ka');
  }

  /**
   * The headers that say how much of a request in parts is here, or how much of an answer was sent. They show the
   * caller if it has everything.
   */
  get #place(): BusHeaders {
    const receiver = this.#receiver;
    if (receiver !== undefined) return { [HEADER.got]: `${receiver.gotSeq}`, [HEADER.credit]: `${receiver.credit}` };
    const sentSeq = this.#sender?.sentSeq ?? 0;
    return sentSeq > 0 ? { [HEADER.sent]: `${sentSeq}` } : {};
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
    this.#held = undefined;
    this.#heardMs = this.#ports.context.clock.now();
    this.#push(kind, body);
    this.#ports.settled(this);
  }

  #push(kind: BusFrameKind, body: Buffer): void {
    const sender = this.#sender;
    if (kind === 'end' && body.length > (sender === undefined ? this.#mostPlainBytes : CLAIM_BYTES))
      return this.#park(body);
    const { hasRoomFor, makeRoom } = this.#ports.context;
    if (sender === undefined) return this.#pushPlain(kind, body);
    if (kind === 'msg' && sender.waitingBytes > MOST_FRAME_BYTES) return; // the caller is behind, so news is left out
    if (body.length > MOST_FRAME_BYTES && !hasRoomFor(body.length)) makeRoom();
    if (body.length > MOST_FRAME_BYTES && !hasRoomFor(body.length))
      body = errorResponse(
        this.idText,
        rpcError(
          WIRE_CODE.tooLarge,
          `Too many answers of host ${this.#ports.context.host} wait for host ${this.#ports.context.callerHost}; ask again later`,
        ),
      );
    if (body.length > MOST_FRAME_BYTES) this.#listen(); // the caller may give credit before all is pushed
    sender.push(kind, body);
    if (!sender.hasSentAll) this.#listen();
  }

  /** Parks a long answer, and tells the caller its id. If that fails, the caller gets the reason. */
  #park(body: Buffer): void {
    const { context } = this.#ports;
    const { claims, hasRoomFor, makeRoom } = context;
    const { host, callerHost } = context;
    const size = `The answer of host ${host} has ${body.length} bytes`;
    const caller = callerHost === '' ? 'its caller' : `host ${callerHost}`;
    if (!this.#takesClaims)
      return this.#tellTooLong(
        `${size}, and ${caller} takes at most ${CLAIM_BYTES}: raise limits.maxMessageBytes in the config of ${caller}, or ask for less at once`,
      );
    if (body.length > MOST_CLAIM_BYTES)
      return this.#tellTooLong(
        `${size}, and between hosts an answer has at most ${MOST_CLAIM_BYTES}: ask for less at once`,
      );
    if (!hasRoomFor(body.length)) makeRoom();
    if (!hasRoomFor(body.length))
      return this.#tellTooLong(`${size}, and too many answers wait for ${caller}: ask again later`);
    const id = randomBytes(CLAIM_ID_BYTES).toString('base64url');
    this.#parkedBytes = body.length;
    const done = (task: () => void): void => {
      if (this.#parkedBytes === 0) return; // nobody waits for it any more
      this.#parkedBytes = 0;
      this.#heardMs = context.clock.now();
      task();
    };
    claims.put(id, body, context.caller).then(
      () => done(() => this.#sendEnd('end', NOTHING, { [HEADER.claim]: id })),
      (error: unknown) =>
        done(() =>
          this.#tellTooLong(
            `${size}. Above ${CLAIM_BYTES} it goes through JetStream, which has failed: ${messageOf(error)}. Ask for less at once`,
          ),
        ),
    );
  }

  #tellTooLong(why: string): void {
    this.#sendEnd('err', errorResponse(this.idText, rpcError(WIRE_CODE.tooLarge, why)));
  }

  #sendEnd(kind: BusFrameKind, body: Buffer, more?: BusHeaders): void {
    if (this.#sender === undefined) return this.#publish({ [HEADER.frame]: kind, ...more }, body);
    this.#sender.push(kind, body, more);
    if (!this.#sender.hasSentAll) this.#listen();
  }

  /** The maximum size of a message for a caller that takes no parts. */
  get #mostPlainBytes(): number {
    return this.#ports.context.bus.mostBytes - HEADER_ROOM;
  }

  /** Pushes a message to a caller that knows no parts. */
  #pushPlain(kind: BusFrameKind, body: Buffer): void {
    const isTooLong = body.length > this.#mostPlainBytes;
    if (isTooLong && kind === 'msg') return;
    const error = rpcError(WIRE_CODE.tooLarge, `The answer has ${body.length} bytes, and the caller takes no parts`);
    this.#publish({ [HEADER.frame]: isTooLong ? 'err' : kind }, isTooLong ? errorResponse(this.idText, error) : body);
  }

  #send(headers: BusHeaders, data: Uint8Array, kind: BusFrameKind): void {
    this.#publish(headers, data, kind);
  }

  /** Publishes a frame to the caller. With `reply`, the bus says there if nobody listens. */
  #publish(headers: BusHeaders, data: Uint8Array = NOTHING, kind: BusFrameKind = 'ka', reply?: string): void {
    const { isNumbered, context } = this.#ports;
    const { bus, ownHeaders, clock } = context;
    this.#sentMs = clock.now();
    const isBulk = kind === 'part' && this.#hasBulk;
    const fence = this.#fence;
    const own = isNumbered && fence !== undefined ? { ...headers, [HEADER.fence]: fence } : headers;
    const subject = isBulk ? `${this.#reply}${BULK_END}` : this.#reply;
    const fixed = isNumbered ? ownHeaders : undefined;
    bus.publish({ subject, reply, fixed, headers: own, data }, isBulk ? 'bulk' : 'small');
  }

  // --- the caller ---

  /** Listens to the caller's control subject. A caller that does not count frames knows only the one of wire v1. */
  #listen(): void {
    const { context, isNumbered } = this.#ports;
    const take = (message: ReceivedMessage): void => this.#told(message);
    this.#unlisten ??= isNumbered
      ? context.listen(this.#reply, take)
      : context.bus.subscribe(`${this.#reply}${CONTROL_END}`, take);
  }

  /** Says that the call has begun, unless it is answered by now. */
  acknowledge(): void {
    if (this.isOver) return;
    this.#listen();
    this.#sign(this.#ports.isNumbered ? 'ack' : 'ka');
  }

  /** Says that the call goes on, and how much was sent so far. */
  #sign(kind: 'ack' | 'ka', more?: BusHeaders): void {
    this.#publish({ [HEADER.frame]: kind, ...this.#place, ...more });
  }

  /** Called when the same request has come again: its caller has missed something. */
  again(reply: string, headers: BusHeaders): void {
    if (reply !== this.#reply) {
      this.#unlisten?.();
      this.#unlisten = undefined;
      this.#reply = reply;
    }
    this.#listen();
    this.#grant(headers);
    if (this.#receiver !== undefined) return this.#tellPlace();
    if (!this.isOver) this.#sign(this.#held === undefined ? 'ack' : 'ka');
    this.#resend();
  }

  /** Sends again what the caller misses, but not too often: each time may be a whole window. */
  #resend(): void {
    const nowMs = this.#ports.context.clock.now();
    if (nowMs - this.#resentMs < RESEND_PAUSE_MS) return;
    this.#resentMs = nowMs;
    this.#sender?.resend();
  }

  #grant(headers: BusHeaders): void {
    const got = countIn(headers[HEADER.got]);
    const credit = countIn(headers[HEADER.credit]);
    const bulk = headers[HEADER.acceptBulk];
    if (bulk !== undefined) this.#hasBulk = bulk === '1';
    this.#onHeard();
    if (got !== undefined && credit !== undefined) this.#sender?.granted(got, credit);
  }

  /**
   * Says that the call goes on, and asks the bus to report if nobody listens. The report comes where the caller's words
   * would.
   */
  #askWhoListens(nowMs: number): void {
    const { isNumbered, context } = this.#ports;
    const { tenant, host } = context;
    this.#askedMs = nowMs;
    if (!this.#wasUnheard) this.#unheardMs = undefined;
    this.#wasUnheard = false;
    this.#listen();
    const { user } = this.subject;
    const reply = isNumbered ? controlSubject({ tenant, user, host }, this.#reply) : `${this.#reply}${CONTROL_END}`;
    this.#publish({ [HEADER.frame]: 'ka', ...this.#place }, NOTHING, 'ka', reply);
  }

  #onHeard(): void {
    this.#heardMs = this.#ports.context.clock.now();
    this.#unheardMs = undefined;
  }

  #onUnheard(): void {
    this.#wasUnheard = true;
    this.#unheardMs ??= this.#ports.context.clock.now();
  }

  /**
   * Takes the caller's words on the control subject: credit, a part of the request, or that it does not want the
   * answer.
   */
  #told({ headers, data, isUnheard }: ReceivedMessage): void {
    if (isUnheard) return this.#onUnheard();
    if (frameKindOf(headers) !== undefined) {
      this.#onHeard();
      return this.#takePart(headers, data);
    }
    const begins = headers[HEADER.begin];
    if (begins !== undefined) return this.#mayBegin(begins);
    if (headers[HEADER.got] !== undefined) {
      this.#grant(headers);
      if (headers[HEADER.again] !== undefined) this.#resend();
      return;
    }
    this.#giveUp();
  }

  /** Gives the call up: nobody wants the answer. */
  #giveUp(): void {
    if (this.isOver) return;
    if (this.idText === '') this.over();
    else this.#ports.cancel(this.idText);
  }

  /** Called once a second. `leave` means that nobody listens to the answers any more. */
  tick(nowMs: number): 'forget' | 'leave' | undefined {
    const { limits } = this.#ports.context;
    if (this.isOver && this.#sender === undefined && this.#parkedBytes === 0) return 'forget';
    if (this.#held !== undefined && nowMs - this.#heardMs >= LOST_MS) return 'forget'; // another owner has taken it
    // An answer that the caller has is remembered for a while too, because its request may come again.
    if ((this.isOver || this.#receiver !== undefined) && nowMs - this.#heardMs >= limits.resumeGraceMs) return 'forget';
    // The caller's host may have gone silently, and may have another run by now.
    if (this.#unheardMs !== undefined && nowMs - this.#unheardMs >= limits.resumeGraceMs) {
      this.#giveUp();
      return 'leave';
    }
    if (!this.isSent && nowMs - Math.min(this.#sentMs, this.#askedMs) >= KEEP_ALIVE_MS) this.#askWhoListens(nowMs);
    return undefined;
  }

  drop(): void {
    this.#unlisten?.();
    this.#unlisten = undefined;
    this.isOver = true;
    this.#held = undefined;
    this.#parkedBytes = 0;
    this.#ports.context.settled(this);
  }
}
