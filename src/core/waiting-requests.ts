// The requests that wait for their turn at one instance, one of each client after the other, and the bytes that they take
// meanwhile: so much of one client's, and so much of all.

import { invariant } from '../util/invariant.ts';
import type { Frame } from '../wire/frame-splitter.ts';
import type { Limits } from '../wire/limits.ts';
import { ownFrame } from '../wire/own-frame.ts';
import { FairQueue } from './fair-queue.ts';
import type { Session } from './session.ts';
import type { Slot } from './slot.ts';

export class WaitingRequests {
  readonly #limits: Limits;
  readonly #queue = new FairQueue<Session, Slot>();
  #bytes = 0;

  constructor(limits: Limits) {
    this.#limits = limits;
  }

  get size(): number {
    return this.#queue.size;
  }

  /** False if there is no room for it. */
  add(slot: Slot, unsent: Frame): boolean {
    const bytes = unsent.end - unsent.start;
    if (this.#bytes + bytes > this.#limits.maxWaitingBytesPerServer) return false;
    slot.unsent = ownFrame(unsent);
    this.#queue.push(slot.session, slot);
    this.#bytes += bytes;
    slot.session.addWaiting(bytes, this.#limits.maxWaitingBytesPerClient);
    return true;
  }

  /** The first of the next client in turn that may be served; its frame is still to be taken. */
  next(mayServe: (session: Session, slot: Slot) => boolean): Slot | undefined {
    return this.#queue.take(mayServe);
  }

  /** The frame of one that waits no more. */
  takeFrame(slot: Slot): Frame {
    const frame = slot.unsent;
    invariant(frame !== undefined, 'a slot that waits has its frame');
    slot.unsent = undefined;
    this.#bytes -= frame.end - frame.start;
    slot.session.addWaiting(frame.start - frame.end, this.#limits.maxWaitingBytesPerClient);
    return frame;
  }

  /** Gives away what a client has waiting here, in order, but for what only this instance can answer. */
  takeAllOf(session: Session): { readonly slot: Slot; readonly frame: Frame }[] {
    const waiting = this.#queue.takeAll(session);
    for (const slot of waiting) if (slot.isBound) this.#queue.push(session, slot);
    return waiting.filter(({ isBound }) => !isBound).map((slot) => ({ slot, frame: this.takeFrame(slot) }));
  }

  /** Nobody waits for its answer any more. */
  remove(slot: Slot): void {
    if (this.#queue.remove(slot.session, slot)) this.takeFrame(slot);
  }

  /** What is next of this client. */
  headOf(session: Session): Slot | undefined {
    return this.#queue.headOf(session);
  }

  /** What is next of each client. */
  heads(): (readonly [Session, Slot])[] {
    return this.#queue.heads();
  }
}
