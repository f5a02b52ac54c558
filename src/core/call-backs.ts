// Questions of a server to its clients: sampling, elicitation, roots. Over a shared connection nothing says whom one is
// for. It is certain when one client alone has calls under way; otherwise it is held, nothing more is sent, and what is
// under way is left to finish until one client remains. The bridge never guesses.

import type { Envelope } from '../wire/envelope.ts';
import { Field } from '../wire/envelope.ts';
import type { Frame } from '../wire/frame-splitter.ts';
import type { Outbox } from '../wire/outbox.ts';
import { Splice } from '../wire/splice.ts';
import type { CallBackRole } from './era/era-2025.ts';
import { INTERNAL_ERROR, METHOD_NOT_FOUND, rpcError } from './rpc-error.ts';
import type { Session } from './session.ts';
import type { SlotTable } from './slot-table.ts';

/** How long a question may be held until it is certain whom it is for. */
const HELD_MS = 20_000;
/** How long a client may take for its answer: it may be a person's. */
const ANSWER_MS = 600_000;

interface Question extends Frame {
  readonly role: CallBackRole;
  /** The server's id, as it is spelled, and where it stands. */
  readonly idText: string;
  readonly idFrom: number;
  readonly idTo: number;
  deadlineMs: number;
}

/** One that a client has been asked. */
export interface PendingQuestion {
  readonly callBacks: CallBacks;
  readonly session: Session;
  /** Towards the client. */
  readonly id: string;
  readonly serverIdText: string;
  deadlineMs: number;
}

export interface CallBacksPorts {
  readonly slots: SlotTable;
  readonly sessions: ReadonlySet<Session>;
  readonly outbox: () => Outbox | undefined;
}

const splice = new Splice();
let asked = 0;

export class CallBacks {
  readonly #ports: CallBacksPorts;
  #held: Question[] = [];
  readonly #pending = new Map<string, PendingQuestion>();

  constructor(ports: CallBacksPorts) {
    this.#ports = ports;
  }

  /** A question has come; `read` says where its parts stand. */
  ask(role: CallBackRole, { b, start, end }: Frame, read: Envelope): void {
    const idFrom = read.from(Field.id);
    const idTo = read.to(Field.id);
    const question = { role, b, start, end, idFrom, idTo, idText: read.raw(b, Field.id), deadlineMs: 0 };
    if (role === 'roots') return this.#askForRoots(question);
    this.#held.push(question);
    this.callEnded();
  }

  /** What follows from the end of a call: a question may have become certain, and others may be sent. */
  callEnded(): void {
    if (this.#held.length > 0) this.#passOnWhatIsCertain();
    this.#ports.slots.pump();
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

  /** Roots are for the whole connection: with several clients, one's folders must not be shown to another. */
  #askForRoots(question: Question): void {
    const [only] = this.#ports.sessions;
    if (only === undefined || this.#ports.sessions.size > 1) this.#reply(question.idText, '"result":{"roots":[]}');
    else this.#pass(only, question);
  }

  #pass(session: Session, question: Question): void {
    if (!session.canBeAsked(question.role))
      return this.#reply(
        question.idText,
        `"error":${rpcError(METHOD_NOT_FOUND, `The client does not support ${question.role}`)}`,
      );
    if (question.role !== 'roots') this.#ports.slots.markAskedBack(session);
    const id = `mcp-bridge/ask-${++asked}`;
    const pending = { callBacks: this, session, id, serverIdText: question.idText, deadlineMs: 0 };
    this.#pending.set(question.idText, pending);
    session.questions.set(id, pending);
    splice.clear().replace(question.idFrom, question.idTo, JSON.stringify(id));
    splice.send(session.link.outbox, question.b, question.start, question.end);
  }

  /** The client has answered; its id's place in the frame becomes the server's. */
  answer(pending: PendingQuestion, { b, start, end }: Frame, read: Envelope): void {
    this.#forget(pending);
    const outbox = this.#ports.outbox();
    if (outbox === undefined) return;
    splice.clear().replace(read.from(Field.id), read.to(Field.id), pending.serverIdText);
    splice.send(outbox, b, start, end);
  }

  /** The server does not want to know any more. Returns whether it was a question of its own. */
  cancel({ b, start, end }: Frame, read: Envelope): boolean {
    const pending = read.has(Field.requestId) ? this.#pending.get(read.raw(b, Field.requestId)) : undefined;
    if (pending === undefined) return false;
    this.#forget(pending);
    splice.clear().replace(read.from(Field.requestId), read.to(Field.requestId), JSON.stringify(pending.id));
    splice.send(pending.session.link.outbox, b, start, end);
    return true;
  }

  /** The client goes: its questions are answered with an error, so that the server goes on. */
  forget(session: Session): void {
    for (const pending of [...session.questions.values()]) {
      this.#forget(pending);
      this.#refuse(pending.serverIdText, 'The client that was asked has gone');
    }
  }

  checkTime(nowMs: number): void {
    for (const question of [...this.#held]) if (isLate(question, nowMs, HELD_MS)) this.#giveUp(question);
    for (const pending of [...this.#pending.values()]) {
      if (!isLate(pending, nowMs, ANSWER_MS)) continue;
      this.#forget(pending);
      this.#refuse(pending.serverIdText, 'The client has not answered in time');
    }
  }

  #giveUp(question: Question): void {
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
    this.#ports.slots.isHeld = false;
    for (const pending of [...this.#pending.values()]) this.#forget(pending);
  }

  #forget(pending: PendingQuestion): void {
    this.#pending.delete(pending.serverIdText);
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

function isLate(question: { deadlineMs: number }, nowMs: number, afterMs: number): boolean {
  if (question.deadlineMs === 0) question.deadlineMs = nowMs + afterMs;
  return nowMs >= question.deadlineMs;
}
