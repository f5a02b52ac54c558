// Calls that were answered with questions. A client of 2026 gets no requests, so a question of its server ends the
// client's request: the answer has the questions and a state, and the client retries with its answers and this state.
// The call itself stays open at its server and outlives the connection. It is never sent a second time.
//
//   open ─ a question ─▶ gathering ─ some ms ─▶ away ─ a retry with all answers ─▶ open, under the id of the retry
//                                                │ └─ a retry without some ─▶ away, with another state
//                                                ├─ the server answers, or dies ─▶ ended: the outcome waits for the retry
//                                                └─ time up ─▶ over: the server gets errors and a cancellation

import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import { crc32 } from 'node:zlib';
import type { Limits } from '../model/limits.ts';
import { principalKey } from '../model/principal.ts';
import type { CallRole, Era } from '../protocol/era.ts';
import { BridgeError, type RefusalReason } from '../util/bridge-error.ts';
import type { Clock, Timer } from '../util/clock.ts';
import { invariant } from '../util/invariant.ts';
import { type Envelope, Field } from '../wire/envelope.ts';
import type { Frame } from '../wire/frame-splitter.ts';
import { byteAt, OPEN_OBJECT } from '../wire/json-grammar.ts';
import { findMembers, type Span } from '../wire/json-members.ts';
import { copyOf } from '../wire/own-frame.ts';
import { type Call, extend } from './call.ts';
import type { AnsweredQuestion } from './client-output.ts';
import type { Events, QuestionEnd } from './events.ts';
import type { Instance } from './instance.ts';
import type { Session } from './session.ts';

/** Questions within this time go into one answer. */
const GATHER_MS = 5;
/** The interval at which all suspended calls are checked. */
const TICK_MS = 1000;
/** The bytes charged for each call besides the data kept for it. */
const CALL_BYTES = 1024;

const MAY_SUSPEND: ReadonlySet<CallRole> = new Set<CallRole>(['call', 'get-prompt', 'read']);

/** True for requests that the protocol lets a server answer with questions. */
export function maySuspend({ plan }: Pick<Call, 'plan'>): boolean {
  return MAY_SUSPEND.has(plan.role);
}

/** A question as part of an answer. */
export interface InputRequest extends AnsweredQuestion {
  readonly isElicitation: boolean;
  /** Passes on the client's answer, the object at b[from, to). */
  answer(b: Buffer, place: Span): void;
  /** Called when nobody will answer. */
  refuse(end: QuestionEnd, reason: string): void;
}

/** The outcome of a call whose client was away. */
type Outcome =
  | { readonly is: 'answer'; readonly frame: Frame; readonly era: Era }
  /** The server wants pages to be visited before the call is made. `frame` is its error. */
  | { readonly is: 'pages'; readonly frame: Frame; readonly era: Era }
  | { readonly is: 'error'; readonly error: BridgeError };

/** The result of a retry. */
export type RetryOutcome =
  /** The retry was handled: it continues its call, or was answered with questions. */
  | { readonly is: 'taken' }
  /** The retry is sent like any other call: the server's demands are met. */
  | { readonly is: 'again' }
  | Extract<Outcome, { readonly is: 'answer' | 'error' }>
  /** The user refuses to visit the page: the call ends with the error that demands it. */
  | { readonly is: 'declined'; readonly frame: Frame; readonly era: Era };

/** A request that was answered with questions. */
export interface AskedRequest {
  readonly client: string;
  readonly clientName: string;
  readonly idText: string;
  readonly role: CallRole;
  /** The name of the tool in JSON; '' if there is none. */
  readonly nameText: string;
  readonly atMs: number;
}

type SuspensionState = 'open' | 'gathering' | 'away' | 'ended' | 'over';

