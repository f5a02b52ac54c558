// Questions of a server to its clients: sampling, elicitation, roots. Over a shared connection nothing says whom one is
// for. It is certain when one client alone has calls under way, or when it names a task; otherwise it is held, nothing
// more is sent, and what is under way is left to finish until one client remains. The bridge never guesses.

import { membersOf } from '../util/json-value.ts';
import type { Envelope } from '../wire/envelope.ts';
import { Field } from '../wire/envelope.ts';
import type { Frame } from '../wire/frame-splitter.ts';
import type { Limits } from '../wire/limits.ts';
import type { Outbox } from '../wire/outbox.ts';
import { Splice } from '../wire/splice.ts';
import type { InstanceKey } from './backend.ts';
import { NO_ROOTS, NO_ROOTS_KEY, ROOTS_DISAGREED } from './client-roots.ts';
import type { Counters } from './counters.ts';
import { type CallBackRole, cancelNotice, relatedTask } from './era/era-2025.ts';
import type { KnownServer } from './known-server.ts';
import { INTERNAL_ERROR, INVALID_PARAMS, METHOD_NOT_FOUND, rpcError } from './rpc-error.ts';
import type { ClientQuestion, Session } from './session.ts';
import type { SlotTable } from './slot-table.ts';
import type { Tasks } from './tasks.ts';

const TOO_MANY: string = rpcError(INTERNAL_ERROR, 'Too many questions are unanswered');
/** Of one server; beyond it the oldest are forgotten. */
const MOST_ELICITATIONS = 1000;

interface Question extends Frame {
  readonly role: CallBackRole;
  /** The server's id, as it is spelled, and where it stands. */
  readonly idText: string;
  readonly idFrom: number;
  readonly idTo: number;
  /** The token under which it wants to hear how far the client is, likewise; '' without one. */
  readonly tokenText: string;
  readonly tokenFrom: number;
  readonly tokenTo: number;
  readonly params: Readonly<Record<string, unknown>>;
  deadlineMs: number;
}

/** One that a client has been asked. */
interface PendingQuestion extends ClientQuestion {
  readonly session: Session;
  readonly role: CallBackRole;
  /** Towards the client. */
  readonly id: string;
  readonly serverIdText: string;
  readonly serverTokenText: string;
  deadlineMs: number;
}

export interface CallBacksPorts {
  readonly slots: SlotTable;
  readonly sessions: ReadonlySet<Session>;
  readonly tasks: Tasks;
  readonly known: KnownServer;
  readonly key: InstanceKey;
  readonly outbox: () => Outbox | undefined;
  readonly limits: Limits;
  readonly counters: Counters;
  /** The client has told the server something. */
  readonly told: (outbox: Outbox, session: Session) => void;
}

const splice = new Splice();
let asked = 0;

export class CallBacks {
  readonly #ports: CallBacksPorts;
  #held: Question[] = [];
  readonly #pending = new Set<PendingQuestion>();
  /** Whom a page was shown to that is to be visited outside the protocol. */
  readonly #elicited = new Map<string, Session>();

  constructor(ports: CallBacksPorts) {
    this.#ports = ports;
  }

