// The router's side of one instance: which requests are under way there, which wait for their turn, and who listens.
// How an instance comes to life and dies is the business of whoever calls opened(), failed() and closed().

import { BridgeError } from '../util/bridge-error.ts';
import { type Envelope, Field } from '../wire/envelope.ts';
import type { Frame, FrameSink } from '../wire/frame-splitter.ts';
import type { Limits } from '../wire/limits.ts';
import type { Outbox } from '../wire/outbox.ts';
import type { RequestId } from '../wire/request-id.ts';
import { Splice } from '../wire/splice.ts';
import { CallBacks } from './call-backs.ts';
import type { Counters } from './counters.ts';
import { extend, isOverdue } from './deadline.ts';
import type { CallRole } from './era/era-2025.ts';
import type { Offers } from './era/hello.ts';
import { rpcErrorOf } from './rpc-error.ts';
import type { ServerDefinition } from './server-definition.ts';
import { type BackendContext, ServerMessages } from './server-messages.ts';
import { Pause, type Session } from './session.ts';
import { SharedState } from './shared-state.ts';
import { Slot } from './slot.ts';
import { CONGESTED_BYTES, SlotTable } from './slot-table.ts';

/** What a running instance offers. */
export interface Upstream {
  readonly outbox: Outbox;
  readonly instanceId: string;
  /** The result of its `initialize`: an object's bytes, with a newline behind them. */
  readonly hello: Buffer;
}

export interface ClientRequest {
  readonly id: RequestId;
  readonly role: CallRole;
  readonly frame: Frame;
}

/** The instance behind a backend. */
export interface BackendPorts {
  /** Asks for it; opened() or failed() follows, unless one is on its way already. */
  readonly start: () => void;
  readonly usersChanged: (users: number) => void;
}

const splice = new Splice();

type Waiter = { resolve: (upstream: Upstream) => void; reject: (error: BridgeError) => void };

export class Backend {
  readonly server: string;
  readonly #ports: BackendPorts;
  readonly #timeoutMs: number;
  #upstream: Upstream | undefined;
  readonly #limits: Limits;
  readonly #counters: Counters;
  readonly #slots: SlotTable;
  readonly callBacks: CallBacks;
  /** What the instance is offered: the capabilities of the client that had it started. */
  offers: Offers = {};
  /** Takes what the instance sends. */
  readonly fromServer: FrameSink;
  #waiters: Waiter[] = [];
  readonly sessions = new Set<Session>();
  readonly #shared = new SharedState();
  /** Clients that are not read because this server does not take what they send. */
  readonly #pausedSenders = new Set<Session>();

  constructor(definition: Pick<ServerDefinition, 'name' | 'timeoutMs'>, ports: BackendPorts, context: BackendContext) {
    const server = definition.name;
    this.server = server;
    this.#timeoutMs = definition.timeoutMs ?? context.limits.callTimeoutMs;
    this.#limits = context.limits;
    this.#counters = context.counters;
    this.#ports = ports;
    this.#slots = new SlotTable(server, context.limits, context.counters);
    this.callBacks = new CallBacks({
      slots: this.#slots,
      sessions: this.sessions,
      outbox: () => this.#upstream?.outbox,
    });
    this.fromServer = new ServerMessages(server, context, {
      slots: this.#slots,
      sessions: this.sessions,
      shared: this.#shared,
      callBacks: this.callBacks,
      outbox: () => this.#upstream?.outbox,
    });
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
    this.#ports.usersChanged(this.sessions.size);
  }