/** The questions of one call. */
export class Suspension {
  state: SuspensionState = 'open';
  instance: Instance;
  /** Undefined once its outcome is kept. */
  call: Call | undefined;
  /** The principal that may continue the call, on any connection. */
  readonly owner: string;
  /** A hash of the request's method, name or URI, and arguments. */
  binding = 0;
  readonly unanswered = new Map<string, InputRequest>();
  outcome: Outcome | undefined;
  /** The number in the state that continues it; 0 if there is none. */
  id = 0;
  untilMs = 0;
  keys = 0;
  /** Bytes charged to its owner; 0 for none. */
  charged = 0;
  /** The request that was answered with the questions, for lists of calls; undefined until then. */
  asked: AskedRequest | undefined;
  timer: Timer | undefined;

  constructor(instance: Instance, call: Call) {
    this.instance = instance;
    this.call = call;
    this.owner = principalKey(call.session.principal);
  }

  /** True while its client is away and the server may still ask or answer. */
  get isAway(): boolean {
    return this.state === 'away';
  }
}

interface SuspendedCallsContext {
  readonly limits: Limits;
  readonly events: Events;
  readonly clock: Clock;
  readonly contain: (session: Session, task: () => void) => void;
}

export class SuspendedCalls {
  readonly #context: SuspendedCallsContext;
  readonly #states = new RequestStates();
  /** Calls that a retry may continue, by the number in their state. */
  readonly #byId = new Map<number, Suspension>();
  readonly #room: SuspensionRoom;
  #lastId = 0;
  #tick: Timer | undefined;

  constructor(context: SuspendedCallsContext) {
    this.#context = context;
    this.#room = new SuspensionRoom(context.limits);
  }

  /** The number of calls that wait for a retry. */
  get size(): number {
    return this.#byId.size;
  }

  /** The calls that wait for a retry. */
  get waiting(): Iterable<Suspension> {
    return this.#byId.values();
  }

  /** Answers a call with a question, after a short wait for more; false if there is no room. */
  ask(instance: Instance, call: Call, question: InputRequest): boolean {
    const suspension = this.#of(instance, call);
    // A call that was given up stays on while its server may still work on it.
    if (!suspension.isAway && call.session.calls.get(call.id) !== call) return false;
    if (!this.#hasRoom(suspension, question.params?.length ?? 0)) return false;
    call.again = undefined; // a call that asked its client something is not repeated
    suspension.unanswered.set(`q${++suspension.keys}`, question);
    if (suspension.state !== 'open') return true;
    suspension.state = 'gathering';
    const { clock, contain } = this.#context;
    suspension.timer = clock.after(GATHER_MS, () => contain(call.session, () => this.#suspend(suspension, call)));
    return true;
  }

  #of(instance: Instance, call: Call): Suspension {
    call.suspension ??= new Suspension(instance, call);
    call.suspension.instance = instance;
    return call.suspension;
  }

  #hasRoom(suspension: Suspension, bytes: number): boolean {
    if (this.#room.charge(suspension, bytes)) return true;
    this.#context.events.incident.tell('suspensionsRefused', suspension.call?.session);
    return false;
  }

  #suspend(suspension: Suspension, call: Call): void {
    if (suspension.state !== 'gathering') return;
    this.#answerFirst(suspension, call);
    suspension.state = 'away';
    call.tokenText = '';
    call.again = undefined; // its client may have seen a part of it, so it is not repeated
    suspension.instance.settle();
  }

  #answerFirst(suspension: Suspension, call: Call): void {
    const { clock, limits } = this.#context;
    suspension.timer?.cancel();
    suspension.untilMs = clock.now() + limits.questionTimeoutMs;
    suspension.binding = call.binding;
    this.#answerWithQuestions(call, suspension);
  }

  /** Answers a request with the questions and a new state. */
  #answerWithQuestions(request: Call, suspension: Suspension): void {
    const { session, output, idText, plan, laneName } = request;
    suspension.asked = {
      client: session.clientId,
      clientName: session.name,
      idText,
      role: plan.role,
      nameText: suspension.asked?.nameText ?? (laneName.startsWith('"') ? laneName : ''),
      atMs: this.#context.clock.now(),
    };
    this.#byId.delete(suspension.id);
    suspension.id = ++this.#lastId;
    this.#byId.set(suspension.id, suspension);
    this.#tick ??= this.#context.clock.after(TICK_MS, () => this.#onTick());
    this.#context.events.callSuspended.tell(request);
    output.requireInput(idText, suspension.unanswered, this.#states.textOf(suspension));
    session.close(request);
  }

