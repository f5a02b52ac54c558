// The router's side of one instance: the requests under way there, the requests that wait, and the clients that listen.
// It never starts or ends the instance: its runner does that, and calls opened(), failed() and closed().

import type { Limits } from '../model/limits.ts';
import type { ServerDefinition } from '../model/server-definition.ts';
import { maxConcurrentCallsOf, type SharingTerms } from '../model/sharing.ts';
import type { ToolGate } from '../model/tool-gate.ts';
import { cancelNotice, type Era, type ListKind, type MethodRole } from '../protocol/era.ts';
import { ERA_2025, ROOTS_CHANGED_NOTICE } from '../protocol/era-2025.ts';
import { type ClientCapabilities, settlesOnBatches } from '../protocol/initialize.ts';
import { requestEnvelopeOf } from '../protocol/request-envelope.ts';
import { METHOD_NOT_FOUND, outcomeUnknown, rpcError, rpcErrorOf } from '../protocol/rpc-error.ts';
import { NO_SUCH_TASK, withoutTasks, withTasks } from '../protocol/tasks-extension.ts';
import { BridgeError } from '../util/bridge-error.ts';
import type { Clock } from '../util/clock.ts';
import type { Logger } from '../util/logger.ts';
import { Envelope, Field } from '../wire/envelope.ts';
import type { Frame } from '../wire/frame-splitter.ts';
import type { Link } from '../wire/link.ts';
import type { Outbox } from '../wire/outbox.ts';
import { ownFrame } from '../wire/own-frame.ts';
import { Splice } from '../wire/splice.ts';
import { type Call, type CallOwner, extend, overdueMs, serverRequestIdAt, shorterMs } from './call.ts';
import { isNamedCall, mayHarmTwice, settingPlanOf } from './call-plan.ts';
import { CallTable, type MoveResult } from './call-table.ts';
import type { CallTracing } from './call-tracing.ts';
import type { Events, ServerReach } from './events.ts';
import { ServerMessages } from './from-server.ts';
import type { InstanceKey } from './instance-key.ts';
import { LONGEST_KNOWN_CALL, NEEDS_NO_LANE } from './lane.ts';
import { InstanceLists, type ListChange } from './lists.ts';
import type { OwnAnswer, OwnRequests } from './own-requests.ts';
import type { OwnedTasks } from './owned-tasks.ts';
import { ServerBacklog, SlowClients } from './pressure.ts';
import { CallInRounds, QuestionRounds } from './question-rounds.ts';
import { Questions } from './questions.ts';
import type { ResultCutter } from './result-cutter.ts';
import { wrappedTools } from './results-for-2025.ts';
import { clientInfoText, type KnownServer, type SelfIntroduction, type ServerProfile } from './server-knowledge.ts';
import { ServerListen } from './server-listen.ts';
import type { Session } from './session.ts';
import { SharedSettings } from './shared-settings.ts';
import {
  isRetry,
  type RetryOutcome,
  refusalOfForeign,
  refusalOfRetry,
  type SuspendedCalls,
  type Suspension,
} from './suspended-calls.ts';
import { Tasks } from './tasks.ts';
import type { ServerAccounts, ToolAccount, ToolAccounts } from './tool-accounts.ts';
import { asksForPages } from './wanted-pages.ts';

/** Shared by all instances, for frames that have waited or come back. Its keys are set to the client's era. */
const readAgain = new Envelope(ERA_2025.keys);
const splice = new Splice();

/** The orders of an instance to its runner, and its messages to its server. */
export interface InstancePorts {
  /** Starts the instance, unless a start is under way. opened() or failed() follows. */
  readonly start: () => void;
  readonly usersChanged: (users: number) => void;
  /** Reports that the instance has declared how it may be shared. Nothing was sent to it yet. */
  readonly declared: () => void;
  /**
   * Moves all clients but one to other instances, or back to this one: the server asks for roots, and theirs differ.
   */
  readonly divide: (staying: Session | undefined) => void;
  /** Ends the instance after a fault of the bridge, because its calls are no longer known for certain. */
  readonly broken: (error: unknown) => void;
  /** Finds another instance for a client that would wait for another client's conversation. */
  readonly contended: (session: Session) => MoveResult;
  /** Reports that a list of the server was read and has changed. */
  readonly listLearnt: (kind: ListKind, change: ListChange) => void;
}

export interface InstanceOptions {
  readonly definition: Pick<ServerDefinition, 'name' | 'timeoutMs' | 'trustHints'> & SharingTerms & ServerReach;
  readonly known: KnownServer;
  readonly gate: (session: Session) => ToolGate;
  readonly key: InstanceKey<Session>;
  readonly ports: InstancePorts;
  readonly context: InstanceContext;
}

