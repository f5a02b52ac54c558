// The requests that wait for their turn at one instance, one of each client after the other, and the bytes that they take
// meanwhile: so much of one client's, and so much of all.

import type { Limits } from '../model/limits.ts';
import { invariant } from '../util/invariant.ts';
import type { Frame } from '../wire/frame-splitter.ts';
import { ownFrame } from '../wire/own-frame.ts';
import type { Call } from './call.ts';
import { FairQueue } from './fair-queue.ts';
import type { Session } from './session.ts';

export class WaitingRequests {
  readonly #limits: Limits;
  readonly #queue = new FairQueue<Session, Call>();
  #bytes = 0;

  constructor(limits: Limits) {
    this.#limits = limits;
  }

  get size(): number {
    return this.#queue.size;
  }

  /** False if there is no room for it. */
  add(call: Call, unsent: Frame): boolean {
    const bytes = unsent.end - unsent.start;
    if (this.#bytes + bytes > this.#limits.maxWaitingBytesPerServer) return false;
    call.unsent = ownFrame(unsent);
    this.#queue.push(call.session, call);
    this.#bytes += bytes;
    call.session.addWaiting(bytes, this.#limits.maxWaitingBytesPerClient);
    return true;
  }

  /** The first of the next client in turn that may be served; its frame is still to be taken. */
  next(mayServe: (session: Session, call: Call) => boolean): Call | undefined {
    return this.#queue.take(mayServe);
  }

  /** The frame of one that waits no more. */
  takeFrame(call: Call): Frame {
    const frame = call.unsent;
    invariant(frame !== undefined, 'a call that waits has its frame');
    call.unsent = undefined;
    this.#bytes -= frame.end - frame.start;
    call.session.addWaiting(frame.start - frame.end, this.#limits.maxWaitingBytesPerClient);
    return frame;
  }

  /** Gives away what a client has waiting here, in order, but for what only this instance can answer. */
  takeAllOf(session: Session): { readonly call: Call; readonly frame: Frame }[] {
    const waiting = this.#queue.takeAll(session);
    for (const call of waiting) if (call.isBound) this.#queue.push(session, call);
    return waiting.filter(({ isBound }) => !isBound).map((call) => ({ call, frame: this.takeFrame(call) }));
  }

  /** Nobody waits for its answer any more. */
  remove(call: Call): void {
    if (this.#queue.remove(call.session, call)) this.takeFrame(call);
  }

  /** What is next of this client. */
  headOf(session: Session): Call | undefined {
    return this.#queue.headOf(session);
  }

  /** What is next of each client. */
  heads(): (readonly [Session, Call])[] {
    return this.#queue.heads();
  }
}