  /** A question has come; `read` says where its parts stand. */
  ask(role: CallBackRole, { b, start, end }: Frame, read: Envelope): void {
    const question: Question = {
      ...{ role, b, start, end, deadlineMs: 0 },
      ...{ idText: read.raw(b, Field.id), idFrom: read.from(Field.id), idTo: read.to(Field.id) },
      tokenText: read.has(Field.metaProgressToken) ? read.raw(b, Field.metaProgressToken) : '',
      tokenFrom: read.from(Field.metaProgressToken),
      tokenTo: read.to(Field.metaProgressToken),
      params: membersOf(read.decode(b, Field.params)),
    };
    const { params } = question;
    if (role === 'roots') return this.#askForRoots(question);
    this.#ports.known.noteAsksBack();
    const taskId = relatedTask(params._meta);
    if (taskId !== undefined) return this.#askAboutTask(taskId, question);
    if (this.#held.length >= this.#ports.limits.maxQuestions) return this.#refuseOneMore(question);
    this.#held.push(question);
    if (this.#ports.slots.givenUp.size > 0) this.#refuseWhatIsInDoubt();
    this.callEnded();
  }

  /** It may be about a call that was given up, unless that was the very same client's as all that is under way. */
  #refuseWhatIsInDoubt(): void {
    const askers = this.#ports.slots.askers();
    const [only] = askers;
    if (askers.size === 1 && only !== undefined && this.#ports.slots.hasSentOf(only)) return;
    this.#ports.slots.markGivenUpAskedBack();
    this.#refuseHeld('It may be about a call that was given up');
  }

  #refuseOneMore({ idText }: Question): void {
    this.#ports.counters.questionsRefused++;
    this.#reply(idText, `"error":${TOO_MANY}`);
  }

  #refuseHeld(message: string): void {
    for (const question of this.#held.splice(0)) this.#refuse(question.idText, message);
    this.#ports.slots.isHeld = false;
  }

  #askAboutTask(taskId: string, question: Question): void {
    const owner = this.#ports.tasks.ownerOf(taskId);
    if (owner === undefined) this.#refuse(question.idText, 'No client has this task');
    else this.#pass(owner, question);
  }

  /** What follows from the end of a call: a question may have become certain, and others may be sent. */
  callEnded(): void {
    if (this.#held.length > 0) this.#passOnWhatIsCertain();
    this.#ports.slots.pump();
  }

  /** A call ends without an answer. If it was its client's last one, what is held may have been about it: nobody can tell. */
  callGivenUp(session: Session): void {
    if (!this.#ports.slots.hasSentOf(session)) this.#refuseHeld('The call was given up');
    this.callEnded();
  }

  #passOnWhatIsCertain(): void {
    const askers = this.#ports.slots.askers();
    const [only] = askers;
    this.#ports.slots.isHeld = askers.size > 1;
    if (askers.size > 1) return;
    for (const question of this.#held.splice(0)) {
      if (only === undefined) this.#refuse(question.idText, 'A question outside any call is nobody’s');
      else this.#pass(only, question);
    }
  }

  // --- roots ---

  /** Roots are for the whole connection: with several clients, one's folders must not be shown to another. */
  #askForRoots(question: Question): void {
    const { sessions, known, outbox } = this.#ports;
    known.noteAsksForRoots();
    const [only] = sessions;
    if (only !== undefined && sessions.size === 1 && only.state === 'ready') return this.#pass(only, question);
    const asker = outbox();
    let unknown = sessions.size;
    const oneMoreIsKnown = (): void => {
      // The server may have been started again meanwhile; then another one would get the answer.
      if (--unknown <= 0 && outbox() === asker) this.#answerWithCommonRoots(question.idText);
    };
    if (unknown === 0) oneMoreIsKnown();
    for (const session of [...sessions]) session.roots.whenKnown(oneMoreIsKnown);
  }

