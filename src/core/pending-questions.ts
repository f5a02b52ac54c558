// Questions of one server that clients have been asked, until each is answered: by the client, or by the bridge when the
// client goes, takes too long, or was asked too much. Under which id and token it goes to the client is decided here.

import type { Limits } from '../model/limits.ts';
import { membersOf } from '../util/json-value.ts';
import type { Envelope } from '../wire/envelope.ts';
import { Field } from '../wire/envelope.ts';
import type { Frame } from '../wire/frame-splitter.ts';
import type { Outbox } from '../wire/outbox.ts';
import { isRequestId } from '../wire/request-id.ts';
import { Splice } from '../wire/splice.ts';
import type { Counters } from './counters.ts';
import type { Elicitations } from './elicitations.ts';
import { cancelNotice } from './era/era-2025.ts';
import type { InstanceRoots } from './instance-roots.ts';
import { INTERNAL_ERROR, rpcError } from './rpc-error.ts';
import type { Senders } from './senders.ts';
import {
  answerServer,
  isLate,
  type QuestionRole,
  refusalBy,
  refuseServer,
  type ServerQuestion,
} from './server-question.ts';
import type { ClientQuestion, Session } from './session.ts';

const TOO_MANY: string = rpcError(INTERNAL_ERROR, 'Too many questions are unanswered');

interface PendingQuestion extends ClientQuestion {
  readonly session: Session;
  readonly role: QuestionRole;
  /** The client may answer that this has become a task of its own. */
  readonly makesTask: boolean;
  /** Towards the client. */
  readonly id: string;
  readonly serverIdText: string;
  readonly serverTokenText: string;
  deadlineMs: number;
}

export interface PendingQuestionsPorts {
  readonly roots: InstanceRoots;
  readonly elicitations: Elicitations;
  readonly outbox: () => Outbox | undefined;
  readonly limits: Limits;
  readonly counters: Counters;
  readonly senders: Senders;
}

const NOBODY = 'nobody';
const splice = new Splice();
let asked = 0;

export class PendingQuestions {
  readonly #ports: PendingQuestionsPorts;
  readonly #pending = new Set<PendingQuestion>();
  /** Tasks that clients work on for this server. */
  readonly #tasks = new Map<string, Session | typeof NOBODY>();

  constructor(ports: PendingQuestionsPorts) {
    this.#ports = ports;
  }

  /** Asks the client, or gives the server the error that the client would give. */
  ask(session: Session, question: ServerQuestion): void {
    if (this.#isFlooded(session)) {
      this.#noteNoRoots(question);
      return this.refuseOneMore(question);
    }
    const refusal = refusalBy(session, question);
    if (refusal !== undefined) {
      this.#noteNoRoots(question);
      return answerServer(this.#ports.outbox(), question.idText, `"error":${refusal}`);
    }
    const { elicitationId } = question.params;
    if (typeof elicitationId === 'string') this.#ports.elicitations.note(elicitationId, session);
    const { id } = this.#open(session, question);
    splice.clear().replace(question.idFrom, question.idTo, JSON.stringify(id));
    // Two servers may use the same token towards one client.
    if (question.tokenText !== '') splice.replace(question.tokenFrom, question.tokenTo, JSON.stringify(id));
    splice.send(session.link.outbox, question.b, question.start, question.end);
  }

  #open(session: Session, { role, idText, tokenText, params }: ServerQuestion): PendingQuestion {
    const pending: PendingQuestion = {
      session,
      role,
      makesTask: params.task !== undefined,
      id: `mcp-bridge/ask-${++asked}`,
      serverIdText: idText,
      serverTokenText: tokenText,
      deadlineMs: 0,
      progress: (notice, read) => this.#passProgress(pending, notice, read),
      answer: (answer, read) => this.#answered(pending, answer, read),
      abandon: () => this.#abandoned(pending),
    };
    this.#pending.add(pending);
    session.questions.set(pending.id, pending);
    return pending;
  }

