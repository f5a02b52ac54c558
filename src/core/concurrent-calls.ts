// The calls of tools that a server has at a time, where that is bounded (`maxConcurrentCalls`). A call that was given up
// counts until the server answers it after all, or for a while: nothing tells when a server has stopped writing, because
// it answers pings meanwhile, and one that heeds the cancellation never answers.

import type { Call } from './call.ts';
import { LINGER_MS } from './given-up-calls.ts';
import type { Session } from './session.ts';

interface Wait {
  /** As many calls had ended when it began. */
  readonly ended: number;
  readonly untilMs: number;
}

export class ConcurrentCalls {
  /** 0 for no bound. */
  readonly #most: number;
  readonly #underWay = new Map<number, Session>();
  /** Until when each counts; 0 until the first look at it. */
  readonly #givenUp = new Map<number, number>();
  readonly #waits = new WeakMap<Call, Wait>();
  /** Calls that have ended, ever. */
  #ended = 0;

  constructor(most: number) {
    this.#most = most;
  }

  /** Whether a call may be sent now. */
  admits({ isToolCall }: Call): boolean {
    return this.#most === 0 || !isToolCall || this.#underWay.size < this.#most;
  }

  sent({ isToolCall, serverRequestId, session }: Call): void {
    if (this.#most > 0 && isToolCall) this.#underWay.set(serverRequestId, session);
  }

  /** The server has answered, or does not work on it any more. */
  end(serverRequestId: number): void {
    if (!this.#underWay.delete(serverRequestId)) return;
    this.#givenUp.delete(serverRequestId);
    this.#ended++;
  }

  /** Nobody waits for its answer, which may still come. */
  giveUp(serverRequestId: number): void {
    if (this.#underWay.has(serverRequestId)) this.#givenUp.set(serverRequestId, 0);
  }

  /** Looked at once a second. Whether there is room for another call. */
  tick(nowMs: number): boolean {
    const before = this.#ended;
    for (const [serverRequestId, untilMs] of [...this.#givenUp]) {
      if (untilMs === 0) this.#givenUp.set(serverRequestId, nowMs + LINGER_MS);
      else if (nowMs >= untilMs) this.end(serverRequestId);
    }
    return this.#ended > before;
  }

  /** The server has gone. */
  clear(): void {
    for (const serverRequestId of [...this.#underWay.keys()]) this.end(serverRequestId);
  }

  /** Whether calls of other clients have kept a call waiting for so long, and none of all has ended meanwhile. */
  hasKept(call: Call, nowMs: number, mostMs: number): boolean {
    if (this.admits(call) || !this.#isHeldByOthers(call.session)) return false;
    let wait = this.#waits.get(call);
    if (wait === undefined || wait.ended !== this.#ended) {
      wait = { ended: this.#ended, untilMs: nowMs + mostMs };
      this.#waits.set(call, wait);
    }
    return nowMs >= wait.untilMs;
  }

  /** A client that waits for a call of its own can cancel that. */
  #isHeldByOthers(session: Session): boolean {
    for (const other of this.#underWay.values()) if (other !== session) return true;
    return false;
  }
}
