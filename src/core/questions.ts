// Questions of a server to its clients: sampling, elicitation, roots. Over a shared connection nothing says whom one is
// for. It is certain when one client alone has calls under way, or when it names a task; otherwise it is held, nothing
// more is sent, and what is under way is left to finish until one client remains. The bridge never guesses.

import type { Limits } from '../model/limits.ts';
import type { Clock } from '../util/clock.ts';
import { textOf } from '../util/json-value.ts';
import { type Envelope, Field } from '../wire/envelope.ts';
import type { Frame } from '../wire/frame-splitter.ts';
import type { Outbox } from '../wire/outbox.ts';
import { Attribution } from './attribution.ts';
import type { CallTable } from './call-table.ts';
import type { Counters } from './counters.ts';
import { Elicitations } from './elicitations.ts';
import { type QuestionKind, relatedTask } from './era/era-2025.ts';
import type { InstanceKey } from './instance-key.ts';
import { InstanceRoots } from './instance-roots.ts';
import type { KnownServer } from './known-server.ts';
import { PendingQuestions } from './pending-questions.ts';
import { RootsFence } from './roots-fence.ts';
import type { Senders } from './senders.ts';
import { answerServer, isLate, readQuestion, refusalBy, refuseServer, type ServerQuestion } from './server-question.ts';
import type { Session } from './session.ts';
import type { Tasks } from './tasks.ts';

export interface QuestionsPorts {
  readonly calls: CallTable;
  readonly sessions: ReadonlySet<Session>;
  readonly tasks: Tasks;
  readonly known: KnownServer;
  readonly key: InstanceKey;
  readonly outbox: () => Outbox | undefined;
  readonly limits: Limits;
  readonly counters: Counters;
  readonly senders: Senders;
  readonly clock: Clock;
  /** Whether all clients have to share the instance, whatever their roots are. */
  readonly isForAll: boolean;
  /** Gives all clients but one another instance, or this one again, as soon as their roots are known. */
  readonly divide: (staying: Session | undefined) => void;
}

const IN_DOUBT = 'It may be about a call that was given up';

export class Questions {
  readonly #ports: QuestionsPorts;
  readonly #attribution: Attribution;
  readonly #fence: RootsFence;
  readonly #roots: InstanceRoots;
  readonly elicitations = new Elicitations();
  readonly #pending: PendingQuestions;
  #held: ServerQuestion[] = [];

