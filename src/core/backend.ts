// The router's side of one instance: which requests are under way there, which wait for their turn, and who listens.
// How an instance comes to life and dies is the business of whoever calls opened(), failed() and closed().

import { BridgeError } from '../util/bridge-error.ts';
import { invariant } from '../util/invariant.ts';
import type { Logger } from '../util/logger.ts';
import { Envelope, Field } from '../wire/envelope.ts';
import type { FrameSink } from '../wire/frame-splitter.ts';
import type { Limits } from '../wire/limits.ts';
import type { Outbox } from '../wire/outbox.ts';
import { type RequestId, readRequestId } from '../wire/request-id.ts';
import { Splice } from '../wire/splice.ts';
import type { Counters } from './counters.ts';
import { cancelNotice, methodOf } from './era/era-2025.ts';
import { FairQueue } from './fair-queue.ts';
import { METHOD_NOT_FOUND, rpcError, rpcErrorOf } from './rpc-error.ts';
import type { Session } from './session.ts';
import { Slot, type UnsentFrame } from './slot.ts';

export interface BackendContext {
  readonly limits: Limits;
  readonly counters: Counters;
  readonly logger: Logger;
  /** Cuts a client off that does not take what is meant for it. */
  readonly cutOff: (session: Session, reason: string) => void;
}

/** What a running instance offers. */
export interface Upstream {
  readonly outbox: Outbox;
  readonly instanceId: string;
  /** The result of its `initialize`: an object's bytes, with a newline behind them. */
  readonly hello: Buffer;
}

/** Bytes that a server has not taken yet, from which on requests wait here, in fair turns, and not in its pipe. */
const CONGESTED_BYTES = 1024 * 1024;

/** Shared by all backends: a frame is dealt with before the next one is looked at. */
const envelope = new Envelope();
const splice = new Splice();

type Waiter = { resolve: (upstream: Upstream) => void; reject: (error: BridgeError) => void };

export class Backend implements FrameSink {
  readonly server: string;
  readonly #context: BackendContext;
  /** Asks for an instance; opened() or failed() follows, unless one is on its way already. */
  readonly #start: () => void;
  #upstream: Upstream | undefined;
  #nextId = 1;
  readonly #sent = new Map<number, Slot>();
  readonly #waiting = new FairQueue<Session, Slot>();
  #waitingBytes = 0;
  #waiters: Waiter[] = [];
  readonly sessions = new Set<Session>();
  /** Requests that were sent, ever. */
  calls = 0;

  constructor(server: string, start: () => void, context: BackendContext) {
    this.server = server;
    this.#start = start;
    this.#context = context;
  }

  get openSlots(): number {
    return this.#sent.size + this.#waiting.size;
  }

  attach(session: Session): void {
    session.backend = this;
    this.sessions.add(session);
  }

  /** The session goes: what it had under way is cancelled, what waited is dropped. */
  detach(session: Session): void {
    this.sessions.delete(session);
    for (const slot of [...session.slots.values()]) this.#giveUp(slot, 'The client has gone');
    this.#pump();
  }

