// Requests that a view has taken in and that no backend has yet, because something has to be known first. They are owned
// here until they are given to a backend or answered: whoever leaves or gives up meanwhile is seen to.

import { Envelope } from '../wire/envelope.ts';
import type { Frame } from '../wire/frame-splitter.ts';
import type { Limits } from '../wire/limits.ts';
import type { Backend } from './backend.ts';
import { isOverdue } from './deadline.ts';
import { failureOf, INTERNAL_ERROR, rpcError } from './rpc-error.ts';
import type { Session } from './session.ts';
import type { ClientRequest, Slot, SlotOwner } from './slot.ts';
import { openSlot } from './view.ts';

/** Of frames that have waited, or that were changed on the way. */
const readAgain = new Envelope();

export class PendingRequests implements SlotOwner {
  readonly #session: Session;
  readonly #limits: Limits;

  constructor(session: Session, limits: Limits) {
    this.#session = session;
    this.#limits = limits;
  }

  /** Takes a request in; undefined if its id is in use, which is answered. */
  open(request: ClientRequest, read: Envelope): Slot | undefined {
    return openSlot(this.#session, request, read, this);
  }

  /** Goes on with it once something is known, if anybody still waits for it; a failure is its answer. */
  later(slot: Slot, known: Promise<unknown>, then: () => void | Promise<void>): void {
    slot.owner = this;
    known
      .then(() => (this.#isStillHere(slot) ? then() : undefined))
      .catch((error: unknown) => {
        if (this.#isStillHere(slot)) this.refuse(slot, failureOf(error, slot.errorOf));
      });
  }

  #isStillHere(slot: Slot): boolean {
    return slot.owner === this && this.#session.slots.get(slot.id) === slot;
  }

  /** `write` writes its one answer. */
  answer(slot: Slot, write: () => void): void {
    slot.record?.settle('ok');
    write();
    this.#session.close(slot);
  }

  refuse(slot: Slot, error: string): void {
    slot.record?.refused(error);
    this.answer(slot, () => this.#session.answerError(slot.idText, error));
  }

  /** Where the parts of a frame stand that was read long ago, or never. */
  read({ b, start, end }: Frame): Envelope {
    readAgain.scan(b, start, end, this.#limits.maxDepth);
    return readAgain;
  }

  /** From here on a backend sees to its answer. */
  give(slot: Slot, request: ClientRequest, backend: Backend, nameText = ''): void {
    slot.nameText = nameText;
    backend.submit(slot, request, this.read(request.frame));
  }

  cancel(slot: Slot): void {
    this.#session.close(slot);
  }

  abandon(slot: Slot): void {
    this.#session.close(slot);
  }

  checkTime(slot: Slot, nowMs: number): void {
    if (!isOverdue(slot, nowMs, this.#limits.callTimeoutMs, this.#limits)) return;
    this.refuse(slot, rpcError(INTERNAL_ERROR, 'The servers have not answered in time', { code: 'CALL_TIMED_OUT' }));
  }
}
