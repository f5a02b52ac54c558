// The questions of one server to its clients: sampling, elicitation, roots, and the state of tasks. Each question gets
// one answer. The bridge never guesses which client a question is for: it holds an uncertain question until only one
// client is possible.

import { cancelNotice, type QuestionKind, RELATED_TASK, relatedTask } from '../protocol/era.ts';
import { ERA_2025 } from '../protocol/era-2025.ts';
import { INTERNAL_ERROR, INVALID_PARAMS, METHOD_NOT_FOUND, rpcError } from '../protocol/rpc-error.ts';
import { isRecord, membersOf, textOf } from '../util/json-value.ts';
import { Envelope, Field } from '../wire/envelope.ts';
import type { Frame } from '../wire/frame-splitter.ts';
import { DEEPEST } from '../wire/json-grammar.ts';
import { findMembers, type Span } from '../wire/json-members.ts';
import { areAll, cutMembers } from '../wire/member-cuts.ts';
import type { Outbox } from '../wire/outbox.ts';
import { isRequestId } from '../wire/request-id.ts';
import { Splice } from '../wire/splice.ts';
import { type Asker, type Call, clientOf, isLate } from './call.ts';
import { isBound } from './call-plan.ts';
import type { CallTable } from './call-table.ts';
import type { QuestionEnd } from './events.ts';
import type { Instance } from './instance.ts';
import { NO_ROOTS_KEY, ROOTS_DISAGREED, ROOTS_IN_DOUBT, ROOTS_UNDECIDED } from './instance-key.ts';
import { NO_ROOTS, RootsFence } from './roots.ts';
import type { ClientQuestion, Session } from './session.ts';
import { type InputRequest, maySuspend } from './suspended-calls.ts';

const IN_DOUBT = 'The question may belong to a call that was given up';

/**
 * Takes each question of one instance, and decides when its client is certain: when only one client has calls under
 * way, or when the question names a task. While a question is held, nothing more is sent to the server.
 */
export class Questions {
  readonly #instance: Instance;
  readonly #attribution: Attribution;
  readonly #fence: RootsFence;
  readonly #roots: InstanceRoots;
  readonly elicitations = new Elicitations();
  readonly #pending: PendingQuestions;
  #held: ServerQuestion[] = [];