export class Instance implements CallOwner {
  readonly server: string;
  /** The way to reach its server. */
  readonly reach: ServerReach;
  readonly key: InstanceKey<Session>;
  readonly known: KnownServer;
  #running: RunningInstance | undefined;
  #profile: ServerProfile | undefined;
  #mayBatch = false;
  /** The client name that the server was told; '' for the bridge. */
  #introduced = '';
  readonly context: InstanceContext;
  /** True if all clients must share the instance, whatever their roots are. */
  readonly isForAll: boolean;
  /** The server's own time limit for a call, if its definition has one. */
  readonly timeoutMs: number | undefined;
  readonly calls: CallTable;
  readonly questions: Questions;
  readonly rounds: QuestionRounds;
  readonly tasks: Tasks;
  readonly lists: InstanceLists;
  readonly sharedSettings: SharedSettings;
  readonly serverListen: ServerListen;
  /** Handles the frames that the server sends. */
  readonly fromServer: ServerMessages;
  readonly sessions = new Set<Session>();
  /** The number of clients whose results must be completed. */
  #completed = 0;
  readonly backlog: ServerBacklog;
  readonly slowClients: SlowClients<Session>;
  readonly #ports: InstancePorts;
  readonly #gate: (session: Session) => ToolGate;
  readonly #trustsHints: boolean;
  readonly #opening: InstanceWaiters;
  readonly #accounts: ServerAccounts | undefined;

