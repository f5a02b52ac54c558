// The router's side of one instance: which requests are under way there, which wait for their turn, and who listens.
// How an instance comes to life and dies is the business of whoever calls opened(), failed() and closed().

import { BridgeError } from '../util/bridge-error.ts';
import type { Logger } from '../util/logger.ts';
import { Envelope, Field } from '../wire/envelope.ts';
import { answeredId } from '../wire/frame-ends.ts';
import type { FrameSink } from '../wire/frame-splitter.ts';
import type { Limits } from '../wire/limits.ts';
import type { Outbox } from '../wire/outbox.ts';
import { readRequestId } from '../wire/request-id.ts';
import { Splice } from '../wire/splice.ts';
import type { Counters } from './counters.ts';
import { methodOf } from './era/era-2025.ts';
import { METHOD_NOT_FOUND, rpcError, rpcErrorOf } from './rpc-error.ts';
import type { Session } from './session.ts';
import { Slot } from './slot.ts';
import { type ClientRequest, SlotTable } from './slot-table.ts';

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

/**
 * At its limit a client may ask nothing new, but answers to what it has asked already still come in, all at once if its
 * luck is bad. Only who is so far beyond it is cut off at once; who takes nothing is cut off by the liveness tick.
 */
const CUT_OFF_FACTOR = 3;

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
  readonly #slots: SlotTable;
  #waiters: Waiter[] = [];
  readonly sessions = new Set<Session>();

  constructor(server: string, start: () => void, context: BackendContext) {
    this.server = server;
    this.#start = start;
    this.#context = context;
    this.#slots = new SlotTable(server, context.limits, context.counters);
  }

  /** Requests that are not answered yet. */
  get openSlots(): number {
    return this.#slots.size;
  }

  /** Requests that were sent, ever. */
  get calls(): number {
    return this.#slots.sentInAll;
  }

  attach(session: Session): void {
    session.backend = this;
    this.sessions.add(session);
  }

  /** The session goes: what it had under way is cancelled, what waited is dropped. */
  detach(session: Session): void {
    this.sessions.delete(session);
    for (const slot of [...session.slots.values()]) this.#slots.giveUp(slot, 'The client has gone');
    this.#slots.pump();
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
  submit(session: Session, request: ClientRequest, read: Envelope): void {
    const { b } = request;
    const idText = b.latin1Slice(read.from(Field.id), read.to(Field.id));
    const hasToken = read.has(Field.metaProgressToken);
    const tokenText = hasToken
      ? b.latin1Slice(read.from(Field.metaProgressToken), read.to(Field.metaProgressToken))
      : '';
    const slot = new Slot(session, this, request.id, idText, tokenText);
    if (!session.open(slot)) {
      const refusal = new BridgeError('REQUEST_REFUSED', `A request with id ${idText} is still under way`);
      return session.answerError(idText, rpcErrorOf(refusal));
    }
    this.#slots.submit(slot, request, read);
    if (this.#upstream === undefined && this.#slots.hasWaiting) this.#start();
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
    this.#slots.remove(slot);
    this.#slots.pump();
  }

  // --- from the server ---

  frame(b: Buffer, start: number, end: number): void {
    const { limits, counters } = this.#context;
    const isSound = envelope.scan(b, start, end, limits.maxDepth);
    // A server that leaves out "jsonrpc" can still be understood; its clients may be as tolerant.
    if (!isSound && envelope.fault !== 'not-jsonrpc-2.0') {
      counters.serverNoise++;
      this.#context.logger.debug('a line that is no JSON-RPC', { server: this.server, fault: envelope.fault });
      return this.#failRefused(b, start, end);
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

  /** An answer that cannot be passed on is the error of the one who waits for it, if it is certain who that is. */
  #failRefused(b: Buffer, start: number, end: number): void {
    if (envelope.fault === 'not-json' || envelope.has(Field.method)) return;
    const id = certainId(b, start, end);
    if (id !== undefined) this.#failAnswer(id, envelope.fault ?? 'not-json');
  }

  #failAnswer(id: number, why: string): void {
    const slot = this.#slots.takeSent(id);
    if (slot === undefined) return;
    const message = `Server ${this.server} gave an answer that cannot be passed on: ${why}`;
    this.#slots.fail(slot, new BridgeError('SERVER_ANSWER_REFUSED', message, { server: this.server }));
    this.#slots.pump();
  }

  overflowed(): void {
    this.#context.counters.oversizedFrames++;
  }

  badFrame(reason: 'not-utf8' | 'too-long', head: Buffer, tail: Buffer): void {
    this.#context.counters.serverNoise++;
    this.#context.logger.warn('a message was dropped', { server: this.server, reason });
    const id = answeredId(head, tail);
    if (id !== undefined) this.#failAnswer(id, reason);
  }

  /** The server, or one of the clients, has taken what was queued for it. */
  drained(): void {
    this.#slots.pump();
  }

  #onResponse(b: Buffer, start: number, end: number): void {
    const slot = this.#slots.takeSent(this.#ourIdAt(b, Field.id));
    if (slot === undefined) {
      this.#context.counters.strayResponses++;
      return;
    }
    const { session } = slot;
    splice.clear().replace(envelope.from(Field.id), envelope.to(Field.id), slot.idText);
    splice.send(session.link.outbox, b, start, end);
    this.#context.counters.responses++;
    session.close(slot);
    this.#checkQueue(session);
    this.#slots.pump();
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
    const slot = this.#slots.peekSent(this.#ourIdAt(b, Field.progressToken));
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
    if (session.link.outbox.blockedBytes * 2 < this.#context.limits.maxQueuedBytesPerClient) return false;
    this.#context.counters.notificationsDropped++;
    return true;
  }

  #checkQueue(session: Session): void {
    if (session.link.outbox.blockedBytes > this.#context.limits.maxQueuedBytesPerClient * CUT_OFF_FACTOR)
      this.#context.cutOff(session, 'it does not take what is meant for it');
  }

  // --- the instance's life, as told from outside ---

  opened(upstream: Upstream): void {
    this.#upstream = upstream;
    const waiters = this.#waiters;
    this.#waiters = [];
    for (const { resolve } of waiters) resolve(upstream);
    this.#slots.opened(upstream.outbox);
  }

  /** It could not be started: all who wait are told. */
  failed(error: BridgeError): void {
    const waiters = this.#waiters;
    this.#waiters = [];
    for (const { reject } of waiters) reject(error);
    this.#slots.failWaiting(error);
  }

  /** It is gone. What was not sent yet waits for the next one. */
  closed(error: BridgeError): void {
    this.#upstream = undefined;
    this.#slots.failSent(error);
    if (this.#slots.hasWaiting) this.#start();
  }
}

/** The one id at the top of a message, also if that is nested too deeply for the envelope's scan. */
function certainId(b: Buffer, start: number, end: number): number | undefined {
  if ((envelope.ambiguous & (1 << Field.id)) !== 0) return undefined;
  try {
    const { id } = JSON.parse(b.toString('utf8', start, end)) as { id?: unknown };
    return typeof id === 'number' ? id : undefined;
  } catch {
    return undefined; // Deep, and not JSON after all: whose it was will never be known.
  }
}
