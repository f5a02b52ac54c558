// The router's side of one instance: which requests are under way there, which wait for their turn, and who listens.
// How an instance comes to life and dies is the business of whoever calls opened(), failed() and closed().

import { BridgeError } from '../util/bridge-error.ts';
import { Envelope, Field } from '../wire/envelope.ts';
import type { Frame, FrameSink } from '../wire/frame-splitter.ts';
import type { Outbox } from '../wire/outbox.ts';
import { Splice } from '../wire/splice.ts';
import { CallBacks } from './call-backs.ts';
import { extend, isOverdue } from './deadline.ts';
import { type CallRole, type ListKind, type MethodRole, methodOf } from './era/era-2025.ts';
import type { Offers } from './era/hello.ts';
import type { Face, KnownServer } from './known-server.ts';
import { NEEDS_NO_LANE } from './lane.ts';
import { ListReader } from './list-reader.ts';
import type { ServerDefinition } from './server-definition.ts';
import { type BackendContext, ServerMessages } from './server-messages.ts';
import { Pause, type Session } from './session.ts';
import { SharedState } from './shared-state.ts';
import type { ClientRequest, Slot, SlotOwner } from './slot.ts';
import { CONGESTED_BYTES, type OwnAnswer, SlotTable } from './slot-table.ts';
import { Tasks } from './tasks.ts';

/** What a running instance offers. */
export interface Upstream {
  readonly outbox: Outbox;
  readonly instanceId: string;
  /** The result of its `initialize`: an object's bytes, with a newline behind them. */
  readonly hello: Buffer;
}

/** What an instance is for: who may use it follows from this. */
export interface InstanceKey {
  /** What it is offered: the capabilities of the client that has it started. */
  offers: Offers;
  /** The roots of its clients; undefined until it has asked for any. */
  rootsKey: string | undefined;
  /** The one client that it is for. */
  owner: Session | undefined;
}

/** The instance behind a backend, and the server that it is an instance of. */
export interface BackendPorts {
  /** Asks for it; opened() or failed() follows, unless one is on its way already. */
  readonly start: () => void;
  readonly usersChanged: (users: number) => void;
  /** A client would have to wait for another one's conversation. */
  readonly contended: (session: Session) => void;
  /** A list of the server's is another one than it was, and has been read. */
  readonly listLearnt: (kind: ListKind, isFirst: boolean) => void;
}

export interface BackendOptions {
  readonly definition: Pick<ServerDefinition, 'name' | 'timeoutMs' | 'trustHints'>;
  readonly known: KnownServer;
  readonly key: InstanceKey;
  readonly ports: BackendPorts;
  readonly context: BackendContext;
}

const splice = new Splice();
/** Of frames that have waited. */
const readAgain = new Envelope();

type Waiter = { resolve: (upstream: Upstream) => void; reject: (error: BridgeError) => void };

export class Backend implements SlotOwner {
  readonly server: string;
  readonly key: InstanceKey;
  readonly #known: KnownServer;
  readonly #ports: BackendPorts;
  readonly #context: BackendContext;
  readonly #definition: BackendOptions['definition'];
  #upstream: Upstream | undefined;
  #face: Face | undefined;
  readonly #slots: SlotTable;
  readonly callBacks: CallBacks;
  readonly tasks: Tasks;
  readonly lists: ListReader;
  /** Takes what the instance sends. */
  readonly fromServer: FrameSink;
  #waiters: Waiter[] = [];
  #hasBegun = false;
  readonly #whenBegun: (() => void)[] = [];
  /** It was asked for, and has neither come nor failed yet. */
  #isAwaited = false;
  readonly sessions = new Set<Session>();
  readonly #shared = new SharedState();
  /** Clients that are not read because this server does not take what they send. */
  readonly #pausedSenders = new Set<Session>();

