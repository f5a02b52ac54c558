// Requests that a view has taken in and that no instance has yet, because something has to be known first. They are owned
// here until they are given to an instance or answered: whoever leaves or gives up meanwhile is seen to. What waits here is
// charged to its client, and let go with its call, however long that takes which has to be known.

import type { Limits } from '../model/limits.ts';
import { Envelope } from '../wire/envelope.ts';
import type { Frame } from '../wire/frame-splitter.ts';
import { ownFrame } from '../wire/own-frame.ts';
import type { Call, CallOwner, ClientRequest } from './call.ts';
import { overdueMs, shorterMs } from './deadline.ts';
import type { CallRole } from './era/era-2025.ts';
import type { Instance } from './instance.ts';
import { failureOf, INTERNAL_ERROR, rpcError } from './rpc-error.ts';
import type { Session } from './session.ts';
import { openCall } from './view.ts';

/** Of frames that have waited, or that were changed on the way. */
const readAgain = new Envelope();

/** Gets the frame that was kept, in which things stand elsewhere than in the one that came. */
type GoOn = (kept: ClientRequest) => void | Promise<void>;

export class PendingRequests implements CallOwner {
  readonly #session: Session;
  readonly #limits: Limits;
  /** How each goes on, with whatever that holds. */
  readonly #waiting = new Map<Call, GoOn>();

  constructor(session: Session, limits: Limits) {
    this.#session = session;
    this.#limits = limits;
  }

  /** Takes a request in; undefined if its id is in use, which is answered. */
  open(request: ClientRequest, read: Envelope): Call | undefined {
    return openCall(this.#session, request, read, this);
  }

  /** Goes on with it once something is known, if anybody still waits for it; a failure is its answer. */
  later(call: Call, { role, frame }: ClientRequest, known: Promise<unknown>, goOn: GoOn): void {
    call.owner = this;
    this.#keep(call, frame, goOn);
    known
      .then(() => this.#goOn(call, role))
      .catch((error: unknown) => {
        if (this.#isStillHere(call)) this.refuse(call, failureOf(error, call.errorOf));
      });
  }

  #goOn(call: Call, role: CallRole): void | Promise<void> {
    const goOn = this.#waiting.get(call);
    const frame = call.unsent;
    if (goOn === undefined || frame === undefined || !this.#isStillHere(call)) return;
    this.#drop(call);
    return goOn({ id: call.id, role, frame });
  }

  #isStillHere(call: Call): boolean {
    return call.owner === this && this.#session.calls.get(call.id) === call;
  }

  #keep(call: Call, frame: Frame, goOn: GoOn): void {
    call.unsent = ownFrame(frame);
    this.#waiting.set(call, goOn);
    this.#session.addWaiting(frame.end - frame.start, this.#limits.maxWaitingBytesPerClient);
  }

  #drop(call: Call): void {
    if (!this.#waiting.delete(call) || call.unsent === undefined) return;
    const { start, end } = call.unsent;
    call.unsent = undefined;
    this.#session.addWaiting(start - end, this.#limits.maxWaitingBytesPerClient);
  }

  /** `write` writes its one answer. */
  answer(call: Call, write: () => void): void {
    this.#drop(call);
    call.record?.settle('ok');
    write();
    this.#session.close(call);
  }

  refuse(call: Call, error: string): void {
    call.record?.refused(error);
    this.answer(call, () => this.#session.answerError(call.idText, error));
  }

  /** Where the parts of a frame stand that was read long ago, or never. */
  read({ b, start, end }: Frame): Envelope {
    readAgain.scan(b, start, end, this.#limits.maxDepth);
    return readAgain;
  }

  /** From here on an instance sees to its answer. */
  give(call: Call, request: ClientRequest, instance: Instance, nameText = ''): void {
    call.nameText = nameText;
    instance.submit(call, request, this.read(request.frame));
  }

  cancel(call: Call): void {
    this.#drop(call);
    this.#session.close(call);
  }

  wasSent({ isSecondTry, mayBeDone }: Call): boolean {
    return isSecondTry || mayBeDone;
  }

  withdraw(call: Call): void {
    this.#drop(call);
  }

  abandon(call: Call): void {
    this.cancel(call);
  }

  tickCall(call: Call, nowMs: number): void {
    const timeoutMs = shorterMs(call.timeoutMs, this.#limits.callTimeoutMs);
    const tookMs = overdueMs(call, nowMs, timeoutMs, this.#limits);
    if (tookMs === undefined) return;
    const message = `The servers have not answered within ${tookMs} ms`;
    this.refuse(call, rpcError(INTERNAL_ERROR, message, { code: 'CALL_TIMED_OUT' }));
  }
}
