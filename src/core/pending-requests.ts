// Requests that a view has taken in and that no backend has yet, because something has to be known first. They are owned
// here until they are given to a backend or answered: whoever leaves or gives up meanwhile is seen to. What waits here is
// charged to its client, and let go with its slot, however long that takes which has to be known.

import { Envelope } from '../wire/envelope.ts';
import type { Frame } from '../wire/frame-splitter.ts';
import type { Limits } from '../wire/limits.ts';
import { ownFrame } from '../wire/own-frame.ts';
import type { Backend } from './backend.ts';
import { overdueMs, shorterMs } from './deadline.ts';
import type { CallRole } from './era/era-2025.ts';
import { failureOf, INTERNAL_ERROR, rpcError } from './rpc-error.ts';
import type { Session } from './session.ts';
import type { ClientRequest, Slot, SlotOwner } from './slot.ts';
import { openSlot } from './view.ts';

/** Of frames that have waited, or that were changed on the way. */
const readAgain = new Envelope();

/** Gets the frame that was kept, in which things stand elsewhere than in the one that came. */
type GoOn = (kept: ClientRequest) => void | Promise<void>;

export class PendingRequests implements SlotOwner {
  readonly #session: Session;
  readonly #limits: Limits;
  /** How each goes on, with whatever that holds. */
  readonly #waiting = new Map<Slot, GoOn>();

  constructor(session: Session, limits: Limits) {
    this.#session = session;
    this.#limits = limits;
  }

  /** Takes a request in; undefined if its id is in use, which is answered. */
  open(request: ClientRequest, read: Envelope): Slot | undefined {
    return openSlot(this.#session, request, read, this);
  }

  /** Goes on with it once something is known, if anybody still waits for it; a failure is its answer. */
  later(slot: Slot, { role, frame }: ClientRequest, known: Promise<unknown>, goOn: GoOn): void {
    slot.owner = this;
    this.#keep(slot, frame, goOn);
    known
      .then(() => this.#goOn(slot, role))
      .catch((error: unknown) => {
        if (this.#isStillHere(slot)) this.refuse(slot, failureOf(error, slot.errorOf));
      });
  }

  #goOn(slot: Slot, role: CallRole): void | Promise<void> {
    const goOn = this.#waiting.get(slot);
    const frame = slot.unsent;
    if (goOn === undefined || frame === undefined || !this.#isStillHere(slot)) return;
    this.#drop(slot);
    return goOn({ id: slot.id, role, frame });
  }

  #isStillHere(slot: Slot): boolean {
    return slot.owner === this && this.#session.slots.get(slot.id) === slot;
  }

  #keep(slot: Slot, frame: Frame, goOn: GoOn): void {
    slot.unsent = ownFrame(frame);
    this.#waiting.set(slot, goOn);
    this.#session.addWaiting(frame.end - frame.start, this.#limits.maxWaitingBytesPerClient);
  }

  #drop(slot: Slot): void {
    if (!this.#waiting.delete(slot) || slot.unsent === undefined) return;
    const { start, end } = slot.unsent;
    slot.unsent = undefined;
    this.#session.addWaiting(start - end, this.#limits.maxWaitingBytesPerClient);
  }

  /** `write` writes its one answer. */
  answer(slot: Slot, write: () => void): void {
    this.#drop(slot);
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
    this.#drop(slot);
    this.#session.close(slot);
  }

  wasSent({ isSecondTry, mayBeDone }: Slot): boolean {
    return isSecondTry || mayBeDone;
  }

  withdraw(slot: Slot): void {
    this.#drop(slot);
  }

  abandon(slot: Slot): void {
    this.cancel(slot);
  }

  checkTime(slot: Slot, nowMs: number): void {
    const timeoutMs = shorterMs(slot.timeoutMs, this.#limits.callTimeoutMs);
    const tookMs = overdueMs(slot, nowMs, timeoutMs, this.#limits);
    if (tookMs === undefined) return;
    const message = `The servers have not answered within ${tookMs} ms`;
    this.refuse(slot, rpcError(INTERNAL_ERROR, message, { code: 'CALL_TIMED_OUT' }));
  }
}