  constructor(instance: Instance) {
    const { calls, key, isForAll } = instance;
    const { clock } = instance.context;
    this.#instance = instance;
    this.#attribution = new Attribution(calls);
    this.#fence = new RootsFence({
      calls,
      clock,
      isNeeded: () => instance.era.hasHandshake && !isForAll && key.capabilities.roots !== undefined,
      isAsked: () => this.#roots.isAsked,
      ping: () => instance.era.own.ping,
    });
    this.#roots = new InstanceRoots(instance, this.#fence, this.#attribution);
    this.#pending = new PendingQuestions(instance, this.#roots, this.elicitations);
  }

  /** Takes a question. */
  ask(role: QuestionKind, frame: Frame, envelope: Envelope): void {
    const question = readQuestion(role, frame, envelope);
    if (role === 'roots') return this.#askForRoots(question);
    this.#instance.known.noteAsksBack();
    const taskId = relatedTask(question.params._meta);
    if (taskId !== undefined) return this.#askAboutTask(taskId, question);
    if (this.#held.length >= this.#instance.context.limits.maxQuestions) return this.#pending.refuseOneMore(question);
    this.#held.push(question);
    if (this.#attribution.isInDoubt) this.#refuseWhatIsInDoubt();
    this.#instance.settle();
  }

  #askForRoots(question: ServerQuestion): void {
    const asker = this.#roots.ask(question.idText);
    if (asker !== undefined) this.#pending.ask(asker, question);
  }

  /** Passes on a question about a task that a client works on for the server. */
  askForClientTask(frame: Frame, envelope: Envelope): void {
    const question = readQuestion('tasks', frame, envelope);
    const owner = this.#pending.ownerOfTask(textOf(question.params.taskId));
    if (owner === undefined) this.#refuse(question, 'No client has this task');
    else this.#pending.ask(owner, question);
  }

  /** Forgets the tasks of a client that leaves. */
  clientGone(session: Session): void {
    this.#pending.clientGone(session);
  }

  #askAboutTask(taskId: string, question: ServerQuestion): void {
    const owner = this.#instance.tasks.ownerOf(taskId);
    if (owner === undefined) this.#refuse(question, 'No client has this task');
    else this.#pass(owner, question);
  }

  #pass(asker: Asker, question: ServerQuestion): void {
    this.#attribution.markAskedBack(asker);
    this.#pending.ask(asker, question);
  }

  #refuse({ idText }: ServerQuestion, message: string): void {
    refuseServer(this.#instance.outbox, idText, message);
  }

  /** True while an asker has an unanswered question of this server. */
  isAsking(asker: Asker): boolean {
    return this.#pending.isAsking(asker);
  }

  /** The unanswered questions: held ones without a certain client, and those that a client was asked. */
  waiting(): { readonly about: string; readonly client: Session | undefined }[] {
    const held = this.#held.map(({ role }) => ({ about: role, client: undefined }));
    return [...held, ...this.#pending.asked()];
  }

  #refuseWhatIsInDoubt(): void {
    this.#attribution.markGivenUpAskedBack();
    this.#refuseHeld(IN_DOUBT);
  }

  #refuseHeld(message: string): void {
    for (const question of this.#held.splice(0)) this.#refuse(question, message);
    this.#instance.calls.isHeld = false;
  }

  /** Called when a call has ended: a question may have become certain. */
  settle(): void {
    this.#roots.settle();
    if (this.#held.length > 0) this.#passOnWhatIsCertain();
  }

  /**
   * Called when a call ends without an answer. If it was the last call of its asker, held questions may belong to it,
   * so all of them are refused.
   */
  callGivenUp(asker: Asker): void {
    if (!this.#attribution.isWaiting(asker)) this.#refuseHeld('The call was given up');
    for (const { givenUpBy } of this.#held) givenUpBy.add(asker);
    this.#instance.settle();
  }

  #passOnWhatIsCertain(): void {
    const askers = this.#attribution.askers();
    const [only] = askers;
    if (askers.size > 1) this.#refuseWhatAllRefuse(askers);
    this.#instance.calls.isHeld = askers.size > 1 && this.#held.length > 0;
    if (askers.size > 1) return;
    for (const question of this.#held.splice(0)) {
      if (only === undefined)
        this.#refuse(question, 'A server may ask only during a call: no client has one under way');
      else if (hasNoOtherCandidate(question, only)) this.#pass(only, question);
      else this.#refuse(question, IN_DOUBT);
    }
  }

  /** If every candidate client would refuse, refuses the question at once: attribution does not matter. */
  #refuseWhatAllRefuse(askers: ReadonlySet<Asker>): void {
    this.#held = this.#held.filter((question) => {
      const refusals = new Set([...askers].map((asker) => refusalBy(asker, question)));
      const [refusal] = refusals;
      if (refusals.size > 1 || refusal === undefined) return true;
      answerServer(this.#instance.outbox, question.idText, `"error":${refusal}`);
      this.#attribution.noteAskedBack(askers);
      return false;
    });
  }

  /** Handles a cancellation by the server. Returns true if it was for a question of this server. */
  cancel(frame: Frame, envelope: Envelope): boolean {
    const idText = envelope.has(Field.requestId) ? envelope.raw(frame.b, Field.requestId) : '';
    return this.#pending.cancel(idText, frame, envelope) || this.#dropHeld(idText);
  }

  /** Drops a held question; no client was asked yet. */
  #dropHeld(idText: string): boolean {
    const others = this.#held.filter((question) => question.idText !== idText);
    if (others.length === this.#held.length) return false;
    this.#held = others;
    if (others.length === 0) this.#instance.calls.isHeld = false;
    this.#instance.settle();
    return true;
  }

  tick(nowMs: number): void {
    const { questionHeldMs } = this.#instance.context.limits;
    // An earlier iteration may have ended this question.
    for (const question of [...this.#held])
      if (this.#held.includes(question) && isLate(question, nowMs, questionHeldMs)) this.#giveUp(question);
    this.#pending.tick(nowMs);
    this.#roots.tick(nowMs);
  }

  #giveUp(question: ServerQuestion): void {
    this.#instance.context.events.incident.tell('questionsUncertain', this.#instance.server);
    this.#held = this.#held.filter((other) => other !== question);
    for (const asker of this.#attribution.askers()) this.#attribution.markAskedBack(asker);
    this.#refuse(
      question,
      'Several clients have calls under way: the bridge cannot tell which one this question is for',
    );
    if (this.#held.length > 0) return;
    this.#instance.calls.isHeld = false;
    this.#instance.calls.pump();
  }

  /** Called when a client has come: a question may wait for its roots. */
  clientCame(): void {
    this.#roots.settle();
  }

  opening(): void {
    this.#fence.opening();
  }

  opened(): void {
    this.#fence.opened();
  }

  /** Called when the server has gone. Drops all questions. */
  closed(): void {
    this.#fence.closed();
    this.#roots.closed();
    this.#held = [];
    this.elicitations.clear();
    this.#instance.calls.isHeld = false;
    this.#pending.closed();
  }
}

function hasNoOtherCandidate({ givenUpBy }: ServerQuestion, asker: Asker): boolean {
  for (const other of givenUpBy) if (other !== asker) return false;
  return true;
}

/** The subject of a question, named like the client capability. */
type QuestionRole = QuestionKind | 'tasks';

interface ServerQuestion extends Frame {
  readonly role: QuestionRole;
  /** The server's id in its own spelling, and its position in the frame. */
  readonly idText: string;
  readonly idFrom: number;
  readonly idTo: number;
  /** The server's progress token, likewise; '' if it has none. */
  readonly tokenText: string;
  readonly tokenFrom: number;
  readonly tokenTo: number;
  readonly params: Readonly<Record<string, unknown>>;
  readonly paramsAt: Span | undefined;
  readonly method: string;
  deadlineMs: number;
  /**
   * The askers that have given up a call since the question came, but have other calls: the question may belong to the
   * call they gave up.
   */
  readonly givenUpBy: Set<Asker>;
}

function readQuestion(role: QuestionRole, { b, start, end }: Frame, envelope: Envelope): ServerQuestion {
  return {
    ...{ role, b, start, end, deadlineMs: 0, givenUpBy: new Set() },
    ...{ idText: envelope.raw(b, Field.id), idFrom: envelope.from(Field.id), idTo: envelope.to(Field.id) },
    tokenText: envelope.has(Field.metaProgressToken) ? envelope.raw(b, Field.metaProgressToken) : '',
    tokenFrom: envelope.from(Field.metaProgressToken),
    tokenTo: envelope.to(Field.metaProgressToken),
    params: membersOf(envelope.decode(b, Field.params)),
    paramsAt: envelope.has(Field.params) ? envelope.span(Field.params) : undefined,
    method: textOf(envelope.decode(b, Field.method)),
  };
}

/** The error with which this client would answer; undefined if it can be asked. */
export function refusalBy(asker: Asker, { role, params }: Pick<ServerQuestion, 'role' | 'params'>): string | undefined {
  const session = clientOf(asker);
  const offered = membersOf(session.capabilities[role]);
  if ('session' in asker) {
    if (!maySuspend(asker)) return rpcError(INTERNAL_ERROR, 'The request of the client has no answer with questions');
  } else if (!session.era.hasHandshake)
    return rpcError(INTERNAL_ERROR, 'The client can be asked only in the answer to a request');
  else if (session.hasEnded) return rpcError(INTERNAL_ERROR, 'The client has ended its side, so it cannot answer');
  if (!session.canBeAsked(role)) return rpcError(METHOD_NOT_FOUND, `The client does not support ${role}`);
  if (role === 'elicitation' && params.mode === 'url' && offered.url === undefined)
    return rpcError(INVALID_PARAMS, 'The client does not support elicitation by URL');
  // A client that names no mode supports forms.
  if (role === 'elicitation' && params.mode !== 'url' && offered.url !== undefined && offered.form === undefined)
    return rpcError(INVALID_PARAMS, 'The client does not support elicitation by forms');
  if (role === 'sampling' && params.tools !== undefined && offered.tools === undefined)
    return rpcError(INVALID_PARAMS, 'The client does not support tools in sampling');
  return undefined;
}

/**
 * Answers a server's request; `outcome` is the member `result` or `error` in JSON. A server that has gone gets nothing.
 */
export function answerServer(outbox: Outbox | undefined, idText: string, outcome: string): void {
  if (outbox === undefined) return;
  outbox.utf8(`{"jsonrpc":"2.0","id":`);
  outbox.latin1(idText);
  outbox.utf8(`,${outcome}}`);
  outbox.endFrame();
}

function refuseServer(outbox: Outbox | undefined, idText: string, message: string): void {
  answerServer(outbox, idText, `"error":${rpcError(INTERNAL_ERROR, message)}`);
}

/**
 * Finds the askers that a question may be for: those with calls under way. Marks the calls during which the server
 * asked.
 */
class Attribution {
  readonly #calls: CallTable;

  constructor(calls: CallTable) {
    this.#calls = calls;
  }

  /** The askers with calls under way, including calls that they gave up. */
  askers(): Set<Asker> {
    const askers = new Set<Asker>();
    for (const { asker } of this.#calls.lingering.calls()) askers.add(asker);
    // A question about a task names the task, so its client is certain.
    for (const call of this.#calls.sent()) if (!isBound(call)) askers.add(call.asker);
    return askers;
  }

  /** True while the asker waits for an answer of this server. */
  isWaiting(asker: Asker): boolean {
    for (const call of this.#calls.sent()) if (call.asker === asker && !isBound(call)) return true;
    return false;
  }

  /**
   * True if a question may belong to a call that was given up. It does not matter if there is one asker and it still
   * waits for an answer.
   */
  get isInDoubt(): boolean {
    if (this.#calls.lingering.size === 0) return false;
    const askers = this.askers();
    const [only] = askers;
    return askers.size !== 1 || only === undefined || !this.isWaiting(only);
  }

  /** Marks all calls of the asker, because the server may be asking during any of them. */
  markAskedBack(asker: Asker): void {
    const { lane } = this.#calls;
    for (const call of this.#calls.sent()) {
      if (call.asker !== asker) continue;
      call.wasAskedBack = true;
      lane.learn(call); // now, because the answer may take minutes
      lane.converse(call);
    }
    this.#calls.noteContention();
  }

  /**
   * Marks the calls of these askers without starting a conversation: the bridge refuses the question, and the calls
   * continue side by side.
   */
  noteAskedBack(askers: ReadonlySet<Asker>): void {
    for (const call of this.#calls.sent()) {
      if (!askers.has(call.asker)) continue;
      call.wasAskedBack = true;
      this.#calls.lane.learn(call);
    }
  }

  /** Marks the calls that were given up. */
  markGivenUpAskedBack(): void {
    for (const call of this.#calls.lingering.calls()) {
      call.wasAskedBack = true;
      this.#calls.lane.learn(call);
    }
  }
}

const TOO_MANY: string = rpcError(INTERNAL_ERROR, 'Too many questions are unanswered');

interface PendingQuestion extends ClientQuestion {
  readonly during: string;
  readonly asker: Asker;
  /** The question as part of an answer, for a client that gets no requests. */
  inAnswer: InputRequest | undefined;
  readonly role: QuestionRole;
  /** True if the client may answer with a task of its own. */
  readonly makesTask: boolean;
  /** Our id towards the client, also used as the progress token. */
  readonly id: string;
  readonly serverIdText: string;
  readonly serverTokenText: string;
  deadlineMs: number;
}

const NOBODY = 'nobody';
const splice = new Splice();
const answerEnvelope = new Envelope(ERA_2025.keys);
const TAIL = Buffer.from('}\n');

/** The members of a question's parameters that clients of 2026 do not know. */
const ONLY_2025 = ['elicitationId', 'task'];

/** The parameters of a question as the server wrote them, without the members that exist only in 2025. */
function paramsFor2026(b: Buffer, { from, to }: Span): Buffer {
  splice.clear();
  const found = findMembers(b, from, [...ONLY_2025, '_meta']);
  const meta = found?.spans.get('_meta');
  const related = meta && findMembers(b, meta.from, [RELATED_TASK])?.spans.get(RELATED_TASK);
  const isWhole = meta !== undefined && related !== undefined && areAll(b, [related]);
  const cut = ONLY_2025.flatMap((name) => found?.spans.get(name) ?? []);
  cutMembers(splice, b, isWhole ? [...cut, meta] : cut);
  if (related !== undefined && !isWhole) cutMembers(splice, b, [related]);
  return splice.bytes(b, from, to).subarray(0, -1);
}

let asked = 0;

/** Makes a unique id for a question to a client. */
export function newQuestionId(): string {
  return `mcp-bridge/ask-${++asked}`;
}

/**
 * The questions that clients were asked and have not answered. Each is answered by the client, or by the bridge if the
 * client leaves, is too slow, or has too many questions. Chooses the id and the token towards the client.
 */
class PendingQuestions {
  readonly #instance: Instance;
  readonly #roots: InstanceRoots;
  readonly #elicitations: Elicitations;
  readonly #pending = new Set<PendingQuestion>();
  /** The tasks that clients work on for this server, by id. NOBODY if two clients use the same id. */
  readonly #tasks = new Map<string, Session | typeof NOBODY>();

  constructor(instance: Instance, roots: InstanceRoots, elicitations: Elicitations) {
    this.#instance = instance;
    this.#roots = roots;
    this.#elicitations = elicitations;
  }

  asked(): { readonly about: string; readonly client: Session }[] {
    return [...this.#pending].map(({ role, asker }) => ({ about: role, client: clientOf(asker) }));
  }

  /** Asks the client, or gives the server the error that the client would give. */
  ask(asker: Asker, question: ServerQuestion): void {
    const session = clientOf(asker);
    if (this.#isFlooded(session)) return this.#refuseFlood(question);
    const refusal = refusalBy(asker, question);
    if (refusal !== undefined) {
      this.#noteNoRoots(question);
      return answerServer(this.#instance.outbox, question.idText, `"error":${refusal}`);
    }
    const pending = this.#open(asker, question);
    if ('session' in asker) return this.#askInAnswer(asker, pending, question);
    const { elicitationId } = question.params;
    if (typeof elicitationId === 'string') this.#elicitations.note(elicitationId, session);
    session.addQuestion(pending.id, pending);
    const { idFrom, idTo, tokenText, tokenFrom, tokenTo } = question;
    const tokenAt = tokenText === '' ? undefined : { from: tokenFrom, to: tokenTo };
    this.#noteAsked(pending);
    session.output.passQuestion(pending, question, { from: idFrom, to: idTo }, tokenAt);
  }

  /** The call during which the server asks; undefined if unknown. */
  #callOf(asker: Asker, { params }: ServerQuestion): Call | undefined {
    const isAboutTask = relatedTask(params._meta) !== undefined;
    for (const call of this.#instance.calls.sent())
      if (call.asker === asker && isBound(call) === isAboutTask) return call;
    return undefined;
  }

  #noteAsked({ asker, role }: PendingQuestion): void {
    this.#instance.context.events.questionAsked.tell(clientOf(asker), this.#instance.server, role);
  }

  #refuseFlood(question: ServerQuestion): void {
    this.#noteNoRoots(question);
    this.refuseOneMore(question);
  }

  /** Asks a client that gets no requests, by answering its call with the question. */
  #askInAnswer(call: Call, pending: PendingQuestion, question: ServerQuestion): void {
    const request: InputRequest = {
      method: question.method,
      params: question.paramsAt === undefined ? undefined : paramsFor2026(question.b, question.paramsAt),
      isElicitation: pending.role === 'elicitation',
      answer: (b, place) => this.#answeredAt(pending, b, place),
      refuse: (end, reason) => this.#refuse(pending, end, reason),
    };
    if (this.#instance.context.suspended.ask(this.#instance, call, request)) {
      pending.inAnswer = request;
      return this.#noteAsked(pending);
    }
    this.#pending.delete(pending);
    this.#refuseFlood(question);
  }

  /** Takes a client's answer, the object at b[from, to). */
  #answeredAt(pending: PendingQuestion, b: Buffer, { from, to }: Span): void {
    const head = Buffer.from(`{"jsonrpc":"2.0","id":0,"result":`);
    const bytes = Buffer.concat([head, b.subarray(from, to), TAIL]);
    const answer = { b: bytes, start: 0, end: bytes.length - 1 };
    answerEnvelope.scan(bytes, 0, answer.end, DEEPEST);
    this.#answered(pending, answer, answerEnvelope);
  }

  #refuse(pending: PendingQuestion, end: QuestionEnd, reason: string): void {
    if (!this.#pending.has(pending)) return; // the server has gone, or has cancelled the question
    this.#forget(pending, end);
    this.#noteNoRoots(pending);
    refuseServer(this.#instance.outbox, pending.serverIdText, reason);
  }

  #open(asker: Asker, question: ServerQuestion): PendingQuestion {
    const { role, idText, tokenText, params } = question;
    const pending: PendingQuestion = {
      asker,
      during: this.#callOf(asker, question)?.clientIdText ?? '',
      inAnswer: undefined,
      role,
      makesTask: params.task !== undefined,
      id: newQuestionId(),
      serverIdText: idText,
      serverTokenText: tokenText,
      deadlineMs: 0,
      progress: (notice, envelope) => this.#passProgress(pending, notice, envelope),
      answer: (answer, envelope) => this.#answered(pending, answer, envelope),
      abandon: () => this.#abandoned(pending),
    };
    this.#pending.add(pending);
    return pending;
  }

  /** True if this server has too many open questions, or the client has too many or does not read. */
  #isFlooded(session: Session): boolean {
    const { maxQuestions } = this.#instance.context.limits;
    return this.#pending.size >= maxQuestions || session.questions.size >= maxQuestions || session.backlog.isFull;
  }

  refuseOneMore({ idText }: ServerQuestion): void {
    const { server, outbox } = this.#instance;
    const { events } = this.#instance.context;
    events.incident.tell('questionsRefused', server);
    answerServer(outbox, idText, `"error":${TOO_MANY}`);
  }

  /** True while the asker has an unanswered question of this server. */
  isAsking(asker: Asker): boolean {
    // The time limit of a call is stopped while its client is asked in an answer.
    if ('session' in asker || asker.questions.size === 0) return false;
    for (const pending of this.#pending) if (pending.asker === asker) return true;
    return false;
  }

  /** Passes the answer on under the server's id. */
  #answered(pending: PendingQuestion, answer: Frame, envelope: Envelope): void {
    this.#forget(pending, 'answered');
    const session = clientOf(pending.asker);
    if (pending.makesTask && envelope.has(Field.result))
      this.#noteTask(session, envelope.decode(answer.b, Field.result));
    if (pending.role === 'roots') this.#roots.answeredBy(session, answer, envelope);
    const { backlog, outbox: server } = this.#instance;
    if (server === undefined) return;
    // A stalled server gets a short error instead: when it reads again, each of its requests must have an answer.
    if (backlog.isStalled)
      return refuseServer(server, pending.serverIdText, 'The client answered while the server was not reading');
    splice.clear().replace(envelope.from(Field.id), envelope.to(Field.id), pending.serverIdText);
    splice.send(server, answer.b, answer.start, answer.end);
    backlog.charge(session);
  }

  #noteTask(session: Session, result: unknown): void {
    const { taskId } = membersOf(membersOf(result).task);
    if (typeof taskId !== 'string' || !isRequestId(taskId)) return;
    const before = this.#tasks.get(taskId);
    // If two clients use the same task id, the owner is not certain.
    this.#tasks.set(taskId, before === undefined || before === session ? session : NOBODY);
    const [oldest] = this.#tasks.keys();
    if (this.#tasks.size > this.#instance.context.limits.maxTasksPerServer && oldest !== undefined)
      this.#tasks.delete(oldest);
  }

  /** The client that works on this task, if certain. */
  ownerOfTask(taskId: string): Session | undefined {
    const owner = this.#tasks.get(taskId);
    return typeof owner === 'object' && owner.isOpen ? owner : undefined;
  }

  /** Forgets the tasks of a client that leaves. */
  clientGone(session: Session): void {
    for (const [taskId, owner] of this.#tasks) if (owner === session) this.#tasks.delete(taskId);
  }

  #passProgress({ asker, serverTokenText }: PendingQuestion, { b, start, end }: Frame, envelope: Envelope): void {
    const { backlog, outbox: server } = this.#instance;
    if (server === undefined || serverTokenText === '' || backlog.isStalled) return;
    splice.clear().replace(envelope.from(Field.progressToken), envelope.to(Field.progressToken), serverTokenText);
    splice.send(server, b, start, end);
    backlog.charge(clientOf(asker));
  }

  /** Refuses the question, so that the server does not wait. */
  #abandoned(pending: PendingQuestion): void {
    this.#forget(pending, 'client-gone');
    this.#noteNoRoots(pending);
    refuseServer(this.#instance.outbox, pending.serverIdText, 'The client that was asked has gone');
  }

  #noteNoRoots({ role }: { readonly role: QuestionRole }): void {
    if (role === 'roots') this.#roots.refused();
  }

  /** Handles a cancellation by the server. Returns true if a client was asked that question. */
  cancel(idText: string, notice: Frame, envelope: Envelope): boolean {
    const pending = [...this.#pending].find(({ serverIdText }) => serverIdText === idText);
    if (pending === undefined) return false;
    this.#forget(pending, 'cancelled');
    if (pending.inAnswer === undefined) clientOf(pending.asker).output.passCancel(pending.id, notice, envelope);
    else if ('session' in pending.asker) this.#instance.context.suspended.withdraw(pending.asker, pending.inAnswer);
    return true;
  }

  /** Called when the server has gone. Cancels all questions. */
  closed(): void {
    this.#tasks.clear();
    for (const pending of [...this.#pending]) this.#takeBack(pending, 'server-gone', 'The server has gone');
  }

  tick(nowMs: number): void {
    const { outbox } = this.#instance;
    const { limits, events } = this.#instance.context;
    for (const pending of [...this.#pending]) {
      if (pending.inAnswer !== undefined || !isLate(pending, nowMs, limits.questionTimeoutMs)) continue;
      events.incident.tell('questionTimeouts', clientOf(pending.asker));
      this.#takeBack(pending, 'timeout', 'The client has not answered in time');
      refuseServer(outbox, pending.serverIdText, 'The client has not answered in time');
    }
  }

  /** Cancels the question at the client. */
  #takeBack(pending: PendingQuestion, end: QuestionEnd, reason: string): void {
    this.#forget(pending, end);
    const session = clientOf(pending.asker);
    if (session.isOpen && pending.inAnswer === undefined)
      session.output.notify(cancelNotice(JSON.stringify(pending.id), reason));
  }

  #forget(pending: PendingQuestion, end: QuestionEnd): void {
    const session = clientOf(pending.asker);
    this.#instance.context.events.questionEnded.tell(session, this.#instance.server, end);
    this.#pending.delete(pending);
    session.forgetQuestion(pending.id);
  }
}

/** Above this number, the oldest are forgotten. */
const MOST_ELICITATIONS = 1000;

/** The pages that clients of one server were asked to visit, and which client gets the notice when a visit ends. */
class Elicitations {
  readonly #shownTo = new Map<string, Session>();

  /** Notes a visit. Ids longer than a request id may be are ignored, because many of them would fill the memory. */
  note(elicitationId: string, session: Session): void {
    if (!isRequestId(elicitationId)) return;
    this.#shownTo.set(elicitationId, session);
    const [oldest] = this.#shownTo.keys();
    if (this.#shownTo.size > MOST_ELICITATIONS && oldest !== undefined) this.#shownTo.delete(oldest);
  }

  /** Notes the visits that an error demands before its call can be made. */
  noteFromError(error: unknown, session: Session): void {
    if (!isRecord(error) || error.code !== ERA_2025.errors.urlElicitationRequired) return;
    const { elicitations } = membersOf(error.data);
    if (!Array.isArray(elicitations)) return;
    for (const one of elicitations as unknown[]) {
      const id = textOf(membersOf(one).elicitationId);
      if (id !== '') this.note(id, session);
    }
  }

  shownTo(elicitationId: string): Session | undefined {
    const session = this.#shownTo.get(elicitationId);
    return session?.isOpen === true ? session : undefined;
  }

  /** Forgets all visits, because the server has gone. */
  clear(): void {
    this.#shownTo.clear();
  }
}

/** A question about roots that waits until they are certain. */
interface WaitingQuestion {
  readonly idText: string;
  deadlineMs: number;
}

/**
 * Answers an instance that asks for roots. The answer holds for its whole connection, so all clients of an instance
 * must have the same roots. If there are several clients, they are divided first, and the question waits until its
 * client is certain.
 */
class InstanceRoots {
  readonly #instance: Instance;
  readonly #fence: RootsFence;
  readonly #attribution: Attribution;
  #waiting: WaitingQuestion[] = [];
  /** The number of questions that were passed on to a client. */
  #passedOn = 0;
  readonly #awaited = new Set<Session>();

  constructor(instance: Instance, fence: RootsFence, attribution: Attribution) {
    this.#instance = instance;
    this.#fence = fence;
    this.#attribution = attribution;
  }

  /** True while the server waits for an answer. */
  get isAsked(): boolean {
    return this.#waiting.length > 0 || this.#passedOn > 0;
  }

  /**
   * Returns the one client that can answer for the whole connection. If there is none, the bridge answers as soon as it
   * can.
   */
  ask(idText: string): Asker | undefined {
    const { known, outbox } = this.#instance;
    const { limits } = this.#instance.context;
    known.noteAsksForRoots();
    this.#fence.asked(this.#attribution.askers().size > 0);
    if (this.#waiting.length >= limits.maxQuestions) {
      refuseServer(outbox, idText, 'Too many questions are unanswered');
      return undefined;
    }
    const isUnused = this.#clients.size === 0; // a client with other roots may come later
    const only = this.#onlyClient();
    const asker = only?.state === 'ready' && only.era.hasHandshake ? only : this.#callWithoutDirectory();
    if (asker !== undefined) {
      this.#passedOn++;
      return asker;
    }
    this.#waiting.push({ idText, deadlineMs: 0 });
    if (isUnused) this.#answer(ROOTS_DISAGREED, NO_ROOTS);
    else this.settle();
    return undefined;
  }

  /**
   * The only call under way, if its client can be asked in the call's answer. A client that named its directory is not
   * asked.
   */
  #callWithoutDirectory(): Call | undefined {
    const [asker, ...others] = this.#attribution.askers();
    if (asker === undefined || others.length > 0 || !('session' in asker) || !maySuspend(asker)) return undefined;
    if (!this.#attribution.isWaiting(asker)) return undefined; // the call was given up
    const { session } = asker;
    const isOnly = [...this.#clients].every((client) => client === session);
    return isOnly && session.cwd === undefined && session.canBeAsked('roots') ? asker : undefined;
  }

  /** The clients that use the instance or have calls under way there. */
  get #clients(): ReadonlySet<Session> {
    return new Set([...this.#instance.sessions, ...this.#askers()]);
  }

  /** The only client of the instance. If there are several, divides them. */
  #onlyClient(): Session | undefined {
    const { sessions, key, isForAll } = this.#instance;
    const askers = this.#askers();
    const clients = this.#clients;
    const [only] = clients;
    if (clients.size <= 1 || isForAll) return clients.size === 1 ? only : undefined;
    const keys = new Set([...clients].map(({ roots }) => roots.key));
    if (keys.size === 1 && !keys.has(undefined)) return undefined; // all have the same roots
    const [asker] = askers;
    const staying = askers.size === 1 && asker !== undefined && sessions.has(asker) ? asker : undefined;
    // The roots of clients with calls under way apply now, so no other client may join.
    key.rootsKey = askers.size > 0 ? ROOTS_UNDECIDED : undefined;
    this.#instance.divide(staying);
    return staying;
  }

  /**
   * Answers the waiting questions if it is now certain which roots apply, because a call has ended or a client has
   * come.
   */
  settle(): void {
    if (this.#waiting.length === 0) return;
    const clients = [...this.#candidates()];
    const [first] = clients;
    for (const session of clients) this.#awaitRootsOf(session);
    if (this.#waiting.length === 0) return; // clients that cannot be asked have known roots: none
    const keys = new Set(clients.map(({ roots }) => roots.key));
    if (first === undefined || keys.has(undefined)) return;
    if (keys.size === 1) this.#answer(first.roots.key, first.roots.result);
    else if (this.#instance.isForAll) this.#answer(ROOTS_DISAGREED, NO_ROOTS);
  }

  #awaitRootsOf(session: Session): void {
    if (session.roots.key !== undefined || this.#awaited.has(session)) return;
    this.#awaited.add(session);
    session.roots.whenKnown(() => {
      this.#awaited.delete(session);
      this.settle();
    });
  }

  /** The clients with calls under way; if there are none, the clients that use the instance. */
  #candidates(): ReadonlySet<Session> {
    const { sessions, isForAll } = this.#instance;
    const askers = this.#askers();
    return isForAll || askers.size === 0 ? sessions : askers;
  }

  /** The connected clients with calls under way: only they can be asked for roots. */
  #askers(): ReadonlySet<Session> {
    return new Set([...this.#attribution.askers()].map(clientOf).filter(({ isOpen }) => isOpen));
  }

  #answer(rootsKey: string | undefined, result: string): void {
    const { key, outbox } = this.#instance;
    key.rootsKey = rootsKey;
    for (const { idText } of this.#waiting.splice(0)) answerServer(outbox, idText, `"result":${result}`);
    this.#fence.answered();
  }

  /** Notes the roots in a client's answer before it goes to the server. */
  answeredBy({ roots }: Session, answer: Frame, envelope: Envelope): void {
    roots.learnFrom(answer, envelope);
    this.#instance.key.rootsKey = roots.key;
    this.#passedOnEnded();
  }

  /** Notes that the server gets an error. It may keep its earlier roots. */
  refused(): void {
    const { key } = this.#instance;
    key.rootsKey = key.rootsKey === undefined ? NO_ROOTS_KEY : ROOTS_IN_DOUBT;
    this.#passedOnEnded();
  }

  #passedOnEnded(): void {
    this.#passedOn = Math.max(0, this.#passedOn - 1);
    this.#fence.answered();
  }

  tick(nowMs: number): void {
    const { outbox, key, sessions } = this.#instance;
    const { limits } = this.#instance.context;
    if (this.#waiting.filter((question) => isLate(question, nowMs, limits.questionHeldMs)).length === 0) return;
    const isUnused = sessions.size === 0 && this.#askers().size === 0;
    key.rootsKey = isUnused ? NO_ROOTS_KEY : ROOTS_DISAGREED;
    const why = isUnused ? 'No client uses this server any more' : 'Clients with different roots have calls under way';
    for (const { idText } of this.#waiting.splice(0)) refuseServer(outbox, idText, why);
    this.#fence.answered();
  }

  /** Called when the server has gone. Drops all questions. */
  closed(): void {
    this.#waiting = [];
    this.#passedOn = 0;
  }
}