  /** Whether this server asks more than anybody could answer, or the client has not taken what it was told before. */
  #isFlooded(session: Session): boolean {
    const { maxQuestions } = this.#ports.limits;
    return this.#pending.size >= maxQuestions || session.questions.size >= maxQuestions || session.untaken.isFull;
  }

  refuseOneMore({ idText }: ServerQuestion): void {
    const { counters, outbox } = this.#ports;
    counters.questionsRefused++;
    answerServer(outbox(), idText, `"error":${TOO_MANY}`);
  }

  /** Whether the client has been asked about what this server does for it. */
  isAsking(session: Session): boolean {
    if (session.questions.size === 0) return false;
    for (const pending of this.#pending) if (pending.session === session) return true;
    return false;
  }

  // --- what the client does ---

  /** Its id's place in the frame becomes the server's. */
  #answered(pending: PendingQuestion, answer: Frame, read: Envelope): void {
    this.#forget(pending);
    if (pending.makesTask && read.has(Field.result))
      this.#noteTask(pending.session, read.decode(answer.b, Field.result));
    if (pending.role === 'roots') this.#ports.roots.answeredBy(pending.session, answer, read);
    const { senders, outbox } = this.#ports;
    const server = outbox();
    if (server === undefined) return;
    // It must hear something once it takes something again.
    if (senders.isStalled) return refuseServer(server, pending.serverIdText, 'The answer came while nothing was taken');
    splice.clear().replace(read.from(Field.id), read.to(Field.id), pending.serverIdText);
    splice.send(server, answer.b, answer.start, answer.end);
    senders.charge(pending.session);
  }

  #noteTask(session: Session, result: unknown): void {
    const { taskId } = membersOf(membersOf(result).task);
    if (typeof taskId !== 'string' || !isRequestId(taskId)) return;
    const before = this.#tasks.get(taskId);
    // Two clients may give theirs the same id: then nobody can say whose is meant.
    this.#tasks.set(taskId, before === undefined || before === session ? session : NOBODY);
    const [oldest] = this.#tasks.keys();
    if (this.#tasks.size > this.#ports.limits.maxTasksPerServer && oldest !== undefined) this.#tasks.delete(oldest);
  }

  /** The client that has answered with this task. */
  ownerOfTask(taskId: string): Session | undefined {
    const owner = this.#tasks.get(taskId);
    return typeof owner === 'object' && owner.isOpen ? owner : undefined;
  }

  /** The client goes, and its tasks with it. */
  clientGone(session: Session): void {
    for (const [taskId, owner] of this.#tasks) if (owner === session) this.#tasks.delete(taskId);
  }

  #passProgress({ session, serverTokenText }: PendingQuestion, { b, start, end }: Frame, read: Envelope): void {
    const { senders, outbox } = this.#ports;
    const server = outbox();
    if (server === undefined || serverTokenText === '' || senders.isStalled) return;
    splice.clear().replace(read.from(Field.progressToken), read.to(Field.progressToken), serverTokenText);
    splice.send(server, b, start, end);
    senders.charge(session);
  }

  /** So that the server goes on. */
  #abandoned(pending: PendingQuestion): void {
    this.#forget(pending);
    this.#noteNoRoots(pending);
    refuseServer(this.#ports.outbox(), pending.serverIdText, 'The client that was asked has gone');
  }

  #noteNoRoots({ role }: { readonly role: QuestionRole }): void {
    if (role === 'roots') this.#ports.roots.refused();
  }

  // --- what the server does ---

  /** It does not want to know any more. Returns whether a client was asked. */
  cancel(idText: string, { b, start, end }: Frame, read: Envelope): boolean {
    const pending = [...this.#pending].find(({ serverIdText }) => serverIdText === idText);
    if (pending === undefined) return false;
    this.#forget(pending);
    splice.clear().replace(read.from(Field.requestId), read.to(Field.requestId), JSON.stringify(pending.id));
    splice.send(pending.session.link.outbox, b, start, end);
    return true;
  }

  /** It is gone, and its questions with it. */
  closed(): void {
    this.#tasks.clear();
    for (const pending of [...this.#pending]) this.#takeBack(pending, 'The server has gone');
  }

  // --- time ---

  tick(nowMs: number): void {
    const { limits, counters, outbox } = this.#ports;
    for (const pending of [...this.#pending]) {
      if (!isLate(pending, nowMs, limits.questionTimeoutMs)) continue;
      counters.questionTimeouts++;
      this.#takeBack(pending, 'It was not answered in time');
      refuseServer(outbox(), pending.serverIdText, 'The client has not answered in time');
    }
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
}
