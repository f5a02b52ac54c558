// Calls that nobody waits for any more, while the server may not know that yet: it may still ask back about them, and such
// a question must not be taken for one of another client's call. Each lingers until the server has answered a ping that
// was sent behind the cancellation; one of a tool that is known to ask back, until it has answered after all, or for a while.

import type { Slot } from './slot.ts';

/** How long a call counts that nobody waits for, and that the server does not answer. */
export const LINGER_MS = 5_000;

interface GivenUp {
  readonly slot: Slot;
  deadlineMs: number;
}

export class GivenUpCalls {
  readonly #byId = new Map<number, GivenUp>();
  /** The call has left the lane. */
  readonly #released: (slot: Slot) => void;

  constructor(released: (slot: Slot) => void) {
    this.#released = released;
  }

  get size(): number {
    return this.#byId.size;
  }

  add(slot: Slot): void {
    this.#byId.set(slot.downId, { slot, deadlineMs: 0 });
  }

  *slots(): Iterable<Slot> {
    for (const { slot } of this.#byId.values()) yield slot;
  }

  /** It is certain that the server works on it no more. */
  release(downId: number): void {
    const givenUp = this.#byId.get(downId);
    if (givenUp === undefined) return;
    this.#byId.delete(downId);
    this.#released(givenUp.slot);
  }

  checkTime(nowMs: number): void {
    for (const [downId, givenUp] of [...this.#byId]) {
      if (givenUp.deadlineMs === 0) givenUp.deadlineMs = nowMs + LINGER_MS;
      if (nowMs >= givenUp.deadlineMs) this.release(downId);
    }
  }

  /** The server has gone. */
  clear(): void {
    for (const downId of [...this.#byId.keys()]) this.release(downId);
  }
}
