// How a request ends at an instance without its server's answer: its client has cancelled it, or has gone, or its time is
// up. The server is told, and a question that it has asked meanwhile is nobody's any more. One that has not come to its
// server at all may be made once more.

import type { Limits } from '../model/limits.ts';
import { cancelNotice } from '../protocol/era-2025.ts';
import { BridgeError } from '../util/bridge-error.ts';
import { Envelope, Field } from '../wire/envelope.ts';
import type { Frame } from '../wire/frame-splitter.ts';
import { Splice } from '../wire/splice.ts';
import { type Call, type CallOwner, serverRequestIdAt } from './call.ts';
import type { Instance } from './instance.ts';

const splice = new Splice();
/** Of frames that come back. */
const readAgain = new Envelope();

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

  /** In few bytes where a server does not keep up: its client is not held up for having given a call up. */
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
   * A request, as it was sent, that the server has not looked at. Whether it waits for the next instance once this one is
   * gone, which it does once; nobody waits for what is none of a client's.
   */
  returned(frame: Frame): boolean {
    const { calls, limits } = this.#instance;
    readAgain.scan(frame.b, frame.start, frame.end, limits.maxDepth);
    const call = calls.peekSent(serverRequestIdAt(frame.b, Field.id, readAgain));
    if (call === undefined) return true;
    if (call.isSecondTry) return false;
    call.again = frame;
    call.nameText = ''; // the server's own name is in it
    call.cut = undefined;
    return true;
  }

  /** Ends a call whose time is up: the server is told, and the one who asked gets an error. */
  tickCall(call: Call, nowMs: number): void {
    const { server, calls, questions, limits, counters } = this.#instance;
    // While a person is asked, the call waits for that person, within the upper bound.
    if (questions.isAsking(call.session)) extend(call);
    const timeoutMs = this.#timeoutOf(call);
    const tookMs = overdueMs(call, nowMs, timeoutMs, limits);
    if (tookMs === undefined) return;
    counters.timeouts++;
    const hint = `It may still go on there. ${this.#settingsFor(call, tookMs)} allows more.`;
    const message = `Server ${server} has not answered within ${tookMs} ms`;
    calls.giveUp(call, 'The time for this call is up', new BridgeError('CALL_TIMED_OUT', message, { server, hint }));
    this.#ended(call);
  }

  /** 0 where the client decides, and where a task does. */
  #timeoutOf({ waitsForTask, timeoutMs }: Call): number {
    const { timeoutMs: ownMs, limits } = this.#instance;
    return waitsForTask ? 0 : shorterMs(timeoutMs, ownMs ?? limits.callTimeoutMs);
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

// How long a call may take. Looked at once a second for all calls together: no timer and no reading of a clock for each.

/**
 * The limit that has ended a call, in milliseconds; undefined while its time is not up. `timeoutMs` is 0 where the client
 * decides. The first look at a call sets its time, so that it may take up to a second more.
 */
export function overdueMs(call: Call, nowMs: number, timeoutMs: number, limits: Limits): number | undefined {
  const mostMs = Math.max(limits.maxCallMs, timeoutMs);
  if (call.lastDeadlineMs === 0) call.lastDeadlineMs = nowMs + mostMs;
  if (call.deadlineMs === 0)
    call.deadlineMs = timeoutMs === 0 ? call.lastDeadlineMs : Math.min(nowMs + timeoutMs, call.lastDeadlineMs);
  if (nowMs < call.deadlineMs) return undefined;
  return nowMs >= call.lastDeadlineMs ? mostMs : timeoutMs;
}

/** The call has shown a sign of life: its time begins anew at the next look, within the upper bound. */
export function extend(call: Call): void {
  call.deadlineMs = 0;
}

/** The shorter one of two limits, of which 0 is none. */
export function shorterMs(one: number, other: number): number {
  return one === 0 || other === 0 ? one + other : Math.min(one, other);
}
