// The ends of calls without an answer: cancelled, client gone, time up. The server is told, and questions that it asked
// meanwhile are refused. A call that has not reached its server may be made once more.

import type { Limits } from '../model/limits.ts';
import { cancelNotice } from '../protocol/era.ts';
import { ERA_2025 } from '../protocol/era-2025.ts';
import { BridgeError } from '../util/bridge-error.ts';
import { Envelope, Field } from '../wire/envelope.ts';
import type { Frame } from '../wire/frame-splitter.ts';
import { Splice } from '../wire/splice.ts';
import { type Call, type CallOwner, serverRequestIdAt } from './call.ts';
import type { Instance } from './instance.ts';

const splice = new Splice();
/** For frames that come back. */
const readAgain = new Envelope(ERA_2025.keys);

/** Ends the calls of one instance. */
export class CallEndings implements CallOwner {
  readonly #instance: Instance;

  constructor(instance: Instance) {
    this.#instance = instance;
  }

  cancel(call: Call, notice: Frame, envelope: Envelope): void {
    const { calls } = this.#instance;
    if (call.serverRequestId !== 0) this.#passCancel(call, notice, envelope);
    calls.remove(call);
    this.#ended(call);
  }

  /**
   * Passes a cancellation on, shortened if the server does not keep up: a client is not held up because it has given a
   * call up.
   */
  #passCancel({ serverRequestId }: Call, { b, start, end }: Frame, envelope: Envelope): void {
    const { calls, backlog, outbox } = this.#instance;
    if (outbox === undefined) return;
    if (backlog.isFull)
      return calls.tell(cancelNotice(String(serverRequestId), 'The client does not want it any more'));
    splice.clear().replace(envelope.from(Field.requestId), envelope.to(Field.requestId), String(serverRequestId));
    splice.send(outbox, b, start, end);
  }

  wasSent({ serverRequestId, isSecondTry, mayBeDone }: Call): boolean {
    return serverRequestId !== 0 || isSecondTry || mayBeDone;
  }

  withdraw(call: Call): void {
    this.#instance.calls.withdraw(call);
  }

  abandon(call: Call): void {
    this.#instance.calls.giveUp(call, 'The client has gone');
    this.#ended(call);
  }

  /**
   * Takes back a request that the server has not read, as it was sent. Returns true if it waits for the next instance,
   * which it does once, or if no client waits for it.
   */
  returned(frame: Frame): boolean {
    const { calls, limits } = this.#instance;
    readAgain.scan(frame.b, frame.start, frame.end, limits.maxDepth);
    const call = calls.peekSent(serverRequestIdAt(frame.b, Field.id, readAgain));
    if (call === undefined) return true;
    if (call.isSecondTry) return false;
    call.again = frame;
    call.nameText = ''; // the frame has the server's own name
    call.cut = undefined;
    return true;
  }

  /** Ends a call whose time is up: the server is told, and the client gets an error. */
  tickCall(call: Call, nowMs: number): void {
    const { server, calls, questions, limits, events } = this.#instance;
    // While a person is asked, the call waits for that person, up to the limit.
    if (questions.isAsking(call.session)) extend(call);
    const timeoutMs = this.#timeoutOf(call);
    const tookMs = overdueMs(call, nowMs, timeoutMs, limits);
    if (tookMs === undefined) return;
    events.incident.tell('timeouts', call.session);
    const hint = `It may still go on there. ${this.#settingsFor(call, tookMs)} allows more.`;
    const message = `Server ${server} has not answered within ${tookMs} ms`;
    calls.giveUp(call, 'The time for this call is up', new BridgeError('CALL_TIMED_OUT', message, { server, hint }));
    this.#ended(call);
  }

  /** The limit of a call; 0 where the client decides, and where a task does. */
  #timeoutOf({ plan, timeoutMs }: Call): number {
    const { timeoutMs: ownMs, limits } = this.#instance;
    return plan.role === 'task-result' ? 0 : shorterMs(timeoutMs, ownMs ?? limits.callTimeoutMs);
  }

  #settingsFor(call: Call, tookMs: number): string {
    if (tookMs !== this.#timeoutOf(call)) return 'The setting limits.maxCallMs';
    return call.timeoutMs === tookMs
      ? 'The setting discovery.timeoutMs'
      : 'The setting timeoutMs of the server, or limits.callTimeoutMs,';
  }

  #ended(call: Call): void {
    if (call.serverRequestId === 0) this.#instance.settle();
    else this.#instance.questions.callGivenUp(call.session);
  }
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

/** Gives the call its whole time again, up to the limit: it has shown a sign of life. */
export function extend(call: Call): void {
  call.deadlineMs = 0;
}

/** The shorter of two limits, where 0 is none. */
export function shorterMs(one: number, other: number): number {
  return one === 0 || other === 0 ? one + other : Math.min(one, other);
}
