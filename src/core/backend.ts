// The router's side of one instance: which requests are under way there, which wait for their turn, and who listens.
// How an instance comes to life and dies is the business of whoever calls opened(), failed() and closed().

import { BridgeError } from '../util/bridge-error.ts';
import { type Envelope, Field } from '../wire/envelope.ts';
import type { Frame, FrameSink } from '../wire/frame-splitter.ts';
import type { Outbox } from '../wire/outbox.ts';
import { Splice } from '../wire/splice.ts';
import type { BackendContext } from './backend-context.ts';
import { CallBacks } from './call-backs.ts';
import { CallDesk } from './call-desk.ts';
import { extend, isOverdue } from './deadline.ts';
import { LIST_KINDS, type ListKind, ROOTS_CHANGED_NOTICE } from './era/era-2025.ts';
import type { Offers } from './era/hello.ts';
import { type Face, type KnownServer, type ListPage, samePages } from './known-server.ts';
import { ListReader } from './list-reader.ts';
import { Opening } from './opening.ts';
import type { OwnAnswer } from './own-requests.ts';
import { Senders } from './senders.ts';
import type { ServerDefinition } from './server-definition.ts';
import { ServerMessages } from './server-messages.ts';
import type { Session } from './session.ts';
import type { ClientRequest, Slot, SlotOwner } from './slot.ts';
import { SlotTable } from './slot-table.ts';
import { Tasks } from './tasks.ts';
import type { ToolGate } from './tool-gate.ts';
import type { Wishes } from './wishes.ts';

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
  readonly listLearnt: (kind: ListKind) => void;
}

export interface BackendOptions {
  readonly definition: Pick<ServerDefinition, 'name' | 'timeoutMs' | 'trustHints'>;
  readonly known: KnownServer;
  readonly gate: () => ToolGate;
  readonly key: InstanceKey;
  readonly ports: BackendPorts;
  readonly context: BackendContext;
}

const splice = new Splice();

export class Backend implements SlotOwner {
  readonly server: string;
  readonly key: InstanceKey;
  readonly #known: KnownServer;
  readonly #ports: BackendPorts;
  readonly #context: BackendContext;
  readonly #definition: BackendOptions['definition'];
  #upstream: Upstream | undefined;
  #face: Face | undefined;
  readonly #lists = new Map<ListKind, readonly ListPage[]>();
  readonly #slots: SlotTable;
  readonly callBacks: CallBacks;
  readonly tasks: Tasks;
  readonly lists: ListReader;
  /** Takes what the instance sends. */
  readonly fromServer: FrameSink;
  readonly sessions = new Set<Session>();
  readonly #desk: CallDesk;
  readonly #opening: Opening;
  readonly #senders: Senders;

