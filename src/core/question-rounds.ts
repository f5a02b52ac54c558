// The questions in answers of one server of 2026, for clients of 2025. Such a server sends no requests: it answers a
// call with its questions, and the call is made again with the client's answers. Here the client is asked by requests
// of its own era, all of a round at once. It sees one call with one answer.
//
//   answer with questions ─▶ asked ─ all answered ─▶ the call is made once more ─▶ the next answer
//   answer with a state only ─▶ a pause ───────────────▲
//   refused, failed, late, or too many rounds ─▶ the call ends with an error

import { cancelNotice, type QuestionKind } from '../protocol/era.ts';
import { BridgeError } from '../util/bridge-error.ts';
import type { Timer } from '../util/clock.ts';
import { isRecord, membersOf, textOf } from '../util/json-value.ts';
import { type Envelope, Field } from '../wire/envelope.ts';
import type { Frame } from '../wire/frame-splitter.ts';
import { findMembers, type Span } from '../wire/json-members.ts';
import { ownFrame } from '../wire/own-frame.ts';
import { type Call, isLate } from './call.ts';
import type { QuestionEnd } from './events.ts';
import type { Instance } from './instance.ts';
import { newQuestionId, refusalBy } from './questions.ts';
import type { ClientQuestion, Session } from './session.ts';
import { maySuspend } from './suspended-calls.ts';

/** The maximum number of rounds of one call; the SDK of 2026 uses the same for such clients. */
const MOST_ROUNDS = 8;
/** The pause before a call is repeated that was answered with a state but no questions. */
const PAUSE_MS = 250;

const KINDS: Readonly<Record<string, QuestionKind>> = {
  'sampling/createMessage': 'sampling',
  'elicitation/create': 'elicitation',
  'roots/list': 'roots',
};

/**
 * Frames up to this length are kept as text. A buffer for each would cost a third of the call, mostly in garbage
 * collection.
 */
const MOST_IN_TEXT = 4096;

/** The state of a call from a client of 2025 at a server of 2026. */
export class CallInRounds {
  /**
   * The client's frame for the next round, as a latin1 text or in bytes. Undefined if the server may not ask, or there
   * was no room.
   */
  #kept: Frame | string | undefined;
  /** True if the tool's output schema was changed for clients of 2025. */
  readonly isSchemaWrapped: boolean;
  /** Bytes that the call keeps, charged to its client. */
  bytes: number;
  rounds = 0;
  /** The `params` members that continue the call in the next request, as JSON in latin1; '' at first. */
  members = '';
  /** The last progress value that was passed on. */
  progress = Number.NEGATIVE_INFINITY;

  constructor(kept: Frame | undefined, isSchemaWrapped: boolean) {
    this.isSchemaWrapped = isSchemaWrapped;
    this.bytes = kept === undefined ? 0 : kept.end - kept.start;
    if (kept !== undefined) this.keep(kept);
  }

  keep(frame: Frame): void {
    const { b, start, end } = frame;
    this.#kept = end - start > MOST_IN_TEXT ? ownFrame(frame) : b.latin1Slice(start, end);
  }

  get isKept(): boolean {
    return this.#kept !== undefined;
  }

  /** The kept frame. */
  get frame(): Frame | undefined {
    const kept = this.#kept;
    if (typeof kept !== 'string') return kept;
    return { b: Buffer.from(`${kept}\n`, 'latin1'), start: 0, end: kept.length };
  }
}

/** One question of a round, before it is asked. */
interface Wanted {
  readonly key: string;
  readonly method: string;
  readonly role: QuestionKind;
  readonly params: Readonly<Record<string, unknown>>;
  /** The position of its parameters in the answer; undefined if it has none. */
  readonly at: Span | undefined;
}

interface Asked extends ClientQuestion {
  readonly during: string;
  readonly id: string;
}

interface Round {
  readonly call: Call;
  /** The state to send back to the server, in the server's spelling; '' for none. */
  readonly state: string;
  /** The client's answers by question key, as JSON in latin1. */
  readonly answers: Map<string, string>;
  readonly asked: Set<Asked>;
  pause: Timer | undefined;
  deadlineMs: number;
}

export class QuestionRounds {
  readonly #instance: Instance;
  readonly #open = new Map<Call, Round>();

  constructor(instance: Instance) {
    this.#instance = instance;
  }

  /** The number of calls that wait for their clients' answers. */
  get size(): number {
    return this.#open.size;
  }

