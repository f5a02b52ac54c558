// The frames of one server, each passed on to the client it is for: answers, questions (questions.ts), notifications.
// It never changes the bytes of a payload, and a server's noise never harms a client.

import { type ListKind, type MethodRole, relatedTask } from '../protocol/era.ts';
import { ERA_2025 } from '../protocol/era-2025.ts';
import {
  INTERNAL_ERROR,
  INVALID_PARAMS,
  METHOD_NOT_FOUND,
  REGISTERED_ALREADY,
  rpcError,
} from '../protocol/rpc-error.ts';
import { declaresTasks } from '../protocol/tasks-extension.ts';
import { BATCH_VERSION } from '../protocol/versions.ts';
import { BridgeError } from '../util/bridge-error.ts';
import { membersOf, textOf } from '../util/json-value.ts';
import { cutBatch, MOST_IN_BATCH, messageIn } from '../wire/batch.ts';
import { changedFrame } from '../wire/changed-frame.ts';
import { Envelope, Field } from '../wire/envelope.ts';
import { answeredId, endsOf, type FrameEnds } from '../wire/frame-ends.ts';
import type { Frame, FrameSink } from '../wire/frame-splitter.ts';
import type { Span } from '../wire/json-members.ts';
import { areAll, cutMembers } from '../wire/member-cuts.ts';
import { isRequestId } from '../wire/request-id.ts';
import { Splice } from '../wire/splice.ts';
import { type Call, extend, serverRequestIdAt } from './call.ts';
import { type AskedTask, endRequest, mayMakeTask, otherServersFor } from './call-plan.ts';
import type { CallTable } from './call-table.ts';
import type { Incident } from './events.ts';
import type { Instance, InstanceContext } from './instance.ts';
import type { CallInRounds } from './question-rounds.ts';
import { answerServer } from './questions.ts';
import { NO_CUTTER, type ResultCutter } from './result-cutter.ts';
import { isTask, pageFor2025, resultTypeOf } from './results-for-2025.ts';
import type { Session } from './session.ts';
import { admitsLevel } from './shared-settings.ts';
import { type ToldTask, taskIn } from './task-requests.ts';
import { asksForPages } from './wanted-pages.ts';

const NOT_OFFERED: string = rpcError(METHOD_NOT_FOUND, 'The bridge offered no such capability');

const TASK_ID_IN_USE = {
  code: 'TASK_ID_IN_USE',
  message: 'The server gave the task an id that another process of it uses for a task of this client',
};
const TASK_WITHOUT_ID = {
  code: 'SERVER_ANSWER_REFUSED',
  message: 'The server has answered with a task that has no id, or two',
};

const ASKS_IN_ANSWERS: string = rpcError(METHOD_NOT_FOUND, 'A server of this version asks in its answers');

/** The reason why an answer in a batch is not passed on. */
const NO_BATCHES = `it is in a batch, which only servers that have settled on ${BATCH_VERSION} may send`;
const TOO_LONG_A_BATCH = `it is in a batch of more than ${MOST_IN_BATCH} messages`;

/** The minimum time between two such log lines: a server may send a hundred thousand of these messages a second. */
const LOGGED_EVERY_MS = 10_000;

/** Shared by all servers: each frame is handled before the next one is scanned. */
const envelope = new Envelope(ERA_2025.keys);
const splice = new Splice();

export class ServerMessages implements FrameSink {
  readonly #instance: Instance;
  readonly #context: InstanceContext;
  readonly #calls: CallTable;
  readonly #notices: ServerNotices;
  readonly #cutter: ResultCutter;
  #loggedMs = Number.NEGATIVE_INFINITY;
  /** Messages dropped since the last log line. */
  #unlogged = 0;

  constructor(instance: Instance) {
    this.#instance = instance;
    this.#context = instance.context;
    this.#calls = instance.calls;
    this.#notices = new ServerNotices(instance);
    this.#cutter = instance.context.cutter ?? NO_CUTTER;
  }

