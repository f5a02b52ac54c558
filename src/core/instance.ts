// The router's side of one instance: which requests are under way there, which wait for their turn, and who listens.
// How an instance comes to life and dies is the business of whoever calls opened(), failed() and closed().

import type { ServerDefinition } from '../model/server-definition.ts';
import type { BridgeError } from '../util/bridge-error.ts';
import type { Envelope } from '../wire/envelope.ts';
import type { Frame, FrameSink } from '../wire/frame-splitter.ts';
import type { Call, CallOwner, ClientRequest } from './call.ts';
import { CallDesk } from './call-desk.ts';
import { CallTable, type Elsewhere } from './call-table.ts';
import { CrowdedClients } from './crowded-clients.ts';
import type { ListKind } from './era/era-2025.ts';
import { settlesOnBatches } from './era/initialize.ts';
import type { InstanceContext } from './instance-context.ts';
import type { InstanceKey } from './instance-key.ts';
import { InstanceLists } from './instance-lists.ts';
import { InstanceUsers } from './instance-users.ts';
import { clientInfoText, type KnownServer, type ServerProfile } from './known-server.ts';
import { Opening, type RunningInstance } from './opening.ts';
import type { OwnAnswer, OwnRequests } from './own-requests.ts';
import { Questions } from './questions.ts';
import { Senders } from './senders.ts';
import { ServerMessages } from './server-messages.ts';
import type { Session } from './session.ts';
import type { SharedSettings } from './shared-settings.ts';
import { maxConcurrentCallsOf, type SharingTerms } from './sharing.ts';
import { Tasks } from './tasks.ts';
import type { ToolGate } from './tool-gate.ts';
import { UnansweredCalls } from './unanswered-calls.ts';

/** The runner of an instance, and the server it is an instance of. */
export interface InstancePorts {
  /** Asks for it; opened() or failed() follows, unless one is on its way already. */
  readonly start: () => void;
  readonly usersChanged: (users: number) => void;
  /** It has said of itself how it may be shared; nothing was sent yet. */
  readonly declared: () => void;
  /** Clients have different roots, and the instance asks for them: all but one get another instance, or this one again. */
  readonly divide: (staying: Session | undefined) => void;
  /** An error of ours over it: nobody knows any more what it works on, so it is ended. */
  readonly broken: (error: unknown) => void;
  /** A client would have to wait for another one's conversation. */
  readonly contended: (session: Session) => Elsewhere;
  /** A list of the server's is another one than it was, and has been read. */
  readonly listLearnt: (kind: ListKind) => void;
}

export interface InstanceOptions {
  readonly definition: Pick<ServerDefinition, 'name' | 'timeoutMs' | 'trustHints'> & SharingTerms;
  readonly known: KnownServer;
  readonly gate: (session: Session) => ToolGate;
  readonly key: InstanceKey;
  readonly ports: InstancePorts;
  readonly context: InstanceContext;
}

export class Instance implements CallOwner {
  readonly server: string;
  readonly key: InstanceKey;
  readonly #known: KnownServer;
  readonly #declared: () => void;
  #running: RunningInstance | undefined;
  #profile: ServerProfile | undefined;
  #mayBatch = false;
  /** The client that the instance was told; '' for the bridge. */
  #introduced = '';
  readonly #calls: CallTable;
  readonly questions: Questions;
  readonly tasks: Tasks;
  readonly lists: InstanceLists;
  readonly users: InstanceUsers;
  /** Takes what the instance sends. */
  readonly fromServer: FrameSink;
  readonly sessions = new Set<Session>();
  readonly #desk: CallDesk;
  readonly #opening: Opening;
  readonly #senders: Senders;
  readonly #crowded: CrowdedClients;
  readonly #unanswered: UnansweredCalls;
  readonly #broken: (error: unknown) => void;