  /** Called when the server cancels a question. */
  withdraw({ suspension }: Call, question: InputRequest): void {
    if (suspension === undefined) return;
    for (const [key, other] of suspension.unanswered) if (other === question) suspension.unanswered.delete(key);
    if (suspension.state === 'gathering' && suspension.unanswered.size === 0) this.#settle(suspension, 'open');
  }

  #settle(suspension: Suspension, state: 'open' | 'over'): void {
    suspension.timer?.cancel();
    suspension.timer = undefined;
    suspension.state = state;
    suspension.outcome = undefined;
    this.#byId.delete(suspension.id);
    this.#room.release(suspension);
  }

  /** Called when the call has ended: the server's open questions get no answer. */
  over(suspension: Suspension): void {
    this.#settle(suspension, 'over');
    refuseAll(suspension, 'cancelled', CALL_ENDED);
  }

  // --- the outcome of a call whose client is away ---

  keepAnswer(suspension: Suspension, frame: Frame, era: Era): void {
    const { server } = suspension.instance;
    const message = `Server ${server} has answered while its client was away, and there was no room to keep the answer`;
    this.#keep(
      suspension,
      this.#hasRoom(suspension, frame.end - frame.start)
        ? { is: 'answer', frame: copyOf(frame), era }
        : { is: 'error', error: new BridgeError('SERVER_ANSWER_REFUSED', message, { server }) },
    );
  }

  keepError(suspension: Suspension, error: BridgeError): void {
    this.#keep(suspension, { is: 'error', error });
  }

  #keep(suspension: Suspension, outcome: Outcome): void {
    suspension.state = 'ended';
    suspension.outcome = outcome;
    suspension.call = undefined;
    refuseAll(suspension, 'cancelled', CALL_ENDED);
  }

  /**
   * Asks the client to visit the pages that a server's error demands; a retry makes the call again. False if there is
   * no room. `frame` is the server's error.
   */
  askForPages(instance: Instance, call: Call, pages: readonly Buffer[], frame: Frame): boolean {
    const suspension = this.#of(instance, call);
    const bytes = pages.reduce((sum, { length }) => sum + length, frame.end - frame.start);
    if (!this.#hasRoom(suspension, bytes)) return false;
    refuseAll(suspension, 'cancelled', CALL_ENDED);
    for (const params of pages) suspension.unanswered.set(`q${++suspension.keys}`, pageOf(params));
    this.#answerFirst(suspension, call);
    suspension.state = 'ended';
    suspension.outcome = { is: 'pages', frame: copyOf(frame), era: instance.era };
    suspension.call = undefined;
    return true;
  }

  // --- retries ---

  /**
   * The call that a request continues, if it carries one of our states; else the reason why it cannot. Undefined for a
   * foreign state or none.
   */
  find(retry: Call, server: string, frame: Frame, envelope: Envelope): Suspension | RefusalReason | undefined {
    const { b } = frame;
    const state = envelope.has(Field.requestState) ? this.#states.read(envelope.raw(b, Field.requestState)) : undefined;
    if (state === undefined) return undefined;
    if (this.#context.clock.now() >= state.untilMs) return 'expired';
    const suspension = this.#byId.get(state.id);
    if (suspension === undefined) return 'used';
    if (suspension.owner !== principalKey(retry.session.principal)) return 'other-client';
    return bindingOf(server, retry, frame, envelope) === suspension.binding ? suspension : 'other-call';
  }

  /** Continues a call that was found. */
  goOn(retry: Call, suspension: Suspension, b: Buffer, envelope: Envelope): RetryOutcome {
    const { outcome, unanswered } = suspension;
    if (outcome !== undefined && outcome.is !== 'pages') {
      retry.binding = suspension.binding; // the outcome may demand pages, and the retry was never sent
      this.#settle(suspension, 'over');
      return outcome;
    }
    const answers = answersIn(b, envelope, unanswered);
    // Nothing has changed: the retry may come again with the same state.
    if (answers === undefined) return { is: 'error', error: refusalOfRetry('answer-malformed') };
    for (const { key } of answers) unanswered.delete(key);
    if (outcome !== undefined && answers.some(({ place }) => actionIn(b, place) !== 'accept')) {
      this.#settle(suspension, 'over');
      return { ...outcome, is: 'declined' };
    }
    const isComplete = unanswered.size === 0;
    if (isComplete && outcome !== undefined) return this.#startOver(retry, suspension);
    if (suspension.call !== undefined) suspension.call.session = retry.session; // the earlier session may have gone
    if (isComplete) this.#reopen(retry, suspension);
    for (const { question, place } of answers) question.answer(b, place);
    if (!isComplete) this.#answerWithQuestions(retry, suspension);
    return { is: 'taken' };
  }

  #startOver(retry: Call, suspension: Suspension): RetryOutcome {
    this.#settle(suspension, 'open');
    suspension.call = retry;
    retry.suspension = suspension;
    return { is: 'again' };
  }

  /** Gives the call back to its client, under the id of the retry. */
  #reopen(retry: Call, suspension: Suspension): void {
    const { call } = suspension;
    invariant(call !== undefined, 'a call without an outcome is still there');
    this.#settle(suspension, 'open');
    call.takeOver(retry);
    suspension.instance.logsWanted(call);
    extend(call);
    this.#context.events.callContinued.tell(retry, call);
  }

  /** Ends a call that nobody may continue. */
  giveUp(suspension: Suspension, end: QuestionEnd, reason: string): void {
    const { call, instance } = suspension;
    refuseAll(suspension, end, reason);
    if (call === undefined) return this.over(suspension);
    this.#context.contain(call.session, () => instance.giveUpSuspended(call, reason));
  }

  /** Ends the call of a state, given as JSON, that no client will use again. Foreign states are ignored. */
  forget(stateText: string): void {
    const state = this.#states.read(stateText);
    const suspension = state && this.#byId.get(state.id);
    if (suspension !== undefined) this.giveUp(suspension, 'cancelled', 'The program that has called it has ended');
  }

  /** Ends a call that waits for a retry; the retry gets this error. False if the server has answered it already. */
  stop(suspension: Suspension, error: BridgeError): boolean {
    const { call, instance, outcome } = suspension;
    if (call !== undefined) this.#context.contain(call.session, () => instance.stop(call, error));
    else if (outcome?.is === 'pages') {
      suspension.unanswered.clear();
      suspension.outcome = { is: 'error', error };
    } else return false;
    return true;
  }

  #onTick(): void {
    const { clock, events } = this.#context;
    this.#tick = undefined;
    for (const suspension of [...this.#byId.values()]) {
      if (clock.now() < suspension.untilMs) continue;
      if (suspension.unanswered.size > 0) events.incident.tell('questionTimeouts', suspension.call?.session);
      this.giveUp(suspension, 'timeout', 'The client has not answered in time');
    }
    if (this.#byId.size > 0) this.#tick ??= clock.after(TICK_MS, () => this.#onTick());
  }
}

