// One unanswered request: who asked, under which id, whom we asked, under which id. The session and its owner both
// hold it, so that whichever goes first finds it and sees to its answer. It is closed exactly once.

import type { Limits } from '../model/limits.ts';
import type { CallRole } from '../protocol/era.ts';
import type { BridgeError } from '../util/bridge-error.ts';
import type { Envelope, Field } from '../wire/envelope.ts';
import type { Frame } from '../wire/frame-splitter.ts';
import type { RequestId } from '../wire/request-id.ts';
import type { CallPlan } from './call-plan.ts';
import type { ClientOutput } from './client-output.ts';
import type { CallInRounds } from './question-rounds.ts';
import type { Session } from './session.ts';
import type { Suspension } from './suspended-calls.ts';
import type { ToolAccount } from './tool-accounts.ts';

/** A client's request on its way to a server. The frame's envelope says where its parts stand. */
export interface ClientRequest {
  readonly id: RequestId;
  readonly role: CallRole;
  readonly frame: Frame;
  /** Takes the answer in place of the client, where the bridge asks for it. */
  readonly output?: ClientOutput;
  /** The client's own request during which the bridge asks, by its id as the client spelled it. */
  readonly withinText?: string;
}

/** The holder that has to answer a call: an instance, or a view that does not know yet which instance. */
export interface CallOwner {
  /** The client has cancelled the call: it gets no answer, as from the server itself. */
  cancel(call: Call, notice: Frame, envelope: Envelope): void;
  /** True if the call may have left the bridge, in this daemon or one before. */
  wasSent(call: Call): boolean;
  /** The client is going: nothing more of the call is sent, and only `abandon` ends it. */
  withdraw(call: Call): void;
  /** Somebody else than its client ends the call: the client gets the error, and the server is told. */
  stop(call: Call, error: BridgeError): void;
  /** The client has gone. */
  abandon(call: Call): void;
  tickCall(call: Call, nowMs: number): void;
}

/** The bytes around an inner value that replaces the outer one; counted from the beginning of the frame. */
export interface Cut {
  readonly from: number;
  readonly innerFrom: number;
  readonly innerTo: number;
  readonly to: number;
}

type CallStart = Pick<Call, 'session' | 'plan' | 'owner' | 'id' | 'idText' | 'tokenText'>;

export class Call {
  session: Session;
  /** The purpose of the call, which decides what happens to it on its way. */
  readonly plan: CallPlan;
  /** The holder that has to answer; another one may take over while the call waits. */
  owner: CallOwner;
  id: RequestId;
  /** The id and the progress token as the client spelled them; '' without a token. */
  idText: string;
  tokenText: string;
  /** Writes its answer. */
  output: ClientOutput;
  /** The client's request that it belongs to where the bridge asks in the client's name; '' where the client asks itself. */
  withinText = '';
  /** The name for the server in JSON, if it differs from the one the client has used; '' if not. */
  nameText = '';
  /** The parts of the frame that are not passed on, if any. */
  cut: Cut | undefined;
  /** The frame while the call waits; undefined once it was sent. */
  unsent: Frame | undefined;
  /** True if an earlier daemon may have had it carried out already. */
  mayBeDone = false;
  /** The frame, if the call may be sent once more when the server dies over it. */
  again: Frame | undefined;
  /** Set at a server of 2026, for a client of 2025. */
  inRounds: CallInRounds | undefined;
  /** Set once the server, of 2025, has asked a client of 2026 something. */
  suspension: Suspension | undefined;
  /** A number for what it asks, if the server may ask back in its answer; see bindingOf. */
  binding = 0;
  /** True if an instance that has gone was sent it before. */
  isSecondTry = false;
  /** Our own id towards the server, and the progress token; 0 until the call was sent. */
  serverRequestId = 0;
  /** The place where its frame ends among the bytes of its client, if that is known; else 0. */
  framePlace = 0;
  /** The moment in which it was sent, in the ticks of the meters. */
  sentTicks = 0;
  /** Whatever the tracing notes of it; see Events. */
  trace: object | undefined;
  /** The name by which the lane knows the call; see lane.ts. */
  laneName = '';
  hasLane = false;
  /** The account of its tool; undefined where nobody keeps accounts, and for what is no tool. */
  account: ToolAccount | undefined;
  /** The level of the logs that the client wants of the server while it works on the call; '' for none. */
  logLevel = '';
  /** A time limit besides that of its server; 0 for none. */
  timeoutMs = 0;
  /** The end of its wait for the lane, and the turn of the lane for which that was set. */
  laneUntilMs = 0;
  laneTurn = 0;
  /** True if the server has asked something during the call. */
  wasAskedBack = false;
  /** The end of its time, which a sign of life extends, and the last end of all; 0 until the first look. */
  deadlineMs = 0;
  lastDeadlineMs = 0;