  constructor({ definition, known, gate, key, ports, context }: InstanceOptions) {
    const { name: server, timeoutMs, trustHints, sharing } = definition;
    this.server = server;
    this.reach = definition;
    this.key = key;
    this.known = known;
    this.context = context;
    this.#accounts = context.accounts?.of(server);
    this.isForAll = sharing === 'shared';
    this.timeoutMs = timeoutMs;
    this.#ports = ports;
    this.#gate = gate;
    this.#trustsHints = trustHints;
    this.calls = new CallTable({
      ...context,
      server,
      known,
      maxConcurrentCalls: maxConcurrentCallsOf(definition),
      contended: ports.contended,
      unsent: (session) => session.waitsAlsoAt(this),
      released: () => this.settle(),
      takesTurn: (call, frame, envelope) => this.#takesTurn(call, frame, envelope),
      levelOf: (session) => this.sharedSettings.levels.levelOf(session),
      instance: this,
    });
    const ask: OwnRequests['ask'] = (method, params, onAnswer) => this.calls.own.ask(method, params, onAnswer);
    this.#opening = new InstanceWaiters(ports.start);
    this.backlog = new ServerBacklog({ ...context, server, outbox: () => this.outbox });
    this.slowClients = new SlowClients(context, () => this.#running?.link);
    this.tasks = new Tasks(this, context, ask);
    this.lists = new InstanceLists({
      ...context,
      server,
      known,
      key,
      ask,
      era: () => this.era,
      learnt: ports.listLearnt,
    });
    this.sharedSettings = new SharedSettings(this);
    this.serverListen = new ServerListen(this);
    this.questions = new Questions(this);
    this.rounds = new QuestionRounds(this);
    this.fromServer = new ServerMessages(this);
  }

  /** The era of the running server; while none runs, the era found last. */
  get era(): Era {
    return this.#running?.era ?? this.known.era?.era ?? ERA_2025;
  }

  /** The version agreed on with the server, now or last time; undefined if it never ran. */
  get protocolVersion(): string | undefined {
    return this.#running?.version ?? this.known.era?.version;
  }

  /** The versions that the server has named, now or last time. */
  get supportedVersions(): readonly string[] {
    return this.#running?.supportedVersions ?? this.known.era?.versions ?? [];
  }

  /** The outbox to the running instance; undefined while it does not run. */
  get outbox(): Outbox | undefined {
    return this.#running?.link.outbox;
  }

  /** True if the server may send several messages in one array. */
  get mayBatch(): boolean {
    return this.#mayBatch;
  }

  /** True while one of its clients needs members in results that this server does not write. */
  get completesResults(): boolean {
    return this.#completed > 0;
  }

  /** Moves all clients but one to other instances, or back to this one, once their roots are known. */
  divide(staying: Session | undefined): void {
    this.#ports.divide(staying);
  }

  /** The number of requests that are not answered yet. */
  get openCalls(): number {
    return this.calls.size + this.rounds.size;
  }

  /** True if the last start failed. */
  get hasFailed(): boolean {
    return this.#opening.hasFailed;
  }

  /** True while it works on something, also for clients that now use another instance. */
  get isBusy(): boolean {
    return this.openCalls > 0 || this.tasks.size > 0 || this.context.ownedTasks.hasLiving(this);
  }

  /** True if nobody waits for it or for one of its answers. */
  get isDone(): boolean {
    return !this.isBusy && !this.#opening.isAwaited;
  }

  /** The number of tool calls ever sent. */
  get toolCallsSent(): number {
    return this.calls.toolCallsSent;
  }

  /** The number of client requests ever sent. */
  get requestsSent(): number {
    return this.calls.sentInAll;
  }

  get isOpen(): boolean {
    return this.#running !== undefined;
  }

  /** True while somebody waits for its start, unless that has failed. */
  get isStarting(): boolean {
    return !this.isOpen && !this.hasFailed && this.#opening.isAwaited;
  }

  get instanceId(): string | undefined {
    return this.#running?.instanceId;
  }

  /** True if another client may have it: it does not run, and nobody uses it. */
  get isVacant(): boolean {
    const isRunning = this.isOpen || this.#opening.isAwaited; // the capabilities that it was offered cannot change any more
    return !isRunning && this.sessions.size === 0 && this.openCalls === 0;
  }

  /** True while a client holds the lane. */
  get isEngaged(): boolean {
    return this.calls.lane.isTaken;
  }

  /** The server's profile for this instance's capabilities, while it runs. */
  get profile(): ServerProfile | undefined {
    return this.#profile;
  }

  /** Resolves with the running instance; starts it if needed. */
  whenOpen(session?: Session): Promise<RunningInstance> {
    return this.#running === undefined ? this.#opening.whenOpen(session) : Promise.resolve(this.#running);
  }

  /** The clients that wait for it to run. Other clients use it too, but want nothing at the moment. */
  waiting(): ReadonlySet<Session> {
    return new Set([...this.#opening.sessions, ...this.calls.waitingSessions()]);
  }

  /** Resolves when an instance is being started, or runs. */
  whenBegun(): Promise<void> {
    return this.#opening.whenBegun();
  }

  /**
   * Decides whether and when a call is sent. The call is refused, or sent at once, or it waits for its turn; if the
   * instance does not run, it is started. In each case the call gets exactly one answer.
   */
  submit(call: Call, frame: Frame, envelope: Envelope): void {
    const isToolCall = call.plan.role === 'call';
    call.owner = this;
    extend(call); // the server's time limit starts here
    const continued = isRetry(call, envelope) ? this.#continuedBy(call, frame, envelope) : undefined;
    if (isToolCall) {
      call.account = this.#accountOf(call, frame, envelope);
      const refusal = this.#refusalOf(call, frame, envelope);
      if (refusal !== undefined) return this.#refuse(call, refusal, continued);
    }
    if (continued !== undefined && this.#goesOn(call, continued, frame, envelope)) return;
    const isSafe = isToolCall && this.#trustsHints && this.#isSafe(nameOf(call, frame, envelope));
    if (isSafe) call.again = ownFrame(frame);
    // A call that may do harm twice is not repeated.
    else if (call.mayBeDone && mayHarmTwice(call)) return this.calls.fail(call, outcomeUnknown(this.server));
    this.#nameForLane(call, frame, envelope);
    if (this.calls.maySend(call)) return this.calls.send(call, frame, envelope);
    this.calls.queue(call, frame);
    this.#startIfWaiting();
  }

  #accountOf({ nameText }: Call, { b }: Frame, envelope: Envelope): ToolAccount | undefined {
    if (nameText !== '') return this.#accounts?.named(nameText);
    if (!envelope.has(Field.name)) return undefined;
    return this.#accounts?.of(b, envelope.from(Field.name), envelope.to(Field.name));
  }

  /** Refuses a call. The rules may have changed, so a suspended call that it would continue ends too. */
  #refuse(call: Call, refusal: BridgeError, continued: Suspension | BridgeError | undefined): void {
    if (continued !== undefined && 'state' in continued)
      this.context.suspended.giveUp(continued, 'cancelled', 'The client may not call the tool any more');
    this.calls.fail(call, refusal);
  }

  /** The suspended call that a request continues, or the reason why it cannot. Undefined if the server must decide. */
  #continuedBy(call: Call, frame: Frame, envelope: Envelope): Suspension | BridgeError | undefined {
    const found = this.context.suspended.find(call, this.server, frame, envelope);
    if (typeof found === 'string') return refusalOfRetry(found);
    return found === undefined && this.isOpen && this.era.hasHandshake ? refusalOfForeign(envelope) : found;
  }

  /** Handles a retry; false if it must be sent as a call of its own. */
  #goesOn(retry: Call, continued: Suspension | BridgeError, { b }: Frame, envelope: Envelope): boolean {
    const outcome: RetryOutcome =
      'state' in continued
        ? this.context.suspended.goOn(retry, continued, b, envelope)
        : { is: 'error', error: continued };
    switch (outcome.is) {
      case 'again':
        return false;
      case 'error':
        this.calls.fail(retry, outcome.error);
        break;
      case 'answer':
      case 'declined':
        readAgain.keys = outcome.era.keysWithOutcome;
        readAgain.scan(outcome.frame.b, outcome.frame.start, outcome.frame.end, this.context.limits.maxDepth);
        if (outcome.is === 'declined' || !asksForPages(this, retry, outcome.frame, readAgain))
          this.fromServer.deliver(retry, outcome.frame, readAgain);
        break;
      case 'taken':
    }
    return true;
  }