const CALL_ENDED = 'The call has ended';

function refuseAll({ unanswered }: Suspension, end: QuestionEnd, reason: string): void {
  for (const question of [...unanswered.values()]) question.refuse(end, reason);
  unanswered.clear();
}

function pageOf(params: Buffer): InputRequest {
  const nothing = (): void => undefined;
  return { method: 'elicitation/create', params, isElicitation: true, answer: nothing, refuse: nothing };
}

/** The fraction of each limit that one user may take. */
const OWN_PART = 0.5;

/** Limits the memory for suspended calls. */
class SuspensionRoom {
  readonly #limits: Limits;
  readonly #taken = new Map<string, { calls: number; bytes: number }>();
  #calls = 0;
  #bytes = 0;

  constructor(limits: Limits) {
    this.#limits = limits;
  }

  /** Charges bytes for a call; false if there is no room. */
  charge(suspension: Suspension, bytes: number): boolean {
    const { maxSuspendedCalls, maxSuspendedBytes } = this.#limits;
    const isNew = suspension.charged === 0;
    const [moreCalls, moreBytes] = isNew ? [1, bytes + CALL_BYTES] : [0, bytes];
    const own = this.#taken.get(suspension.owner) ?? { calls: 0, bytes: 0 };
    if (this.#calls + moreCalls > maxSuspendedCalls || this.#bytes + moreBytes > maxSuspendedBytes) return false;
    if (own.calls + moreCalls > Math.ceil(maxSuspendedCalls * OWN_PART)) return false;
    if (own.bytes + moreBytes > maxSuspendedBytes * OWN_PART) return false;
    this.#take(suspension, own, { calls: moreCalls, bytes: moreBytes });
    return true;
  }

  release(suspension: Suspension): void {
    const own = this.#taken.get(suspension.owner);
    if (own === undefined || suspension.charged === 0) return;
    this.#take(suspension, own, { calls: -1, bytes: -suspension.charged });
    if (own.calls === 0) this.#taken.delete(suspension.owner);
  }

  #take(
    suspension: Suspension,
    own: { calls: number; bytes: number },
    more: { readonly calls: number; readonly bytes: number },
  ): void {
    own.calls += more.calls;
    own.bytes += more.bytes;
    this.#calls += more.calls;
    this.#bytes += more.bytes;
    suspension.charged += more.bytes;
    this.#taken.set(suspension.owner, own);
  }
}