  frame(b: Buffer, start: number, end: number): void {
    const { limits, events } = this.#context;
    const { keys, keysWithOutcome } = this.#instance.era;
    const isLong = end - start > this.#cutter.leastBytes;
    // The call that is answered is known only after the scan. Looking at the head of each result costs 5 to 35 ns of a
    // call's 3 µs; scanning results for clients of 2026 a second time would double their cost.
    const looksAtResults = isLong || events.callAnswered.isHeard || this.#instance.completesResults;
    envelope.keys = looksAtResults ? keysWithOutcome : keys;
    const isSound = envelope.scan(b, start, end, limits.maxDepth);
    // A server that leaves out "jsonrpc" can still be understood; its clients may tolerate that too.
    if (!isSound && envelope.fault !== 'not-jsonrpc-2.0') {
      if (envelope.fault === 'batch') return this.#onBatch(b, start);
      events.incident.tell('serverNoise', this.#instance.server);
      this.#context.logger.debug('the server wrote a line that is no JSON-RPC', {
        server: this.#instance.server,
        fault: envelope.fault,
      });
      return this.#failRefused(b, start, end, envelope.fault ?? 'not-json');
    }
    switch (envelope.kind) {
      case 'response':
        return this.#onResponse(b, start, end);
      case 'notification':
        return this.#notices.take(b, start, end, envelope);
      case 'request':
        return this.#onRequest({ b, start, end });
    }
  }

  /** Passes on the messages of a batch. A refused batch is dropped, but the calls that it answers fail at once. */
  #onBatch(b: Buffer, start: number): void {
    const { messages, others, isTooLong } = cutBatch(b, start);
    const refusal = isTooLong ? TOO_LONG_A_BATCH : this.#instance.mayBatch ? undefined : NO_BATCHES;
    if (refusal !== undefined || others.length > 0 || messages.length === 0) this.#note('serverNoise');
    for (const place of messages) {
      const message = messageIn(b, place);
      if (refusal === undefined) this.frame(message.b, message.start, message.end);
      else this.#refuse(message, refusal);
    }
  }

  #refuse({ b, start, end }: Frame, why: string): void {
    envelope.scan(b, start, end, this.#context.limits.maxDepth);
    this.#failRefused(b, start, end, why);
  }

  /** Fails the call of an answer that cannot be passed on, if it is certain which call that is. */
  #failRefused(b: Buffer, start: number, end: number, why: string): void {
    if (envelope.fault === 'not-json' || envelope.has(Field.method)) return;
    // Decoding a frame that is nested too deeply would take thirty times its size in memory.
    const id = envelope.fault === 'too-deep' ? answeredId(endsOf(b, start, end)) : certainId(b);
    if (id !== undefined) this.#failAnswer(id, why);
  }

  #failAnswer(id: number, why: string): void {
    const call = this.#calls.takeSent(id, false);
    if (call === undefined) return void this.#calls.own.take(id, undefined);
    const message = `Server ${this.#instance.server} gave an answer that cannot be passed on: ${why}`;
    this.#calls.fail(call, new BridgeError('SERVER_ANSWER_REFUSED', message, { server: this.#instance.server }));
    this.#instance.settle();
  }

  #note(incident: Incident): void {
    this.#context.events.incident.tell(incident, this.#instance.server);
  }

  overflowed(): void {
    this.#note('oversizedFrames');
  }

  badFrame(reason: 'not-utf8' | 'too-long', ends: FrameEnds): void {
    this.#note('serverNoise');
    this.#logDropped(reason);
    const id = answeredId(ends);
    if (id !== undefined) this.#failAnswer(id, reason);
  }

  #logDropped(reason: string): void {
    const { clock, logger } = this.#context;
    this.#unlogged++;
    if (clock.now() - this.#loggedMs < LOGGED_EVERY_MS) return;
    logger.warn('a message of the server was dropped', {
      server: this.#instance.server,
      reason,
      count: this.#unlogged,
    });
    this.#loggedMs = clock.now();
    this.#unlogged = 0;
  }

  #onResponse(b: Buffer, start: number, end: number): void {
    const id = serverRequestIdAt(b, Field.id, envelope);
    const call = this.#calls.takeSent(id, envelope.has(Field.result));
    if (call === undefined) {
      if (this.#calls.own.take(id, { b, start, end }, envelope)) return;
      this.#note('strayResponses');
      return this.#calls.answeredLate(id);
    }
    const hasResult = envelope.has(Field.result);
    if (this.#isForClientOf2025(call) && this.#isNoAnswer(call, { b, start, end })) return this.#instance.settle();
    if (hasResult && this.#isUnwantedTask(call, b)) return this.#instance.settle();
    endRequest(call, hasResult ? 'result' : 'error');
    if (!hasResult && call.session.era.hasHandshake) this.#noteElicitations(call, b);
    // If the client is to retry, this is the outcome that the retry gets.
    const isSuspended = call.suspension !== undefined && call.suspension.state !== 'open';
    if (hasResult || isSuspended || otherServersFor(call).isEmpty) this.#answer(call, { b, start, end });
    else this.#calls.retryElsewhere(call);
    this.#instance.settle();
  }

  /** True if the server is of 2026 and the client of 2025. */
  #isForClientOf2025({ session }: Call): boolean {
    return !this.#instance.era.hasHandshake && session.era.hasHandshake;
  }

  /** Refuses a task if the client has not declared tasks, and cancels it at the server. False for other answers. */
  #isUnwantedTask(call: Call, b: Buffer): boolean {
    if (this.#instance.era.hasHandshake || !isTask(b, envelope) || declaresTasks(call.session.capabilities))
      return false;
    const { server } = this.#instance;
    const message = `Server ${server} has answered with a task, though the client has not said that it takes tasks`;
    this.#cancelTask(b);
    this.#calls.fail(call, new BridgeError('SERVER_ANSWER_REFUSED', message, { server }));
    return true;
  }

  /** Cancels the task that the server has answered with. */
  #cancelTask(b: Buffer): void {
    const task = taskIn(b, envelope.from(Field.result));
    if (task !== undefined) this.#instance.askOfTask(this.#instance.era.own.cancelTask, task.taskId);
  }

  /** Handles an answer of a server of 2026 that its client would not understand; false for normal answers. */
  #isNoAnswer(call: Call, frame: Frame): boolean {
    const { server, rounds, era } = this.#instance;
    const { b } = frame;
    if (!envelope.has(Field.result)) {
      const { code, message } = membersOf(envelope.decode(b, Field.error));
      if (code !== era.errors.missingClientCapability) return false;
      const said = `Server ${server} needs something that the client does not offer: ${textOf(message)}`;
      this.#calls.failInBand(call, new BridgeError('QUESTION_UNANSWERED', said, { server }));
      return true;
    }
    const type = resultTypeOf(b, envelope);
    if (type === 'input_required') rounds.begin(call, frame, envelope);
    else if (type === 'other') {
      if (isTask(b, envelope)) this.#cancelTask(b);
      this.#calls.fail(
        call,
        new BridgeError('SERVER_ANSWER_REFUSED', `Server ${server} gave a result of an unknown type`, { server }),
      );
    }
    return type !== 'complete';
  }

  #answer(call: Call, answer: Frame): void {
    const shown = this.#shown(call, answer);
    if (shown !== answer) envelope.scan(shown.b, shown.start, shown.end, this.#context.limits.maxDepth);
    const { suspension } = call;
    if (suspension?.isAway === true) return this.#context.suspended.keepAnswer(suspension, shown, this.#instance.era);
    if (envelope.has(Field.error) && !call.session.era.hasHandshake)
      if (asksForPages(this.#instance, call, shown, envelope)) return;
    this.deliver(call, shown, envelope);
  }

  /** Passes on an answer of this server. */
  deliver(call: Call, shown: Frame, envelope: Envelope): void {
    const { session } = call;
    this.#context.events.callAnswered.tell(call, shown.b, envelope);
    // A program gets the whole result; its own output is what the model sees.
    const isLong = shown.end - shown.start > this.#cutter.leastBytes && call.withinText === '';
    const passed = isLong ? this.#cutter.cut(call, shown, envelope) : shown;
    if (envelope.has(Field.result)) {
      const { b, start, end } = passed;
      const at = envelope.from(Field.result);
      const bytes = shown.end - shown.start - (at - start);
      if (call.withinText === '') call.account?.answered(bytes, b, at, end);
      else call.account?.answeredProgram(bytes);
    }
    call.output.passAnswer(call, passed, envelope, this.#instance.era);
    call.close();
    if (mayMakeTask(call)) this.#notices.taskBegun();
    this.#instance.slowClients.check(session);
  }

  /** The answer that the client gets; nearly always the server's own. */
  #shown(call: Call, answer: Frame): Frame {
    const { plan } = call;
    if (!this.#instance.era.hasHandshake && isTask(answer.b, envelope)) return this.#noted(call, answer);
    switch (plan.role) {
      case 'call':
      case 'get-prompt':
        return plan.mayMakeTask ? this.#instance.tasks.learn(call, answer, envelope) : answer;
      case 'list':
        return plan.reader.shown(plan.kind, this.#listFor(call, plan.kind, answer), envelope);
      case 'list-tasks':
        return this.#instance.tasks.filterList(call.session, answer, envelope);
      case 'task':
        return plan.asked === undefined ? answer : this.#heard(call.session, plan.asked, answer);
      default:
        return answer;
    }
  }

  /** Notes the task that a call has become. */
  #noted({ session }: Call, answer: Frame): Frame {
    const task = taskIn(answer.b, envelope.from(Field.result));
    if (task === undefined) return this.#refused(answer, TASK_WITHOUT_ID);
    const { taskId, state } = task;
    if (this.#context.ownedTasks.note(this.#instance, session, taskId, state))
      return this.#named(session, task, answer);
    this.#instance.askOfTask(this.#instance.era.own.cancelTask, taskId);
    return this.#refused(answer, TASK_ID_IN_USE);
  }

  #refused({ b }: Frame, { code, message }: typeof TASK_ID_IN_USE): Frame {
    const error = rpcError(INTERNAL_ERROR, message, { code, server: this.#instance.server });
    const refused = Buffer.from(`{"jsonrpc":"2.0","id":${envelope.raw(b, Field.id)},"error":${error}}\n`);
    return { b: refused, start: 0, end: refused.length - 1 };
  }

  /** Notes what the client learns of a task. */
  #heard(session: Session, { taskId, isCancelled }: AskedTask, answer: Frame): Frame {
    const { ownedTasks } = this.#context;
    if (!envelope.has(Field.result)) {
      const { code } = membersOf(envelope.decode(answer.b, Field.error));
      if (code === INVALID_PARAMS && !isCancelled) ownedTasks.over(this.#instance, taskId);
      return answer;
    }
    if (isCancelled) ownedTasks.over(this.#instance, taskId);
    const task = taskIn(answer.b, envelope.from(Field.result));
    if (task === undefined) return answer;
    ownedTasks.heard(this.#instance, session, task.taskId, task.state);
    return this.#named(session, task, answer);
  }

  /** Replaces the task's id by the client's id for it. */
  #named({ view }: Session, { taskId, at }: ToldTask, answer: Frame): Frame {
    const outward = view?.outwardTaskId(this.#instance, taskId) ?? '';
    return outward === '' ? answer : changedFrame(answer, at, JSON.stringify(outward));
  }

  /** The server's list in the form that its client can read. */
  #listFor(call: Call, kind: ListKind, answer: Frame): Frame {
    if (!this.#isForClientOf2025(call) || !envelope.has(Field.result)) return answer;
    const { result } = pageFor2025(kind, undefined, answer, envelope);
    const list = changedFrame(answer, envelope.span(Field.result), result.subarray(0, -1));
    envelope.scan(list.b, list.start, list.end, this.#context.limits.maxDepth);
    return list;
  }

  /** Notes the pages that an error asks the client to visit, so that the client hears when a visit ends. */
  #noteElicitations({ session }: Call, b: Buffer): void {
    this.#instance.questions.elicitations.noteFromError(envelope.decode(b, Field.error), session);
  }

  #onRequest(frame: Frame): void {
    const { b } = frame;
    const outbox = this.#instance.outbox;
    if (outbox === undefined) return;
    if (!this.#instance.era.hasHandshake) {
      // Answered with an error, so that the server does not wait. No client is asked, because nothing says which one.
      this.#note('serverNoise');
      return answerServer(outbox, envelope.raw(b, Field.id), `"error":${ASKS_IN_ANSWERS}`);
    }
    const { role } = this.#instance.era.methods.of(b, envelope);
    const { maxQueuedBytesPerClient, maxQueuedBytesPerServer } = this.#context.limits;
    // Clients' answers may wait for the server, and it may go on asking. Refusals get less room.
    const most = role === 'other' ? maxQueuedBytesPerServer : maxQueuedBytesPerClient;
    if (outbox.blockedBytes > most) {
      this.#note('notificationsDropped'); // the server asks, but reads no answers
      return;
    }
    if (role === 'sampling' || role === 'elicitation' || role === 'roots')
      return this.#instance.questions.ask(role, frame, envelope);
    if (role === 'task' || role === 'task-result') return this.#instance.questions.askForClientTask(frame, envelope);
    const refusal = role === 'initialize' ? REGISTERED_ALREADY : NOT_OFFERED;
    answerServer(outbox, envelope.raw(b, Field.id), role === 'ping' ? '"result":{}' : `"error":${refusal}`);
  }
}

/** The id of a message that was read whole and has exactly one. */
function certainId(b: Buffer): number | undefined {
  if (envelope.ambiguous.includes(Field.id)) return undefined;
  const id = envelope.id(b, Field.id);
  return typeof id === 'number' ? id : undefined;
}

/** True if the progress is higher than the last one. Each round of a call may start again from zero. */
function rises(inRounds: CallInRounds, b: Buffer, envelope: Envelope): boolean {
  const { progress } = membersOf(envelope.decode(b, Field.params));
  if (typeof progress !== 'number' || progress <= inRounds.progress) return false;
  inRounds.progress = progress;
  return true;
}

/** Statuses after which a task makes no more progress. */
const FINAL_STATUSES: ReadonlySet<unknown> = new Set(['completed', 'failed', 'cancelled']);

/** The notice without the member that names its subscription. */
function withoutSubscription({ b, start, end }: Frame, envelope: Envelope): Frame {
  const member = [envelope.span(Field.subscriptionId)];
  const isAlone = areAll(b, member);
  cutMembers(splice.clear(), b, isAlone ? [envelope.span(Field.meta)] : member);
  const bytes = splice.bytes(b, start, end);
  return { b: bytes, start: 0, end: bytes.length - 1 };
}

const NOBODY = { session: undefined, tokenText: '' };

/**
 * Passes on the notifications of one server: progress and the end of a visit to the client concerned, updates to the
 * subscribers, a task's state to its owner, all others to every client of the instance.
 */
class ServerNotices {
  readonly #instance: Instance;
  readonly #context: InstanceContext;

  constructor(instance: Instance) {
    this.#instance = instance;
    this.#context = instance.context;
  }

  take(b: Buffer, start: number, end: number, envelope: Envelope): void {
    const method = this.#instance.era.methods.of(b, envelope);
    const { role, reads, lists } = method;
    if (method.wantsAnswer || envelope.doubts(reads)) {
      this.#note('serverNoise');
      return;
    }
    if (role !== 'listen-acknowledged' && !this.#instance.serverListen.accepts(b, envelope))
      return this.#note('notificationsDropped');
    if (envelope.has(Field.subscriptionId) && role !== 'listen-acknowledged') {
      // The subscription belongs to the bridge.
      const frame = withoutSubscription({ b, start, end }, envelope);
      envelope.scan(frame.b, frame.start, frame.end, this.#context.limits.maxDepth);
      return this.take(frame.b, frame.start, frame.end, envelope);
    }
    const owner = this.#taskOwner(b, role, envelope);
    if (owner !== undefined) return this.#tellOne(owner, { b, start, end });
    switch (role) {
      case 'progress':
        return this.#onProgress(b, start, end, envelope);
      case 'cancelled':
        if (this.#instance.serverListen.cancelled({ b, start, end }, envelope)) return;
        if (!this.#instance.questions.cancel({ b, start, end }, envelope)) this.#note('strayCancels');
        return;
      case 'listen-acknowledged':
        return this.#instance.serverListen.acknowledged({ b, start, end }, envelope);
      case 'updated':
        return this.#onUpdated({ b, start, end }, envelope);
      case 'log':
        return this.#onLog({ b, start, end }, envelope);
      case 'list-changed':
        return this.#onListsChanged(lists, { b, start, end });
      case 'elicited':
        return this.#onElicited({ b, start, end }, envelope);
      case 'task-status':
        return this.#onTaskStatus({ b, start, end }, envelope);
      case 'bridge-received':
      case 'bridge-again':
      case 'bridge-leave':
      case 'bridge-leaving':
      case 'bridge-defaults':
        this.#note('serverNoise'); // these notices exist only between the bridge and its clients
        return;
      default:
        return this.#broadcast(this.#instance.sessions, { b, start, end }, false);
    }
  }

  #note(incident: Incident): void {
    this.#context.events.incident.tell(incident, this.#instance.server);
  }

  /** The owner of the task that a notice is about: only that client gets it. */
  #taskOwner(b: Buffer, role: MethodRole, envelope: Envelope): Session | undefined {
    if (!envelope.has(Field.meta) || role === 'progress' || role === 'cancelled') return undefined;
    return this.#instance.tasks.ownerOf(relatedTask(envelope.decode(b, Field.meta)) ?? '');
  }

  #onProgress(b: Buffer, start: number, end: number, envelope: Envelope): void {
    const token = serverRequestIdAt(b, Field.progressToken, envelope);
    const call = this.#instance.calls.peekSent(token);
    if (call !== undefined && this.#context.limits.progressExtendsTimeout) extend(call);
    const tracked = call ?? this.#instance.tasks.byToken(token) ?? NOBODY;
    const { session, tokenText } = tracked;
    const output = call?.output ?? session?.output;
    if (session === undefined || output === undefined || tokenText === '') {
      this.#note('strayProgress');
      return;
    }
    if (call !== undefined) this.#context.events.callProgressed.tell(call, this.#instance.server);
    if (call?.inRounds !== undefined && !rises(call.inRounds, b, envelope)) return this.#note('strayProgress');
    if (this.#instance.slowClients.drops(session)) return;
    output.passProgress(tracked, { b, start, end }, envelope);
  }

  #onListsChanged(kinds: readonly ListKind[], frame: Frame): void {
    const sessions = this.#transparentSessions();
    for (const session of sessions) session.view?.listsToldChanged(session, kinds);
    for (const session of sessions) {
      const mayDrop = session.listens === undefined; // listening requests catch up later
      this.#tellAll([session], mayDrop, ({ output }) => output.passListsChanged(kinds, frame));
    }
    this.#instance.lists.readAnnounced(kinds);
  }

  /** The clients to notify at once. Clients of joined views are notified later, when the list was read. */
  #transparentSessions(): Session[] {
    return [...this.#instance.sessions].filter(({ view }) => view?.isTransparent === true);
  }

  /** Tells the client that opened a page that the visit has ended. */
  #onElicited(frame: Frame, envelope: Envelope): void {
    const id = textOf(membersOf(envelope.decode(frame.b, Field.params)).elicitationId);
    this.#tellOne(this.#instance.questions.elicitations.shownTo(id), frame);
  }

  #onTaskStatus(frame: Frame, envelope: Envelope): void {
    if (!this.#instance.era.hasHandshake) return this.#tellWatchers(frame, envelope);
    const taskId = textOf(envelope.decode(frame.b, Field.taskId));
    const { status } = membersOf(envelope.decode(frame.b, Field.params));
    const owner = this.#instance.tasks.ownerOf(taskId);
    if (owner === undefined && this.#mayBeBegun(taskId)) return this.#instance.tasks.keepEarly(taskId, frame);
    this.#tellOne(owner, frame);
    if (FINAL_STATUSES.has(status)) this.#instance.tasks.settled(taskId);
  }

  /** Passes the state of a 2026 task on to its listeners; only its owner's connections can listen. */
  #tellWatchers(frame: Frame, envelope: Envelope): void {
    const task = taskIn(frame.b, envelope.from(Field.params));
    const watchers = task === undefined ? [] : this.#instance.serverListen.watchersOf(task.taskId);
    if (task === undefined || watchers.length === 0) return this.#note('notificationsDropped');
    for (const watcher of watchers) {
      const { session } = watcher;
      const outward = session.view?.outwardTaskId(this.#instance, task.taskId) ?? '';
      const named = outward === '' ? frame : changedFrame(frame, task.at, JSON.stringify(outward));
      this.#tellAll([session], false, () => {
        if (watcher.told(this.#instance, task.taskId, named))
          this.#context.ownedTasks.heard(this.#instance, session, task.taskId, task.state);
      });
    }
  }

  /** True if a call under way may still be answered with this task. */
  #mayBeBegun(taskId: string): boolean {
    if (!isRequestId(taskId)) return false;
    for (const call of this.#instance.calls.sent()) if (mayMakeTask(call)) return true;
    return false;
  }

  /** Sends the notices that came before the answer that names the task. */
  taskBegun(): void {
    for (const { session, notice } of this.#instance.tasks.takeDue()) this.#broadcast([session], notice, false);
  }

  #tellOne(session: Session | undefined, frame: Frame): void {
    if (session === undefined) this.#note('notificationsDropped');
    else this.#broadcast([session], frame, false);
  }

  #onUpdated(frame: Frame, envelope: Envelope): void {
    if (!envelope.has(Field.uri)) return;
    const uri = textOf(envelope.decode(frame.b, Field.uri));
    const at = envelope.span(Field.uri);
    const subscribers = this.#instance.sharedSettings.subscriptions.subscribersOf(uri);
    if (subscribers.size === 0) this.#note('notificationsDropped');
    for (const session of subscribers) this.#tellUpdated(session, uri, frame, at);
  }

  /** Reports an updated resource, which may have another URI in a joined view. */
  #tellUpdated(session: Session, uri: string, frame: Frame, at: Span): void {
    const outward = session.view?.outwardUri(session, this.#instance, uri) ?? '';
    const named = outward === '' ? frame : changedFrame(frame, at, JSON.stringify(outward));
    this.#tellAll([session], false, ({ output }) => output.passUpdated(outward || uri, named));
  }

  #onLog(frame: Frame, envelope: Envelope): void {
    const { sessions } = this.#instance;
    const { levels } = this.#instance.sharedSettings;
    const { withLogs } = this.#instance.calls;
    const { hasHandshake } = this.#instance.era;
    if (hasHandshake && !levels.areSet && withLogs.size === 0) return this.#broadcast(sessions, frame, true);
    const level = textOf(membersOf(envelope.decode(frame.b, Field.params)).level);
    if (!hasHandshake) return this.#logOf2026(frame, level);
    if (withLogs.size > 0) this.#logToCalls(withLogs, level, frame);
    const readers = [...sessions].filter((session) => levels.admits(session, level));
    this.#broadcast(readers, frame, true);
  }

  /** Passes a log message on to the clients that have asked for its level in a call under way, once per stream. */
  #logToCalls(calls: Iterable<Call>, level: string, frame: Frame): void {
    const byStream = new Map<unknown, Call>();
    for (const call of calls)
      if (call.suspension?.isAway !== true && admitsLevel(call.logLevel, level))
        byStream.set(call.session.link.streams === undefined ? call.session.link : call.clientIdText, call);
    for (const { session, clientIdText } of byStream.values())
      this.#tellAll([session], true, ({ output }) => output.passLog(frame, clientIdText));
  }

  /**
   * Passes on a log message of a server of 2026. It belongs to one request that asks for this level, but does not say
   * which. So a client of 2026 gets it only if no other connection has such a request. A client of 2025 gets every
   * message that comes while it waits for an answer.
   */
  #logOf2026(frame: Frame, level: string): void {
    const { levels } = this.#instance.sharedSettings;
    const askers = new Map<unknown, { readonly session: Session; readonly idText: string }>();
    for (const { session, logLevel, clientIdText } of this.#instance.calls.sent()) {
      const wanted = logLevel || levels.levelOf(session);
      if (wanted === undefined || !admitsLevel(wanted, level)) continue;
      const isOnlyOne = !askers.has(session.link);
      askers.set(session.link, { session, idText: isOnlyOne ? clientIdText : '' });
    }
    const heard = [...askers.values()].filter(({ session }) => session.era.hasHandshake || askers.size === 1);
    if (heard.length === 0) return this.#note('notificationsDropped');
    for (const { session, idText } of heard)
      this.#tellAll([session], true, ({ output }) => output.passLog(frame, idText));
  }

  #broadcast(sessions: Iterable<Session>, frame: Frame, mayDrop: boolean): void {
    this.#tellAll(sessions, mayDrop, ({ output }) => output.passNotice(frame));
  }

  #tellAll(sessions: Iterable<Session>, mayDrop: boolean, tell: (session: Session) => void): void {
    for (const session of sessions) {
      if (session.state !== 'ready' || (mayDrop && this.#instance.slowClients.drops(session))) continue;
      tell(session);
      this.#instance.slowClients.check(session);
    }
  }
}
