// The beginning of every call (`openCall`), and the calls that wait in a view until their server or tool is known. Such
// a call is owned here until an instance takes it or it is answered. Meanwhile its bytes are charged to its client.

import type { Limits } from '../model/limits.ts';
import type { CallRole } from '../protocol/era.ts';
import { ERA_2025 } from '../protocol/era-2025.ts';
import { failureOf, INTERNAL_ERROR, idInUse, refusalOf, rpcError } from '../protocol/rpc-error.ts';
import type { BridgeError } from '../util/bridge-error.ts';
import { textOf } from '../util/json-value.ts';
import { Envelope, Field, type FrameFault } from '../wire/envelope.ts';
import type { Frame } from '../wire/frame-splitter.ts';
import { ownFrame } from '../wire/own-frame.ts';
import { Call, type CallOwner, type ClientRequest, overdueMs, shorterMs } from './call.ts';
import { type CallPlan, errorTextOf, planOf } from './call-plan.ts';
import type { ClientOutput } from './client-output.ts';
import type { Instance } from './instance.ts';
import type { Session } from './session.ts';

/** The envelope of frames that have waited or were changed. Its keys are set to the client's era. */
const readAgain = new Envelope(ERA_2025.keys);

/** Continues a request. Gets the frame that was kept, because positions in it differ from those in the original. */
type GoOn = (kept: ClientRequest) => void | Promise<void>;

export class PendingRequests implements CallOwner {
  readonly #limits: Limits;
  /** The next step of each waiting request, with the bytes that it holds. */
  readonly #waiting = new Map<Call, GoOn>();

  constructor(limits: Limits) {
    this.#limits = limits;
  }

  /** Opens a request; undefined if its id is in use, which is answered with an error. */
  open(session: Session, request: ClientRequest, envelope: Envelope, plan?: CallPlan): Call | undefined {
    return openCall(session, request, envelope, this, plan);
  }

  /**
   * Continues a request once `known` resolves, if somebody still waits for it. If `known` fails, the error is the
   * answer.
   */
  later(call: Call, { role, frame }: ClientRequest, known: Promise<unknown>, goOn: GoOn): void {
    call.owner = this;
    this.#keep(call, frame, goOn);
    known
      .then(() => this.#goOn(call, role))
      .catch((error: unknown) => {
        if (this.#isStillHere(call))
          this.refuse(
            call,
            failureOf(error, (known) => errorTextOf(call, known)),
          );
      });
  }

  #goOn(call: Call, role: CallRole): void | Promise<void> {
    const goOn = this.#waiting.get(call);
    const frame = call.unsent;
    if (goOn === undefined || frame === undefined) return;
    this.#drop(call);
    if (!this.#isStillHere(call)) return;
    return goOn({ id: call.id, role, frame });
  }

  #isStillHere(call: Call): boolean {
    return call.owner === this && call.session.calls.get(call.id) === call;
  }

  #keep(call: Call, frame: Frame, goOn: GoOn): void {
    call.unsent = ownFrame(frame);
    this.#waiting.set(call, goOn);
    call.session.addWaiting(frame.end - frame.start, this.#limits.maxWaitingBytesPerClient);
  }

  #drop(call: Call): void {
    if (!this.#waiting.delete(call) || call.unsent === undefined) return;
    const { start, end } = call.unsent;
    call.unsent = undefined;
    call.session.addWaiting(start - end, this.#limits.maxWaitingBytesPerClient);
  }

  /** Answers a request; `write` writes the one answer. */
  answer(call: Call, write: () => void): void {
    call.session.events.callAnsweredHere.tell(call);
    this.#end(call, write);
  }

  #end(call: Call, write: () => void): void {
    this.#drop(call);
    write();
    call.close();
  }

  refuse(call: Call, error: string): void {
    call.session.events.callFailed.tell(call, error);
    this.#end(call, () => call.output.fail(call.idText, error));
  }

  /** Scans a client's frame that was scanned long ago, or never. */
  read({ era }: Pick<Session, 'era'>, { b, start, end }: Frame): Envelope {
    readAgain.keys = era.keys;
    readAgain.scan(b, start, end, this.#limits.maxDepth);
    return readAgain;
  }

  /** The error for a frame that breaks the protocol. */
  faultError(fault: FrameFault): string {
    const { code, message } = refusalOf(fault, this.#limits.maxDepth);
    return rpcError(code, message, { code: 'TOOL_ARGUMENTS_INVALID' });
  }

  /** Hands a request to an instance, which sees to the answer from here on. */
  give(call: Call, request: ClientRequest, instance: Instance, nameText = ''): void {
    call.nameText = nameText;
    instance.submit(call, request.frame, this.read(call.session, request.frame));
  }

  cancel(call: Call): void {
    this.#drop(call);
    call.close();
  }

  stop(call: Call, error: BridgeError): void {
    const text = failureOf(error, (known) => errorTextOf(call, known));
    this.refuse(call, text);
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

/** The output that gets the answer to a request. */
export function outputFor(session: Session, { output = session.output }: ClientRequest): ClientOutput {
  return output;
}

/** Opens a call under its id; undefined if the id is in use, which is answered with an error. */
export function openCall(
  session: Session,
  { id, role, frame, output = session.output, withinText = '' }: ClientRequest,
  envelope: Envelope,
  owner: CallOwner,
  plan: CallPlan = planOf(role, envelope),
): Call | undefined {
  const idText = envelope.rawId(frame.b, Field.id, id);
  const tokenText = envelope.has(Field.metaProgressToken) ? envelope.raw(frame.b, Field.metaProgressToken) : '';
  const call = new Call({ session, plan, owner, id, idText, tokenText });
  call.output = output;
  call.withinText = withinText;
  if (envelope.has(Field.logLevel)) call.logLevel = textOf(envelope.decode(frame.b, Field.logLevel));
  call.mayBeDone = session.takeRepeated(id);
  if (session.open(call)) {
    session.events.callBegun.tell(call);
    return call;
  }
  output.fail(idText, idInUse(idText));
  return undefined;
}
