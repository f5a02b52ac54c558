// The calls of one client at one server; to the core they are one connection. It limits how much one client may have
// under way, and begins no call twice.

import type { BusPrincipal } from '../model/principal.ts';
import { INTERNAL_ERROR, INVALID_REQUEST, rpcError } from '../protocol/rpc-error.ts';
import type { Carrier } from '../wire/link.ts';
import type { ReceivedMessage } from './bus.ts';
import { type CallPlace, countIn, HEADER, LISTEN, WIRE_CODE } from './frames.ts';
import { type CallContext, type CallPorts, OwnedCall } from './owned-call.ts';
import { isFencedOff } from './owner-context.ts';
import { OwnerLink } from './owner-link.ts';
import { checkedRequest } from './request-check.ts';
import type { RequestSubject } from './subject.ts';

/** The maximum number of unanswered calls of one stream. */
const MOST_OPEN = 1024;
/** The maximum number of answers kept per stream because the caller may not have them yet. */
const MOST_KEPT = 256;
/** A stream ends if nothing is asked on it for so long. Its caller asks something before that. */
const IDLE_MS = 600_000;

export interface StreamContext extends CallContext {
  /** Makes a session for a link, with this one view. */
  readonly accept: (link: Carrier, principal: BusPrincipal, view: string) => unknown;
  readonly ended: () => void;
  /** Called when something was refused that is answered elsewhere. */
  readonly noted: (why: string) => void;
  readonly begun: (call: OwnedCall) => void;
}

/** The calls of one client at one server: to the core it is one connection. */
export class CallStream {
  readonly server: string;
  readonly principal: BusPrincipal;
  readonly calls = new Map<number, OwnedCall>();
  /** All calls up to this number have begun and may be forgotten, except those in `#notCome`. */
  #floor = 0;
  /** Numbers up to `#floor` for which no request has come. */
  readonly #notCome = new Set<number>();
  readonly #context: StreamContext;
  readonly #link: OwnerLink;
  readonly #ports: CallPorts;
  readonly #uncountedPorts: CallPorts;
  #usedMs: number;
  /**
   * The last number given to a call of a caller that does not count. These numbers count down, away from all others.
   */
  #uncounted = 0;
  #openCount = 0;
  /** The number of unanswered calls that only listen. */
  #listens = 0;
  /** The last time that anything but listening was asked or answered. */
  #workedMs: number;
  #isEnded = false;