  constructor(ports: QuestionsPorts) {
    this.#ports = ports;
    this.#attribution = new Attribution(ports.calls);
    this.#fence = new RootsFence({
      calls: ports.calls,
      clock: ports.clock,
      isNeeded: () => !ports.isForAll && ports.key.capabilities.roots !== undefined,
      isAsked: () => this.#roots.isAsked,
    });
    this.#roots = new InstanceRoots({ ...ports, fence: this.#fence }, this.#attribution);
    this.#pending = new PendingQuestions({ ...ports, roots: this.#roots, elicitations: this.elicitations });
  }

  /** A question has come; `read` says where its parts stand. */
  ask(role: QuestionKind, frame: Frame, read: Envelope): void {
    const question = readQuestion(role, frame, read);
    if (role === 'roots') return this.#askForRoots(question);
    this.#ports.known.noteAsksBack();
    const taskId = relatedTask(question.params._meta);
    if (taskId !== undefined) return this.#askAboutTask(taskId, question);
    if (this.#held.length >= this.#ports.limits.maxQuestions) return this.#pending.refuseOneMore(question);
    this.#held.push(question);
    if (this.#attribution.isInDoubt) this.#refuseWhatIsInDoubt();
    this.callEnded();
  }

  #askForRoots(question: ServerQuestion): void {
    const session = this.#roots.ask(question.idText);
    if (session !== undefined) this.#pending.ask(session, question);
  }

  /** It asks how a task is that a client works on for it. */
  askForClientTask(frame: Frame, read: Envelope): void {
    const question = readQuestion('tasks', frame, read);
    const owner = this.#pending.ownerOfTask(textOf(question.params.taskId));
    if (owner === undefined) this.#refuse(question, 'No client has this task');
    else this.#pending.ask(owner, question);
  }

  /** The client goes, and its tasks with it. */
  clientGone(session: Session): void {
    this.#pending.clientGone(session);
  }

  #askAboutTask(taskId: string, question: ServerQuestion): void {
    const owner = this.#ports.tasks.ownerOf(taskId);
    if (owner === undefined) this.#refuse(question, 'No client has this task');
    else this.#pass(owner, question);
  }

  #pass(session: Session, question: ServerQuestion): void {
    this.#attribution.markAskedBack(session);
    this.#pending.ask(session, question);
  }

  #refuse({ idText }: ServerQuestion, message: string): void {
    refuseServer(this.#ports.outbox(), idText, message);
  }

  /** Whether the client has been asked about what this server does for it. */
  isAsking(session: Session): boolean {
    return this.#pending.isAsking(session);
  }

  // --- what is held ---

  #refuseWhatIsInDoubt(): void {
    this.#attribution.markGivenUpAskedBack();
    this.#refuseHeld(IN_DOUBT);
  }

  #refuseHeld(message: string): void {
    for (const question of this.#held.splice(0)) this.#refuse(question, message);
    this.#ports.calls.isHeld = false;
  }

  /** What follows from the end of a call: a question may have become certain, and others may be sent. */
  callEnded(): void {
    this.#roots.settle();
    if (this.#held.length > 0) this.#passOnWhatIsCertain();
    this.#ports.calls.pump();
  }

  /** A call ends without an answer. If it was its client's last one, what is held may have been about it: nobody can tell. */
  callGivenUp(session: Session): void {
    if (!this.#attribution.isWaiting(session)) this.#refuseHeld('The call was given up');
    for (const { givenUpBy } of this.#held) givenUpBy.add(session);
    this.callEnded();
  }

  #passOnWhatIsCertain(): void {
    const askers = this.#attribution.askers();
    const [only] = askers;
    if (askers.size > 1) this.#refuseWhatAllRefuse(askers);
    this.#ports.calls.isHeld = askers.size > 1 && this.#held.length > 0;
    if (askers.size > 1) return;
    for (const question of this.#held.splice(0)) {
      if (only === undefined) this.#refuse(question, 'A question outside any call is nobody’s');
      else if (isOfNobodyElse(question, only)) this.#pass(only, question);
      else this.#refuse(question, IN_DOUBT);
    }
  }

  /** Nobody need know whose a question is that none of those whose it may be would be asked. */
  #refuseWhatAllRefuse(askers: ReadonlySet<Session>): void {
    this.#held = this.#held.filter((question) => {
      const refusals = new Set([...askers].map((session) => refusalBy(session, question)));
      const [refusal] = refusals;
      if (refusals.size > 1 || refusal === undefined) return true;
      answerServer(this.#ports.outbox(), question.idText, `"error":${refusal}`);
      this.#attribution.noteAskedBack(askers);
      return false;
    });
  }

  /** The server does not want to know any more. Returns whether it was a question of its own. */
  cancel(frame: Frame, read: Envelope): boolean {
    const idText = read.has(Field.requestId) ? read.raw(frame.b, Field.requestId) : '';
    return this.#pending.cancel(idText, frame, read) || this.#dropHeld(idText);
  }

  /** Nobody was asked yet. */
  #dropHeld(idText: string): boolean {
    const others = this.#held.filter((question) => question.idText !== idText);
    if (others.length === this.#held.length) return false;
    this.#held = others;
    if (others.length === 0) this.#ports.calls.isHeld = false;
    this.callEnded();
    return true;
  }

  tick(nowMs: number): void {
    const { questionHeldMs } = this.#ports.limits;
    // What is late may have been passed on by the end of another one.
    for (const question of [...this.#held])
      if (this.#held.includes(question) && isLate(question, nowMs, questionHeldMs)) this.#giveUp(question);
    this.#pending.tick(nowMs);
    this.#roots.tick(nowMs);
  }

  #giveUp(question: ServerQuestion): void {
    this.#ports.counters.questionsUncertain++;
    this.#held = this.#held.filter((other) => other !== question);
    for (const session of this.#attribution.askers()) this.#attribution.markAskedBack(session);
    this.#refuse(question, 'Several clients have calls under way, so it is not certain whom this is for');
    if (this.#held.length > 0) return;
    this.#ports.calls.isHeld = false;
    this.#ports.calls.pump();
  }

  /** A client has come: it may be the one whose roots a question waits for. */
  clientCame(): void {
    this.#roots.settle();
  }

  /** An instance is about to open. */
  opening(): void {
    this.#fence.opening();
  }

  opened(): void {
    this.#fence.opened();
  }

  /** The server is gone, and its questions with it. */
  closed(): void {
    this.#fence.closed();
    this.#roots.closed();
    this.#held = [];
    this.elicitations.clear();
    this.#ports.calls.isHeld = false;
    this.#pending.closed();
  }
}

function isOfNobodyElse({ givenUpBy }: ServerQuestion, session: Session): boolean {
  for (const other of givenUpBy) if (other !== session) return false;
  return true;
}