  /** Tells the server about logs: a call continues under another request, which may want other logs. */
  logsWanted(call: Call): void {
    this.calls.logsWanted(call);
    if (call.logLevel !== '') this.sharedSettings.wantLogs(call.logLevel);
  }

  /** Ends a call whose client has not come back. */
  giveUpSuspended(call: Call, reason: string): void {
    this.#contain(() => {
      this.calls.giveUp(call, reason);
      this.#ended(call);
    });
  }

  /** The error for a tool that the client may not call; the same in every view. */
  #refusalOf(call: Call, frame: Frame, envelope: Envelope): BridgeError | undefined {
    this.context.events.callRouted.tell(call, this.server, this);
    const gate = this.#gate(call.session);
    if (!gate.isOpen) {
      const isNamed = call.nameText !== '' || envelope.has(Field.name);
      const tool = isNamed ? toolIn(nameOf(call, frame, envelope)) : undefined;
      const refusal = tool === undefined ? noName(this.server) : gate.refusalOf(tool);
      if (refusal !== undefined) return refusal;
    }
    return this.context.audit?.refusal;
  }

  /** Decides a waiting call whose turn has come: true to send it, false if it was answered here. */
  #takesTurn(call: Call, frame: Frame, envelope: Envelope): boolean {
    if (!this.era.hasHandshake && call.session.era.hasHandshake) {
      if (isOnlyOf(this.era, call, frame, envelope)) {
        this.#failWith(call, UNKNOWN_METHOD);
        return false;
      }
      call.inRounds ??= this.#inRounds(call, frame, envelope);
    }
    if (isRetry(call, envelope) && this.era.hasHandshake && call.suspension === undefined) {
      this.calls.fail(call, refusalOfForeign(envelope)); // the server's era is known only now
      return false;
    }
    if (call.plan.role === 'task' && this.era.hasHandshake && !call.session.era.hasHandshake) {
      this.#failWith(call, NO_SUCH_TASK); // tasks of 2025 work differently
      return false;
    }
    if (call.logLevel !== '') this.sharedSettings.wantLogs(call.logLevel);
    const setting = settingPlanOf(call);
    return setting === undefined || this.sharedSettings.take(call, setting, frame, envelope);
  }

  /** `error` is JSON. */
  #failWith(call: Call, error: string): void {
    this.context.events.callFailed.tell(call, error);
    call.output.fail(call.idText, error);
    call.close();
  }

  /** The state for a call of a client of 2025 at a server of 2026. Keeps the frame if the server may ask questions. */
  #inRounds(call: Call, frame: Frame, envelope: Envelope): CallInRounds {
    const { session, plan } = call;
    const pages = this.lists.pagesOf('tools') ?? this.#profile?.lists.get('tools');
    const wrapped = wrappedTools(pages);
    const isSchemaWrapped = wrapped.size > 0 && plan.role === 'call' && wrapped.has(nameOf(call, frame, envelope));
    const mayAsk = isNamedCall(call) ? envelope.has(Field.name) : plan.role === 'read' && envelope.has(Field.uri);
    const isKept = mayAsk && session.keep(frame.end - frame.start, this.context.limits.maxMessageBytes);
    return new CallInRounds(isKept ? frame : undefined, isSchemaWrapped);
  }

  /** Sends a call again, with the answers that its server asked for. The rules may have changed meanwhile. */
  goOn(call: Call, frame: Frame): void {
    readAgain.keys = call.session.era.keys;
    readAgain.scan(frame.b, frame.start, frame.end, this.context.limits.maxDepth);
    const refusal = call.plan.role === 'call' ? this.#refusalOf(call, frame, readAgain) : undefined;
    if (refusal !== undefined) return this.calls.fail(call, refusal);
    extend(call);
    call.session.waitsAlsoAt(this); // its client may now use another instance
    this.calls.resubmit(call, frame);
    this.#startIfWaiting();
  }

  /** Sets the lane's name of a call. Works before the server runs, too; the lane is not open then. */
  #nameForLane(call: Call, frame: Frame, envelope: Envelope): void {
    if (this.mayAskBack) call.laneName = laneNameOf(call, frame, envelope);
  }

  /** Takes over a call that has waited at another instance. */
  #takeOver(call: Call, frame: Frame): void {
    call.owner = this;
    readAgain.keys = call.session.era.keys;
    readAgain.scan(frame.b, frame.start, frame.end, this.context.limits.maxDepth);
    this.#nameForLane(call, frame, readAgain);
    this.calls.resubmit(call, frame);
    this.#startIfWaiting();
  }

  /** Called when a call has ended or was given up. A question may be certain now, and waiting calls may be sent. */
  settle(): void {
    this.questions.settle();
    this.calls.pump();
  }

  attach(session: Session): void {
    if (!session.era.hasHandshake && !this.sessions.has(session)) this.#completed++;
    this.sessions.add(session);
    if (this.#hasOtherRoots(session)) this.calls.tell(ROOTS_CHANGED_NOTICE);
    this.questions.clientCame();
    this.#usersChanged();
  }

  /**
   * True if all clients share the instance and the new client has other roots: then the server is told to ask again.
   */
  #hasOtherRoots(session: Session): boolean {
    const { outbox, sessions, key } = this;
    if (outbox === undefined || sessions.size <= 1 || !this.era.hasHandshake) return false;
    return key.rootsKey !== undefined && key.rootsKey !== session.roots.key;
  }

  /** Takes back the subscriptions and log level of a session that leaves this instance. */
  detach(session: Session): void {
    this.#forget(session);
    this.tasks.abandon(session);
    this.questions.clientGone(session);
    this.settle();
    this.#usersChanged();
  }

  /** Moves a session to another instance, with its settings and waiting calls. Calls that were sent end here. */
  handOver(session: Session, to: Instance): void {
    to.attach(session);
    this.sharedSettings.handOver(session, to.sharedSettings);
    this.#forget(session);
    for (const { call, frame } of this.calls.takeWaitingOf(session)) to.#takeOver(call, frame);
    this.calls.pump();
    this.#usersChanged();
  }

  /** Stops serving a session. Calls that were sent still end here; waiting calls are refused. */
  release(session: Session, refusal: BridgeError): void {
    for (const { call } of this.calls.takeWaitingOf(session)) this.calls.fail(call, refusal);
    this.rounds.refuseAllOf(session, refusal);
    this.#forget(session);
    this.calls.pump();
    this.#usersChanged();
  }

  #forget(session: Session): void {
    if (this.sessions.delete(session) && !session.era.hasHandshake) this.#completed--;
    this.backlog.forget(session);
    this.slowClients.forget(session);
    this.sharedSettings.forget(session);
  }

  #usersChanged(): void {
    this.#ports.usersChanged(this.sessions.size);
  }

  /** True if the server may ask questions: it was offered a capability for that. */
  get mayAskBack(): boolean {
    return this.key.capabilities.sampling !== undefined || this.key.capabilities.elicitation !== undefined;
  }

  #isSafe(name: string): boolean {
    const profile = this.#profile ?? this.known.profileFor(this.key);
    return profile?.isSafe(name) === true;
  }

  #startIfWaiting(): void {
    if (this.#running === undefined && this.calls.hasWaiting) this.#opening.start();
  }

  // --- the ends of calls without an answer: cancelled, client gone, time up ---

  cancel(call: Call, notice: Frame, envelope: Envelope): void {
    this.rounds.drop(call, 'The call was cancelled');
    if (call.serverRequestId !== 0) this.#passCancel(call, notice, envelope);
    this.calls.remove(call);
    this.#ended(call);
  }

  stop(call: Call, error: BridgeError): void {
    this.rounds.drop(call, 'The call was ended');
    this.calls.giveUp(call, 'The call was ended', error);
    this.#ended(call);
  }

  /**
   * Passes a cancellation on, in a short form if the server reads slowly. So giving up a call never stops a client from
   * being read.
   */
  #passCancel({ serverRequestId }: Call, { b, start, end }: Frame, envelope: Envelope): void {
    const { calls, backlog, outbox } = this;
    if (outbox === undefined) return;
    if (backlog.isFull)
      return calls.tell(cancelNotice(String(serverRequestId), 'The client does not want it any more'));
    splice.clear().replace(envelope.from(Field.requestId), envelope.to(Field.requestId), String(serverRequestId));
    splice.send(outbox, b, start, end);
  }

  wasSent({ serverRequestId, isSecondTry, mayBeDone, inRounds }: Call): boolean {
    return serverRequestId !== 0 || isSecondTry || mayBeDone || (inRounds !== undefined && inRounds.rounds > 0);
  }

  withdraw(call: Call): void {
    this.#contain(() => {
      this.rounds.drop(call, 'The client has gone');
      this.calls.withdraw(call);
    });
  }

  abandon(call: Call): void {
    this.#contain(() => {
      this.calls.giveUp(call, 'The client has gone');
      this.#ended(call);
    });
  }

  /**
   * Takes back a request that the server has not read. Returns true if it waits for the next instance (once only), or
   * if no client waits for it.
   */
  returned(frame: Frame): boolean {
    const { calls } = this;
    const { limits } = this.context;
    readAgain.keys = this.era.keys;
    readAgain.scan(frame.b, frame.start, frame.end, limits.maxDepth);
    const call = calls.peekSent(serverRequestIdAt(frame.b, Field.id, readAgain));
    if (call === undefined) return true;
    if (call.isSecondTry) return false;
    call.again = frame;
    call.nameText = ''; // the frame has the server's own name already
    call.cut = undefined;
    if (call.inRounds?.isKept === true) call.inRounds.keep(frame);
    return true;
  }

  /** True for a sent tool call that may be repeated: a trusted server says that the tool is safe. */
  mayRepeat(idText: string): boolean {
    return this.calls.peekSent(Number(idText))?.again !== undefined;
  }

  /** The id of the client that has a request made which was sent; '' where the bridge asks by itself. */
  clientOf(idText: string): string {
    return this.calls.peekSent(Number(idText))?.session.clientId ?? '';
  }

  /** Ends a call whose time is up: tells the server, and answers the client with an error. */
  tickCall(call: Call, nowMs: number): void {
    const { server, calls, questions } = this;
    const { limits, events } = this.context;
    // While a person is asked, the call waits for that person, up to the final deadline.
    if (questions.isAsking(call.asker) || this.rounds.isAsking(call)) extend(call);
    const timeoutMs = this.#timeoutOf(call);
    const tookMs = overdueMs(call, nowMs, timeoutMs, limits);
    if (tookMs === undefined) return;
    events.incident.tell('timeouts', call.session);
    this.rounds.drop(call, 'The time for this call is up');
    const hint = `It may still go on there. ${this.#settingsFor(call, tookMs)} allows more.`;
    const message = `Server ${server} has not answered within ${tookMs} ms`;
    calls.giveUp(call, 'The time for this call is up', new BridgeError('CALL_TIMED_OUT', message, { server, hint }));
    this.#ended(call);
  }

  /** The time limit of a call; 0 if the client decides, or a task does. */
  #timeoutOf({ plan, timeoutMs }: Call): number {
    const { timeoutMs: ownMs } = this;
    const { limits } = this.context;
    return plan.role === 'task-result' ? 0 : shorterMs(timeoutMs, ownMs ?? limits.callTimeoutMs);
  }

  #settingsFor(call: Call, tookMs: number): string {
    if (tookMs !== this.#timeoutOf(call)) return 'The setting limits.maxCallMs';
    return call.timeoutMs === tookMs
      ? 'The setting discovery.timeoutMs'
      : 'The setting timeoutMs of the server, or limits.callTimeoutMs,';
  }

  #ended(call: Call): void {
    if (call.serverRequestId === 0) this.settle();
    else this.questions.callGivenUp(call.asker);
  }

  /** Called once a second. */
  tick(nowMs: number): void {
    this.#contain(() => {
      this.calls.tick(nowMs);
      this.backlog.tick(nowMs);
      this.sharedSettings.levels.tick();
      this.questions.tick(nowMs);
      this.rounds.tick(nowMs);
    });
  }

  /** Sends the bridge's own request about a task. */
  askOfTask(method: string, taskId: string, onAnswer?: OwnAnswer): void {
    this.calls.own.ask(method, { taskId }, onAnswer, this.metaForTasks());
  }

  /** The `_meta` members of the bridge's own requests about tasks; these must declare the tasks capability. */
  metaForTasks(): string {
    return this.#envelopeFor(withTasks(this.key.capabilities));
  }

  /** The `_meta` members of the bridge's own requests: a server of 2026 is told in each request who asks. */
  #envelopeFor(capabilities: ClientCapabilities): string {
    const running = this.#running;
    if (running === undefined || running.era.hasHandshake) return '';
    return requestEnvelopeOf({ clientInfo: running.clientInfo, capabilities });
  }

  /** Sends a request of the bridge itself. */
  ask(method: string, params: object, onAnswer: OwnAnswer): void {
    this.calls.own.ask(method, params, onAnswer);
  }

  /** Passes on a client's notification that the router does not handle. */
  notify(session: Session, b: Buffer, start: number, end: number): void {
    if (!this.era.hasHandshake && this.#isRemoved({ b, start, end })) return;
    this.backlog.tell(session, b, start, end);
  }

  /** True for a notification that does not exist in the server's era. */
  #isRemoved({ b, start, end }: Frame): boolean {
    readAgain.keys = this.era.keys;
    readAgain.scan(b, start, end, this.context.limits.maxDepth);
    return this.era.methods.of(b, readAgain).role === 'removed';
  }

  /** Sends what waits: a client may now have more calls under way. */
  pump(): void {
    this.#contain(() => this.calls.pump());
  }

  /** Continues after the server or a client has read some of its backlog. */
  drained(): void {
    this.#contain(() => {
      this.calls.pump();
      this.backlog.drained();
      this.serverListen.drained();
    });
  }

  /** Runs a task. An error in it ends this instance and nothing else. */
  #contain(task: () => void): void {
    try {
      task();
    } catch (error) {
      this.#ports.broken(error);
    }
  }

  /**
   * The client name to tell the server: that of the client that has it started, if all its users give the same name.
   * Undefined if they differ or there is none: the server is told the bridge's name. Later clients change nothing.
   */
  introduction(): object | undefined {
    const [first, ...others] = this.key.owner === undefined ? this.sessions : [this.key.owner];
    this.#introduced = first === undefined ? '' : clientInfoText(first);
    if (others.some((other) => clientInfoText(other) !== this.#introduced)) this.#introduced = '';
    return this.#introduced === '' ? undefined : first?.clientInfo;
  }

  /** Called when its turn to start has come. */
  begun(): void {
    this.#opening.begun();
  }

  opened(running: RunningInstance): void {
    this.#running = running;
    this.calls.era = running.era;
    this.#profile = this.known.opened(this.key, running, this.#introduced);
    this.#mayBatch = settlesOnBatches(running.initializeResult);
    this.#opening.opened(running);
    this.calls.lane.isOpen = this.mayAskBack && running.era.hasHandshake;
    this.calls.mayAskBack = running.era.hasHandshake && (this.mayAskBack || this.key.capabilities.roots !== undefined);
    this.calls.namesSessions = this.known.declaredSharing === 'session-aware';
    this.#ports.declared();
    this.questions.opening();
    const renewed = this.sharedSettings.subscriptions.held();
    this.calls.opened(
      running.link.outbox,
      this.sharedSettings.opened(),
      this.#envelopeFor(withoutTasks(this.key.capabilities)),
    );
    this.questions.opened();
    this.lists.opened(this.#profile);
    this.serverListen.opened(this.#profile);
    for (const [uri, sessions] of renewed) for (const session of sessions) this.#mayHaveChanged(session, uri);
  }

  /** Tells a client that a resource may have changed, because nobody reported changes while the server was down. */
  #mayHaveChanged(session: Session, uri: string): void {
    if (session.state === 'ready') session.output.resourceChanged(session.view?.outwardUri(session, this, uri) || uri);
  }

  /** Called when a start has failed. All waiting calls get the error. */
  failed(error: BridgeError): void {
    this.#opening.failed(error);
    this.calls.failWaiting(error);
  }

  /** Called when the instance has died or ended. Calls that were not sent wait for the next start. */
  closed(error: BridgeError): void {
    this.#opening.closed();
    this.#running = undefined;
    const profile = this.#profile;
    this.#profile = undefined;
    // An error in one step must not keep calls from being answered.
    this.#contain(() => profile !== undefined && this.known.closed(profile));
    this.#contain(() => this.lists.closed());
    this.#contain(() => this.serverListen.closed(rpcErrorOf(error)));
    this.#contain(() => this.backlog.goOn());
    this.#contain(() => this.questions.closed());
    this.#contain(() => this.tasks.closed());
    this.#contain(() => this.context.ownedTasks.closed(this));
    this.calls.failSent(error);
    this.#contain(() => this.#startIfWaiting());
  }
}

const UNKNOWN_METHOD: string = rpcError(METHOD_NOT_FOUND, 'Method not found');

/** True for a request that exists only in the server's era: the client's era has no such method. */
function isOnlyOf(era: Era, { plan }: Call, { b }: Frame, envelope: Envelope): boolean {
  if (plan.role !== 'other') return false;
  const { role } = era.methods.of(b, envelope);
  return role !== 'other';
}

/** Requests during which no server asks. A question about a task names the task. */
const ASKS_NOTHING: ReadonlySet<MethodRole> = new Set<MethodRole>(['list', 'task', 'task-result', 'list-tasks']);

/** Stands for all names that are too long to remember; the lane learns nothing about it. */
const LONG_NAME = 'x'.repeat(LONGEST_KNOWN_CALL + 1);

function isNamedAtLength({ nameText }: Call, envelope: Envelope): boolean {
  const field = envelope.has(Field.name) ? Field.name : Field.method;
  return (nameText === '' ? envelope.to(field) - envelope.from(field) : nameText.length) > LONGEST_KNOWN_CALL;
}

/** The lane's name of a call. */
function laneNameOf(call: Call, frame: Frame, envelope: Envelope): string {
  const { role } = call.plan;
  if (ASKS_NOTHING.has(role)) return NEEDS_NO_LANE;
  if (isNamedAtLength(call, envelope)) return LONG_NAME;
  const name = isNamedCall(call) ? nameOf(call, frame, envelope) : envelope.raw(frame.b, Field.method);
  return role === 'get-prompt' ? `prompt ${name}` : name;
}

/** The name of the called tool or prompt, as the server knows it. */
function nameOf({ nameText }: Call, { b }: Frame, envelope: Envelope): string {
  return nameText || envelope.raw(b, envelope.has(Field.name) ? Field.name : Field.method);
}

/** Decodes a name, given as JSON in latin1. */
function toolIn(nameText: string): string | undefined {
  const name: unknown = JSON.parse(Buffer.from(nameText, 'latin1').toString());
  return typeof name === 'string' ? name : undefined;
}

/** The error for a name that is not a string: no rule can be applied to it. */
function noName(server: string): BridgeError {
  return new BridgeError('TOOL_ARGUMENTS_INVALID', 'The name of a tool is a text', { server });
}

/** A running instance, as its runner reports it. */
export interface RunningInstance extends SelfIntroduction {
  readonly link: Pick<Link, 'outbox' | 'pause' | 'resume'>;
  readonly instanceId: string;
  readonly era: Era;
  /** The version that was agreed on. */
  readonly version: string;
  /** The versions that the server has named: all of them in 2026, else only the agreed one. */
  readonly supportedVersions: readonly string[];
  /** The client name that the server was told, or the bridge's. */
  readonly clientInfo: object;
}

interface Waiter {
  readonly resolve: (running: RunningInstance) => void;
  readonly reject: (error: BridgeError) => void;
  /** Undefined if the bridge itself waits. */
  readonly session: Session | undefined;
}

/** The clients and parts of the bridge that wait until an instance runs, or until its start begins. */
export class InstanceWaiters {
  readonly #start: () => void;
  #waiters: Waiter[] = [];
  readonly #whenBegun: (() => void)[] = [];
  #hasBegun = false;
  /** True from the first request for it until it runs or has failed. */
  #isAwaited = false;
  /** True if the last start has failed. */
  hasFailed = false;

  /** `start` starts the instance unless a start is under way. opened() or failed() follows. */
  constructor(start: () => void) {
    this.#start = start;
  }

  /** True while somebody waits for the instance. */
  get isAwaited(): boolean {
    return this.#isAwaited || this.#waiters.length > 0;
  }

  start(): void {
    this.#isAwaited = true;
    this.#start();
  }

  /** The clients that wait until it runs. */
  get sessions(): Session[] {
    return this.#waiters.flatMap(({ session }) => session ?? []);
  }

  /** Starts it if needed, and resolves when it runs. */
  whenOpen(session?: Session): Promise<RunningInstance> {
    const opened = new Promise<RunningInstance>((resolve, reject) => this.#waiters.push({ resolve, reject, session }));
    this.start();
    return opened;
  }

  /** Resolves when its start begins, or it runs. */
  whenBegun(): Promise<void> {
    if (this.#hasBegun) return Promise.resolve();
    return new Promise((resolve) => this.#whenBegun.push(resolve));
  }

  /** Called when its turn to start has come. */
  begun(): void {
    this.#hasBegun = true;
    for (const resolve of this.#whenBegun.splice(0)) resolve();
  }

  opened(running: RunningInstance): void {
    this.begun();
    this.#isAwaited = false;
    this.hasFailed = false;
    for (const { resolve } of this.#takeWaiters()) resolve(running);
  }

  failed(error: BridgeError): void {
    this.closed();
    this.hasFailed = true;
    for (const { reject } of this.#takeWaiters()) reject(error);
  }

  /** Called when the instance has gone; the waiters wait for the next start. */
  closed(): void {
    this.#hasBegun = false;
    this.#isAwaited = false;
  }

  #takeWaiters(): Waiter[] {
    const waiters = this.#waiters;
    this.#waiters = [];
    return waiters;
  }
}

/** Everything that the instances of all servers share. */
export interface InstanceContext {
  readonly limits: Limits;
  readonly events: Events;
  readonly logger: Logger;
  readonly clock: Clock;
  readonly suspended: SuspendedCalls;
  readonly ownedTasks: OwnedTasks;
  /** Undefined if nobody keeps tool accounts. */
  readonly accounts?: ToolAccounts | undefined;
  /** Undefined if all results are passed on whole. */
  readonly cutter?: ResultCutter | undefined;
  /** Undefined while nobody traces calls. */
  readonly tracing?: CallTracing | undefined;
  /** Undefined if no calls are recorded. */
  readonly audit?: { readonly refusal: BridgeError | undefined } | undefined;
  /** Runs a task for one client. A fault of the bridge in it ends only this client. */
  readonly contain: (session: Session, task: () => void) => void;
  /** Cuts off a client that does not read what is sent to it. */
  readonly cutOff: (session: Session, reason: string) => void;
}
