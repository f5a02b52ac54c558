// One unanswered request: which client asked, under which id; which server we asked, under which id. The session and
// the owner both hold it, so whichever ends first finds it and sees to its answer. It is closed exactly once.

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
  /** Takes the answer instead of the client, where the bridge itself asks. */
  readonly output?: ClientOutput;
  /** The client's request during which the bridge asks, by the id as the client spelled it. */
  readonly withinText?: string;
}

/** The holder that must answer a call: an instance, or a view that does not know the instance yet. */
export interface CallOwner {
  /** The client has cancelled the call. The call gets no answer, just as the server itself would give none. */
  cancel(call: Call, notice: Frame, envelope: Envelope): void;
  /** True if the call may have left the bridge, in this daemon or one before. */
  wasSent(call: Call): boolean;
  /** The client is leaving: no more of the call is sent, and only `abandon` ends it. */
  withdraw(call: Call): void;
  /** Ends the call for a reason other than its client: the client gets the error, and the server is told. */
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
  /** The holder that must answer; another one may take over while the call waits. */
  owner: CallOwner;
  id: RequestId;
  /** The id and the progress token as the client spelled them; '' without a token. */
  idText: string;
  tokenText: string;
  /** Writes the answer. */
  output: ClientOutput;
  /**
   * The client's request that this call belongs to, if the bridge asks in the client's name; '' if the client asks
   * itself.
   */
  withinText = '';
  /** The name for the server in JSON if it differs from the client's name; else ''. */
  nameText = '';
  /** The parts of the frame that are left out, if any. */
  cut: Cut | undefined;
  /** The frame while the call waits; undefined once it was sent. */
  unsent: Frame | undefined;
  /** True if an earlier daemon may have executed it already. */
  mayBeDone = false;
  /** The frame, if the call may be sent again when the server dies during it. */
  again: Frame | undefined;
  /** Set for a client of 2025 at a server of 2026. */
  inRounds: CallInRounds | undefined;
  /** Set once a server of 2025 has asked a client of 2026 something. */
  suspension: Suspension | undefined;
  /** Identifies the call's questions if the server may ask in its answer; see bindingOf. */
  binding = 0;
  /** True if it was sent before, to an instance that has died. */
  isSecondTry = false;
  /** Our own id towards the server, and the progress token; 0 until the call was sent. */
  serverRequestId = 0;
  /** The position of the frame's end in the bytes of its client; 0 if unknown. */
  framePlace = 0;
  /** The time at which it was sent, in ticks of the meters. */
  sentTicks = 0;
  /** Tracing stores its own data here; see Events. */
  trace: object | undefined;
  /** The lane's name for the call; see lane.ts. */
  laneName = '';
  hasLane = false;
  /** The account of its tool; undefined if nobody keeps accounts, or the call is for no tool. */
  account: ToolAccount | undefined;
  /** The level of the server's logs that the client wants during the call; '' for none. */
  logLevel = '';
  /** An extra time limit besides the server's; 0 for none. */
  timeoutMs = 0;
  /** The end of its wait for the lane, and the lane's turn that this end applies to. */
  laneUntilMs = 0;
  laneTurn = 0;
  /** True if the server has asked something during the call. */
  wasAskedBack = false;
  /** The deadline, which a sign of life extends, and the final deadline; 0 until the first tick. */
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

  /** Continues in place of another request, under that request's id. */
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

  /**
   * The asker that a server's question during this call goes to: the client, or the call itself if its requests are
   * independent.
   */
  get asker(): Asker {
    return this.session.era.hasHandshake ? this.session : this;
  }
}

/** Lane and questions compare askers and use nothing else of them. */
export type Asker = Session | Call;

/** The client of an asker. */
export function clientOf(asker: Asker): Session {
  return 'session' in asker ? asker.session : asker;
}

/**
 * Reads one of our ids out of a server's frame; 0 for none. Our ids are numbers, so an answer to "7" answers nothing.
 */
export function serverRequestIdAt(b: Buffer, field: Field, envelope: Envelope): number {
  const id = envelope.id(b, field);
  return typeof id === 'number' ? id : 0;
}

/**
 * The limit that has ended a call, in milliseconds; undefined while time is left. `timeoutMs` is 0 if the client
 * decides. All calls are checked once a second, without a timer for each. The first check sets the deadline, so a call
 * may take up to a second more.
 */
export function overdueMs(call: Call, nowMs: number, timeoutMs: number, limits: Limits): number | undefined {
  const mostMs = Math.max(limits.maxCallMs, timeoutMs);
  if (call.lastDeadlineMs === 0) call.lastDeadlineMs = nowMs + mostMs;
  if (call.deadlineMs === 0)
    call.deadlineMs = timeoutMs === 0 ? call.lastDeadlineMs : Math.min(nowMs + timeoutMs, call.lastDeadlineMs);
  if (nowMs < call.deadlineMs) return undefined;
  return nowMs >= call.lastDeadlineMs ? mostMs : timeoutMs;
}

/** True when a question's time is up. The first check sets the deadline. */
export function isLate(question: { deadlineMs: number }, nowMs: number, afterMs: number): boolean {
  if (question.deadlineMs === 0) question.deadlineMs = nowMs + afterMs;
  return nowMs >= question.deadlineMs;
}

/** Restarts the time of a call that has shown a sign of life, up to the final deadline. */
export function extend(call: Call): void {
  call.deadlineMs = 0;
}

/** The shorter of two limits; 0 means none. */
export function shorterMs(one: number, other: number): number {
  return one === 0 || other === 0 ? one + other : Math.min(one, other);
}