/** JSON has only one spelling for it: no encoder escapes these characters. */
const PREFIX = 'mcp-bridge.';
const [ID_BYTES, TIME_BYTES, MAC_BYTES] = [6, 6, 16];
const LONGEST_STATE = 100;

/** The states that clients send to continue their calls. Only this daemon, in this run, can write them. */
export class RequestStates {
  readonly #key = randomBytes(32);

  textOf({ id, untilMs }: { readonly id: number; readonly untilMs: number }): string {
    const bytes = Buffer.alloc(ID_BYTES + TIME_BYTES);
    bytes.writeUIntBE(id, 0, ID_BYTES);
    bytes.writeUIntBE(Math.ceil(untilMs), ID_BYTES, TIME_BYTES);
    const mac = createHmac('sha256', this.#key).update(bytes).digest().subarray(0, MAC_BYTES);
    return PREFIX + Buffer.concat([bytes, mac]).toString('base64url');
  }

  /** Reads a state, given as JSON. Undefined if it was not written here. */
  read(raw: string): { readonly id: number; readonly untilMs: number } | undefined {
    if (raw.length > LONGEST_STATE || !raw.startsWith(`"${PREFIX}`)) return undefined;
    const text = raw.slice(1, -1);
    const bytes = Buffer.from(text.slice(PREFIX.length), 'base64url');
    if (bytes.length !== ID_BYTES + TIME_BYTES + MAC_BYTES) return undefined;
    const state = { id: bytes.readUIntBE(0, ID_BYTES), untilMs: bytes.readUIntBE(ID_BYTES, TIME_BYTES) };
    const [said, ours] = [Buffer.from(text), Buffer.from(this.textOf(state))];
    return said.length === ours.length && timingSafeEqual(said, ours) ? state : undefined;
  }
}

/** Up to this length, bytes are hashed here: that is faster than a call into zlib. */
const SHORT_BYTES = 128;

/**
 * Hashes what a request asks, as its server gets it; a retry asks the same. The hash covers all bytes of the arguments,
 * and is computed before anybody knows if the tool will ask, because the bytes are gone by then. For a mebibyte that
 * takes a tenth of a millisecond, a fifteenth of the call. It only guards honest clients against mistakes. Forged
 * arguments with the same hash gain nothing: a retry's own arguments are never sent, and a repeated call must pass all
 * rules again.
 */
export function bindingOf(
  server: string,
  { plan, nameText, cut }: Pick<Call, 'plan' | 'nameText' | 'cut'>,
  { b, start }: Frame,
  envelope: Envelope,
): number {
  // Several servers may have a resource and are asked in turn, so the first one may differ next time.
  if (plan.role === 'read') return mixedIn(SEED, b, envelope.from(Field.uri), envelope.to(Field.uri));
  let sum = mixedText(mixedText(mixedText(SEED, plan.role), server), nameText);
  if (nameText === '') sum = mixedIn(sum, b, envelope.from(Field.name), envelope.to(Field.name));
  const from = cut === undefined ? envelope.from(Field.arguments) : start + cut.innerFrom;
  const to = cut === undefined ? envelope.to(Field.arguments) : start + cut.innerTo;
  if (from < 0) return sum;
  sum = mixed(sum, to - from);
  return to - from <= SHORT_BYTES ? mixedIn(sum, b, from, to) : mixed(sum, crc32(b.subarray(from, to)));
}

// FNV-1a.
const SEED = 0x811c9dc5;

function mixed(sum: number, more: number): number {
  return Math.imul(sum ^ more, 0x01000193);
}

function mixedIn(sum: number, b: Buffer, from: number, to: number): number {
  for (let p = from; p >= 0 && p < to; p++) sum = mixed(sum, byteAt(b, p));
  return sum;
}

function mixedText(sum: number, text: string): number {
  for (let i = 0; i < text.length; i++) sum = mixed(sum, text.charCodeAt(i));
  return sum;
}

/** True for a request that claims to continue a call. */
export function isRetry(call: Call, envelope: Envelope): boolean {
  const saysSo = envelope.has(Field.requestState) || envelope.has(Field.inputResponses);
  return saysSo && maySuspend(call) && !call.session.era.hasHandshake;
}

/** The refusal of a retry with a foreign state, at a server that gives out none. */
export function refusalOfForeign(envelope: Envelope): BridgeError {
  return refusalOfRetry(envelope.has(Field.requestState) ? 'forged' : 'state-missing');
}

const REASONS = {
  forged: 'requestState was not written by this bridge, or before it was started again',
  expired: 'requestState has expired: the call was given up',
  used: 'requestState was used before; each answer has another one',
  'other-call': 'requestState is of another call: method, name or URI, and arguments have to be the same',
  'other-client': 'requestState is of a call of somebody else',
  'state-missing': 'inputResponses come with the requestState of the answer that asked for them',
  'answer-malformed':
    'inputResponses is an object with an object for each key, and the action of an elicitation is one of three',
} as const;

export function refusalOfRetry(reason: RefusalReason): BridgeError {
  const message = reason in REASONS ? REASONS[reason as keyof typeof REASONS] : reason;
  return new BridgeError('RETRY_REFUSED', message, { facts: { reason } });
}

interface GivenAnswer {
  readonly key: string;
  readonly question: InputRequest;
  readonly place: Span;
}

/** The answers to these questions; undefined if one of them is no answer. Other answers are ignored. */
function answersIn(
  b: Buffer,
  envelope: Envelope,
  questions: ReadonlyMap<string, InputRequest>,
): GivenAnswer[] | undefined {
  if (!envelope.has(Field.inputResponses)) return [];
  const members = findMembers(b, envelope.from(Field.inputResponses), [...questions.keys()]);
  if (members === undefined || members.isRepeated) return undefined;
  const answers = [...members.spans].flatMap(([key, place]) => {
    const question = questions.get(key);
    return question === undefined ? [] : [{ key, question, place }];
  });
  return answers.every(({ question, place }) => isAnswer(b, place, question)) ? answers : undefined;
}

const ACTIONS: ReadonlySet<unknown> = new Set(['accept', 'decline', 'cancel']);

function isAnswer(b: Buffer, place: Span, { isElicitation }: InputRequest): boolean {
  return byteAt(b, place.from) === OPEN_OBJECT && (!isElicitation || ACTIONS.has(actionIn(b, place)));
}

function actionIn(b: Buffer, { from }: Span): unknown {
  const found = findMembers(b, from, ['action']);
  const action = found?.isRepeated === false ? found.spans.get('action') : undefined;
  return action === undefined ? undefined : JSON.parse(b.toString('utf8', action.from, action.to));
}