  isAsking(call: Call): boolean {
    return this.#open.has(call);
  }

  /** The calls that wait for their clients' answers. */
  waiting(): Call[] {
    return [...this.#open.keys()];
  }

  /** Takes an answer with questions. Its call was removed from the sent calls. */
  begin(call: Call, { b }: Frame, envelope: Envelope): void {
    const { inRounds } = call;
    const { server } = this.#instance;
    call.session.countUnsent();
    call.serverRequestId = 0;
    if (inRounds?.isKept !== true)
      return this.#refuse(call, maySuspend(call) ? NO_ROOM : `Server ${server} asks where it may not`);
    if (++inRounds.rounds > MOST_ROUNDS)
      return this.#refuse(call, `Server ${server} still needs something after ${MOST_ROUNDS} rounds of questions`);
    const wanted = envelope.has(Field.inputRequests) ? wantedIn(b, envelope.from(Field.inputRequests)) : [];
    const state = envelope.has(Field.resultState) ? envelope.raw(b, Field.resultState) : '';
    const isSound = wanted !== undefined && (state === '' || state.startsWith('"')) && !envelope.doubts(READ);
    if (!isSound || (wanted.length === 0 && state === ''))
      return this.#refuse(call, `Server ${server} asks something that is not understood`);
    const refusal = this.#refusalOf(call.session, wanted);
    if (refusal !== undefined) return this.#refuse(call, refusal);
    const round: Round = { call, state, answers: new Map(), asked: new Set(), pause: undefined, deadlineMs: 0 };
    if (!this.#keeps(round, state.length)) return this.#refuse(call, NO_ROOM);
    this.#open.set(call, round);
    if (wanted.length === 0) round.pause = this.#instance.context.clock.after(PAUSE_MS, () => this.#goOn(round));
    for (const question of wanted) this.#ask(round, question, b);
  }

  /** The reason why the client cannot be asked all of these questions; undefined if it can. */
  #refusalOf(session: Session, wanted: readonly Wanted[]): string | undefined {
    const { server, context } = this.#instance;
    const { maxQuestions } = context.limits;
    if (session.questions.size + wanted.length > maxQuestions || session.backlog.isFull) {
      context.events.incident.tell('questionsRefused', server);
      return `Server ${server} asks too much`;
    }
    for (const question of wanted) {
      const refusal = refusalBy(session, question);
      if (refusal !== undefined) return `Server ${server} needs ${question.role} to go on: ${messageIn(refusal)}`;
    }
    return undefined;
  }

  #ask(round: Round, { key, method, role, params, at }: Wanted, b: Buffer): void {
    const { session } = round.call;
    const asked: Asked = {
      id: newQuestionId(),
      during: round.call.clientIdText,
      answer: (answer, envelope) => this.#answered(round, asked, key, answer, envelope),
      progress: () => undefined, // the server hears of a client only through a call
      abandon: () => this.#abandoned(round, asked),
    };
    round.asked.add(asked);
    session.addQuestion(asked.id, asked);
    this.#instance.context.events.questionAsked.tell(session, this.#instance.server, role);
    // Clients of 2025 identify a page by an id, which servers of 2026 do not send.
    const isPage = role === 'elicitation' && params.mode === 'url' && params.elicitationId === undefined;
    session.output.askInFull(asked, method, b, at, isPage ? `"elicitationId":"${asked.id}",` : '');
  }