  /** Those that all of its clients agree on, else none. */
  #answerWithCommonRoots(idText: string): void {
    const { sessions, key } = this.#ports;
    const keys = new Set([...sessions].map(({ roots }) => roots.key));
    const [first] = sessions;
    const isAgreed = keys.size === 1 && first?.roots.key !== undefined;
    // Whoever comes later shares it only if those are its roots too.
    key.rootsKey = isAgreed ? first.roots.key : ROOTS_DISAGREED;
    this.#reply(idText, `"result":${isAgreed ? first.roots.result : NO_ROOTS}`);
  }

  // --- towards a client, and back ---

  #pass(session: Session, question: Question): void {
    if (question.role !== 'roots') this.#ports.slots.markAskedBack(session);
    if (this.#isFlooded(session)) {
      this.#noteNoRoots(question);
      return this.#refuseOneMore(question);
    }
    const refusal = whyNot(session, question);
    if (refusal !== undefined) {
      this.#noteNoRoots(question);
      return this.#reply(question.idText, `"error":${refusal}`);
    }
    const { elicitationId } = question.params;
    if (typeof elicitationId === 'string') this.noteElicitation(elicitationId, session);
    const id = `mcp-bridge/ask-${++asked}`;
    const pending: PendingQuestion = {
      session,
      role: question.role,
      id,
      serverIdText: question.idText,
      serverTokenText: question.tokenText,
      deadlineMs: 0,
      progress: (notice, read) => this.#passProgress(pending, notice, read),
      answer: (answer, read) => this.#answered(pending, answer, read),
      abandon: () => this.#abandoned(pending),
    };
    this.#pending.add(pending);
    session.questions.set(id, pending);
    splice.clear().replace(question.idFrom, question.idTo, JSON.stringify(id));
    // Two servers may use the same token towards one client.
    if (question.tokenText !== '') splice.replace(question.tokenFrom, question.tokenTo, JSON.stringify(id));
    splice.send(session.link.outbox, question.b, question.start, question.end);
  }

  /** Whether this server asks more than anybody could answer. */
  #isFlooded(session: Session): boolean {
    const { maxQuestions } = this.#ports.limits;
    return this.#pending.size >= maxQuestions || session.questions.size >= maxQuestions;
  }

  /** Whether the client has been asked about what this server does for it. */
  isAsking(session: Session): boolean {
    if (session.questions.size === 0) return false;
    for (const pending of this.#pending) if (pending.session === session) return true;
    return false;
  }

  /** The client has answered; its id's place in the frame becomes the server's. */
  #answered(pending: PendingQuestion, answer: Frame, read: Envelope): void {
    this.#forget(pending);
    if (pending.role === 'roots') {
      pending.session.roots.learnFrom(answer, read);
      this.#ports.key.rootsKey = pending.session.roots.key;
    }
    const outbox = this.#ports.outbox();
    if (outbox === undefined) return;
    splice.clear().replace(read.from(Field.id), read.to(Field.id), pending.serverIdText);
    splice.send(outbox, answer.b, answer.start, answer.end);
    this.#ports.told(outbox, pending.session);
  }

  #passProgress({ session, serverTokenText }: PendingQuestion, { b, start, end }: Frame, read: Envelope): void {
    const outbox = this.#ports.outbox();
    if (outbox === undefined || serverTokenText === '') return;
    splice.clear().replace(read.from(Field.progressToken), read.to(Field.progressToken), serverTokenText);
    splice.send(outbox, b, start, end);
    this.#ports.told(outbox, session);
  }

  /** So that the server goes on. */
  #abandoned(pending: PendingQuestion): void {
    this.#forget(pending);
    this.#noteNoRoots(pending);
    this.#refuse(pending.serverIdText, 'The client that was asked has gone');
  }

  /** An error is what the server has been told of roots: whoever comes later shares it only if that is right for them. */
  #noteNoRoots({ role }: Pick<Question, 'role'>): void {
    if (role === 'roots') this.#ports.key.rootsKey = NO_ROOTS_KEY;
  }

  /** The server does not want to know any more. Returns whether it was a question of its own. */
  cancel({ b, start, end }: Frame, read: Envelope): boolean {
    const idText = read.has(Field.requestId) ? read.raw(b, Field.requestId) : '';
    const pending = [...this.#pending].find(({ serverIdText }) => serverIdText === idText);
    if (pending === undefined) return this.#dropHeld(idText);
    this.#forget(pending);
    splice.clear().replace(read.from(Field.requestId), read.to(Field.requestId), JSON.stringify(pending.id));
    splice.send(pending.session.link.outbox, b, start, end);
    return true;
  }

  /** Nobody was asked yet. */
  #dropHeld(idText: string): boolean {
    const others = this.#held.filter((question) => question.idText !== idText);
    if (others.length === this.#held.length) return false;
    this.#held = others;
    if (others.length === 0) this.#ports.slots.isHeld = false;
    this.callEnded();
    return true;
  }

  /** Also told by an error that asks for visits before the call can be made. */
  noteElicitation(elicitationId: string, session: Session): void {
    this.#elicited.set(elicitationId, session);
    const [oldest] = this.#elicited.keys();
    if (this.#elicited.size > MOST_ELICITATIONS && oldest !== undefined) this.#elicited.delete(oldest);
  }

  elicitedFrom(elicitationId: string): Session | undefined {
    const session = this.#elicited.get(elicitationId);
    return session?.isOpen === true ? session : undefined;
  }

  checkTime(nowMs: number): void {
    this.#ports.slots.checkTime(nowMs);
    const { questionHeldMs, questionTimeoutMs } = this.#ports.limits;
    for (const question of [...this.#held]) if (isLate(question, nowMs, questionHeldMs)) this.#giveUp(question);
    for (const pending of [...this.#pending]) {
      if (!isLate(pending, nowMs, questionTimeoutMs)) continue;
      this.#ports.counters.questionTimeouts++;
      this.#takeBack(pending, 'It was not answered in time');
      this.#refuse(pending.serverIdText, 'The client has not answered in time');
    }
  }

  #giveUp(question: Question): void {
    this.#ports.counters.questionsUncertain++;
    this.#held = this.#held.filter((other) => other !== question);
    for (const session of this.#ports.slots.askers()) this.#ports.slots.markAskedBack(session);
    this.#refuse(question.idText, 'Several clients have calls under way, so it is not certain whom this is for');
    if (this.#held.length > 0) return;
    this.#ports.slots.isHeld = false;
    this.#ports.slots.pump();
  }

  /** The server is gone, and its questions with it. */
  closed(): void {
    this.#held = [];
    this.#elicited.clear();
    this.#ports.slots.isHeld = false;
    for (const pending of [...this.#pending]) this.#takeBack(pending, 'The server has gone');
  }

  /** The client need not think about it any more. */
  #takeBack(pending: PendingQuestion, reason: string): void {
    this.#forget(pending);
    if (pending.session.isOpen) pending.session.tell(cancelNotice(JSON.stringify(pending.id), reason));
  }

  #forget(pending: PendingQuestion): void {
    this.#pending.delete(pending);
    pending.session.questions.delete(pending.id);
  }

  #refuse(idText: string, message: string): void {
    this.#reply(idText, `"error":${rpcError(INTERNAL_ERROR, message)}`);
  }

  #reply(idText: string, outcome: string): void {
    const outbox = this.#ports.outbox();
    if (outbox === undefined) return;
    outbox.utf8(`{"jsonrpc":"2.0","id":`);
    outbox.latin1(idText);
    outbox.utf8(`,${outcome}}`);
    outbox.endFrame();
  }
}

/** The error that this client would give, if it would give one. */
function whyNot(session: Session, { role, params }: Question): string | undefined {
  const offered = membersOf(session.offers[role]);
  if (session.hasEnded) return rpcError(INTERNAL_ERROR, 'The client has ended its side, so it cannot answer');
  if (!session.canBeAsked(role)) return rpcError(METHOD_NOT_FOUND, `The client does not support ${role}`);
  if (role === 'elicitation' && params.mode === 'url' && offered.url === undefined)
    return rpcError(INVALID_PARAMS, 'The client does not support elicitation by URL');
  if (role === 'sampling' && params.tools !== undefined && offered.tools === undefined)
    return rpcError(INVALID_PARAMS, 'The client does not support tools in sampling');
  return undefined;
}

function isLate(question: { deadlineMs: number }, nowMs: number, afterMs: number): boolean {
  if (question.deadlineMs === 0) question.deadlineMs = nowMs + afterMs;
  return nowMs >= question.deadlineMs;
}