  constructor({ definition, known, gate, key, ports, context }: BackendOptions) {
    const server = definition.name;
    this.server = server;
    this.key = key;
    this.#known = known;
    this.#definition = definition;
    this.#context = context;
    this.#ports = ports;
    this.#slots = new SlotTable({
      ...context,
      server,
      known,
      meter: context.meters.of(server),
      contended: ports.contended,
      released: () => this.callBacks.callEnded(),
    });
    this.#opening = new Opening(ports.start);
    this.#senders = new Senders(context.limits.maxQueuedBytesPerServer);
    this.tasks = new Tasks(this, context, (method, params) => this.#slots.own.ask(method, params));
    this.lists = new ListReader(context.limits.maxMessageBytes, (method, params, onAnswer) =>
      this.#slots.own.ask(method, params, onAnswer),
    );
    const parts = {
      slots: this.#slots,
      sessions: this.sessions,
      tasks: this.tasks,
      outbox: () => this.#upstream?.outbox,
    };
    this.#desk = new CallDesk({
      ...parts,
      backend: this,
      gate,
      audit: context.audit,
      limits: context.limits,
      counters: context.counters,
      trustsHints: definition.trustHints,
      isSafe: (name) => this.#isSafe(name),
      startIfWaiting: () => this.#startIfWaiting(),
    });
    this.callBacks = new CallBacks({
      ...parts,
      ...context,
      known,
      key,
      told: (outbox, session) => this.#senders.charge(outbox, session),
    });
    this.fromServer = new ServerMessages(server, context, {
      ...parts,
      backend: this,
      shared: this.wishes.state,
      callBacks: this.callBacks,
      listsChanged: (kinds) => this.#readLists(kinds),
    });
  }

  get wishes(): Wishes {
    return this.#desk.wishes;
  }

  /** Requests that are not answered yet. */
  get openSlots(): number {
    return this.#slots.size;
  }

  /** Whether it could not be started the last time. */
  get hasFailed(): boolean {
    return this.#opening.hasFailed;
  }

  /** Whether it works on something, also for clients that use another instance now. */
  get isBusy(): boolean {
    return this.openSlots > 0 || this.tasks.size > 0;
  }

  /** Whether nobody counts on it any more, once nobody new comes. */
  get isDone(): boolean {
    return !this.isBusy && !this.#opening.isAwaited;
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
    const isRunning = this.isOpen || this.#opening.isAwaited; // what it was offered cannot be changed any more
    return !isRunning && this.sessions.size === 0 && this.openSlots === 0;
  }

  /** Whether another client's conversation is going on. */
  get isEngaged(): boolean {
    return this.#slots.lane.isTaken;
  }

  attach(session: Session): void {
    this.sessions.add(session);
    if (this.#showsOthersRoots(session)) this.#slots.tell(ROOTS_CHANGED_NOTICE);
    this.#ports.usersChanged(this.sessions.size);
  }

  /** Where everybody has to share it, it is to ask again, and gets what all agree on. */
  #showsOthersRoots(session: Session): boolean {
    const { rootsKey } = this.key;
    return this.isOpen && this.sessions.size > 1 && rootsKey !== undefined && rootsKey !== session.roots.key;
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
    this.#senders.forget(session);
    this.wishes.forget(session);
  }

  /** The session uses another instance from now on; what it has under way here still ends here. */
  handOver(session: Session, to: Backend): void {
    to.attach(session);
    this.wishes.handOver(session, to.wishes);
    this.#forget(session);
    for (const { slot, frame } of this.#slots.takeWaitingOf(session)) to.#desk.takeOver(slot, frame);
    this.#slots.pump();
    this.#ports.usersChanged(this.sessions.size);
  }

  /** Nothing more comes from the session. What was sent still ends here; what waits is refused. */
  release(session: Session, refusal: BridgeError): void {
    for (const { slot } of this.#slots.takeWaitingOf(session)) this.#slots.fail(slot, refusal);
    this.#forget(session);
    this.#slots.pump();
    this.#ports.usersChanged(this.sessions.size);
  }

  /** What is known of those that were offered the same, while it runs. */
  get face(): Face | undefined {
    return this.#face;
  }

  /** The running instance; starts one if there is none. */
  whenOpen(): Promise<Upstream> {
    return this.#upstream === undefined ? this.#opening.whenOpen() : Promise.resolve(this.#upstream);
  }

  /** Resolves when an instance is being started, or runs. */
  whenBegun(): Promise<void> {
    return this.#opening.whenBegun();
  }

  // --- the owner of slots ---

  cancel(slot: Slot, notice: Frame, read: Envelope): void {
    if (slot.downId !== 0 && this.#upstream !== undefined) {
      splice.clear().replace(read.from(Field.requestId), read.to(Field.requestId), String(slot.downId));
      splice.send(this.#upstream.outbox, notice.b, notice.start, notice.end);
      this.#senders.charge(this.#upstream.outbox, slot.session);
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
    // While a person is asked, the call waits for that person, within the upper bound.
    if (this.callBacks.isAsking(slot.session)) extend(slot);
    const ownMs = this.#definition.timeoutMs ?? limits.callTimeoutMs;
    const timeoutMs = slot.waitsForTask ? limits.maxCallMs : ownMs;
    if (!isOverdue(slot, nowMs, timeoutMs, limits)) return;
    counters.timeouts++;
    const hint = 'It may still go on there. timeoutMs of the server, or limits.callTimeoutMs, allows more.';
    const error = new BridgeError('CALL_TIMED_OUT', `Server ${this.server} has not answered within ${timeoutMs} ms`, {
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
  submit(slot: Slot, request: Pick<ClientRequest, 'role' | 'frame'>, read: Envelope): void {
    this.#desk.take(slot, request, read);
  }

  /** Whether the server was, or is to be, offered anything to ask for. */
  get mayAskBack(): boolean {
    return this.key.offers.sampling !== undefined || this.key.offers.elicitation !== undefined;
  }

  #isSafe(name: string): boolean {
    const face = this.#face ?? this.#known.faceFor(this.key.offers);
    return face?.isSafe(name) === true;
  }

  #startIfWaiting(): void {
    if (this.#upstream === undefined && this.#slots.hasWaiting) this.#opening.start();
  }

  /** Looked at once a second. */
  tick(nowMs: number): void {
    this.#slots.checkTime(nowMs);
    this.callBacks.checkTime(nowMs);
  }

  /** Asks for the bridge itself. */
  ask(method: string, params: object, onAnswer: OwnAnswer): void {
    this.#slots.own.ask(method, params, onAnswer);
  }

  /** A notification of a client that is not the router's business. */
  notify(session: Session, b: Buffer, start: number, end: number): void {
    if (this.#upstream !== undefined) this.#senders.tell(this.#upstream.outbox, session, b, start, end);
  }

  /** A client may have more under way than a moment ago. */
  pump(): void {
    this.#slots.pump();
  }

  /** The server, or one of the clients, has taken what was queued for it. */
  drained(): void {
    this.#slots.pump();
    this.#senders.drained(this.#upstream?.outbox.blockedBytes ?? 0);
  }

  // --- the instance's life, as told from outside ---

  /** It is its turn to be started. */
  begun(): void {
    this.#opening.begun();
  }

  opened(upstream: Upstream): void {
    this.#upstream = upstream;
    this.#face = this.#known.opened(this.key.offers, upstream.hello);
    this.#opening.opened(upstream);
    this.#slots.lane.isOpen = this.mayAskBack;
    this.#slots.opened(upstream.outbox, this.wishes.state.wishes());
    this.#readLists(LIST_KINDS);
  }

  /** What it lists itself, since it runs. */
  pagesOf(kind: ListKind): readonly ListPage[] | undefined {
    return this.#lists.get(kind);
  }

  /** Asks it again for a list that it could not give before. */
  readAgain(kind: ListKind): void {
    if (!this.#lists.has(kind)) this.#readLists([kind]);
  }

  /** Has an instance that runs list everything once more; resolves when it has, or has gone. */
  async readAllAgain(): Promise<void> {
    this.#readLists(LIST_KINDS);
    await this.whenListed();
  }

  /** Resolves when none of its lists is being read. */
  async whenListed(): Promise<void> {
    await Promise.all(LIST_KINDS.map((kind) => this.lists.whenRead(kind)));
  }

  #readLists(kinds: readonly ListKind[]): void {
    const face = this.#face;
    if (face === undefined) return;
    for (const kind of kinds) {
      this.lists.read(kind, face, (pages) => {
        if (this.#face !== face) return;
        this.#context.logger.debug('list read', { server: this.server, kind });
        const before = this.#lists.get(kind);
        this.#lists.set(kind, pages);
        const isNew = this.#known.learnList(face, kind, pages, this.key);
        if (isNew || (before !== undefined && !samePages(before, pages))) this.#ports.listLearnt(kind);
      });
    }
  }

  /** It could not be started: all who wait are told. */
  failed(error: BridgeError): void {
    this.#opening.failed(error);
    this.#slots.failWaiting(error);
  }

  /** It is gone. What was not sent yet waits for the next one. */
  closed(error: BridgeError): void {
    this.#opening.closed();
    this.#upstream = undefined;
    if (this.#face !== undefined) this.#known.closed(this.#face);
    this.#face = undefined;
    this.#lists.clear();
    this.#senders.resumeAll();
    this.callBacks.closed();
    this.tasks.closed();
    this.#slots.failSent(error);
    this.#startIfWaiting();
  }
}