  constructor({ definition, known, gate, key, ports, context }: InstanceOptions) {
    const server = definition.name;
    this.server = server;
    this.key = key;
    this.#known = known;
    this.#broken = ports.broken;
    this.#calls = new CallTable({
      ...context,
      server,
      known,
      maxConcurrentCalls: maxConcurrentCallsOf(definition),
      meter: context.meters.of(server),
      contended: ports.contended,
      unsent: (session) => session.waitsAlsoAt(this),
      released: () => this.questions.callEnded(),
    });
    const ask: OwnRequests['ask'] = (method, params, onAnswer) => this.#calls.own.ask(method, params, onAnswer);
    this.#declared = ports.declared;
    this.#opening = new Opening(ports.start);
    this.#senders = new Senders({ ...context, server, outbox: () => this.#running?.link.outbox });
    this.#crowded = new CrowdedClients(context, () => this.#running?.link);
    this.tasks = new Tasks(this, context, ask);
    this.lists = new InstanceLists({ ...context, server, known, key, ask, learnt: ports.listLearnt });
    const parts = {
      ...context,
      ...{ server, known, key, instance: this, sessions: this.sessions },
      ...{ calls: this.#calls, tasks: this.tasks, senders: this.#senders },
      outbox: () => this.#running?.link.outbox,
      crowded: this.#crowded,
      isForAll: definition.sharing === 'shared',
      divide: ports.divide,
    };
    this.#desk = new CallDesk({
      ...parts,
      gate,
      trustsHints: definition.trustHints,
      isSafe: (name) => this.#isSafe(name),
      startIfWaiting: () => this.#startIfWaiting(),
    });
    this.questions = new Questions(parts);
    const more = { ...parts, desk: this.#desk, questions: this.questions };
    this.users = new InstanceUsers({ ...more, changed: ports.usersChanged });
    this.#unanswered = new UnansweredCalls({ ...more, timeoutMs: definition.timeoutMs });
    this.fromServer = new ServerMessages(server, context, {
      ...more,
      mayBatch: () => this.#mayBatch,
      sharedSettings: this.sharedSettings,
      listsChanged: (kinds) => this.lists.read(kinds),
    });
  }

  get sharedSettings(): SharedSettings {
    return this.#desk.sharedSettings;
  }

  /** Requests that are not answered yet. */
  get openCalls(): number {
    return this.#calls.size;
  }

  /** Whether it could not be started the last time. */
  get hasFailed(): boolean {
    return this.#opening.hasFailed;
  }

  /** Whether it works on something, also for clients that use another instance now. */
  get isBusy(): boolean {
    return this.openCalls > 0 || this.tasks.size > 0;
  }

  /** Whether nobody counts on it any more, once nobody new comes. */
  get isDone(): boolean {
    return !this.isBusy && !this.#opening.isAwaited;
  }

  /** Calls of tools that were sent, ever. */
  get toolCallsSent(): number {
    return this.#calls.toolCallsSent;
  }

  /** The same of all requests of clients. */
  get requestsSent(): number {
    return this.#calls.sentInAll;
  }

  get isOpen(): boolean {
    return this.#running !== undefined;
  }

  /** Whether somebody waits for it to come up, and it has not failed to. */
  get isStarting(): boolean {
    return !this.isOpen && !this.hasFailed && this.#opening.isAwaited;
  }

  get instanceId(): string | undefined {
    return this.#running?.instanceId;
  }

  /** Whether nobody would notice if it were for someone else from now on. */
  get isVacant(): boolean {
    const isRunning = this.isOpen || this.#opening.isAwaited; // what it was offered cannot be changed any more
    return !isRunning && this.sessions.size === 0 && this.openCalls === 0;
  }

  /** Whether another client's conversation is going on. */
  get isEngaged(): boolean {
    return this.#calls.lane.isTaken;
  }

  /** What is known of those that were offered the same, while it runs. */
  get profile(): ServerProfile | undefined {
    return this.#profile;
  }

  /** The running instance; starts one if there is none. */
  whenOpen(): Promise<RunningInstance> {
    return this.#running === undefined ? this.#opening.whenOpen() : Promise.resolve(this.#running);
  }

  /** Resolves when an instance is being started, or runs. */
  whenBegun(): Promise<void> {
    return this.#opening.whenBegun();
  }

  // --- the owner of calls ---

  cancel(call: Call, notice: Frame, read: Envelope): void {
    this.#unanswered.cancel(call, notice, read);
  }

  wasSent(call: Call): boolean {
    return this.#unanswered.wasSent(call);
  }

  withdraw(call: Call): void {
    this.#contain(() => this.#unanswered.withdraw(call));
  }

  abandon(call: Call): void {
    this.#contain(() => this.#unanswered.abandon(call));
  }

  tickCall(call: Call, nowMs: number): void {
    this.#unanswered.tickCall(call, nowMs);
  }

  // --- towards the server ---

  /** Takes a request in and sees to its one answer. */
  submit(call: Call, request: Pick<ClientRequest, 'role' | 'frame'>, read: Envelope): void {
    this.#desk.take(call, request, read);
  }

  /** Whether the server was, or is to be, offered anything to ask for. */
  get mayAskBack(): boolean {
    return this.key.capabilities.sampling !== undefined || this.key.capabilities.elicitation !== undefined;
  }

  #isSafe(name: string): boolean {
    const profile = this.#profile ?? this.#known.profileFor(this.key);
    return profile?.isSafe(name) === true;
  }

  #startIfWaiting(): void {
    if (this.#running === undefined && this.#calls.hasWaiting) this.#opening.start();
  }

  /** Whether a request that the instance has not taken is made again by the next one. */
  returned(request: Frame): boolean {
    return this.#unanswered.returned(request);
  }

  /** Looked at once a second. */
  tick(nowMs: number): void {
    this.#contain(() => {
      this.#calls.tick(nowMs);
      this.#senders.tick(nowMs);
      this.questions.tick(nowMs);
    });
  }

  /** Asks for the bridge itself. */
  ask(method: string, params: object, onAnswer: OwnAnswer): void {
    this.#calls.own.ask(method, params, onAnswer);
  }

  /** A notification of a client that is not the router's business. */
  notify(session: Session, b: Buffer, start: number, end: number): void {
    this.#senders.tell(session, b, start, end);
  }

  /** A client may have more under way than a moment ago. */
  pump(): void {
    this.#contain(() => this.#calls.pump());
  }

  /** The server, or one of the clients, has taken what was queued for it. */
  drained(): void {
    this.#contain(() => {
      this.#calls.pump();
      this.#senders.drained();
    });
  }

  /** What clients that have nothing to do with an error of ours over this instance do not pay for. */
  #contain(task: () => void): void {
    try {
      task();
    } catch (error) {
      this.#broken(error);
    }
  }

  // --- the instance's life, as told from outside ---

  /**
   * The client that the instance is told: the one that has it started, if all that use it by now say the same of
   * themselves. Undefined if they do not, or there is none: it is told the bridge. Whoever comes later changes nothing.
   */
  introduction(): object | undefined {
    const [first, ...others] = this.key.owner === undefined ? this.sessions : [this.key.owner];
    this.#introduced = first === undefined ? '' : clientInfoText(first);
    if (others.some((other) => clientInfoText(other) !== this.#introduced)) this.#introduced = '';
    return this.#introduced === '' ? undefined : first?.clientInfo;
  }

  /** It is its turn to be started. */
  begun(): void {
    this.#opening.begun();
  }

  opened(running: RunningInstance): void {
    this.#running = running;
    this.#profile = this.#known.opened(this.key, running.initializeResult, this.#introduced);
    this.#mayBatch = settlesOnBatches(running.initializeResult);
    this.#opening.opened(running);
    this.#calls.lane.isOpen = this.mayAskBack;
    this.#calls.namesSessions = this.#known.declaredSharing === 'session-aware';
    this.#declared();
    this.questions.opening();
    this.#calls.opened(running.link.outbox, this.sharedSettings.opened());
    this.questions.opened();
    this.lists.opened(this.#profile);
  }

  /** It could not be started: all who wait are told. */
  failed(error: BridgeError): void {
    this.#opening.failed(error);
    this.#calls.failWaiting(error);
  }

  /** It is gone. What was not sent yet waits for the next one. */
  closed(error: BridgeError): void {
    this.#opening.closed();
    this.#running = undefined;
    const profile = this.#profile;
    this.#profile = undefined;
    // A step that fails is no reason to keep calls without their answers.
    this.#contain(() => profile !== undefined && this.#known.closed(profile));
    this.#contain(() => this.lists.closed());
    this.#contain(() => this.#senders.goOn());
    this.#contain(() => this.questions.closed());
    this.#contain(() => this.tasks.closed());
    this.#calls.failSent(error);
    this.#contain(() => this.#startIfWaiting());
  }
}