  constructor({ definition, known, key, ports, context }: BackendOptions) {
    const server = definition.name;
    this.server = server;
    this.key = key;
    this.#known = known;
    this.#definition = definition;
    this.#context = context;
    this.#ports = ports;
    this.#slots = new SlotTable({ ...context, server, known, contended: ports.contended });
    this.tasks = new Tasks(this, (method, params) => this.#slots.ask(method, params));
    this.lists = new ListReader(context.limits.maxMessageBytes, (method, params, onAnswer) =>
      this.#slots.ask(method, params, onAnswer),
    );
    const parts = {
      slots: this.#slots,
      sessions: this.sessions,
      tasks: this.tasks,
      outbox: () => this.#upstream?.outbox,
    };
    this.callBacks = new CallBacks({ ...parts, known, key });
    this.fromServer = new ServerMessages(server, context, {
      ...parts,
      backend: this,
      shared: this.#shared,
      callBacks: this.callBacks,
      listsChanged: (kinds) => this.#readLists(kinds, false),
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

  get isOpen(): boolean {
    return this.#upstream !== undefined;
  }

  get instanceId(): string | undefined {
    return this.#upstream?.instanceId;
  }

  /** Whether nobody would notice if it were for someone else from now on. */
  get isVacant(): boolean {
    const isRunning = this.isOpen || this.#isAwaited; // what it was offered cannot be changed any more
    return !isRunning && this.sessions.size === 0 && this.#slots.size === 0 && this.#waiters.length === 0;
  }

  /** Whether another client's conversation is going on. */
  get isEngaged(): boolean {
    return this.#slots.lane.isTaken;
  }

  attach(session: Session): void {
    this.sessions.add(session);
    this.#ports.usersChanged(this.sessions.size);
  }

  /** The session goes, here at least: what it wished of the server is taken back. */
  detach(session: Session): void {
    this.#forget(session);
    this.tasks.abandon(session);
    this.callBacks.callEnded();
    this.#ports.usersChanged(this.sessions.size);
  }

  #forget(session: Session): void {
    this.sessions.delete(session);
    if (this.#pausedSenders.delete(session)) session.resume(Pause.congested);
    for (const request of this.#shared.forget(session)) this.#slots.ask(request.method, request.params);
  }

  /** The session uses another instance from now on; what it has under way here still ends here. */
  handOver(session: Session, to: Backend): void {
    to.attach(session);
    for (const wish of this.#shared.wishesOf(session)) to.#adopt(session, wish);
    this.#forget(session);
    for (const { slot, frame } of this.#slots.takeWaitingOf(session)) to.#takeOver(slot, frame);
    this.#slots.pump();
    this.#ports.usersChanged(this.sessions.size);
  }

  #adopt(session: Session, { method, params }: ReturnType<SharedState['wishesOf']>[number]): void {
    if (params.level !== undefined) return this.setLevel(session, params.level);
    this.#shared.subscribed(session, String(params.uri));
    this.#slots.ask(method, params);
  }

  /** It is not sent yet: what it is called here, and what follows from its answer, is this instance's business now. */
  #takeOver(slot: Slot, frame: Frame): void {
    slot.owner = this;
    readAgain.scan(frame.b, frame.start, frame.end, this.#context.limits.maxDepth);
    const { role } = methodOf(frame.b, readAgain);
    this.#nameCall(slot, role, frame, readAgain);
    this.#watch(slot, role, frame, readAgain);
    this.#slots.resubmit(slot, frame);
    this.#startIfWaiting();
  }

  /** What it sees when it looks at the server for the first time. */
  get face(): Face | undefined {
    return this.#face;
  }

  /** The running instance; starts one if there is none. */
  whenOpen(): Promise<Upstream> {
    if (this.#upstream !== undefined) return Promise.resolve(this.#upstream);
    const opened = new Promise<Upstream>((resolve, reject) => this.#waiters.push({ resolve, reject }));
    this.#start();
    return opened;
  }

  /** Resolves when an instance is being started, or runs. */
  whenBegun(): Promise<void> {
    if (this.#hasBegun) return Promise.resolve();
    return new Promise((resolve) => this.#whenBegun.push(resolve));
  }

  #start(): void {
    this.#isAwaited = true;
    this.#ports.start();
  }

  // --- the owner of slots ---

  cancel(slot: Slot, notice: Frame, read: Envelope): void {
    if (slot.downId !== 0 && this.#upstream !== undefined) {
      splice.clear().replace(read.from(Field.requestId), read.to(Field.requestId), String(slot.downId));
      splice.send(this.#upstream.outbox, notice.b, notice.start, notice.end);
    }
    slot.onEnd?.(false);
    this.#slots.remove(slot);
    this.#callGivenUp(slot);
  }

  abandon(slot: Slot): void {
    this.#slots.giveUp(slot, 'The client has gone');
    this.#callGivenUp(slot);
  }

  /** Ends a call whose time is up: the server is told, and the one who asked gets an error. */
  checkTime(slot: Slot, nowMs: number): void {
    const { limits, counters } = this.#context;
    // While a person is asked, the call waits for that person.
    if (slot.session.questions.size > 0) return extend(slot);
    if (!isOverdue(slot, nowMs, this.#definition.timeoutMs ?? limits.callTimeoutMs, limits)) return;
    counters.timeouts++;
    const hint = 'It may still go on there. timeoutMs in the definition of the server allows more.';
    const error = new BridgeError('CALL_TIMED_OUT', `Server ${this.server} has not answered in time`, {
      server: this.server,
      hint,
    });
    this.#slots.giveUp(slot, 'The time for this call is up', error);
    this.#callGivenUp(slot);
  }

  #callGivenUp(slot: Slot): void {
    if (slot.downId === 0) this.callBacks.callEnded();
    else this.callBacks.callGivenUp(slot.session);
  }

  // --- towards the server ---

  /** Takes a request in and sees to its one answer. */
  submit(slot: Slot, { role, frame }: Pick<ClientRequest, 'role' | 'frame'>, read: Envelope): void {
    slot.owner = this;
    switch (role) {
      case 'call':
      case 'get-prompt':
        return this.#submitCall(slot, role, frame, read);
      case 'subscribe':
      case 'unsubscribe':
        return this.#submitSubscription(slot, role, frame, read);
      case 'set-level':
        return this.#submitLevel(slot, frame, read);
      default:
        return this.#submitSlot(slot, role, frame, read);
    }
  }

  /** Whether the server was, or is to be, offered anything to ask for. */
  get #mayAskBack(): boolean {
    return this.key.offers.sampling !== undefined || this.key.offers.elicitation !== undefined;
  }

  /** For the lane; a request may come before the server runs. */
  #nameCall(slot: Slot, role: MethodRole, frame: Frame, read: Envelope): void {
    if (!this.#mayAskBack) return;
    if (role === 'task' || role === 'list-tasks') slot.call = NEEDS_NO_LANE;
    else slot.call = hasName(role) ? nameOf(slot, frame, read) : read.raw(frame.b, Field.method);
  }

  /** What follows from its answer. */
  #watch(slot: Slot, role: MethodRole, { b }: Frame, read: Envelope): void {
    const { session } = slot;
    if (role === 'list-tasks') slot.onAnswer = (answer, said) => this.tasks.filterList(session, answer, said);
    if (hasName(role) && read.has(Field.task)) slot.onAnswer = (answer, said) => this.tasks.learn(slot, answer, said);
    if (role === 'subscribe') {
      const uri = String(read.decode(b, Field.uri));
      slot.onEnd = (hasResult) => void (hasResult || this.#shared.unsubscribe(session, uri));
    }
  }

  #submitCall(slot: Slot, role: CallRole, frame: Frame, read: Envelope): void {
    if (this.#definition.trustHints === true && role === 'call' && this.#isSafe(nameOf(slot, frame, read)))
      slot.again = frame;
    this.#submitSlot(slot, role, frame, read);
  }

  #isSafe(name: string): boolean {
    const face = this.#face ?? this.#known.faceFor(this.key.offers);
    return face?.isSafe(name) === true;
  }

  #submitSlot(slot: Slot, role: CallRole, frame: Frame, read: Envelope): void {
    slot.isBound = role === 'task' || role === 'task-result';
    this.#nameCall(slot, role, frame, read);
    this.#watch(slot, role, frame, read);
    this.#slots.submit(slot, frame, read);
    this.#startIfWaiting();
  }

  #startIfWaiting(): void {
    if (this.#upstream === undefined && this.#slots.hasWaiting) this.#start();
  }

  /** What one client wishes to hear of, on a server that all of them share. */
  #submitSubscription(slot: Slot, role: CallRole, frame: Frame, read: Envelope): void {
    const { session } = slot;
    const uri = String(read.decode(frame.b, Field.uri));
    if (role === 'unsubscribe') {
      if (this.#shared.unsubscribe(session, uri)) return this.#slots.succeed(slot);
      return this.#submitSlot(slot, role, frame, read);
    }
    this.#shared.subscribed(session, uri); // at once: the first update may come before the answer
    this.#submitSlot(slot, role, frame, read);
  }

  hasSubscribed(session: Session, uri: string): boolean {
    return this.#shared.hasSubscribed(session, uri);
  }

  #submitLevel(slot: Slot, frame: Frame, read: Envelope): void {
    const { session } = slot;
    const asked = levelIn(frame, read);
    const level = this.#shared.levelWith(session, asked);
    // A level that nobody knows is the server's to refuse.
    if (level === undefined || level === asked) {
      if (level !== undefined) slot.onEnd = (hasResult) => void (hasResult && this.#levelTaken(session, asked));
      return this.#submitSlot(slot, 'set-level', frame, read);
    }
    this.setLevel(session, asked); // others have the server say more already
    this.#slots.succeed(slot);
  }

  /** The server has it already, unless the client uses another instance by now. */
  #levelTaken(session: Session, level: string): void {
    if (this.sessions.has(session)) return void this.#shared.setLevel(session, level);
    for (const backend of session.view?.backends() ?? [])
      if (backend.server === this.server) backend.setLevel(session, level);
  }

  /** The client wants this level here, and asks for no answer. */
  setLevel(session: Session, level: string): void {
    for (const { method, params } of this.#shared.setLevel(session, level)) this.#slots.ask(method, params);
  }

  /** Asks for the bridge itself. */
  ask(method: string, params: object, onAnswer: OwnAnswer): void {
    this.#slots.ask(method, params, onAnswer);
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

  /** A client may have more under way than a moment ago. */
  pump(): void {
    this.#slots.pump();
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

  /** It is its turn to be started. */
  begun(): void {
    this.#hasBegun = true;
    for (const resolve of this.#whenBegun.splice(0)) resolve();
  }

  opened(upstream: Upstream): void {
    this.begun();
    this.#upstream = upstream;
    this.#isAwaited = false;
    this.#face = this.#known.opened(this.key.offers, upstream.hello);
    const waiters = this.#waiters;
    this.#waiters = [];
    for (const { resolve } of waiters) resolve(upstream);
    this.#slots.lane.isOpen = this.#mayAskBack;
    this.#slots.opened(upstream.outbox, this.#shared.wishes());
    this.#readLists(['tools', 'prompts', 'resources', 'templates'], true);
  }

  #readLists(kinds: readonly ListKind[], isFirst: boolean): void {
    const face = this.#face;
    if (face === undefined) return;
    for (const kind of kinds) {
      this.lists.read(kind, face, (pages) => {
        if (this.#face !== face) return;
        this.#context.logger.debug('list read', { server: this.server, kind });
        const wasKnown = face.lists.has(kind);
        const isNew = this.#known.learnList(face, kind, pages);
        if (isNew) this.#ports.listLearnt(kind, isFirst && !wasKnown);
      });
    }
  }

  /** It could not be started: all who wait are told. */
  failed(error: BridgeError): void {
    this.#hasBegun = false;
    this.#isAwaited = false;
    const waiters = this.#waiters;
    this.#waiters = [];
    for (const { reject } of waiters) reject(error);
    this.#slots.failWaiting(error);
  }

  /** It is gone. What was not sent yet waits for the next one. */
  closed(error: BridgeError): void {
    this.#hasBegun = false;
    this.#upstream = undefined;
    this.#isAwaited = false;
    if (this.#face !== undefined) this.#known.closed(this.#face);
    this.#face = undefined;
    this.#resumeSenders();
    this.callBacks.closed();
    this.tasks.closed();
    this.#slots.failSent(error);
    this.#startIfWaiting();
  }
}

/** Whether the server keeps apart what is called by name. */
function hasName(role: MethodRole): boolean {
  return role === 'call' || role === 'get-prompt';
}

/** What is called, as the server knows it. */
function nameOf({ nameText }: Slot, { b }: Frame, read: Envelope): string {
  return nameText || read.raw(b, read.has(Field.name) ? Field.name : Field.method);
}

function levelIn({ b }: Frame, read: Envelope): string {
  const params = read.decode(b, Field.params);
  return typeof params === 'object' && params !== null && 'level' in params ? String(params.level) : '';
}