  /** The session goes: what it had under way is cancelled, what waited is dropped. */
  detach(session: Session): void {
    this.sessions.delete(session);
    this.#pausedSenders.delete(session);
    this.callBacks.forget(session);
    for (const slot of [...session.slots.values()]) this.#slots.giveUp(slot, 'The client has gone');
    for (const request of this.#shared.forget(session)) this.#slots.ask(request.method, request.params);
    this.callBacks.callEnded();
    this.#ports.usersChanged(this.sessions.size);
  }

  /** Ends a call whose time is up: the server is told, and the one who asked gets an error. */
  checkTime(slot: Slot, nowMs: number): void {
    // While a person is asked, the call waits for that person.
    if (slot.session.questions.size > 0) return extend(slot);
    if (!isOverdue(slot, nowMs, this.#timeoutMs, this.#limits)) return;
    this.#counters.timeouts++;
    const hint = 'It may still go on there. timeoutMs in the definition of the server allows more.';
    const error = new BridgeError('CALL_TIMED_OUT', `Server ${this.server} has not answered in time`, {
      server: this.server,
      hint,
    });
    this.#slots.giveUp(slot, 'The time for this call is up', error);
    this.callBacks.callEnded();
  }

  /** The running instance; starts one if there is none. */
  whenOpen(offers: Offers): Promise<Upstream> {
    if (this.#upstream !== undefined) return Promise.resolve(this.#upstream);
    if (this.#waiters.length === 0 && this.sessions.size === 0) this.offers = offers;
    const opened = new Promise<Upstream>((resolve, reject) => this.#waiters.push({ resolve, reject }));
    this.#ports.start();
    return opened;
  }

  // --- towards the server ---

  /** Takes a request in and sees to its one answer. The frame's envelope says where its id and token stand. */
  submit(session: Session, request: ClientRequest, read: Envelope): void {
    const { b } = request.frame;
    const idText = read.raw(b, Field.id);
    const tokenText = read.has(Field.metaProgressToken) ? read.raw(b, Field.metaProgressToken) : '';
    const slot = new Slot(session, this, request.id, idText, tokenText);
    if (!session.open(slot)) {
      const refusal = new BridgeError('REQUEST_REFUSED', `A request with id ${idText} is still under way`);
      return session.answerError(idText, rpcErrorOf(refusal));
    }
    if (this.#slots.lane.isOpen) slot.call = callOf(b, read);
    if (request.role !== 'other') return this.#submitWish(slot, request, read);
    this.#submitSlot(slot, request.frame, read);
  }

  #submitSlot(slot: Slot, frame: Frame, read: Envelope): void {
    this.#slots.submit(slot, frame, read);
    if (this.#upstream === undefined && this.#slots.hasWaiting) this.#ports.start();
  }

  /** What one client sets on a server that all of them share. */
  #submitWish(slot: Slot, { role, frame }: ClientRequest, read: Envelope): void {
    const { session } = slot;
    const params = paramsOf(frame, read);
    const uri = String(params.uri);
    if (role === 'unsubscribe' && this.#shared.unsubscribe(session, uri)) return this.#slots.succeed(slot);
    if (role === 'subscribe') {
      this.#shared.subscribed(session, uri); // at once: the first update may come before the answer
      slot.onEnd = (hasResult) => void (hasResult || this.#shared.unsubscribe(session, uri));
    }
    if (role !== 'set-level') return this.#submitSlot(slot, frame, read);
    const asked = String(params.level);
    const level = this.#shared.levelWith(session, asked);
    // A level that nobody knows is the server's to refuse.
    if (level === undefined || level === asked) {
      if (level !== undefined) slot.onEnd = (hasResult) => hasResult && this.#shared.setLevel(session, asked);
      return this.#submitSlot(slot, frame, read);
    }
    this.#shared.setLevel(session, asked); // others have the server say more already
    this.#slots.succeed(slot);
  }

  /** A notification of a client that is not the router's business. */
  notify(session: Session, b: Buffer, start: number, end: number): void {
    const outbox = this.#upstream?.outbox;
    if (outbox === undefined) return;
    splice.clear().send(outbox, b, start, end);
    if (outbox.blockedBytes < CONGESTED_BYTES) return;
    session.pause(Pause.congested);
    this.#pausedSenders.add(session);
  }

  /** The client does not want this answer any more: it gets none, as from the server itself. */
  cancel(slot: Slot, notice: Frame, read: Envelope): void {
    if (slot.downId !== 0 && this.#upstream !== undefined) {
      splice.clear().replace(read.from(Field.requestId), read.to(Field.requestId), String(slot.downId));
      splice.send(this.#upstream.outbox, notice.b, notice.start, notice.end);
    }
    this.#slots.remove(slot);
    this.callBacks.callEnded();
  }

  /** The server, or one of the clients, has taken what was queued for it. */
  drained(): void {
    this.#slots.pump();
    if (this.#pausedSenders.size > 0 && (this.#upstream?.outbox.blockedBytes ?? 0) < CONGESTED_BYTES)
      this.#resumeSenders();
  }

  #resumeSenders(): void {
    for (const session of this.#pausedSenders) session.resume(Pause.congested);
    this.#pausedSenders.clear();
  }

  // --- the instance's life, as told from outside ---

  opened(upstream: Upstream): void {
    this.#upstream = upstream;
    const waiters = this.#waiters;
    this.#waiters = [];
    for (const { resolve } of waiters) resolve(upstream);
    this.#slots.lane.isOpen = this.offers.sampling !== undefined || this.offers.elicitation !== undefined;
    this.#slots.opened(upstream.outbox, this.#shared.wishes());
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
    this.#resumeSenders();
    this.callBacks.closed();
    this.#slots.failSent(error);
    if (this.#slots.hasWaiting) this.#ports.start();
  }
}

function paramsOf({ b }: Frame, read: Envelope): { readonly uri?: unknown; readonly level?: unknown } {
  const params = read.decode(b, Field.params);
  return typeof params === 'object' && params !== null ? params : {};
}

/** What a request calls: the tool's or prompt's name if it has one, else its method. */
function callOf(b: Buffer, read: Envelope): string {
  return read.raw(b, read.has(Field.name) ? Field.name : Field.method);
}