  constructor({ server, principal }: Pick<CallStream, 'server' | 'principal'>, context: StreamContext) {
    this.server = server;
    this.principal = principal;
    this.#context = context;
    this.#usedMs = context.clock.now();
    this.#workedMs = this.#usedMs;
    this.#ports = {
      context,
      isNumbered: true,
      settled: (call) => this.#settled(call),
      ask: (frame, call) => this.#ask(frame, call),
      cancel: (idText) => this.#link.cancel(idText),
    };
    this.#uncountedPorts = { ...this.#ports, isNumbered: false };
    this.#link = new OwnerLink({
      turn: context.turn,
      taking: ({ client }) => {
        principal.asking.client = client;
      },
      closed: () => this.end(),
    });
    context.accept(this.#link, principal, `server:${server}`);
  }

  /** The last time that something was asked or under way. */
  get usedMs(): number {
    return this.#usedMs;
  }

  /** The number of unanswered calls, with those that only listen. */
  get openCount(): number {
    return this.#openCount;
  }

  /** The number of unanswered calls that only listen: a client that is idle has one. */
  get listenCount(): number {
    return this.#listens;
  }

  /** The time since when only listening was under way; undefined if other calls are under way, or none at all. */
  get listensSinceMs(): number | undefined {
    return this.#openCount > 0 && this.#openCount === this.#listens ? this.#workedMs : undefined;
  }

  get heldBytes(): number {
    let bytes = this.#link.waitingBytes;
    for (const call of this.calls.values()) bytes += call.heldBytes;
    return bytes;
  }

  begin(subject: RequestSubject, message: ReceivedMessage, place: CallPlace | undefined): void {
    const { clock, limits, host } = this.#context;
    this.#usedMs = clock.now();
    if (place !== undefined) this.#forgetDone(place.done);
    if (this.#link.isClosed || this.openCount >= MOST_OPEN)
      return this.#context.refused(
        message,
        INTERNAL_ERROR,
        `Too much of this client is under way on host ${host}; ask again later`,
      );
    const length = countIn(message.headers[HEADER.length]) ?? message.data.length;
    if (length > limits.maxMessageBytes)
      return this.#context.refused(
        message,
        WIRE_CODE.tooLarge,
        `The request has ${length} bytes, and host ${host} takes at most ${limits.maxMessageBytes}: raise limits.maxMessageBytes in its config`,
      );
    const isInParts = message.headers[HEADER.length] !== undefined;
    const mayWait = isInParts || message.headers[HEADER.hold] !== undefined;
    if (mayWait && (place === undefined || !this.#context.hasRoomFor(length)))
      return this.#context.refused(
        message,
        WIRE_CODE.tooLarge,
        `Too much of host ${this.principal.host} is under way on host ${host}; ask again later`,
      );
    if (this.#link.isWaiting && !this.#context.hasRoomFor(length))
      return this.#context.refused(
        message,
        INTERNAL_ERROR,
        `Too much of host ${this.principal.host} is under way on host ${host}; ask again later`,
      );
    const number = place?.number ?? --this.#uncounted;
    const call = new OwnedCall(number, subject, message, place === undefined ? this.#uncountedPorts : this.#ports);
    this.calls.set(number, call);
    this.#notCome.delete(number);
    this.#openCount++;
    if (isListen(call)) this.#listens++;
    else this.#workedMs = this.#usedMs;
    call.start(message, isInParts ? length : undefined);
  }

  /** Hands a whole request to the core, with a newline behind it. */
  #ask(frame: Buffer, call: OwnedCall): void {
    const body = frame.subarray(0, frame.length - 1);
    const { subject, headers } = call;
    const checked = checkedRequest({ subject, headers, body, maxDepth: this.#context.limits.maxDepth });
    if (typeof checked !== 'string') {
      this.#context.noted(checked.why);
      return call.fail(body, rpcError(checked.code, checked.why));
    }
    const idText = checked;
    // The lease may have ended since the first part of the request came.
    if (isFencedOff(this.server, headers, this.#context))
      return call.fail(
        body,
        rpcError(WIRE_CODE.nobody, `Host ${this.#context.host} does not serve ${this.server} now`),
      );
    if (this.#link.isOpen(idText))
      return call.fail(body, rpcError(INVALID_REQUEST, `A request with id ${idText} is still under way`));
    call.idText = idText;
    this.#context.begun(call);
    this.#link.take(frame, body.length, idText, call);
  }

  /** Forgets calls with answers that were sent whole. */
  forgetSent(): void {
    for (const [number, call] of this.calls) if (call.isSent) this.#forget(number);
  }

  #settled(call: OwnedCall): void {
    this.#context.settled(call);
    this.#noteOver(call);
    if (this.calls.size - this.#openCount <= MOST_KEPT) return;
    // An answer that is not sent whole waits for credit: its bytes are counted, and its caller still reads it.
    for (const [number, one] of this.calls) if (one.isSent) return this.#forget(number);
  }

  #noteOver(call: OwnedCall): void {
    this.#openCount--;
    if (isListen(call)) this.#listens--;
    else this.#workedMs = this.#context.clock.now();
  }

  #forgetDone(done: number): void {
    for (const number of this.#notCome) if (number < done) this.#notCome.delete(number);
    for (const [number, call] of this.calls) {
      if (number >= done) break;
      if (call.isOver) this.#forget(number);
    }
  }

  /**
   * Forgets a call. Numbers rise, but an earlier call may end later; it keeps its entry, and entries are looked at
   * first.
   */
  #forget(number: number): void {
    const call = this.calls.get(number);
    if (call?.isOver === false) this.#noteOver(call);
    call?.drop();
    this.calls.delete(number);
    if (number <= this.#floor) return;
    // A caller that skips more numbers than it may have calls under way does not count properly.
    const from = Math.max(this.#floor + 1, number - MOST_OPEN);
    for (let n = from; n < number && this.#notCome.size < MOST_OPEN; n++) if (!this.calls.has(n)) this.#notCome.add(n);
    this.#floor = number;
  }

  /** True if an unknown call may have begun before and been forgotten. */
  mayHaveBegun(number: number): boolean {
    return number <= this.#floor && !this.#notCome.has(number);
  }

  tick(nowMs: number): void {
    if (this.calls.size > 0) this.#usedMs = nowMs;
    let isLeft = false;
    for (const [number, call] of [...this.calls]) {
      const due = call.tick(nowMs);
      if (due === 'forget') this.#forget(number);
      isLeft ||= due === 'leave';
    }
    const isOver = isLeft && this.#openCount === 0;
    if (isOver || nowMs - this.#usedMs >= IDLE_MS) this.end();
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

/** True for a call that stays open to tell its caller about changes. */
function isListen({ subject }: OwnedCall): boolean {
  return subject.method === LISTEN;
}