  /** The running instance; starts one if there is none. */
  whenOpen(): Promise<Upstream> {
    if (this.#upstream !== undefined) return Promise.resolve(this.#upstream);
    const opened = new Promise<Upstream>((resolve, reject) => this.#waiters.push({ resolve, reject }));
    this.#start();
    return opened;
  }

  // --- towards the server ---

  /** Takes a request in and sees to its one answer. The frame's envelope says where its id and token stand. */
  submit(session: Session, request: { id: RequestId; b: Buffer; start: number; end: number }, read: Envelope): void {
    const { id, b, start, end } = request;
    const idText = b.latin1Slice(read.from(Field.id), read.to(Field.id));
    const tokenFrom = read.from(Field.metaProgressToken);
    const tokenTo = read.to(Field.metaProgressToken);
    const slot = new Slot(session, this, id, idText, tokenFrom < 0 ? '' : b.latin1Slice(tokenFrom, tokenTo));
    if (!session.open(slot)) {
      const refusal = new BridgeError('REQUEST_REFUSED', `A request with id ${idText} is still under way`);
      session.answerError(idText, rpcErrorOf(refusal));
      return;
    }
    if (this.#waiting.size === 0 && this.#maySend(session)) {
      this.#send(slot, b, start, end, read.from(Field.id), read.to(Field.id), tokenFrom, tokenTo);
    } else {
      const idFrom = read.from(Field.id);
      const idTo = read.to(Field.id);
      this.#wait(slot, { bytes: b, start, end, idFrom, idTo, tokenFrom, tokenTo });
    }
  }

  /** A notification of a client that is not the router's business. */
  notify(b: Buffer, start: number, end: number): void {
    const outbox = this.#upstream?.outbox;
    if (outbox === undefined) return;
    splice.clear().send(outbox, b, start, end);
  }

  /** The client does not want this answer any more: it gets none, as from the server itself. */
  cancel(slot: Slot, notice: { b: Buffer; start: number; end: number }, read: Envelope): void {
    if (slot.downId !== 0 && this.#upstream !== undefined) {
      splice.clear().replace(read.from(Field.requestId), read.to(Field.requestId), String(slot.downId));
      splice.send(this.#upstream.outbox, notice.b, notice.start, notice.end);
    }
    this.#remove(slot);
    this.#context.counters.cancelled++;
    this.#pump();
  }

  #maySend(session: Session): boolean {
    return this.#hasRoom() && session.sentCount < this.#context.limits.maxInFlightPerClient;
  }

  #hasRoom(): boolean {
    return (
      this.#upstream !== undefined &&
      this.#sent.size < this.#context.limits.maxInFlightPerServer &&
      this.#upstream.outbox.queuedBytes < CONGESTED_BYTES
    );
  }

  #send(
    slot: Slot,
    b: Buffer,
    start: number,
    end: number,
    idFrom: number,
    idTo: number,
    tokenFrom: number,
    tokenTo: number,
  ): void {
    invariant(this.#upstream !== undefined, 'a request is sent to an instance that runs');
    const downId = this.#nextId++;
    slot.downId = downId;
    this.#sent.set(downId, slot);
    slot.session.sentCount++;
    this.calls++;
    const ours = String(downId);
    splice.clear().replace(idFrom, idTo, ours);
    if (tokenFrom >= 0) splice.replace(tokenFrom, tokenTo, ours);
    splice.send(this.#upstream.outbox, b, start, end);
  }

  #wait(slot: Slot, unsent: UnsentFrame): void {
    const { limits, counters } = this.#context;
    const bytes = unsent.end - unsent.start;
    if (this.#waitingBytes + bytes > limits.maxWaitingBytesPerServer) {
      counters.serverBusy++;
      const hint = 'Too much is waiting for it already; ask again later.';
      this.#fail(slot, new BridgeError('SERVER_BUSY', `Server ${this.server} is busy`, { server: this.server, hint }));
      return;
    }
    slot.unsent = unsent;
    this.#waiting.push(slot.session, slot);
    this.#waitingBytes += bytes;
    slot.session.addWaiting(bytes, limits.maxWaitingBytesPerClient);
    if (this.#upstream === undefined) this.#start();
  }

  /** Sends what may be sent now, one of each client in turn. */
  #pump(): void {
    while (this.#waiting.size > 0 && this.#hasRoom()) {
      const slot = this.#waiting.take((session) => session.sentCount < this.#context.limits.maxInFlightPerClient);
      if (slot === undefined) return;
      const frame = this.#takeUnsent(slot);
      const { bytes, start, end, idFrom, idTo, tokenFrom, tokenTo } = frame;
      this.#send(slot, bytes, start, end, idFrom, idTo, tokenFrom, tokenTo);
    }
  }

  #takeUnsent(slot: Slot): UnsentFrame {
    const frame = slot.unsent;
    invariant(frame !== undefined, 'a slot that waits has its frame');
    slot.unsent = undefined;
    this.#waitingBytes -= frame.end - frame.start;
    slot.session.addWaiting(frame.start - frame.end, this.#context.limits.maxWaitingBytesPerClient);
    return frame;
  }

  /** Takes the slot off both its owners. */
  #remove(slot: Slot): void {
    if (slot.downId !== 0) this.#sent.delete(slot.downId);
    else if (this.#waiting.remove(slot.session, slot)) this.#takeUnsent(slot);
    slot.session.close(slot);
  }

  #giveUp(slot: Slot, reason: string): void {
    this.#remove(slot);
    this.#context.counters.cancelled++;
    if (slot.downId === 0 || this.#upstream === undefined) return;
    this.#upstream.outbox.utf8(cancelNotice(String(slot.downId), reason));
    this.#upstream.outbox.endFrame();
  }

  /** The slot's one answer is an error. The session closes it last, because it may leave with its last answer. */
  #fail(slot: Slot, error: BridgeError): void {
    slot.session.answerError(slot.idText, rpcErrorOf(error));
    slot.session.close(slot);
  }

  // --- from the server ---

  frame(b: Buffer, start: number, end: number): void {
    const { limits, counters } = this.#context;
    const isSound = envelope.scan(b, start, end, limits.maxDepth);
    // A server that leaves out "jsonrpc" can still be understood; its clients may be as tolerant.
    if (!isSound && envelope.fault !== 'not-jsonrpc-2.0') {
      counters.serverNoise++;
      this.#context.logger.debug('a line that is no JSON-RPC', { server: this.server, fault: envelope.fault });
      return;
    }
    switch (envelope.kind) {
      case 'response':
        return this.#onResponse(b, start, end);
      case 'notification':
        return this.#onNotification(b, start, end);
      case 'request':
        return this.#onRequest(b);
    }
  }

