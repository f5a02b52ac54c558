// The calls of one instance: those sent and not answered, and those waiting for their turn. It gives a call the id that
// the server sees, and writes it to the server. A call is in exactly one of the two sets, and in its session's map; it
// leaves both at once.

import { type Limits, ownTimeoutMs } from '../model/limits.ts';
import { cancelNotice, type Era } from '../protocol/era.ts';
import { ERA_2025 } from '../protocol/era-2025.ts';
import { BridgeError } from '../util/bridge-error.ts';
import { FairQueue } from '../util/fair-queue.ts';
import { invariant } from '../util/invariant.ts';
import { ShortLivedMap } from '../util/short-lived-map.ts';
import { Envelope, Field } from '../wire/envelope.ts';
import type { Frame } from '../wire/frame-splitter.ts';
import { KeySet, setMembers } from '../wire/member-cuts.ts';
import type { Outbox } from '../wire/outbox.ts';
import { ownFrame } from '../wire/own-frame.ts';
import { Splice } from '../wire/splice.ts';
import type { Call, Cut } from './call.ts';
import { endRequest, errorTextOf, isBound, otherServersFor } from './call-plan.ts';
import type { CallTracing } from './call-tracing.ts';
import type { Events, ObservedInstance, WaitReason } from './events.ts';
import { Lane } from './lane.ts';
import { type OwnRequest, OwnRequests } from './own-requests.ts';
import type { CallInRounds } from './question-rounds.ts';
import { changeMeta, NO_TRACE, type RequestTarget, type WrittenTrace } from './request-meta.ts';
import type { KnownServer } from './server-knowledge.ts';
import type { Session } from './session.ts';
import { bindingOf, maySuspend } from './suspended-calls.ts';

const splice = new Splice();
/**
 * The envelope of frames that have waited. Nothing of the first scan is kept, so they are scanned again, with the keys
 * of their client's era.
 */
const readAgain = new Envelope(ERA_2025.keys);

/** The result of looking for another instance: the client moved; or all share one; or the server has enough. */
export type MoveResult = 'moved' | 'shared' | 'full';

export interface CallTableOptions {
  readonly server: string;
  readonly limits: Limits;
  readonly events: Events;
  readonly known: KnownServer;
  readonly contain: (session: Session, task: () => void) => void;
  /** The maximum number of tool calls at the server at a time; 0 for no limit. */
  readonly maxConcurrentCalls: number;
  /** Finds another instance for a client that waits for another client's conversation to end. */
  readonly contended: (session: Session) => MoveResult;
  /** Notes that another call of the client waits here, even if the client uses another instance by now. */
  readonly unsent: (session: Session) => void;
  /** Called when a waiting call may be sent. Returns true to send it, false if it was answered instead. */
  readonly takesTurn: (call: Call, frame: Frame, envelope: Envelope) => boolean;
  readonly levelOf: RequestTarget['levelOf'];
  readonly instance: ObservedInstance;
  /** Undefined while nobody traces calls. */
  readonly tracing?: CallTracing | undefined;
  /** Called when a call that was given up has ended at the server too. */
  readonly released: () => void;
}

export class CallTable implements RequestTarget {
  readonly #server: string;
  readonly #limits: Limits;
  readonly #events: Events;
  #outbox: Outbox | undefined;
  #nextId = 1;
  readonly #sent = new ShortLivedMap<number, Call>();
  readonly #withLogs = new Set<Call>();
  readonly #waiting: WaitingRequests;
  readonly #contain: (session: Session, task: () => void) => void;
  readonly #contended: (session: Session) => MoveResult;
  readonly #unsent: (session: Session) => void;
  readonly #takesTurn: CallTableOptions['takesTurn'];
  /** The number of requests ever sent, and how many of them were tool calls. */
  sentInAll = 0;
  toolCallsSent = 0;
  /** True while a server's question waits for calls to end; nothing is sent meanwhile. */
  isHeld = false;
  /** True until the server has its clients' roots; nothing is sent before that, see RootsFence. */
  isFenced = false;
  /** True if the server wants to know which client each request comes from. */
  namesSessions = false;
  /** True if the server speaks 2025 and may ask its clients something. */
  mayAskBack = false;
  /** The era of the server; certain once the server runs. */
  era: Era = ERA_2025;
  readonly levelOf: RequestTarget['levelOf'];
  readonly #instance: ObservedInstance;
  readonly #tracing: CallTracing | undefined;
  readonly #concurrent: ConcurrentCalls;
  readonly lane: Lane;
  readonly own: OwnRequests;
  readonly lingering: LingeringCalls;

