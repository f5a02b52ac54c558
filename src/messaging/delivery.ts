// One request of a client to another, from its delivery to its one answer. Whoever goes first, the sender, the receiver or
// the time, finds it and sees to the other side.

import type { Call, CallOwner } from '../core/call.ts';
import { extend, overdueMs } from '../core/call-endings.ts';
import type { Counters } from '../core/counters.ts';
import type { ClientQuestion } from '../core/session.ts';
import type { Limits } from '../model/limits.ts';
import { cancelNotice } from '../protocol/era-2025.ts';
import { rpcErrorOf } from '../protocol/rpc-error.ts';
import { BridgeError } from '../util/bridge-error.ts';
import { type Envelope, Field } from '../wire/envelope.ts';
import type { Frame } from '../wire/frame-splitter.ts';
import { Splice } from '../wire/splice.ts';
import type { Participant } from './participants.ts';

export interface DeliveryPorts {
  readonly limits: Limits;
  readonly counters: Counters;
}

const splice = new Splice();
let delivered = 0;

export class Delivery implements ClientQuestion, CallOwner {
  /** Towards the receiver; it is the progress token too. */
  readonly id = `mcp-bridge/message-${++delivered}`;
  readonly #from: Participant;
  readonly #to: Participant;
  readonly #ports: DeliveryPorts;
  #call: Call | undefined;

  constructor(from: Participant, to: Participant, ports: DeliveryPorts) {
    this.#from = from;
    this.#to = to;
    this.#ports = ports;
  }

  /** It is about to be written. */
  begin(call: Call): void {
    this.#call = call;
    this.#from.asking++;
    this.#to.asked++;
    this.#to.session.questions.set(this.id, this);
  }

  // --- what the receiver does ---

  answer({ b, start, end }: Frame, read: Envelope): void {
    const call = this.#forget();
    if (call === undefined) return;
    const { outbox } = call.session.link;
    if (!call.session.untaken.hasRoomFor(end - start))
      return this.#fail(
        call,
        new BridgeError('CLIENT_BUSY', 'There is no room for the answer: too many are not taken'),
      );
    splice.clear().replace(read.from(Field.id), read.to(Field.id), call.idText).send(outbox, b, start, end);
    this.#ports.counters.responses++;
    call.session.close(call);
  }

  progress({ b, start, end }: Frame, read: Envelope): void {
    const call = this.#call;
    if (call === undefined) return;
    if (this.#ports.limits.progressExtendsTimeout) extend(call);
    const { outbox } = call.session.link;
    if (call.tokenText === '' || call.session.untaken.isCrowded) return;
    splice.clear().replace(read.from(Field.progressToken), read.to(Field.progressToken), call.tokenText);
    splice.send(outbox, b, start, end);
  }

  /** The receiver has gone. */
  abandon(call?: Call): void {
    if (call !== undefined) return this.#takeBack('Its sender has gone');
    const open = this.#forget();
    if (open === undefined) return;
    const { clientId } = this.#to.session;
    const message = `The client ${clientId} has gone before it answered; what it did is unknown`;
    this.#fail(open, new BridgeError('CLIENT_GONE', message, { hint: 'bridge/clients shows who is connected.' }));
  }

  // --- what the sender does ---

  wasSent(): boolean {
    return true;
  }

  withdraw(): void {
    // The receiver has it already.
  }

  cancel(_call: Call, { b, start, end }: Frame, read: Envelope): void {
    const { session } = this.#to;
    splice.clear().replace(read.from(Field.requestId), read.to(Field.requestId), JSON.stringify(this.id));
    splice.send(session.link.outbox, b, start, end);
    this.#ports.counters.cancelled++;
    this.#close();
  }

  tickCall(call: Call, nowMs: number): void {
    const { limits, counters } = this.#ports;
    const tookMs = overdueMs(call, nowMs, limits.callTimeoutMs, limits);
    if (tookMs === undefined) return;
    counters.timeouts++;
    this.#tellReceiver('Its time is up');
    this.#forget();
    const message = `The client ${this.#to.session.clientId} has not answered within ${tookMs} ms`;
    this.#fail(call, new BridgeError('CALL_TIMED_OUT', message, { hint: 'It was told to cancel.' }));
  }

  #takeBack(reason: string): void {
    this.#tellReceiver(reason);
    this.#close();
  }

  #tellReceiver(reason: string): void {
    if (this.#to.session.isOpen) this.#to.session.tell(cancelNotice(JSON.stringify(this.id), reason));
  }

  // --- the end ---

  /** Nobody gets an answer. */
  #close(): void {
    const call = this.#forget();
    call?.session.close(call);
  }

  #fail(call: Call, error: BridgeError): void {
    call.session.answerError(call.idText, rpcErrorOf(error));
    call.session.close(call);
  }

  /** The call, if it is still open. */
  #forget(): Call | undefined {
    const call = this.#call;
    if (call === undefined) return undefined;
    this.#call = undefined;
    this.#from.asking--;
    this.#to.asked--;
    this.#to.session.questions.delete(this.id);
    return call;
  }
}