  badFrame(reason: 'not-utf8' | 'too-long'): void {
    this.#context.counters.serverNoise++;
    this.#context.logger.warn('a message was dropped', { server: this.server, reason });
  }

  drained(): void {
    this.#pump();
  }

  #onResponse(b: Buffer, start: number, end: number): void {
    const slot = this.#sent.get(this.#ourIdAt(b, Field.id));
    if (slot === undefined) {
      this.#context.counters.strayResponses++;
      return;
    }
    this.#sent.delete(slot.downId);
    const { session } = slot;
    splice.clear().replace(envelope.from(Field.id), envelope.to(Field.id), slot.idText);
    splice.send(session.link.outbox, b, start, end);
    this.#context.counters.responses++;
    session.close(slot);
    this.#checkQueue(session);
    if (this.#waiting.size > 0) this.#pump();
  }

  /** Our own ids are numbers; a server that answers with "7" for 7 has answered nothing. */
  #ourIdAt(b: Buffer, field: Field): number {
    if (!envelope.has(field)) return 0;
    const id = readRequestId(b, envelope.from(field), envelope.to(field));
    return typeof id === 'number' ? id : 0;
  }

  #onNotification(b: Buffer, start: number, end: number): void {
    const { role, reads } = methodOf(b, envelope);
    if ((envelope.ambiguous & reads) !== 0) {
      this.#context.counters.serverNoise++;
      return;
    }
    switch (role) {
      case 'progress':
        return this.#onProgress(b, start, end);
      case 'cancelled':
        // Of a request of the server's own, and those were answered at once.
        this.#context.counters.strayCancels++;
        return;
      default:
        return this.#broadcast(b, start, end, role === 'refreshable');
    }
  }

  #onProgress(b: Buffer, start: number, end: number): void {
    const slot = this.#sent.get(this.#ourIdAt(b, Field.progressToken));
    if (slot === undefined || slot.tokenText === '') {
      this.#context.counters.strayProgress++;
      return;
    }
    if (this.#isCrowded(slot.session)) return;
    splice.clear().replace(envelope.from(Field.progressToken), envelope.to(Field.progressToken), slot.tokenText);
    splice.send(slot.session.link.outbox, b, start, end);
  }

  #broadcast(b: Buffer, start: number, end: number, mayDrop: boolean): void {
    for (const session of this.sessions) {
      if (session.state !== 'ready' || (mayDrop && this.#isCrowded(session))) continue;
      splice.clear().send(session.link.outbox, b, start, end);
      this.#checkQueue(session);
    }
  }

  #onRequest(b: Buffer): void {
    const outbox = this.#upstream?.outbox;
    if (outbox === undefined) return;
    const idText = b.latin1Slice(envelope.from(Field.id), envelope.to(Field.id));
    const { role } = methodOf(b, envelope);
    const refusal = rpcError(METHOD_NOT_FOUND, 'The bridge offered no such capability');
    outbox.latin1(`{"jsonrpc":"2.0","id":${idText},${role === 'ping' ? '"result":{}' : `"error":${refusal}`}}`);
    outbox.endFrame();
  }

  /** Whether so much is queued for a client that what it can do without is dropped. */
  #isCrowded(session: Session): boolean {
    if (session.link.outbox.queuedBytes * 2 < this.#context.limits.maxQueuedBytesPerClient) return false;
    this.#context.counters.notificationsDropped++;
    return true;
  }

  #checkQueue(session: Session): void {
    if (session.link.outbox.queuedBytes > this.#context.limits.maxQueuedBytesPerClient)
      this.#context.cutOff(session, 'it does not take what is meant for it');
  }

  // --- the instance's life, as told from outside ---

  opened(upstream: Upstream): void {
    this.#upstream = upstream;
    const waiters = this.#waiters;
    this.#waiters = [];
    for (const { resolve } of waiters) resolve(upstream);
    this.#pump();
  }

  /** It could not be started: all who wait are told. */
  failed(error: BridgeError): void {
    const waiters = this.#waiters;
    this.#waiters = [];
    for (const { reject } of waiters) reject(error);
    for (let slot = this.#nextWaiting(); slot !== undefined; slot = this.#nextWaiting()) {
      this.#takeUnsent(slot);
      this.#fail(slot, error);
    }
  }

  /** It is gone: what was sent has no certain outcome; what was not sent yet waits for the next one. */
  closed(error: BridgeError): void {
    this.#upstream = undefined;
    const lost = [...this.#sent.values()];
    this.#sent.clear();
    for (const slot of lost) this.#fail(slot, error);
    if (this.#waiting.size > 0) this.#start();
  }

  #nextWaiting(): Slot | undefined {
    return this.#waiting.take(() => true);
  }
}