  #answered(round: Round, asked: Asked, key: string, { b }: Frame, envelope: Envelope): void {
    this.#forget(round, asked, 'answered');
    if (!envelope.has(Field.result)) {
      const { message } = membersOf(envelope.decode(b, Field.error));
      return this.#end(
        round,
        `The client did not answer what server ${this.#instance.server} asked: ${textOf(message)}`,
      );
    }
    const result = envelope.raw(b, Field.result);
    if (!this.#keeps(round, result.length)) return this.#end(round, NO_ROOM);
    round.answers.set(key, result);
    if (round.asked.size === 0) this.#goOn(round);
  }

  #keeps({ call: { session, inRounds } }: Round, bytes: number): boolean {
    if (inRounds === undefined || !session.keep(bytes, this.#instance.context.limits.maxMessageBytes)) return false;
    inRounds.bytes += bytes;
    return true;
  }

  /** Makes the call again, with the answers of this round only. */
  #goOn(round: Round): void {
    const { call, state, answers } = round;
    this.#open.delete(call);
    const { inRounds } = call;
    const frame = inRounds?.frame;
    if (inRounds === undefined || frame === undefined) return;
    const responses = [...answers].map(([key, result]) => `${latin1(JSON.stringify(key))}:${result}`);
    inRounds.members = [
      ...(responses.length === 0 ? [] : [`"inputResponses":{${responses.join()}}`]),
      ...(state === '' ? [] : [`"requestState":${state}`]),
    ].join();
    this.#instance.goOn(call, frame);
  }

  /** Ends a round because the client has gone or can no longer answer. */
  #abandoned(round: Round, asked: Asked): void {
    if (!round.asked.has(asked)) return; // another question of the round has ended it
    this.#forget(round, asked, 'client-gone');
    if (round.call.session.isOpen) this.#end(round, 'The client has ended its side, so it cannot answer');
  }

  #forget({ asked, call: { session } }: Round, question: Asked, end: QuestionEnd): void {
    this.#instance.context.events.questionEnded.tell(session, this.#instance.server, end);
    asked.delete(question);
    session.forgetQuestion(question.id);
  }

  /** Ends a round without answers: the call fails. */
  #end(round: Round, reason: string, end: QuestionEnd = 'cancelled'): void {
    this.#takeBack(round, end, reason);
    this.#refuse(round.call, reason);
  }

  #takeBack(round: Round, end: QuestionEnd, reason: string): void {
    const { call, asked, pause } = round;
    if (this.#open.get(call) === round) this.#open.delete(call);
    pause?.cancel();
    for (const question of [...asked]) {
      this.#forget(round, question, end);
      if (call.session.isOpen) call.session.output.notify(cancelNotice(JSON.stringify(question.id), reason));
    }
  }

  #refuse(call: Call, reason: string): void {
    const { server, calls } = this.#instance;
    calls.failInBand(call, new BridgeError('QUESTION_UNANSWERED', reason, { server }));
    this.#instance.settle();
  }

  /** Drops the questions of a call that is given up, or whose client leaves. */
  drop(call: Call, reason: string): void {
    const round = this.#open.get(call);
    if (round !== undefined) this.#takeBack(round, 'cancelled', reason);
  }

  /** Refuses all questions to a session whose server is no longer offered. */
  refuseAllOf(session: Session, refusal: BridgeError): void {
    for (const round of [...this.#open.values()]) {
      if (round.call.session !== session) continue;
      this.#takeBack(round, 'cancelled', refusal.message);
      this.#instance.calls.fail(round.call, refusal);
    }
  }

  /** Called once a second. */
  tick(nowMs: number): void {
    const { limits, events } = this.#instance.context;
    for (const round of [...this.#open.values()]) {
      if (round.asked.size === 0 || !isLate(round, nowMs, limits.questionTimeoutMs)) continue;
      events.incident.tell('questionTimeouts', round.call.session);
      this.#end(round, 'The client has not answered in time', 'timeout');
    }
  }
}

const READ: readonly Field[] = [Field.inputRequests, Field.resultState];
const NO_ROOM = 'The call and the answers to its questions are too long to be sent once more';

const latin1 = (text: string): string => Buffer.from(text).toString('latin1');

function messageIn(error: string): string {
  return textOf(membersOf(JSON.parse(error)).message);
}

/** The questions of a round at b[from]; undefined if one of them is malformed. */
function wantedIn(b: Buffer, from: number): Wanted[] | undefined {
  const keys = findMembers(b, from, [])?.others;
  const spans = keys && findMembers(b, from, keys)?.spans;
  const wanted = [...(spans ?? [])].map(([key, { from: at }]) => wantedAt(b, key, at));
  return spans !== undefined && wanted.every((question) => question !== undefined) ? wanted : undefined;
}

function wantedAt(b: Buffer, key: string, from: number): Wanted | undefined {
  const spans = findMembers(b, from, ['method', 'params'])?.spans;
  const name = spans?.get('method');
  const at = spans?.get('params');
  const method: unknown = name === undefined ? undefined : JSON.parse(b.toString('utf8', name.from, name.to));
  const params: unknown = at === undefined ? {} : JSON.parse(b.toString('utf8', at.from, at.to));
  const role = typeof method === 'string' && Object.hasOwn(KINDS, method) ? KINDS[method] : undefined;
  if (typeof method !== 'string' || role === undefined || !isRecord(params)) return undefined;
  return at === undefined && role !== 'roots' ? undefined : { key, method, role, params, at };
}