  constructor({ session, plan, owner, id, idText, tokenText }: CallStart) {
    this.session = session;
    this.plan = plan;
    this.owner = owner;
    this.id = id;
    this.idText = idText;
    this.tokenText = tokenText;
    this.output = session.output;
  }

  /** Goes on in place of another request, under its id. */
  takeOver(retry: Call): void {
    this.session = retry.session;
    this.id = retry.id;
    this.idText = retry.idText;
    this.tokenText = retry.tokenText;
    this.output = retry.output;
    this.logLevel = retry.logLevel;
    this.framePlace = retry.framePlace;
    this.session.replace(retry, this);
  }

  /** The call was answered or given up. */
  close(): void {
    const { suspension } = this;
    if (suspension?.isAway !== true) this.session.close(this);
    if (suspension !== undefined) suspension.instance.context.suspended.over(suspension);
  }

  /** The id of the client's own request, as the client spelled it. */
  get clientIdText(): string {
    return this.withinText === '' ? this.idText : this.withinText;
  }

  /** The one whom the server asks during the call: the client, or the call by itself where each request stands alone. */
  get asker(): Asker {
    return this.session.era.hasHandshake ? this.session : this;
  }
}

/** Lane and questions tell askers apart, and nothing else of them. */
export type Asker = Session | Call;

/** The client of an asker. */
export function clientOf(asker: Asker): Session {
  return 'session' in asker ? asker.session : asker;
}

/** Reads one of our ids out of a server's frame; 0 for none. Our ids are numbers: an answer to "7" answers nothing. */
export function serverRequestIdAt(b: Buffer, field: Field, envelope: Envelope): number {
  const id = envelope.id(b, field);
  return typeof id === 'number' ? id : 0;
}

/**
 * The limit that has ended a call, in milliseconds; undefined while its time is not up. `timeoutMs` is 0 where the
 * client decides. All calls are looked at once a second, without a timer for each. The first look sets the time, so a
 * call may take up to a second more.
 */
export function overdueMs(call: Call, nowMs: number, timeoutMs: number, limits: Limits): number | undefined {
  const mostMs = Math.max(limits.maxCallMs, timeoutMs);
  if (call.lastDeadlineMs === 0) call.lastDeadlineMs = nowMs + mostMs;
  if (call.deadlineMs === 0)
    call.deadlineMs = timeoutMs === 0 ? call.lastDeadlineMs : Math.min(nowMs + timeoutMs, call.lastDeadlineMs);
  if (nowMs < call.deadlineMs) return undefined;
  return nowMs >= call.lastDeadlineMs ? mostMs : timeoutMs;
}

/** True when the time of a question is up. The first look sets its time. */
export function isLate(question: { deadlineMs: number }, nowMs: number, afterMs: number): boolean {
  if (question.deadlineMs === 0) question.deadlineMs = nowMs + afterMs;
  return nowMs >= question.deadlineMs;
}

/** Gives the call its whole time again, up to the limit: it has shown a sign of life. */
export function extend(call: Call): void {
  call.deadlineMs = 0;
}

/** The shorter of two limits, where 0 is none. */
export function shorterMs(one: number, other: number): number {
  return one === 0 || other === 0 ? one + other : Math.min(one, other);
}