  constructor(options: CallTableOptions) {
    const { server, limits, events, known, contain, contended, released } = options;
    this.#contain = contain;
    this.#concurrent = new ConcurrentCalls(options.maxConcurrentCalls);
    this.#server = server;
    this.#limits = limits;
    this.#events = events;
    this.#contended = contended;
    this.#unsent = options.unsent;
    this.#takesTurn = options.takesTurn;
    this.levelOf = options.levelOf;
    this.#instance = options.instance;
    this.#tracing = options.tracing;
    this.#waiting = new WaitingRequests(limits);
    this.lane = new Lane(known);
    this.own = new OwnRequests(() => this.#nextId++, ownTimeoutMs(limits));
    this.lingering = new LingeringCalls((call) => {
      this.lane.leave(call);
      released();
    });
  }

  get size(): number {
    return this.#sent.size + this.#waiting.size;
  }

  waitingSessions(): Session[] {
    return this.#waiting.heads().map(([session]) => session);
  }

  get hasWaiting(): boolean {
    return this.#waiting.size > 0;
  }

  /** The instance runs: requests can be sent, the bridge's own first. `meta` holds the `_meta` members of those. */
  opened(outbox: Outbox, own: readonly OwnRequest[], meta: string): void {
    this.#outbox = outbox;
    this.own.opened(outbox, own, meta);
    this.pump();
  }

  /** Called once a second. */
  tick(nowMs: number): void {
    this.lingering.tick(nowMs);
    this.own.tick(nowMs);
    if (this.#concurrent.tick(nowMs)) this.pump();
    const before = this.#waiting.size;
    for (const call of this.#waiting.calls()) this.#noteWait(call, nowMs);
    for (const [session, next] of this.#waiting.heads()) {
      if (this.lane.isTaken) this.#checkLane(session, next, nowMs);
      this.#checkConcurrent(session, nowMs);
    }
    if (this.#waiting.size < before) this.pump(); // calls behind the failed ones may need no turn
  }

  /** Starts the wait of each call when it arrives, not when it becomes the first of its client. */
  #noteWait(call: Call, nowMs: number): void {
    // Each turn of the lane has its own time limit.
    if (this.lane.isTaken && call.laneTurn !== this.lane.turn) {
      call.laneTurn = this.lane.turn;
      call.laneUntilMs = nowMs + this.#limits.maxLaneMs;
    }
    this.#concurrent.noteWait(call, nowMs, this.#limits.maxLaneMs);
  }

  /** Ends a client's long wait for the lane: it gets another instance, or each such call an error. */
  #checkLane(session: Session, first: Call, nowMs: number): void {
    for (let call: Call | undefined = first; call !== undefined; call = this.#waiting.headOf(session)) {
      if (this.lane.admits(call.asker, call.laneName) || nowMs < call.laneUntilMs) return;
      this.lane.isOverlong = true;
      const found = this.#contended(session);
      if (found === 'moved') return;
      this.#waiting.remove(call);
      this.#events.incident.tell('serverBusy', this.#server);
      this.fail(call, laneKept(this.#server, this.#limits, found));
    }
  }

  /**
   * Fails calls that waited too long for room. Another instance would not help: servers are limited when their
   * processes write to one place.
   */
  #checkConcurrent(session: Session, nowMs: number): void {
    for (let call = this.#waiting.headOf(session); call !== undefined; call = this.#waiting.headOf(session)) {
      if (!this.#concurrent.hasKept(call, nowMs)) return;
      this.#waiting.remove(call);
      this.#events.incident.tell('serverBusy', this.#server);
      this.fail(call, turnKept(this.#server, this.#limits));
    }
  }

  /** Sends the server a notification. */
  tell(notice: string): void {
    this.#outbox?.utf8(notice);
    this.#outbox?.endFrame();
  }

  /** True if a call may be sent now: nothing waits before it, and client, server and lane have room. */
  maySend(call: Call): boolean {
    return this.#outbox !== undefined && this.#waiting.size === 0 && this.#hasRoom(this.#outbox) && this.#mayGo(call);
  }

  send(call: Call, frame: Frame, envelope: Envelope): void {
    if (this.#outbox !== undefined) this.#send(this.#outbox, call, frame, envelope);
  }

  /** Queues a call until its turn comes. If too much waits already, the call gets an error. */
  queue(call: Call, frame: Frame): void {
    this.#events.callWaiting.tell(call, this.#waitReasonOf(call.session));
    this.#wait(call, frame);
    this.pump(); // the calls before it may wait for something that does not concern this one
    if (call.unsent !== undefined && this.lane.isContended(call.asker, call.laneName)) this.#contended(call.session);
  }

  /** Asks the next server, because this one has refused. */
  retryElsewhere(call: Call): void {
    if (call.serverRequestId !== 0) call.session.countUnsent();
    call.serverRequestId = 0;
    call.wasAskedBack = false;
    call.session.unkeep(call); // the next server gets another frame
    otherServersFor(call).askNext();
  }

  /** Queues a call that has waited at another instance. */
  resubmit(call: Call, frame: Frame): void {
    this.#wait(call, frame);
    this.pump();
  }

  /** Takes all waiting calls of a client out, in order. Calls that only this instance can answer stay. */
  takeWaitingOf(session: Session): { readonly call: Call; readonly frame: Frame }[] {
    return this.#waiting.takeAllOf(session);
  }

  /** Takes out the sent call that an answer belongs to; undefined if there is none. */
  takeSent(serverRequestId: number, hasResult: boolean): Call | undefined {
    const call = this.#sent.get(serverRequestId);
    if (call === undefined) return undefined;
    this.#sent.delete(serverRequestId);
    this.#withLogs.delete(call);
    this.#events.serverAnswered.tell(call, this.#server, hasResult);
    if (hasResult || call.wasAskedBack) this.lane.learn(call); // an error does not show whether the tool asks otherwise
    this.lane.leave(call);
    this.#concurrent.end(serverRequestId);
    return call;
  }

  /** The sent calls whose clients want the server's logs until the answer comes. */
  get withLogs(): ReadonlySet<Call> {
    return this.#withLogs;
  }

  /** Notes that a sent call wants other logs than before. */
  logsWanted(call: Call): void {
    if (call.logLevel === '') this.#withLogs.delete(call);
    else if (this.#sent.has(call.serverRequestId)) this.#withLogs.add(call);
  }

  /** The sent calls that are not answered yet. */
  sent(): Iterable<Call> {
    return this.#sent.values();
  }

  /** Moves clients whose next call would wait for another client's conversation. */
  noteContention(): void {
    for (const [session, next] of this.#waiting.heads())
      if (this.lane.isContended(next.asker, next.laneName)) this.#contended(session);
  }

  peekSent(serverRequestId: number): Call | undefined {
    return this.#sent.get(serverRequestId);
  }

  /** Sends what may be sent now, one call per client in turn. */
  pump(): void {
    while (this.#outbox !== undefined && this.#waiting.size > 0 && this.#hasRoom(this.#outbox)) {
      if (this.lane.isTaken) this.#waiting.setAside((next) => this.#letsOthersPass(next));
      const call = this.#waiting.next((_, next) => this.#mayGo(next));
      if (call === undefined) return;
      const frame = this.#waiting.takeFrame(call);
      readAgain.keys = call.session.era.keys;
      readAgain.scan(frame.b, frame.start, frame.end, this.#limits.maxDepth);
      this.#send(this.#outbox, call, frame, readAgain);
    }
  }

  /** Takes a call out of the queue without sending it. The caller ends it. */
  withdraw(call: Call): void {
    if (call.serverRequestId === 0) this.#waiting.remove(call);
  }

  /** Takes the call from both holders: nobody waits for its answer any more. */
  remove(call: Call): void {
    this.#forget(call);
    endRequest(call, 'lost');
    call.close();
    this.#events.incident.tell('cancelled', call.session);
    this.#fence(call);
  }

  /** Gives up a call that its client has not cancelled. Tells the server; tells the client if there is an error. */
  giveUp(call: Call, reason: string, error?: BridgeError): void {
    if (call.serverRequestId !== 0) this.tell(cancelNotice(String(call.serverRequestId), reason));
    if (error === undefined) return this.remove(call);
    this.#forget(call);
    this.fail(call, error);
    this.#fence(call);
  }

  #forget(call: Call): void {
    if (call.serverRequestId !== 0) {
      this.#sent.delete(call.serverRequestId);
      this.#withLogs.delete(call);
      this.#events.serverSilent.tell(call, this.#server);
    } else this.#waiting.remove(call);
    this.#concurrent.giveUp(call.serverRequestId);
    if (call.hasLane) this.lingering.add(call);
  }

  /** Notes that the server has answered a call that nobody waits for. */
  answeredLate(serverRequestId: number): void {
    this.lingering.release(serverRequestId);
    this.#concurrent.end(serverRequestId);
    this.pump();
  }

  /**
   * Sends a ping behind a call that was given up. Anything the server says before it answers the ping may be about that
   * call.
   */
  #fence({ hasLane, serverRequestId, laneName: call }: Call): void {
    const { ping } = this.era.own;
    if (!hasLane || ping === undefined) return;
    this.own.ask(ping, {}, (answer) => {
      if (answer === undefined || !this.lane.isConversational(call)) this.lingering.release(serverRequestId);
    });
  }

  /** Answers a call with an error. It is closed last, because its session may leave with the last answer. */
  fail(call: Call, error: BridgeError): void {
    endRequest(call, 'lost');
    const { suspension } = call;
    if (suspension?.isAway === true) return suspension.instance.context.suspended.keepError(suspension, error);
    this.#events.callFailed.tell(call, error);
    call.output.fail(call.idText, errorTextOf(call, error));
    call.close();
  }

  /**
   * Answers a call with an error; a tool call fails in its result, because models read that and may do without the
   * tool.
   */
  failInBand(call: Call, error: BridgeError): void {
    if (call.plan.role !== 'call') return this.fail(call, error);
    endRequest(call, 'lost');
    this.#events.callFailed.tell(call, error);
    const content = [{ type: 'text', text: error.message }];
    call.output.answer(call.idText, JSON.stringify({ content, isError: true }));
    call.close();
  }

  /**
   * Fails the sent calls of a dead instance, because their outcome is unknown. Waiting calls wait for the next
   * instance.
   */
  failSent(error: BridgeError): void {
    this.#outbox = undefined;
    this.own.closed();
    this.lingering.clear();
    this.#concurrent.clear();
    // One by one: a client that gets its last answer here may leave, and takes its other calls along.
    this.#withLogs.clear();
    for (const call of [...this.#sent.values()])
      if (this.#sent.delete(call.serverRequestId)) this.#contain(call.session, () => this.#lose(call, error));
  }

  #lose(call: Call, error: BridgeError): void {
    this.lane.leave(call);
    this.#events.serverSilent.tell(call, this.#server);
    if (call.again === undefined) this.fail(call, error);
    else this.#unsend(call, call.again);
  }

  /** Queues a sent call again. Only for calls that may safely run twice. */
  #unsend(call: Call, frame: Frame): void {
    call.again = undefined;
    call.isSecondTry = true;
    endRequest(call, 'lost'); // the shared setting is decided again when the call's turn comes
    call.serverRequestId = 0;
    call.session.countUnsent();
    this.#unsent(call.session);
    this.#wait(call, frame);
  }

  failWaiting(error: BridgeError): void {
    for (let call = this.#nextWaiting(); call !== undefined; call = this.#nextWaiting()) this.#refuse(call, error);
  }

  #refuse(call: Call, error: BridgeError): void {
    this.#waiting.takeFrame(call);
    this.#contain(call.session, () => {
      if (otherServersFor(call).isEmpty) this.fail(call, error);
      else this.retryElsewhere(call);
    });
  }

  #nextWaiting(): Call | undefined {
    return this.#waiting.next(() => true);
  }

  /**
   * True for a client without a handshake whose call waits for the lane: its requests are independent, so the next may
   * go first.
   */
  #letsOthersPass(call: Call): boolean {
    return !call.session.era.hasHandshake && !this.lane.admits(call.asker, call.laneName);
  }

  #mayGo(call: Call): boolean {
    return this.#mayAsk(call.session) && this.lane.admits(call.asker, call.laneName) && this.#concurrent.admits(call);
  }

  /** True unless the client has enough under way, leaves its answers unread, or is leaving. */
  #mayAsk(session: Session): boolean {
    return session.isOpen && session.maySend && !session.backlog.isFull;
  }

  #hasRoom(outbox: Outbox): boolean {
    const { maxInFlightPerServer, maxQueuedBytesPerServer } = this.#limits;
    // The server may still work on calls that were given up.
    const underWay = this.#sent.size + this.lingering.size;
    return (
      !this.isHeld && !this.isFenced && underWay < maxInFlightPerServer && outbox.blockedBytes < maxQueuedBytesPerServer
    );
  }

  #waitReasonOf(session: Session): WaitReason {
    if (this.#outbox === undefined || this.isFenced) return 'turn';
    if (!this.#mayAsk(session)) return 'client';
    return this.#hasRoom(this.#outbox) ? 'turn' : 'server';
  }

  #send(outbox: Outbox, call: Call, frame: Frame, envelope: Envelope): void {
    if (!this.#takesTurn(call, frame, envelope)) return;
    const { b, start, end } = frame;
    const serverRequestId = this.#nextId++;
    call.serverRequestId = serverRequestId;
    this.#events.callSent.tell(call, this.#server, this.#instance);
    this.#sent.add(serverRequestId, call);
    if (call.logLevel !== '') this.#withLogs.add(call);
    this.#concurrent.sent(call);
    call.session.countSent();
    this.sentInAll++;
    if (call.plan.role === 'call') this.toolCallsSent++;
    this.lane.enter(call);
    const ours = String(serverRequestId);
    splice.clear().replace(envelope.from(Field.id), envelope.to(Field.id), ours);
    if (envelope.has(Field.metaProgressToken))
      splice.replace(envelope.from(Field.metaProgressToken), envelope.to(Field.metaProgressToken), ours);
    if (call.nameText !== '') splice.replace(envelope.from(Field.name), envelope.to(Field.name), call.nameText);
    if (call.cut !== undefined) cutAround(call.cut, start);
    const trace = this.#tracing === undefined ? NO_TRACE : traceFor(call, this.#tracing);
    changeMeta(splice, frame, envelope, call.session, this, trace);
    if (this.mayAskBack && !call.session.era.hasHandshake && maySuspend(call))
      call.binding = bindingOf(this.#server, call, frame, envelope);
    // Last, because the cut may begin where `_meta` was added.
    if (call.inRounds !== undefined) continueRounds(splice, b, envelope, call.inRounds);
    splice.send(outbox, b, start, end);
  }

  #wait(call: Call, unsent: Frame): void {
    call.laneTurn = 0; // it may have waited at another instance
    if (this.#waiting.add(call, unsent)) return;
    this.#events.incident.tell('serverBusy', this.#server);
    const hint = 'Too much is waiting for it already; ask again later.';
    this.fail(call, new BridgeError('SERVER_BUSY', `Server ${this.#server} is busy`, { server: this.#server, hint }));
  }
}

function traceFor(call: Call, tracing: CallTracing): WrittenTrace {
  return { member: tracing.memberFor(call), isNew: tracing.beginsTrace(call) };
}

const ROUND_KEYS = new KeySet(['inputResponses', 'requestState']);

/** Writes the client's answers of the last round into `params`. */
function continueRounds(splice: Splice, b: Buffer, envelope: Envelope, { members }: CallInRounds): void {
  if (members !== '') setMembers(splice, b, envelope.from(Field.params), ROUND_KEYS, members);
}

function laneKept(server: string, { maxLaneMs }: Limits, why: MoveResult): BridgeError {
  const message = `Server ${server} has worked for more than ${maxLaneMs} ms on another call, during which it may ask something`;
  const more =
    why === 'shared'
      ? 'The server’s setting sharing is not "auto": with "auto", who has to wait gets an instance of its own.'
      : 'There are as many instances as limits.maxInstancesPerServer allows.';
  return new BridgeError('SERVER_BUSY', message, { server, hint: `${more} limits.maxLaneMs lets calls wait longer.` });
}

function turnKept(server: string, { maxLaneMs }: Limits): BridgeError {
  const message = `Server ${server} has worked for more than ${maxLaneMs} ms on calls of other clients, and gets no more at a time`;
  const hint =
    'The server’s setting maxConcurrentCalls bounds how many it gets; its timeoutMs ends those that take too long, and limits.maxLaneMs lets others wait longer.';
  return new BridgeError('SERVER_BUSY', message, { server, hint });
}

function cutAround({ from, innerFrom, innerTo, to }: Cut, start: number): void {
  splice.replace(start + from, start + innerFrom, '').replace(start + innerTo, start + to, '');
}

/**
 * The calls that wait for their turn at one instance, served client after client. It limits the bytes that they take,
 * per client and in total.
 */
export class WaitingRequests {
  readonly #limits: Limits;
  readonly #queue = new FairQueue<Session, Call>();
  /** Calls that later calls of the same client may overtake. */
  readonly #aside = new FairQueue<Session, Call>();
  #bytes = 0;

  constructor(limits: Limits) {
    this.#limits = limits;
  }

  get size(): number {
    return this.#queue.size + this.#aside.size;
  }

  /** Queues a call; false if there is no room. */
  add(call: Call, unsent: Frame): boolean {
    const bytes = unsent.end - unsent.start;
    if (this.#bytes + bytes > this.#limits.maxWaitingBytesPerServer) return false;
    call.unsent = ownFrame(unsent);
    this.#queue.push(call.session, call);
    this.#bytes += bytes;
    call.session.addWaiting(bytes, this.#limits.maxWaitingBytesPerClient);
    return true;
  }

  /** The first call of the next client whose turn it is. The caller takes its frame. */
  next(mayServe: (session: Session, call: Call) => boolean): Call | undefined {
    return this.#aside.take(mayServe) ?? this.#queue.take(mayServe);
  }

  /** Moves calls aside that may be overtaken, so that later calls of the same client can go first. */
  setAside(letsOthersPass: (call: Call) => boolean): void {
    this.#queue.passTo(this.#aside, letsOthersPass);
  }

  /** Takes the frame of a call that waits no longer. */
  takeFrame(call: Call): Frame {
    const frame = call.unsent;
    invariant(frame !== undefined, 'a call that waits has its frame');
    call.unsent = undefined;
    this.#bytes -= frame.end - frame.start;
    call.session.addWaiting(frame.start - frame.end, this.#limits.maxWaitingBytesPerClient);
    return frame;
  }

  /** Takes all waiting calls of a client, in order. Calls that only this instance can answer stay. */
  takeAllOf(session: Session): { readonly call: Call; readonly frame: Frame }[] {
    const waiting = [...this.#aside.takeAll(session), ...this.#queue.takeAll(session)];
    for (const call of waiting) if (isBound(call)) this.#queue.push(session, call);
    return waiting.filter((call) => !isBound(call)).map((call) => ({ call, frame: this.takeFrame(call) }));
  }

  /** Drops a call: nobody waits for its answer any more. */
  remove(call: Call): void {
    const { session } = call;
    if (this.#queue.remove(session, call) || this.#aside.remove(session, call)) this.takeFrame(call);
  }

  /** The next call of this client. */
  headOf(session: Session): Call | undefined {
    return this.#aside.headOf(session) ?? this.#queue.headOf(session);
  }

  /** All calls that wait. */
  *calls(): Iterable<Call> {
    yield* this.#aside.items();
    yield* this.#queue.items();
  }

  /** The next call of each client. */
  heads(): (readonly [Session, Call])[] {
    return this.#aside.size === 0
      ? this.#queue.heads()
      : [...new Map([...this.#queue.heads(), ...this.#aside.heads()])];
  }
}

/** The time for which a call that nobody waits for still counts. */
const LINGER_MS = 5_000;

interface GivenUp {
  readonly call: Call;
  deadlineMs: number;
}

/**
 * Calls that were given up while the server may still work on them. The server may ask something about such a call, and
 * that question must not be taken for another client's. A call lingers until the server has answered a ping sent behind
 * the cancellation. A call of a tool that is known to ask lingers until its answer comes, or for a while.
 */
export class LingeringCalls {
  readonly #byId = new Map<number, GivenUp>();
  /** Called when a call has ended at the server too. */
  readonly #released: (call: Call) => void;

  constructor(released: (call: Call) => void) {
    this.#released = released;
  }

  get size(): number {
    return this.#byId.size;
  }

  add(call: Call): void {
    this.#byId.set(call.serverRequestId, { call, deadlineMs: 0 });
  }

  *calls(): Iterable<Call> {
    for (const { call } of this.#byId.values()) yield call;
  }

  /** Notes that the server no longer works on a call. */
  release(serverRequestId: number): void {
    const givenUp = this.#byId.get(serverRequestId);
    if (givenUp === undefined) return;
    this.#byId.delete(serverRequestId);
    this.#released(givenUp.call);
  }

  tick(nowMs: number): void {
    for (const [serverRequestId, givenUp] of [...this.#byId]) {
      if (givenUp.deadlineMs === 0) givenUp.deadlineMs = nowMs + LINGER_MS;
      if (nowMs >= givenUp.deadlineMs) this.release(serverRequestId);
    }
  }

  /** The server has gone. */
  clear(): void {
    for (const serverRequestId of [...this.#byId.keys()]) this.release(serverRequestId);
  }
}

interface Wait {
  /** The number of calls that had ended when this wait began. */
  readonly ended: number;
  readonly untilMs: number;
}

/**
 * The tool calls that a server works on at a time, where `maxConcurrentCalls` limits them. A call that was given up
 * counts until its answer comes after all, or for a while. Nothing else shows when the server has stopped writing: it
 * answers pings meanwhile, and never answers a call that was cancelled.
 */
export class ConcurrentCalls {
  /** 0 for no limit. */
  readonly #most: number;
  readonly #underWay = new Map<number, Session>();
  /** Calls that were given up, and until when each counts; 0 until the first tick. */
  readonly #givenUp = new Map<number, number>();
  readonly #waits = new WeakMap<Call, Wait>();
  /** The number of calls that have ever ended. */
  #ended = 0;

  constructor(most: number) {
    this.#most = most;
  }

  /** True if a call may be sent now. */
  admits({ plan }: Call): boolean {
    return this.#most === 0 || plan.role !== 'call' || this.#underWay.size < this.#most;
  }

  sent({ plan, serverRequestId, session }: Call): void {
    if (this.#most > 0 && plan.role === 'call') this.#underWay.set(serverRequestId, session);
  }

  /** Stops counting a call: the server has answered, or no longer works on it. */
  end(serverRequestId: number): void {
    if (!this.#underWay.delete(serverRequestId)) return;
    this.#givenUp.delete(serverRequestId);
    this.#ended++;
  }

  /** Counts a call for a while longer: nobody waits for its answer, but it may still come. */
  giveUp(serverRequestId: number): void {
    if (this.#underWay.has(serverRequestId)) this.#givenUp.set(serverRequestId, 0);
  }

  /** Called once a second; returns true if there is room for another call. */
  tick(nowMs: number): boolean {
    const before = this.#ended;
    for (const [serverRequestId, untilMs] of [...this.#givenUp]) {
      if (untilMs === 0) this.#givenUp.set(serverRequestId, nowMs + LINGER_MS);
      else if (nowMs >= untilMs) this.end(serverRequestId);
    }
    return this.#ended > before;
  }

  /** The server has gone. */
  clear(): void {
    for (const serverRequestId of [...this.#underWay.keys()]) this.end(serverRequestId);
  }

  /** Notes that a call waits for calls of other clients. It may wait for `mostMs` without one of them ending. */
  noteWait(call: Call, nowMs: number, mostMs: number): void {
    if (this.admits(call) || !this.#isHeldByOthers(call.session)) return;
    if (this.#waits.get(call)?.ended === this.#ended) return;
    this.#waits.set(call, { ended: this.#ended, untilMs: nowMs + mostMs });
  }

  /** True if calls of other clients have blocked a call for that long, and none of them has ended. */
  hasKept(call: Call, nowMs: number): boolean {
    if (this.admits(call) || !this.#isHeldByOthers(call.session)) return false;
    const wait = this.#waits.get(call);
    return wait !== undefined && wait.ended === this.#ended && nowMs >= wait.untilMs;
  }

  /** True if other clients hold the room. A client that waits for a call of its own can cancel that call. */
  #isHeldByOthers(session: Session): boolean {
    for (const other of this.#underWay.values()) if (other !== session) return true;
    return false;
  }
}
