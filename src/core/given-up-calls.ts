// Calls that nobody waits for any more, while the server may not know that yet: it may still ask back about them, and such
// a question must not be taken for one of another client's call. Each lingers until the server has answered a ping that
// was sent behind the cancellation; one of a tool that is known to ask back, until it has answered after all, or for a while.

import type { Call } from './call.ts';

/** How long a call counts that nobody waits for, and that the server does not answer. */
export const LINGER_MS = 5_000;

interface GivenUp {
  readonly call: Call;
  deadlineMs: number;
}

export class GivenUpCalls {
  readonly #byId = new Map<number, GivenUp>();
  /** The call has left the lane. */
  readonly #released: (call: Call) => void;

  constructor(released: (call: Call) => void) {
    this.#released = released;
  }

  get size(): number {
    return this.#byId.size;
  }

  add(call: Call): void {
    this.#byId.set(call.serverRequestId, { call, deadlineMs: 0 });
  }

  *calls(): Iterable<Call> {
    for (const { call } of this.#byId.values()) yield call;
  }

  /** It is certain that the server works on it no more. */
  release(serverRequestId: number): void {
    const givenUp = this.#byId.get(serverRequestId);
    if (givenUp === undefined) return;
    this.#byId.delete(serverRequestId);
    this.#released(givenUp.call);
  }

  tick(nowMs: number): void {
    for (const [serverRequestId, givenUp] of [...this.#byId]) {
      if (givenUp.deadlineMs === 0) givenUp.deadlineMs = nowMs + LINGER_MS;
      if (nowMs >= givenUp.deadlineMs) this.release(serverRequestId);
    }
  }

  /** The server has gone. */
  clear(): void {
    for (const serverRequestId of [...this.#byId.keys()]) this.release(serverRequestId);
  }
}
